"""What scorers and the judge look at: the frozen task, the change, both sides of each file, what was said and run."""

from collections.abc import Callable
from dataclasses import dataclass, field

from steelyard.domain.diff import Diff
from steelyard.domain.grade import ScorerResult
from steelyard.domain.run import StageAttempt
from steelyard.domain.suite import Task
from steelyard.domain.trajectory import Trajectory


def nothing(_path: str) -> bytes | None:
    """A side without files."""
    return None


@dataclass(frozen=True)
class Evidence:
    """Built once per run and shared.

    `before` and `after` read a regular file of the baseline or of the tree as it was
    captured when the agent had ended: None when it was not there. What they return can't change any more.
    """

    task: Task
    diff: Diff = Diff()
    before: Callable[[str], bytes | None] = nothing
    after: Callable[[str], bytes | None] = nothing
    baseline_files: frozenset[str] = frozenset()
    trajectory: Trajectory | None = None
    final_response: str = ""
    stages: tuple[StageAttempt, ...] = ()
    scorers: tuple[ScorerResult, ...] = ()
    command_output: str = ""
    exit_code: int | None = None
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def changed_files(self) -> tuple[str, ...]:
        """Every path that differs from the baseline."""
        return self.diff.changed_files
