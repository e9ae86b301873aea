"""steelyard validate: check a suite file, and show what its arms differ in."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import emit_json, note, say

if TYPE_CHECKING:
    from steelyard.domain.suite import Suite
    from steelyard.suites.differ import ArmDifference

LONGEST = 160


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard validate steelyard.yaml --diff-arms"
    parser.add_argument(
        "suite", type=Path, metavar="SUITE", help="the suite file, or a directory with a steelyard.yaml"
    )
    parser.add_argument("--diff-arms", action="store_true", help="show what differs between the arms")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Exit code 0 when the file is fine, 2 with every mistake at its line when it is not."""
    from steelyard.suites.load import SuiteError, load_suite

    try:
        suite = load_suite(args.suite)
    except SuiteError as error:
        if not args.json:
            raise
        emit_json({"valid": False, "file": error.file, "problems": [_problem(p) for p in error.problems]})
        return 2
    differences = _differences(suite) if args.diff_arms else ()
    if args.json:
        emit_json(_document(suite, args, differences))
        return 0
    runs = len(suite.tasks) * len(suite.arms) * suite.repeats
    counts = f"{_many(len(suite.tasks), 'task')} × {_many(len(suite.arms), 'arm')} × {_many(suite.repeats, 'repeat')}"
    say(f"{args.suite}: fine: {counts} = {_many(runs, 'run')}")
    for text in _remarks(suite):
        note(f"note: {text}")
    for difference in differences:
        _show(difference)
    return 0


def _problem(problem: Any) -> dict[str, Any]:
    return {
        "line": problem.line or None,
        "column": problem.column or None,
        "field": problem.field or None,
        "message": problem.message,
    }


def _document(suite: "Suite", args: argparse.Namespace, differences: "tuple[ArmDifference, ...]") -> dict[str, Any]:
    from steelyard.domain.suite import FrozenTask

    document: dict[str, Any] = {
        "valid": True,
        "file": str(args.suite),
        "problems": [],
        "workspace": suite.workspace,
        "tasks": [{"id": task.id, "sha256": FrozenTask.of(task).sha256} for task in suite.tasks],
        "arms": [arm.name for arm in suite.arms],
        "repeats": suite.repeats,
        "runs": len(suite.tasks) * len(suite.arms) * suite.repeats,
        "notes": _remarks(suite),
    }
    if args.diff_arms:
        document["differences"] = [difference.model_dump(mode="json") for difference in differences]
    return document


def _remarks(suite: "Suite") -> list[str]:
    """What is allowed, but may not be meant."""
    ledger = [task.id for task in suite.tasks if task.is_ledger and task.scorers]
    return [f"task '{name}' has no seed: it is judged only, and its scorers never run" for name in ledger]


def _differences(suite: "Suite") -> "tuple[ArmDifference, ...]":
    from steelyard.suites.differ import arm_differences

    return arm_differences(suite)


def _show(difference: "ArmDifference") -> None:
    say(f"\n{difference.baseline} → {difference.arm}")
    if not difference.fields and not difference.files:
        say("  no difference: these arms can only differ by chance")
    for item in difference.fields:
        say(f"  {item.field}: {_value(item.baseline)} → {_value(item.arm)}")
    for file in difference.files:
        say(f"  overlay file {file.kind}: {file.path}")
        for line in file.diff.splitlines():
            say(f"    {line}")


def _value(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
