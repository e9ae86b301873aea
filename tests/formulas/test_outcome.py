"""COMPLETED, BLOCKED, FAILED."""

import pytest

from steelyard.domain.grade import ScorerResult, Verdict
from steelyard.formulas.outcome import Ending, outcome


def scorer(verdict: Verdict, *, required: bool = True) -> ScorerResult:
    """A scorer's answer."""
    score = {"PASS": 1.0, "FAIL": 0.0, "N/A": None}[verdict]
    return ScorerResult(
        name="s", type="command", verdict=verdict, score=score, required=required, detail="", duration_s=0.0
    )


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (Ending(usable=True, ended_normally=True, stages_pass=True), "COMPLETED"),
        (Ending(usable=False, ended_normally=True, stages_pass=True), "COMPLETED"),
        (Ending(usable=True, ended_normally=True, stages_pass=False), "BLOCKED"),
        (Ending(usable=False, ended_normally=True, stages_pass=False), "FAILED"),
        (Ending(usable=True, ended_normally=False, stages_pass=None), "BLOCKED"),
        (Ending(usable=False, ended_normally=False, stages_pass=None), "FAILED"),
        (Ending(usable=True, ended_normally=True, stages_pass=None, scorers=(scorer("PASS"),)), "COMPLETED"),
        (Ending(usable=True, ended_normally=True, stages_pass=None, scorers=(scorer("FAIL"),)), "BLOCKED"),
        (Ending(usable=False, ended_normally=True, stages_pass=None, scorers=(scorer("FAIL"),)), "FAILED"),
        (
            Ending(usable=True, ended_normally=True, stages_pass=None, scorers=(scorer("FAIL", required=False),)),
            "COMPLETED",
        ),
        (Ending(usable=True, ended_normally=True, stages_pass=None, scorers=(scorer("N/A"),)), "COMPLETED"),
        (Ending(usable=True, ended_normally=True, stages_pass=None), "COMPLETED"),
        (Ending(usable=True, ended_normally=True, stages_pass=True, scorers=(scorer("FAIL"),)), "COMPLETED"),
    ],
)
def test_outcome_table(ending: Ending, expected: str) -> None:
    """Stages decide where there are any; usable output tells BLOCKED from FAILED."""
    assert outcome(ending) == expected
