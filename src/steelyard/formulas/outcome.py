"""How a run came out (COMPLETED, BLOCKED, FAILED), from what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.domain.grade import ScorerResult
from steelyard.domain.run import Outcome


@dataclass(frozen=True, slots=True)
class Ending:
    """What decides the outcome. `stages_pass` is None when the scenario has no stages."""

    usable: bool
    ended_normally: bool
    stages_pass: bool | None
    scorers: Sequence[ScorerResult] = ()


def outcome(ending: Ending) -> Outcome:
    """COMPLETED: all stages pass (without stages: no required scorer fails), and the agent ended normally.

    BLOCKED: there is usable output, but a check fails or a limit was hit after work was done.
    FAILED: there is no usable output.
    """
    if ending.ended_normally:
        required_fail = any(result.required and result.verdict == "FAIL" for result in ending.scorers)
        if ending.stages_pass is True or (ending.stages_pass is None and not required_fail):
            return "COMPLETED"
    return "BLOCKED" if ending.usable else "FAILED"
