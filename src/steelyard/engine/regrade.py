"""Grades a stored run again, from its baseline and its stored diff, without the agent.

The tree before the agent came is planted anew (seed, overlay, setup) and must be what it was then; the diff is applied
exactly. What can't be made again is said in one line, never guessed at.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from steelyard import plugins
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import ScorerResult
from steelyard.domain.run import Run
from steelyard.domain.trajectory import Trajectory
from steelyard.engine.boxes import open_sandbox, run_setup
from steelyard.engine.grading import grade_tree, restore, take_out
from steelyard.engine.lab import Job, Lab
from steelyard.errors import InputError
from steelyard.formulas.outcome import Ending, outcome
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.panel import grade
from steelyard.worktree.diff import CapturedChange, capture
from steelyard.worktree.remove import remove_tree
from steelyard.worktree.restore import apply_patch
from steelyard.worktree.snapshot import Baseline, take_baseline
from steelyard.worktree.template import Template


@dataclass(frozen=True)
class Stored:
    """A run as it is stored, and its artifacts by name (`diff`, `trajectory`, `stderr`)."""

    run: Run
    blobs: Mapping[str, bytes]


def regrade(stored: Stored, job: Job, lab: Lab) -> tuple[ScorerResult, ...]:
    """What the scorers of the job's task say of the run now; `InputError` or `RunError` when that can't be known."""
    scratch = lab.scratch / f"again-{stored.run.run_id[-40:]}".replace("/", "_")
    scorers: list[Scorer] = [plugins.build("scorers", spec) for spec in job.task.task.scorers]
    if not scorers:
        return ()
    try:
        with ExitStack() as stack:
            return _graded(scorers, stored, job, lab, (scratch, stack))
    finally:
        remove_tree(scratch)


def why_not(run: Run) -> str | None:
    """Why a run has nothing that could be graded again; None when it may have."""
    if run.imported is not None:
        return "it was imported: there is no diff"
    if run.is_ledger:
        return "a ledger run has no code tree"
    if run.is_infrastructure:
        return f"an infrastructure failure ({run.error_class}) has nothing to grade"
    if run.baseline_tree is None:
        return "its baseline was not recorded"
    return None


def outcome_of(run: Run, scorers: tuple[ScorerResult, ...]) -> Run:
    """The run as it would have come out under these results."""
    now = run.model_copy(update={"scorers": scorers})
    if run.stages or run.error_class is not None:
        return now  # decided by the stages or by the failure, whatever the scorers say
    ending = Ending(bool(run.changed_files), ended_normally=True, stages_pass=None, scorers=scorers)
    return now.model_copy(update={"outcome": outcome(ending)})


def _graded(
    scorers: list[Scorer], stored: Stored, job: Job, lab: Lab, places: tuple[Path, ExitStack]
) -> tuple[ScorerResult, ...]:
    scratch, stack = places
    task = job.task.task
    if task.seed is None:
        raise InputError("its task has no seed to plant")
    scratch.mkdir(parents=True, mode=0o700)
    overlay = lab.suite_root / job.arm.overlay if job.arm.overlay else None
    template = lab.templates.get(task.seed, lab.suite_root, overlay)
    sandbox = None
    if task.setup or any(scorer.uses_sandbox or scorer.type == "file_exists" for scorer in scorers):
        sandbox = _planted(job, lab, template, scratch, stack)
    baseline = template.baseline
    if task.setup and sandbox is not None:
        baseline = take_baseline(sandbox.collect_tree(), scratch / "base", over=template.baseline)
    change = _changed(stored, baseline, scratch)
    evidence = _evidence(stored, job, change)
    if sandbox is None:
        return grade(scorers, evidence, None, clock=lab.clock.monotonic)
    take_out(sandbox, change)
    restore(sandbox, change)
    return grade_tree(evidence, change, _live(job), lab, sandbox, scratch / "fresh")


def _live(job: Job) -> Job:
    """The job with `grading: live`: the sandbox that was planted for it is fresh already."""
    task = job.task.task.model_copy(update={"grading": "live"})
    return replace(job, task=job.task.model_copy(update={"task": task}))


def _planted(job: Job, lab: Lab, template: Template, scratch: Path, stack: ExitStack) -> Sandbox:
    tree = scratch / "tree"
    template.copy_to(tree)
    sandbox = open_sandbox(job, lab, tree, scratch / "box", stack)
    run_setup(job.task.task.setup, job.task.task.limits.timeout_s, sandbox)
    return sandbox


def _changed(stored: Stored, baseline: Baseline, scratch: Path) -> CapturedChange:
    """The captured change again: the stored diff on the baseline, which must be the one it was made against."""
    if baseline.tree_id != stored.run.baseline_tree:
        raise InputError(
            "the tree before the agent came is another than it was then: its seed, overlay or setup has changed since"
        )
    after = scratch / "after"
    apply_patch(baseline, stored.blobs.get("diff", b""), after)
    return capture(after, baseline, scratch / "kept")


def _evidence(stored: Stored, job: Job, change: CapturedChange) -> Evidence:
    run = stored.run
    trajectory = None
    if "trajectory" in stored.blobs:
        try:
            trajectory = Trajectory.model_validate_json(stored.blobs["trajectory"])
        except ValidationError as error:
            raise InputError("its stored trajectory can't be read") from error
    return Evidence(
        task=job.task.task,
        diff=change.diff,
        before=change.before,
        after=change.after,
        baseline_files=change.baseline_files,
        trajectory=trajectory,
        final_response=run.final_response,
        stages=run.stages,
        command_output=stored.blobs.get("stderr", b"").decode("utf-8", "replace")[-20_000:],
        exit_code=run.turns[-1].exit_code if run.turns else None,
    )
