"""Run records from Parquet files: only the columns that a comparison needs; row by row to name mistakes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from steelyard.compare.table import NUMBERS, Columns, RecordTable, duplicate_rows
from steelyard.domain.mistakes import mistakes
from steelyard.domain.run_record import RunRecord
from steelyard.errors import InputError
from steelyard.interop.columns import NULLABLE, REQUIRED, collected, has_polars, is_plain, schema, table_from_frame
from steelyard.interop.lines import Bad, Places

if TYPE_CHECKING:
    import polars as pl

EXTRA = "extra_json"  # the column that keeps the fields a record has beyond the known ones
BATCH = 50_000


def read_parquet(paths: list[Path], *, strict: bool) -> tuple[RecordTable, Bad]:
    """All records of some files as one table, with the rows that are no records."""
    import polars as pl

    needs_polars()
    queries = [query for path in paths if (query := _known_columns(path)) is not None]
    if len(queries) == len(paths):
        try:
            whole = collected(pl.concat(queries))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _unreadable(", ".join(map(str, paths)), error) from None
        if is_plain(whole, typed=True) and (table := table_from_frame(whole)) is not None:
            return table, Bad()
    return _by_row(paths, strict=strict)


def needs_polars() -> None:
    """`InputError` that tells how to get what Parquet needs."""
    if not has_polars():
        raise InputError("Parquet needs Polars: pip install 'steelyard[records]'")


def _known_columns(path: Path) -> "pl.LazyFrame | None":
    """The known columns as a table needs them; None when one has another type, which is judged row by row."""
    import polars as pl

    names = _columns(path)
    wanted = schema()
    if not all(_fits(names[name], kind) for name, kind in wanted.items() if name in names):
        return None
    kinds = wanted | dict.fromkeys(NUMBERS, pl.Float64)
    return pl.scan_parquet(path).select(
        pl.col(name).cast(kind) if name in names else pl.lit(None, kind).alias(name) for name, kind in kinds.items()
    )


def _fits(found: "pl.DataType", wanted: Any) -> bool:
    import polars as pl

    if found == pl.Null:
        return True
    if wanted in (pl.String, pl.Categorical):
        return found in (pl.String, pl.Categorical, pl.Enum)
    if wanted == pl.Boolean:
        return found == pl.Boolean
    return found.is_integer() or (wanted == pl.Float64 and found.is_float())


def _columns(path: Path) -> "dict[str, pl.DataType]":
    """The columns of a file; `InputError` when it is not Parquet or lacks a required one."""
    import polars as pl

    try:
        names = dict(pl.read_parquet_schema(path))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(str(path), error) from None
    missing = [name for name in (*REQUIRED, *NULLABLE) if name not in names]
    if missing:
        raise InputError(f"{path}: required columns are missing: {', '.join(missing)}")
    return names


def _unreadable(place: str, error: Exception) -> InputError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(f"{place}: not a Parquet file that can be read: {reason}")


def _by_row(paths: list[Path], *, strict: bool) -> tuple[RecordTable, Bad]:
    columns, bad, places = Columns(), Bad(), Places()
    for path in paths:
        for number, record in iterate_parquet(path, bad):
            columns.add(record)
            places.add(path, number)
    table = columns.table()
    again = duplicate_rows(table)
    for row, first in again:
        key = f"task '{table.tasks[table.task[row]]}', arm '{table.arms[table.arm[row]]}', repeat {table.repeat[row]}"
        bad.add(f"{places[row][0]}:{places[row][1]}", [f"repeat: {key} was already in row {places[first][1]}"])
    if strict:
        bad.refuse()
    return (table.without([row for row, _ in again]) if again else table), bad


def iterate_parquet(path: Path, bad: Bad) -> Iterator[tuple[int, RunRecord]]:
    """The records of a file with their row numbers, from 1; a null in an optional column is a field not given."""
    import polars as pl

    needs_polars()
    _columns(path)
    number = 0
    for batch in pl.scan_parquet(path).collect_batches(chunk_size=BATCH):
        for row in batch.iter_rows(named=True):
            number += 1
            kept = {name: value for name, value in row.items() if value is not None or name in (*REQUIRED, *NULLABLE)}
            try:
                yield number, RunRecord.model_validate(kept | json.loads(kept.pop(EXTRA, "{}")))
            except ValidationError as error:
                bad.add(f"{path}:{number}", mistakes(error, RunRecord))
            except ValueError:
                bad.add(f"{path}:{number}", [f"{EXTRA}: must be a JSON object"])
