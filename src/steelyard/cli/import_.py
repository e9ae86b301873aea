"""steelyard import: run records from elsewhere into the store, all of them or none."""

import argparse
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError, PlacedError
from steelyard.settings import read_settings

if TYPE_CHECKING:
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.run_record import RunRecord
    from steelyard.interop.lines import Bad
    from steelyard.store.imports import Imported, Incoming

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
WORKSPACE = "imported"


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = (
        "example: steelyard import collected.jsonl --experiment night-12 && steelyard runs --experiment latest"
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="run records: JSON lines or Parquet")
    parser.add_argument("--workspace", metavar="W", help=f"the workspace they go to (default: {WORKSPACE})")
    parser.add_argument("--experiment", metavar="NAME", help="what to call them together (default: the file's name)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Import the files in one step; the same file again changes nothing."""
    from steelyard.interop.lines import Bad
    from steelyard.interop.records import refuse_others
    from steelyard.wiring import open_store

    refuse_others(args.files)
    experiment = _experiment(args)
    bad = Bad()
    with open_store(read_settings()) as store:
        done = store.import_runs(experiment, _incoming(args.files, experiment, bad), lambda: bad.lines > 0)
    if bad.lines or done.problems:
        _refuse(bad, done)
    if not done.added and not done.unchanged:
        raise InputError(f"{', '.join(map(str, args.files))}: no records; one JSON object a line is expected")
    _answer(experiment, done, as_json=args.json)
    return 0


def _experiment(args: argparse.Namespace) -> "Experiment":
    from steelyard.domain.experiment import Experiment
    from steelyard.engine.lab import instant

    name = args.experiment
    if name is None:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", args.files[0].stem).strip("-._")[:200] or "imported"
    for option, given in (("--experiment", name), ("--workspace", args.workspace)):
        if given is not None and (not _NAME.fullmatch(given) or given == "latest"):
            raise InputError(f"{option} {given[:80]!r}: allowed: 1 to 200 letters, digits, and . _ - ; not 'latest'")
    return Experiment(
        id=name,
        workspace=args.workspace or WORKSPACE,
        created_at=instant(datetime.now(UTC)),
        tasks=(),
        arms=(),
        repeats=1,
        settings={"imported": True},
    )


def _incoming(files: list[Path], experiment: "Experiment", bad: "Bad") -> "Iterator[Incoming]":
    """The runs of all files, one by one; once a line is bad, the rest is only read to name what else is."""
    from steelyard.formulas.imported import Destination, run_of_record
    from steelyard.store.imports import Incoming

    to = Destination(experiment.id, experiment.workspace, experiment.created_at)
    for file in files:
        for number, record, line in _lines(file, bad):
            run = run_of_record(record, line, to)
            yield Incoming(run, f"{file}:{number}", record.score, record.tier or "Unranked")


def _lines(file: Path, bad: "Bad") -> Iterator[tuple[int, "RunRecord", str]]:
    if file.suffix == ".parquet":
        from steelyard.interop.parquet import iterate_parquet
        from steelyard.interop.writers import json_line

        for number, record in iterate_parquet(file, bad):
            yield number, record, json_line(record)
        return
    from steelyard.interop.lines import iterate_texts

    for number, record, text in iterate_texts(file, bad, strict=True):
        yield number, record, text.decode("utf-8")


def _refuse(bad: "Bad", done: "Imported") -> None:
    for place, problem in done.problems:
        bad.add(place, [problem])
    left = f" ({bad.lines - len(bad.named)} not shown)" if bad.lines > len(bad.named) else ""
    count = f"{bad.lines} bad line{'s' if bad.lines > 1 else ''}{left}"
    them = "them" if bad.lines > 1 else "it"
    raise PlacedError("\n".join([*bad.named, f"{count}; nothing was imported: mend {them} and import again"]))


def _answer(experiment: "Experiment", done: "Imported", *, as_json: bool) -> None:
    from steelyard.reports.words import many

    if as_json:
        numbers = {"added": done.added, "unchanged": done.unchanged, "redacted": done.redacted}
        emit_json({"experiment": experiment.id, "workspace": experiment.workspace, **numbers})
        return
    if done.redacted:
        note(f"{done.redacted} records held what looks like a secret: it was taken out before they were stored")
    if done.unchanged:
        said = "" if done.added else f"; nothing was added to experiment {experiment.id}"
        say(f"{many(done.unchanged, 'run')} of this content stored already{said}")
    if done.added:
        say(f"{many(done.added, 'run')} imported as experiment {experiment.id}, workspace {experiment.workspace}")
        say(f"next: steelyard compare {experiment.id} --baseline ARM --candidate ARM")
