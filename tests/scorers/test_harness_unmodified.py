"""harness_unmodified: what bends the runner is seen, what is ordinary is let pass."""

from typing import Any

import pytest

from steelyard.scorers.harness_unmodified import HarnessUnmodified
from tests.scorers.harness.benign import BENIGN
from tests.scorers.harness.hostile import HOSTILE
from tests.scorers.harness.support import evidence_of

SCORER = HarnessUnmodified(name="harness")


@pytest.mark.parametrize(("rule", "before", "after"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_bent_runner_is_seen(rule: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """The change fails, by the rule that is meant for it, at a place in the changed file."""
    grade = SCORER.score(evidence_of(before, after), None)

    assert grade.verdict == "FAIL", grade.detail
    assert rule in {finding.rule for finding in grade.findings}, grade.detail
    assert all(finding.path in after and finding.line and finding.message for finding in grade.findings)


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in BENIGN], ids=[row[0] for row in BENIGN])
def test_an_ordinary_change_passes(before: dict[str, Any], after: dict[str, Any]) -> None:
    """No false alarm."""
    grade = SCORER.score(evidence_of(before, after), None)

    assert grade.verdict == "PASS", grade.detail
