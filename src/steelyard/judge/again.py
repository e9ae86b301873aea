"""A stored run as evidence again, without a sandbox, and what a new verdict changes."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from steelyard.domain.diff import Diff
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import JudgeResult
from steelyard.domain.run import Run
from steelyard.domain.suite import Task
from steelyard.domain.trajectory import Trajectory
from steelyard.errors import InputError
from steelyard.judge.consult import NO_VERDICT
from steelyard.judge.request import RATINGS
from steelyard.worktree.patch import parse_patch

ARTIFACTS = ("diff", "trajectory", "stderr")


def why_not(run: Run) -> str | None:
    """Why there is nothing to judge; None when there is."""
    if run.imported is not None:
        return "it was imported: there is nothing to judge"
    if run.is_infrastructure:
        return f"an infrastructure failure ({run.error_class}) is not judged"
    return None


def evidence_of(run: Run, task: Task, blobs: Mapping[str, bytes]) -> Evidence:
    """What a judge read when the run ended, from the frozen task, the run and its stored artifacts by name."""
    trajectory = None
    if "trajectory" in blobs:
        try:
            trajectory = Trajectory.model_validate_json(blobs["trajectory"])
        except ValidationError as error:
            raise InputError("its stored trajectory can't be read") from error
    try:
        patch = b"" if task.is_ledger else blobs.get("diff", b"")
        diff = Diff(patch, parse_patch(patch))
    except InputError as error:
        raise InputError(f"its stored diff can't be read: {error}") from error
    printed = b"" if task.is_ledger else blobs.get("stderr", b"")
    return Evidence(
        task=task,
        diff=diff,
        trajectory=trajectory,
        final_response=run.final_response,
        stages=run.stages,
        scorers=run.scorers,
        command_output=printed.decode("utf-8", "replace")[-20_000:],
        exit_code=run.turns[-1].exit_code if run.turns else None,
    )


def unanswered(judged: JudgeResult) -> str | None:
    """Why no reply came at all; None when one came, readable or not."""
    if judged.verdict != "UNPARSEABLE":
        return None
    if judged.members:
        reasons = [unanswered(member) for member in judged.members]
        return None if None in reasons else "; ".join(dict.fromkeys(str(reason) for reason in reasons))
    return judged.reasoning.removeprefix(NO_VERDICT) if judged.reasoning.startswith(NO_VERDICT) else None


@dataclass(frozen=True)
class Flip:
    """What a new judgement says otherwise: names of what changed, with before and after."""

    run: Run
    before: JudgeResult | None
    after: JudgeResult

    @property
    def verdict_flips(self) -> bool:
        """Whether the verdict itself is another; a run that was not judged before has none to flip."""
        return self.before is not None and self.before.verdict != self.after.verdict

    @property
    def changes(self) -> dict[str, tuple[object, object]]:
        """Verdict, failure mode and ratings, those that differ."""
        names = ("verdict", "failure_mode", *RATINGS)
        pairs = {name: (getattr(self.before, name, None), getattr(self.after, name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
