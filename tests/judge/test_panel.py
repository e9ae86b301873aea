"""A panel: the majority's verdict, mean ratings, every member kept."""

from typing import Any

import pytest

from steelyard.domain.grade import JudgeResult
from steelyard.judge.panel import combine, votes


def member(verdict: Any, rating: int | None = 3, **more: Any) -> JudgeResult:
    """One judge's result."""
    ratings = dict.fromkeys(("task_completion", "instruction_adherence", "efficiency"), rating)
    mode = "other" if verdict == "FAIL" else None
    base = {"backend": "b", "model": "m", "prompt_version": "1", "duration_s": 1.0, "scored_at": "then"}
    return JudgeResult.model_validate(
        {"verdict": verdict, **ratings, "failure_mode": mode, **base, **more}, strict=False
    )


def panel(*members: JudgeResult) -> JudgeResult:
    """Their common result."""
    return combine(members, 2.0, "now")


@pytest.mark.parametrize(
    ("cast", "verdict"),
    [
        ("PPF", "PASS"),
        ("PFF", "FAIL"),
        ("PF", "FAIL"),
        ("PPFF", "FAIL"),
        ("PU", "PASS"),
        ("PFU", "FAIL"),
        ("UU", "UNPARSEABLE"),
    ],
)
def test_the_majority_of_readable_verdicts_counts(cast: str, verdict: str) -> None:
    """A tie fails; who can't be read has no vote."""
    names = {"P": "PASS", "F": "FAIL", "U": "UNPARSEABLE"}
    result = panel(*(member(names[vote], None if vote == "U" else 3) for vote in cast))

    assert result.verdict == verdict
    assert len(result.members) == len(cast)
    assert ("disagree" in result.reasoning) is (len(set(cast)) > 1)
    assert (result.judge01 is None) is (verdict == "UNPARSEABLE")


def test_ratings_are_means() -> None:
    """Rounded half up where they are shown, exact in judge01."""
    result = panel(member("PASS", 4), member("PASS", 5))

    assert result.task_completion == 5
    assert result.judge01 == pytest.approx((0.75 + 1.0) / 2)


def test_the_most_named_failure_counts() -> None:
    """Of equals the first of the list."""
    modes = ("other", "no_op", "incomplete", "no_op")
    assert panel(*(member("FAIL", failure_mode=mode) for mode in modes)).failure_mode == "no_op"
    assert panel(*(member("FAIL", failure_mode=mode) for mode in ("other", "refused"))).failure_mode == "refused"


def test_costs_add_up_and_unknown_stays_unknown() -> None:
    """Money and tokens of all members; one that does not tell makes the sum unknown."""
    paid: dict[str, Any] = {"cost_usd": 0.5, "input_tokens": 10}
    both = panel(member("PASS", **paid), member("PASS", **paid))
    one = panel(member("PASS", **paid), member("PASS"))

    assert (both.cost_usd, both.input_tokens) == (1.0, 20)
    assert (one.cost_usd, one.input_tokens) == (None, None)
    assert (both.backend, both.model, both.duration_s, both.scored_at) == ("panel", "m, m", 2.0, "now")


def test_the_same_claim_is_listed_once() -> None:
    """Fact checks of all members, without repetition."""
    same: dict[str, Any] = {"fact_checks": [{"claim": "a", "evidence": "b", "status": "supported"}]}

    assert len(panel(member("PASS", **same), member("PASS", **same)).fact_checks) == 1


def test_votes_in_words() -> None:
    """What people read first."""
    assert votes([member("PASS"), member("FAIL")]) == "a panel of 2: 1 PASS, 1 FAIL; they disagree"
    assert votes([member("PASS")]) == "a panel of 1: 1 PASS"


def test_a_panel_survives_storing() -> None:
    """As JSON and back, with its members."""
    result = panel(member("PASS", 4), member("FAIL", 1))

    assert JudgeResult.model_validate_json(result.model_dump_json()) == result
