"""Run records straight into columns with Polars: no Python object a row. Anything odd is left to the line reader."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.compare.table import NUMBERS, RecordTable, duplicate_rows, sorted_codes
from steelyard.interop.lines import LONGEST_LINE

if TYPE_CHECKING:
    import polars as pl

REQUIRED = ("run_id", "task_id", "arm", "repeat", "success", "duration_seconds")
NULLABLE = ("total_cost_usd", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
REALS = ("duration_seconds", "total_cost_usd", "judge01", "composite")
OTHERS = ("tier", "started_at")  # checked for their type alone
LARGEST_COUNT = 2**53
LONGEST_NAME = 500
MAPPED = 1 << 30  # bytes of a file that are mapped as a whole
BLOCK = 1 << 23
# What Polars writes into a text column for a value that was no text.
_NOT_TEXT = r"^(-?[0-9][0-9.eE+-]*|true|false|[\[{].*)$"


def has_polars() -> bool:
    """Whether the extra `records` is installed."""
    return find_spec("polars") is not None


def table_from_json(paths: list[Path], mapped: int = MAPPED) -> RecordTable | None:
    """The table, or None when any file holds anything that only the line reader can judge.

    A file of more bytes than `mapped` is read block by block.
    """
    import polars as pl

    frames = []
    for path in paths:
        try:
            frame = _frame(path, mapped)
        except (pl.exceptions.PolarsError, OSError):
            return None
        if frame is None or not is_plain(frame) or not _states_nulls(path, frame):
            return None
        frames.append(frame)
    return table_from_frame(pl.concat(frames))


def _frame(path: Path, mapped: int) -> "pl.DataFrame | None":
    """The columns of one file. A very large one is read block by block, so that no more of it than that is in memory.

    A file of ordinary size is left to Polars, which maps it: a third sooner.
    """
    import polars as pl

    size = path.stat().st_size
    if size == 0:  # empty, or a pipe, which can be read once only
        return None
    if size <= mapped:
        return collected(pl.scan_ndjson(path, schema=schema()))
    frames = []
    for block in whole_lines(path):
        if block is None:
            return None
        frames.append(pl.read_ndjson(block, schema=schema()))
    return pl.concat(frames) if frames else None


def collected(query: "pl.LazyFrame") -> "pl.DataFrame":
    """What a query finds. While Polars reads, this thread loads the program that most likely comes next."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(query.collect, engine="streaming")
        import_module("steelyard.compare.weigh")
        import_module("numpy.random")
        return reading.result()


def whole_lines(path: Path, size: int = BLOCK) -> Iterator[bytes | None]:
    """The file in blocks of whole lines; None, and no more, where a line does not end."""
    kept = b""
    with path.open("rb", buffering=0) as stream:
        while block := stream.read(size):
            end = block.rfind(b"\n") + 1
            if end:
                yield kept + block[:end]
                kept = b""
            kept += block[end:]
            if len(kept) > LONGEST_LINE:
                yield None
                return
    if kept:
        yield kept


def schema() -> "dict[str, Any]":
    """The type of every known field. Categories are strict about their type, plain text is not."""
    import polars as pl

    known: dict[str, Any] = {"run_id": pl.String, "task_id": pl.Categorical, "arm": pl.Categorical}
    known |= {"repeat": pl.Int64, "success": pl.Boolean}
    known |= {name: pl.Float64 if name in REALS else pl.Int64 for name in NUMBERS}
    known |= {"score": pl.Int64, "tier": pl.Categorical, "error_class": pl.Categorical, "started_at": pl.String}
    return known


def is_plain(frame: "pl.DataFrame", *, typed: bool = False) -> bool:
    """Whether every row holds what a record may hold, so that no mistake has to be named.

    `typed`: the file itself says that text is text, so that no number can have been taken for it.
    """
    import polars as pl

    counts = [name for name in NUMBERS if name not in REALS]
    checks = [pl.col(name).null_count() == 0 for name in REQUIRED]
    checks += [pl.col(name).min().fill_null(0) >= 0 for name in (*counts, "duration_seconds", "total_cost_usd")]
    checks += [pl.col(name).max().fill_null(0) < LARGEST_COUNT for name in counts]  # the limit itself may be rounded
    checks += [pl.col("repeat").min() >= 1, pl.col("repeat").max() <= 2**31 - 1]
    checks += [pl.col("judge01").min().fill_null(0) >= 0, pl.col("judge01").max().fill_null(0) <= 1]
    checks += [pl.col("score").min().fill_null(0) >= 0, pl.col("score").max().fill_null(0) <= 100]
    checks += [pl.col(name).is_finite().all() for name in REALS]
    if not typed:
        checks += [~pl.col(name).str.contains(_NOT_TEXT).any() for name in ("run_id", "started_at")]
        checks += [~pl.col("run_id").str.contains("\x00", literal=True).any()]
    length = pl.col("run_id").str.len_chars()
    checks += [length.min() >= 1, length.max() <= LONGEST_NAME]
    asked = frame.select(check.alias(str(number)) for number, check in enumerate(checks))  # apart: on all cores
    if frame.height == 0 or not all(asked.row(0)):
        return False
    names = pl.concat([frame["task_id"].unique().cast(pl.String), frame["arm"].unique().cast(pl.String)])
    return all(1 <= len(name) <= LONGEST_NAME and "\x00" not in name for name in names.to_list())


def _states_nulls(path: Path, frame: "pl.DataFrame") -> bool:
    """Whether a field that may be null but not missing is really there in every line: its name is counted."""
    doubtful = [name for name in NULLABLE if frame[name].null_count()]
    if not doubtful:
        return True
    keys = [f'"{name}"'.encode() for name in doubtful]
    found = dict.fromkeys(keys, 0)
    kept = b""
    with path.open("rb") as stream:
        while block := stream.read(1 << 24):
            text = kept + block
            end = text.rfind(b"\n") + 1
            for key in keys:
                found[key] += text.count(key, 0, end)
            kept = text[end:]
    return all(count + kept.count(key) == frame.height for key, count in found.items())


def table_from_frame(frame: "pl.DataFrame") -> RecordTable | None:
    """A table from checked columns; None when a run is there twice, which only the line reader can name."""
    import numpy as np

    coded = {name: _codes(frame[name]) for name in ("task_id", "arm", "error_class")}
    table = RecordTable(
        tasks=coded["task_id"][0],
        arms=coded["arm"][0],
        errors=coded["error_class"][0],
        task=coded["task_id"][1],
        arm=coded["arm"][1],
        error=coded["error_class"][1],
        repeat=frame["repeat"].to_numpy(),
        success=frame["success"].to_numpy(),
        numbers={
            name: frame[name].cast(float).to_numpy().astype(np.float64, copy=False)
            for name in NUMBERS
            if frame[name].null_count() < frame.height
        },
        run_ids=frame["run_id"],  # type: ignore[arg-type]  # a Series gives its values by index, as a list does
    )
    return None if duplicate_rows(table) else table


def _codes(column: "pl.Series") -> "tuple[tuple[str, ...], Any]":
    """Distinct names in sorted order, and each row's index into them; -1 for null."""
    import numpy as np

    if column.null_count() == len(column):
        return (), np.full(len(column), -1, dtype=np.int64)
    distinct = column.drop_nulls().unique()
    codes = distinct.to_physical().to_numpy()
    names, places = sorted_codes(distinct.cast(str).to_list(), np.arange(len(codes)))
    place = np.full(int(codes.max()) + 2, -1, dtype=np.int64)
    place[codes] = places
    return names, place[column.to_physical().fill_null(len(place) - 1).to_numpy()]
