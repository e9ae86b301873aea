"""Run records in and out of files: JSON lines and Parquet in; JSON lines, CSV and Parquet out.

`read_records` gives columns. With Polars installed (the extra `records`) a file is read at its speed; whatever it
finds odd (a type, a null, a negative number, a duplicate) is read again line by line, so that the answer and the
words for every mistake are the same with and without it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.compare.table import RecordTable
from steelyard.domain.run_record import RunRecord
from steelyard.errors import InputError
from steelyard.interop.lines import Bad, iterate_lines, table_from_lines

OTHERS = frozenset({".csv", ".tsv", ".gz", ".bz2", ".xz", ".zst", ".zip"})


@dataclass(frozen=True)
class Reading:
    """What was read: the table, how many bad lines were left out, and the first of them in words."""

    table: RecordTable
    skipped: int = 0
    problems: tuple[str, ...] = ()


def read_records(paths: Sequence[Path | str], *, skip_bad: bool = False, fast: bool = True) -> Reading:
    """The records of one or more files as one table; strict unless `skip_bad`: a bad line is refused by its number."""
    files = [Path(path) for path in paths]
    if not files:
        raise InputError("no records file was given")
    refuse_others(files)
    columnar = [file.suffix == ".parquet" for file in files]
    if any(columnar) and not all(columnar):
        raise InputError("give either JSON lines or Parquet files, not both at once")
    if columnar[0]:
        from steelyard.interop.parquet import read_parquet

        table, bad = read_parquet(files, strict=not skip_bad)
    else:
        table, bad = _read_lines(files, strict=not skip_bad, fast=fast)
    if len(table) == 0 and not bad.lines:
        raise InputError(f"{', '.join(map(str, files))}: no records; one JSON object a line is expected")
    if len(table) == 0:
        raise InputError("\n".join([*bad.words(), f"{bad.lines} bad lines and no good one"]))
    return Reading(table, bad.lines, tuple(bad.words()))


def refuse_others(files: Sequence[Path]) -> None:
    """`InputError` for what is no file, or of a kind that run records are not read from."""
    for file in files:
        if file.is_dir() or not file.exists():
            what = "is a directory" if file.is_dir() else "no such file"
            raise InputError(f"{file}: {what}; a file of run records is expected")
        if file.suffix.lower() in OTHERS:
            raise InputError(f"{file}: run records are read from JSON lines or Parquet, not from {file.suffix} files")


def _read_lines(files: list[Path], *, strict: bool, fast: bool) -> tuple[RecordTable, Bad]:
    if fast:
        from steelyard.interop.columns import has_polars, table_from_json

        if has_polars():
            table = table_from_json(files)
            if table is not None:
                return table, Bad()
    return table_from_lines(files, strict=strict)


def iterate_records(path: Path | str, *, skip_bad: bool = False, bad: Bad | None = None) -> Iterator[RunRecord]:
    """The records of one file, one by one, with all their fields; mistakes are raised at the end of the file."""
    file = Path(path)
    found = Bad() if bad is None else bad
    if file.suffix == ".parquet":
        from steelyard.interop.parquet import iterate_parquet

        source: Iterator[tuple[int, RunRecord]] = iterate_parquet(file, found)
    else:
        source = iterate_lines(file, found, strict=not skip_bad)
    for _, record in source:
        yield record
    if not skip_bad:
        found.refuse()


def write_records(records: Iterable[RunRecord], path: Path | str, format: str | None = None) -> int:  # noqa: A002  # the word people use
    """Write records to a file, whole or not at all; the number of them. Without a format the name's ending decides."""
    from steelyard.interop.writers import WRITERS

    file = Path(path)
    kind = format or file.suffix.removeprefix(".") or "jsonl"
    if kind not in WRITERS:
        raise InputError(f"can't write records as '{kind}'; known formats: {', '.join(WRITERS)}")
    scratch = file.with_name(f".{file.name}.part")
    try:
        count = WRITERS[kind](records, scratch)
        scratch.replace(file)
    except OSError as error:
        raise InputError(f"{file}: can't be written: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)
    return count
