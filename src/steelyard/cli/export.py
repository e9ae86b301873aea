"""steelyard export: run records of one experiment or of all, as JSON lines, CSV or Parquet."""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.record import JsonObject
    from steelyard.domain.run_record import RunRecord
    from steelyard.store.database import Store

FORMATS = ("jsonl", "csv", "parquet")


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard export latest -o collected.jsonl"
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="an id, the start of one, or latest")
    parser.add_argument("--all", action="store_true", help="every experiment, oldest first")
    parser.add_argument("--format", choices=FORMATS, help="jsonl (default), csv, parquet; or as FILE's ending says")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there, whole or not at all")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Write the records of the runs that count, one a cell, in the order they were stored."""
    from steelyard.cli.stored import open_existing

    kind = _format(args)
    with open_existing() as store:
        experiments = _experiments(store, args)
        records = (record for experiment in experiments for record in records_of(store, experiment))
        if args.output is not None:
            count = _write(records, args.output, kind)
            if args.json:
                names = [experiment.id for experiment in experiments]
                emit_json({"output": str(args.output), "format": kind, "records": count, "experiments": names})
            else:
                note(f"written: {args.output}, {count} records")
        elif args.json:
            emit_json({"records": [json.loads(_line(record), parse_constant=_unknown) for record in records]})
        else:
            _print(records, kind)
    return 0


def _format(args: argparse.Namespace) -> str:
    if args.all == (args.experiment is not None):
        raise InputError("say what to export: an experiment (latest, for example), or --all")
    kind = args.format
    if kind is None and args.output is not None and args.output.suffix:
        kind = args.output.suffix.removeprefix(".").lower()
        if kind not in FORMATS:
            raise InputError(
                f"-o {args.output}: no format is called '{kind}'; allowed: {', '.join(FORMATS)}, or --format"
            )
    if args.output is not None and args.output.is_dir():
        raise InputError(f"-o {args.output}: is a directory; a file is expected")
    if kind == "parquet" and args.output is None:
        raise InputError("Parquet is not for a terminal or a pipe; add -o FILE")
    if args.json and args.output is None and kind == "csv":
        raise InputError("--json and --format csv at once: add -o FILE for the csv")
    return kind or "jsonl"


def _experiments(store: "Store", args: argparse.Namespace) -> "list[Experiment]":
    if not args.all:
        return [store.experiment(args.experiment)]
    return every_experiment(store)


def every_experiment(store: "Store") -> "list[Experiment]":
    """All experiments, oldest first."""
    found: list[str] = []
    after: int | None = None
    while page := store.experiments(after=after, limit=500):
        found += [row["id"] for row in page]
        after = page[-1]["seq"]
    return [store.experiment(name) for name in reversed(found)]


def records_of(store: "Store", experiment: "Experiment") -> "Iterator[RunRecord | str]":
    """A record a run, with score, tier, the composite against the baseline and all that the judge said.

    An imported run's line is given as it came.
    """
    from steelyard.cli.summary import rate
    from steelyard.formulas.records import record_of

    if experiment.settings.get("imported"):
        for run in store.iter_runs(experiment.id):
            yield run.imported if run.imported is not None else record_of(run)
        return
    for one in rate(store, experiment):
        derived: JsonObject = {"composite": one.composite, "score": one.score, "tier": one.tier}
        if one.run.judge is not None:
            derived["judge"] = one.run.judge.model_dump(mode="json", exclude={"raw", "members"})
        yield record_of(one.run).model_copy(update=derived)


def _line(record: "RunRecord | str") -> str:
    from steelyard.interop.writers import json_line

    return record if isinstance(record, str) else json_line(record)


def _unknown(_constant: str) -> None:
    """NaN and infinities, which JSON does not know, are null."""


def _write(records: "Iterator[RunRecord | str]", path: Path, kind: str) -> int:
    from steelyard.interop.records import write_records

    if kind == "jsonl":
        return _write_lines(records, path)
    return write_records(_parsed(records), path, kind)


def _parsed(records: "Iterator[RunRecord | str]") -> "Iterator[RunRecord]":
    from steelyard.domain.run_record import RunRecord

    for record in records:
        yield RunRecord.model_validate_json(record) if isinstance(record, str) else record


def _write_lines(records: "Iterator[RunRecord | str]", path: Path) -> int:
    count = 0
    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        with path.open("w", encoding="utf-8") as stream:
            for count, record in enumerate(records, 1):  # noqa: B007  # the last number is the answer
                stream.write(_line(record) + "\n")
        return count
    scratch = path.with_name(f".{path.name}.part")
    try:
        with scratch.open("w", encoding="utf-8", newline="\n") as stream:
            for count, record in enumerate(records, 1):  # noqa: B007  # the last number is the answer
                stream.write(_line(record) + "\n")
        scratch.replace(path)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)
    return count


def _print(records: "Iterator[RunRecord | str]", kind: str) -> None:
    if kind == "jsonl":
        for record in records:
            sys.stdout.write(_line(record) + "\n")
        return
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        path = Path(folder, "records")
        _write(records, path, kind)
        with path.open(encoding="utf-8", newline="") as stream:
            shutil.copyfileobj(stream, sys.stdout)
