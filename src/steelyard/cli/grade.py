"""steelyard grade: grade changes that are already there, in any git repository, with no agent."""

import argparse
import errno
import os
import shutil
import signal
import stat
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import plugins
from steelyard.cli.output import emit_json, note, say
from steelyard.cli.table import one_line, print_table
from steelyard.domain.diff import printable
from steelyard.errors import boundary
from steelyard.formulas.gates import mean_score, overall
from steelyard.formulas.secrets import redact_text
from steelyard.settings import Settings, read_settings

if TYPE_CHECKING:
    from steelyard.domain.grade import ScorerResult
    from steelyard.sandboxes.base import Sandbox
    from steelyard.scorers.base import Scorer
    from steelyard.worktree.diff import CapturedChange

EXAMPLE = """\
Commands run in a copy of the tree: nothing in DIR changes.
exit code: 0 PASS or N/A, 1 FAIL, 2 wrong input, 3 a scorer itself crashed or nothing could be measured

example: grade a pull request's checkout against its target branch
  steelyard grade . --base origin/main --scorers scorers.yaml
where scorers.yaml holds
  - {name: unit tests, type: command, command: "pytest -q", timeout_s: 300}
  - {name: frozen tests, type: tests_unmodified, paths: [tests/test_calc.py]}
  - {name: no secrets, type: forbid_secrets}"""
FINDINGS = 20


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = EXAMPLE
    parser.add_argument("dir", nargs="?", type=Path, default=Path(), metavar="DIR", help="a checkout (default: here)")
    parser.add_argument("--base", required=True, metavar="REV", help="the revision to grade against")
    parser.add_argument("--scorers", required=True, type=Path, metavar="FILE", help="a YAML list of scorers")
    parser.add_argument("--sandbox", default="auto", metavar="S", help="local, bwrap, docker, or auto (default)")
    parser.add_argument("--fresh", action="store_true", help="leave ignored files out: base and change, nothing else")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Grade what differs from the base; 1 when a required scorer fails, 3 when one itself crashed."""
    from steelyard.suites.load import load_scorers
    from steelyard.wiring import scratch_place
    from steelyard.worktree.repo import change_of_repo

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job leaves nothing behind either
    specs = load_scorers(args.scorers)
    settings = read_settings()
    with scratch_place(settings) as scratch, ExitStack() as stack:
        change = change_of_repo(args.dir, args.base, scratch / "keep")
        results = _graded(specs, change, args, (settings, scratch, stack))
    if args.json:
        emit_json(_document(change, results))
    else:
        _show(change, results, args.base)
    if any(result.crashed for result in results):
        return 3
    return 1 if overall(results) == "FAIL" else 0


def _graded(
    specs: Sequence[dict[str, Any]],
    change: "CapturedChange",
    args: argparse.Namespace,
    places: tuple[Settings, Path, ExitStack],
) -> "tuple[ScorerResult, ...]":
    from steelyard.domain.evidence import Evidence
    from steelyard.domain.suite import Seed, Task
    from steelyard.engine.grading import restore
    from steelyard.scorers.panel import grade

    scorers: list[Scorer] = [plugins.build("scorers", spec) for spec in specs]
    evidence = Evidence(
        task=Task(id="grade", prompt="Grade what is there.", seed=Seed(empty=True), scorers=tuple(specs)),
        diff=change.diff,
        before=change.before,
        after=change.after,
        baseline_files=change.baseline_files,
    )
    sandbox = _sandbox(change, args, places) if any(_needs_tree(scorer) for scorer in scorers) else None

    def between() -> list[str]:
        assert sandbox is not None  # noqa: S101  # only scorers that use it are followed by this
        sandbox.kill_all()
        return restore(sandbox, change)

    return grade(scorers, evidence, sandbox, clock=time.monotonic, between=between)


def _needs_tree(scorer: "Scorer") -> bool:
    """Commands need the tree, and so does the look for a file, which may be an ignored one."""
    return scorer.uses_sandbox or scorer.type == "file_exists"


def _sandbox(change: "CapturedChange", args: argparse.Namespace, places: tuple[Settings, Path, ExitStack]) -> "Sandbox":
    """A sandbox around a copy of the tree, with every captured file as it was captured."""
    from steelyard.sandboxes.base import SandboxSpec
    from steelyard.sandboxes.choose import choose
    from steelyard.worktree.restore import drop_compiled, put_back, rebuild

    settings, scratch, stack = places
    provider = choose(args.sandbox)
    if not args.json and provider.note:
        note(f"note: {provider.note}")
    tree, box = scratch / "tree", scratch / "box"
    box.mkdir()
    if args.fresh:
        rebuild(change.baseline, change, tree)
    else:
        copy_tree(_top(args.dir), tree, leave_out=settings.home)
        put_back(tree, change)
        drop_compiled(tree, change)
    with boundary("sandbox_error", f"opening the {provider.type} sandbox"):
        sandbox = provider.open(SandboxSpec(run_id=scratch.name, tree=tree, scratch=box))
    stack.callback(sandbox.close)
    return sandbox


def _top(directory: Path) -> Path:
    place = directory.resolve()
    return next(at for at in (place, *place.parents) if (at / ".git").exists())


def copy_tree(source: Path, target: Path, leave_out: Path) -> None:
    """Copy a checkout, ignored files too, without git's own directories, one other place, fifos and sockets.

    What vanishes meanwhile is not there: what counts was captured before, and is put in its place afterwards.
    """

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if name == ".git" or not _copied(Path(folder, name), leave_out)}

    with boundary("sandbox_error", "copying the tree"):
        try:
            shutil.copytree(source, target, symlinks=True, ignore=ignored)
        except shutil.Error as error:
            for path, _, reason in error.args[0]:
                if f"[Errno {errno.ENOSPC}]" in reason:
                    raise OSError(f"{reason}; STEELYARD_SCRATCH names a place with more room") from error
                if f"[Errno {errno.ENOENT}]" not in reason:
                    raise OSError(f"{printable(str(path))}: {reason}") from error


def _copied(path: Path, leave_out: Path) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return path != leave_out and (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _document(change: "CapturedChange", results: "tuple[ScorerResult, ...]") -> dict[str, Any]:
    return {
        "overall": overall(results),
        "mean_score": mean_score(results),
        "changed_files": [redact_text(printable(path)) for path in change.diff.changed_files],
        "scorers": [_clean(result.model_dump(mode="json")) for result in results],
    }


def _clean(value: Any) -> Any:
    """Without secrets: what a command printed or a finding quotes may hold some."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {key: _clean(item) for key, item in value.items()} if isinstance(value, dict) else value


def _show(change: "CapturedChange", results: "tuple[ScorerResult, ...]", base: str) -> None:
    files = len(change.diff.changed_files)
    mean = mean_score(results)
    rows = [
        (
            result.verdict,
            "-" if result.score is None else f"{result.score:.3f}",
            result.name,
            result.type if result.required else f"{result.type} ({result.standing})",
            redact_text(result.detail),
        )
        for result in results
    ]
    say(f"{files} changed {'file' if files == 1 else 'files'} against {base}")
    print_table(("verdict", "score", "scorer", "type", "detail"), rows)
    shown = [_show_why(result) for result in results]
    if any(shown):
        say()
    say(f"OVERALL {overall(results)}, mean score {'-' if mean is None else f'{mean:.3f}'}")


def _show_why(result: "ScorerResult") -> bool:
    """The findings of a scorer that failed, and the end of what its command printed; whether there were any."""
    if result.verdict != "FAIL" or not (result.findings or result.output_tail):
        return False
    say(f"\n{one_line(result.name)}")
    for finding in result.findings[:FINDINGS]:
        line = "" if finding.line is None else f":{finding.line}"
        said = redact_text(f"{finding.path}{line}: {finding.rule}: {finding.message}")
        say(f"  {one_line(said)}")
    if len(result.findings) > FINDINGS:
        say(f"  … and {len(result.findings) - FINDINGS} more (--json shows them)")
    for text in redact_text(result.output_tail).rstrip("\n").split("\n") if result.output_tail else ():
        say(f"  | {text}")
    return True
