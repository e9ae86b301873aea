"""Run records out: one function a format. A file is written beside its place and moved there when it is whole."""

import csv
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from steelyard.domain.run_record import RunRecord
from steelyard.interop.columns import schema
from steelyard.interop.parquet import EXTRA, needs_polars

FIELDS = tuple(RunRecord.model_fields)


def json_line(record: RunRecord) -> str:
    """A record as one line of JSON with the fields it was given; a number that is not finite is null."""
    try:
        return json.dumps(record.document(), ensure_ascii=False, separators=(", ", ": "), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(record.document()), ensure_ascii=False, separators=(", ", ": "), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_jsonl(records: Iterable[RunRecord], path: Path) -> int:
    """One JSON object a line."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for count, record in enumerate(records, start=1):  # noqa: B007  # the last number is the answer
            stream.write(json_line(record) + "\n")
    return count


def write_csv(records: Iterable[RunRecord], path: Path) -> int:
    """The known fields in their documented order, then what else a record has, as JSON, in `extra_json`."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*FIELDS, EXTRA])
        for count, record in enumerate(records, start=1):  # noqa: B007  # the last number is the answer
            row = flat(record)
            writer.writerow([_cell(row.get(name)) for name in (*FIELDS, EXTRA)])
    return count


def write_parquet(records: Iterable[RunRecord], path: Path) -> int:
    """The known fields as typed columns, and `extra_json`."""
    needs_polars()
    import polars as pl

    columns: dict[str, list[Any]] = {name: [] for name in (*FIELDS, EXTRA)}
    for record in records:
        row = flat(record)
        for name, column in columns.items():
            column.append(row.get(name))
    kinds = {**schema(), EXTRA: pl.String}
    text = {name: pl.String if kinds[name] == pl.Categorical else kinds[name] for name in columns}
    frame = pl.DataFrame({name: pl.Series(name, column, dtype=text[name]) for name, column in columns.items()})
    frame.write_parquet(path, compression="zstd")
    return frame.height


def flat(record: RunRecord) -> dict[str, Any]:
    """The known fields, and all others as one JSON text."""
    given = record.document()
    extra = {name: value for name, value in given.items() if name not in RunRecord.model_fields}
    row = {name: value for name, value in given.items() if name in RunRecord.model_fields}
    if extra:
        row[EXTRA] = json.dumps(extra, ensure_ascii=False, sort_keys=True)
    return row


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


WRITERS: dict[str, Callable[[Iterable[RunRecord], Path], int]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}
