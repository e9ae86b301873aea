"""steelyard audit: scripted cheats against the suite itself, before a cent is spent on agents."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard import plugins
from steelyard.cli.audit_text import Played, document, show
from steelyard.cli.files import write_whole
from steelyard.cli.output import emit_json, note
from steelyard.domain.suite import Suite, Task
from steelyard.errors import InputError
from steelyard.settings import read_settings
from steelyard.wiring import Choices, open_lab

if TYPE_CHECKING:
    from steelyard.audit.findings import TaskAudit

EXAMPLE = """\
exit code: 0 every cheat is caught and every reference passes, 1 a cheat passed or a reference failed,
           2 wrong input, 3 something could not be measured

example: steelyard audit steelyard.yaml --flakes 5 --write-quarantine"""


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = EXAMPLE
    parser.add_argument("suite", type=Path, metavar="SUITE", help="the suite file")
    parser.add_argument("--task", action="append", default=[], metavar="T", help="only this task; may be repeated")
    parser.add_argument("--cheat", action="append", default=[], metavar="C", help="only this cheat; may be repeated")
    parser.add_argument(
        "--flakes", type=int, default=1, metavar="N", help="run baseline and reference N times, name flaky checks"
    )
    parser.add_argument(
        "--write-quarantine", action="store_true", help="write the flaky checks into the suite's `quarantine`"
    )
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count() or 1, help="runs at the same time")
    parser.add_argument("--sandbox", default="auto", metavar="S", help="local, bwrap, docker, or auto (default)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Play the cheats; nothing is stored. 1 when one passed or a reference failed, 3 when one could not be played."""
    from steelyard.sandboxes.choose import choose
    from steelyard.suites.load import load_suite

    suite = load_suite(args.suite)
    tasks, cheats = _chosen(suite, args)
    provider = choose(args.sandbox)
    if provider.note and not args.json:
        note(f"note: {provider.note}")
    found = _audit(suite.model_copy(update={"tasks": tasks}), cheats, Choices(provider, Path(suite.root), {}), args)
    written, trouble = {}, None
    try:
        written = _write_quarantine(args.suite, suite, found) if args.write_quarantine else {}
    except InputError as error:  # what was found out is shown first
        trouble = error
    if args.json:
        emit_json(document(found, str(args.suite), provider.type, written))
    else:
        show(found, written)
    if trouble is not None:
        raise trouble
    if not all(one.is_sound for one in found):
        return 1
    return 3 if any(one.problems for one in found) else 0


def _chosen(suite: Suite, args: argparse.Namespace) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    known = [task.id for task in suite.tasks]
    installed = plugins.names("cheats")
    for option, wanted, allowed in (("--task", args.task, known), ("--cheat", args.cheat, installed)):
        for name in wanted:
            if name not in allowed:
                raise InputError(f"{option} {name}: there is no such one; allowed: {', '.join(allowed)}")
    for option, number in (("--flakes", args.flakes), ("--jobs", args.jobs)):
        if not 1 <= number <= 1000:
            raise InputError(f"{option} {number}: allowed: 1 to 1000")
    if args.write_quarantine and args.flakes < 2:
        raise InputError("--write-quarantine: one run tells nothing of flakes; give --flakes N, N at least 2")
    tasks = tuple(task for task in suite.tasks if not args.task or task.id in args.task)
    cheats = tuple(name for name in installed if not args.cheat or name in args.cheat)
    repeated = "nop" in cheats or ("reference" in cheats and any(task.reference is not None for task in tasks))
    if args.flakes > 1 and not repeated:
        raise InputError(f"--flakes {args.flakes}: only nop and reference are repeated; add --cheat nop")
    return tasks, cheats


def _audit(
    suite: Suite, cheats: tuple[str, ...], choices: Choices, args: argparse.Namespace
) -> "tuple[TaskAudit, ...]":
    from dataclasses import replace

    from steelyard.audit.auditor import Auditor
    from steelyard.audit.runner import CheatRunner
    from steelyard.sandboxes.process import interrupt_all

    watch = Played(quiet=args.json)
    with open_lab(read_settings(), replace(choices, observer=watch.observer())) as lab, watch:
        runner = CheatRunner(lab, suite.workspace, args.jobs, interrupt_all, watch.expect, watch.finished)
        try:
            return Auditor(suite.tasks, runner, cheats, args.flakes).audit()
        except KeyboardInterrupt:
            note("stopped: an audit keeps nothing; start it again, or with --task and --cheat for a part of it")
            raise


def _write_quarantine(file: Path, suite: Suite, found: "tuple[TaskAudit, ...]") -> dict[str, list[str]]:
    """Put the flaky checks into the file, beside those that are in quarantine already; say which were put there."""
    from steelyard.suites.load import FILE
    from steelyard.suites.quarantine import with_quarantine

    flaky = {one.task_id: list(dict.fromkeys(flake.name for flake in one.flaky)) for one in found if one.flaky}
    before = {task.id: task.quarantine for task in suite.tasks}
    if flaky:
        path = file / FILE if file.is_dir() else file
        text = path.read_bytes().decode("utf-8")
        wanted = {task_id: list(dict.fromkeys([*before[task_id], *names])) for task_id, names in flaky.items()}
        write_whole(path, with_quarantine(text, wanted))
    return flaky
