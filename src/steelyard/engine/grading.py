"""Grading in the still-live sandbox, or in a fresh one made of baseline + diff."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from steelyard import plugins
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import ScorerResult
from steelyard.engine.boxes import open_sandbox, run_setup
from steelyard.engine.lab import Job, Lab
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.panel import grade
from steelyard.worktree.diff import CapturedChange
from steelyard.worktree.remove import remove_tree
from steelyard.worktree.restore import drop_compiled, need_whole, put_back


def grade_tree(
    evidence: Evidence, change: CapturedChange, job: Job, lab: Lab, live: Sandbox, fresh: Path
) -> tuple[ScorerResult, ...]:
    """Every scorer's answer. With `grading: fresh` nothing the agent left outside the diff exists for the commands.

    A scorer that asks for a fresh sandbox of its own gets one, in which no other command has run before.
    """
    task = job.task.task
    scorers: list[Scorer] = [plugins.build("scorers", spec) for spec in task.scorers]
    alone = [index for index, scorer in enumerate(scorers) if scorer.fresh_sandbox]
    together = [index for index in range(len(scorers)) if index not in alone]
    results: dict[int, ScorerResult] = {}
    for number, group in enumerate([together, *([index] for index in alone)]):
        chosen = [scorers[index] for index in group]
        place = fresh.with_name(f"{fresh.name}-{number}") if number else fresh
        with ExitStack() as stack:
            sandbox = live
            if number or (task.grading == "fresh" and any(scorer.uses_sandbox for scorer in chosen)):
                sandbox = fresh_sandbox(change, job, lab, place, stack)
            elif change.compiled and any(scorer.uses_sandbox for scorer in chosen):
                sandbox.push(drop_compiled(sandbox.collect_tree(), change))
            between = _putting_back(sandbox, change)
            answers = grade(chosen, evidence, sandbox, clock=lab.clock.monotonic, between=between)
            results |= dict(zip(group, answers, strict=True))
        remove_tree(place)
    return tuple(results[index] for index in range(len(scorers)))


def _putting_back(sandbox: Sandbox, change: CapturedChange) -> Callable[[], list[str]]:
    def between() -> list[str]:
        sandbox.kill_all()
        return restore(sandbox, change)

    return between


def fresh_sandbox(change: CapturedChange, job: Job, lab: Lab, scratch: Path, stack: ExitStack) -> Sandbox:
    """Seed and set up anew, as before the agent came, then put its captured change on top."""
    task = job.task.task
    need_whole(change)
    assert task.seed is not None  # noqa: S101  # ledger runs have no scorers
    overlay = lab.suite_root / job.arm.overlay if job.arm.overlay else None
    tree = scratch / "tree"
    scratch.mkdir(parents=True, mode=0o700)
    lab.templates.get(task.seed, lab.suite_root, overlay).copy_to(tree)
    sandbox = open_sandbox(job, lab, tree, scratch / "box", stack)
    run_setup(task.setup, task.limits.timeout_s, sandbox)
    take_out(sandbox, change)
    restore(sandbox, change)
    return sandbox


def take_out(sandbox: Sandbox, change: CapturedChange) -> None:
    """Remove what the agent removed from a tree that was planted anew: nothing of the agent's has run there yet.

    What it made a fifo, socket or device of is removed too: none can be made again, and the file must not come back.
    """
    kept = {path for path, entry in change.entries.items() if entry.is_file or entry.is_link}
    gone = sorted(path for path in change.baseline.entries if path not in kept)
    if not gone:
        return
    tree = sandbox.collect_tree()
    top = tree.resolve()
    for path in gone:
        place = tree / path
        if place.parent.resolve().is_relative_to(top) and (place.is_symlink() or place.is_file()):
            place.unlink()
            _remove_empty(place.parent, tree)
    sandbox.push(gone)


def _remove_empty(folder: Path, tree: Path) -> None:
    """A directory that held nothing else goes with its last file, as in git."""
    while folder != tree and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def restore(sandbox: Sandbox, change: CapturedChange) -> list[str]:
    """Make the sandbox's tree what was captured; say which files had to be put back."""
    tree = sandbox.collect_tree()
    paths = put_back(tree, change)
    sandbox.push(paths)
    return paths
