"""The scorecard: the seed's tables, its example, rounding, and what happens to measurements that can't be."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.domain.grade import ScorerResult, Verdict
from steelyard.domain.run import Parity, Run, StageAttempt
from steelyard.domain.score import Weights
from steelyard.domain.usage import Resources
from steelyard.formulas.scorecard import (
    DEFAULT_WEIGHTS,
    RunFacts,
    error_rate_axis,
    facts_of,
    latency_axis,
    resource_axis,
    rolling_p50,
    score_facts,
    score_run,
    stages_of,
    tier_of,
    weighted_score,
)

NOT_MEASURED = [math.nan, math.inf, -math.inf, -1.0]


def run_with(**fields: Any) -> Run:
    """A finished run with the given facts."""
    known: dict[str, Any] = {
        "run_id": "r",
        "experiment": "e",
        "workspace": "w",
        "task_id": "t",
        "arm": "a",
        "repeat": 1,
        "task_sha256": "0",
        "status": "completed",
        "outcome": "COMPLETED",
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:00:10Z",
        "wall_s": 10.0,
        "parity": Parity(agent="scripted", sandbox="local"),
    }
    return Run(**(known | fields))


def attempt(name: str, number: int, *, passed: bool) -> StageAttempt:
    """One try of a stage."""
    return StageAttempt(name=name, attempt=number, exit_code=0 if passed else 1, passed=passed, duration_s=1.0)


@pytest.mark.parametrize(("outcome", "points"), [("COMPLETED", 100), ("BLOCKED", 30), ("FAILED", 0)])
def test_completion_is_the_seeds_table(outcome: str, points: int) -> None:
    """COMPLETED, BLOCKED and FAILED are worth 100, 30 and 0."""
    assert score_facts(RunFacts("r", outcome)).completion == points


@pytest.mark.parametrize(
    ("score", "tier"),
    [
        (None, "Unranked"),
        (0, "Bronze"),
        (39, "Bronze"),
        (40, "Silver"),
        (69, "Silver"),
        (70, "Gold"),
        (89, "Gold"),
        (90, "Elite"),
        (100, "Elite"),
    ],
)
def test_tiers_are_the_seeds_table(score: int | None, tier: str) -> None:
    """Both ends of every range carry its name; no score is Unranked."""
    assert tier_of(score) == tier


def test_the_seeds_example_comes_out() -> None:
    """Axes of 100, 85, 72 and 93 make a score of 89, which is Gold."""
    assert weighted_score(100, 85, 72, 93, DEFAULT_WEIGHTS) == 89
    assert tier_of(89) == "Gold"


@pytest.mark.parametrize(
    ("stages", "points"),
    [
        ([("lint", 1, True), ("build", 1, True), ("test", 1, True)], 100),
        ([("lint", 1, True), ("build", 1, True), ("test", 3, True)], 67),
        ([("lint", 1, False)], 0),
        ([("lint", 1, True), ("test", 1, False)], 50),
        ([("a", 1, True)] + [("b", 2, True)] * 7, 13),  # 12.5 rounds half up
        ([("never", 0, False)], None),
        ([], None),
    ],
)
def test_error_rate_counts_first_attempts(stages: list[tuple[str, int, bool]], points: int | None) -> None:
    """Stages passed at the first attempt over stages executed; a stage without attempts was not executed."""
    assert error_rate_axis(stages) == points


@pytest.mark.parametrize(
    ("wall", "points"),
    [(0.0, 100), (5.0, 100), (10.0, 80), (12.5, 70), (20.0, 40), (30.0, 0), (90.0, 0), (10.125, 80), (29.875, 1)],
)
def test_latency_against_a_p50_of_ten_seconds(wall: float, points: int) -> None:
    """Half the usual time is 100, the usual time 80, three times 0; halves round up."""
    assert latency_axis(wall, 10.0) == points


@pytest.mark.parametrize("bad", [*NOT_MEASURED, None])
def test_latency_without_a_measurement_is_no_axis(bad: float | None) -> None:
    """A wall time or baseline that is not a finite number of at least 0 gives no axis."""
    assert latency_axis(bad, 10.0) is None
    assert latency_axis(10.0, bad) is None
    assert latency_axis(10.0, 0.0) is None


def test_half_up_is_meant_of_the_decimal_numbers() -> None:
    """1.0125 times the p50 is 79.5 on paper and rounds to 80, although its float lies below."""
    assert latency_axis(1.0125, 1.0) == 80
    assert latency_axis(1.01251, 1.0) == 79


@pytest.mark.parametrize(
    ("history", "p50"),
    [
        ([], None),
        ([1.0] * 4, None),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 3.0),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3.5),
        ([1000.0] * 30 + [1.0] * 20, 1.0),  # only the last 20 count
        ([math.nan, -1.0, math.inf, 1.0, 1.0, 1.0, 1.0], None),  # four of them are usable
        ([2.0] * 5 + [math.nan], 2.0),
    ],
)
def test_the_rolling_baseline(history: list[float], p50: float | None) -> None:
    """The median of the last 20 usable runs, at least 5 of them."""
    assert rolling_p50(history) == p50


@pytest.mark.parametrize(
    ("measured", "points"),
    [
        ({"peak_memory_mb": 0.0, "memory_limit_mb": 100.0, "cpu_periods": 10, "cpu_throttled_periods": 0}, 100),
        ({"peak_memory_mb": 100.0, "memory_limit_mb": 100.0, "cpu_periods": 10, "cpu_throttled_periods": 10}, 0),
        ({"peak_memory_mb": 150.0, "memory_limit_mb": 100.0, "cpu_periods": 10, "cpu_throttled_periods": 99}, 0),
        ({"peak_memory_mb": 50.0, "memory_limit_mb": 100.0, "cpu_periods": 0}, 65),
        ({"peak_memory_mb": 10.0, "memory_limit_mb": 100.0}, 78),  # cpu unknown: 63 + 15
        ({"cpu_periods": 10, "cpu_throttled_periods": 10**400}, 35),  # a count that no float holds
        ({"cpu_periods": 4, "cpu_throttled_periods": 1}, 58),  # memory unknown: 35 + 22.5, half up
        ({"peak_memory_mb": 10.0, "memory_limit_mb": 0.0}, None),
        ({"cpu_periods": 4}, None),
        ({}, None),
    ],
)
def test_resource_efficiency(measured: dict[str, Any], points: int | None) -> None:
    """Memory counts 70 %, CPU 30 %; an unknown part counts 50, and with both unknown there is no axis."""
    assert resource_axis(Resources(**measured)) == points


def test_nothing_known_is_fifty_everywhere_it_can_be_and_says_so() -> None:
    """Without stages, history and resources three axes are 50 and are named."""
    card = score_run(RunFacts("r", "COMPLETED", wall_s=3.0))
    assert (card.axes.error_rate, card.axes.latency, card.axes.resource_efficiency) == (50, 50, 50)
    assert card.defaulted_axes == ("error_rate", "latency", "resource_efficiency")
    assert (card.score, card.tier, card.formula_version) == (70, "Gold", "2")


def test_an_outcome_that_is_none_is_a_default_too() -> None:
    """Scoring never fails: an unknown outcome is 50 and is named."""
    scored = score_facts(RunFacts("r", "EXPLODED"))
    assert scored.completion == 50
    assert "completion" in scored.defaulted


@pytest.mark.parametrize(
    ("weights", "fine"),
    [
        ((0.25, 0.25, 0.25, 0.25), True),
        ((0.4, 0.3, 0.2, 0.1001), True),
        ((0.4, 0.3, 0.2, 0.1002), False),
        ((1.1, 0.0, 0.0, -0.1), False),
        ((math.nan, 0.0, 0.0, 0.0), False),
        ((1.0, 0.0, 0.0, 0.0), True),
    ],
)
def test_weights_are_refused_unless_they_make_one(weights: tuple[float, ...], fine: bool) -> None:
    """Each at least 0, together 1 within 0.0001."""
    names = ("completion", "error_rate", "latency", "resource_efficiency")
    if fine:
        assert Weights(**dict(zip(names, weights, strict=True)))
    else:
        with pytest.raises(ValidationError):
            Weights(**dict(zip(names, weights, strict=True)))


def test_a_stage_that_passed_at_once_keeps_it_when_the_loop_starts_over() -> None:
    """Lint and build pass at once, test needs two repairs: two of three stages passed at the first attempt."""
    tries = [attempt(name, k, passed=name != "test" or k == 3) for k in (1, 2, 3) for name in ("lint", "build", "test")]
    assert stages_of(run_with(stages=tuple(tries))) == (("lint", 1, True), ("build", 1, True), ("test", 3, True))


def test_without_stages_the_required_command_scorers_are_stages() -> None:
    """Advisory, crashed, inapplicable and other scorers are not."""

    def result(name: str, verdict: Verdict, **fields: Any) -> ScorerResult:
        known: dict[str, Any] = {"type": "command", "score": None, "required": True, "detail": "", "duration_s": 0.0}
        return ScorerResult(name=name, verdict=verdict, **(known | fields))

    scorers = (
        result("tests", "PASS"),
        result("lint", "FAIL"),
        result("advisory", "PASS", required=False),
        result("crashed", "FAIL", crashed=True),
        result("none", "N/A"),
        result("paths", "PASS", type="allowed_paths"),
    )
    facts = facts_of(run_with(scorers=scorers), [10.0] * 5)
    assert facts.stages == (("tests", 1, True), ("lint", 1, False))
    assert (score_facts(facts).error_rate, score_facts(facts).latency) == (50, 80)


anything = st.floats(allow_nan=True, allow_infinity=True)
axis = st.integers(0, 100)


@given(anything, st.lists(anything, max_size=30), anything)
def test_any_telemetry_gives_a_score_between_0_and_100(wall: float, history: list[float], p50: float) -> None:
    """Whatever was measured, scoring gives whole numbers in range and never raises."""
    for facts in (RunFacts("r", "BLOCKED", (), wall, history), RunFacts("r", "FAILED", (), wall, (), p50)):
        scored = score_facts(facts)
        assert all(0 <= value <= 100 for value in scored[:5])


@given(axis, axis, axis, axis)
def test_the_quick_sum_is_the_exact_sum(a: int, b: int, c: int, d: int) -> None:
    """The defaults in whole tenths, and the same weights as any others, both round the exact sum half up."""
    exact = math.floor(Fraction(4 * a + 3 * b + 2 * c + d, 10) + Fraction(1, 2))
    assert weighted_score(a, b, c, d, DEFAULT_WEIGHTS) == exact
    assert weighted_score(a, b, c, d, Weights()) == exact


@given(st.decimals("0.001", "100", places=3), st.decimals("0.001", "100", places=3))
def test_latency_rounds_the_exact_quotient(wall: Any, p50: Any) -> None:
    """The axis is the exact value of the formula on the decimals, rounded half up."""
    exact = 40 * (3 - Fraction(wall) / Fraction(p50))
    expected = math.floor(min(max(exact, Fraction(0)), Fraction(100)) + Fraction(1, 2))
    assert latency_axis(float(wall), float(p50)) == expected


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.001, 1e6))
def test_slower_is_never_better(a: float, b: float, p50: float) -> None:
    """The latency axis falls, or stays, as time goes up."""
    slow, quick = latency_axis(max(a, b), p50), latency_axis(min(a, b), p50)
    assert slow is not None
    assert quick is not None
    assert slow <= quick


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 4), st.booleans()), max_size=12))
def test_stages_in_any_order_give_the_same_rate(stages: list[tuple[str, int, bool]]) -> None:
    """The error rate looks at how many, not at which came first."""
    assert error_rate_axis(stages) == error_rate_axis(list(reversed(stages)))
