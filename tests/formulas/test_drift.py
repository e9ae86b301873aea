"""Drift: a week against the week before, with an interval."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.formulas.drift import CONFIDENCE, LEAST_RUNS, Sums, drift_of, may_have_drifted, student_quantile

SCORES = st.lists(st.integers(0, 100), max_size=60)
ENOUGH = st.lists(st.integers(0, 100), min_size=LEAST_RUNS, max_size=60)


def test_the_worked_example_of_the_documentation() -> None:
    """20 runs with mean 80, 20 with mean 60, both with standard deviation 10: -20 ± 11.3."""
    spread = [-10, 10] * 9 + [-5, 5]
    last, this = (Sums.of(mean + step for step in spread) for mean in (80, 60))
    drift = drift_of(this, last)

    assert drift.delta == -20.0
    assert drift.interval is not None
    assert drift.interval == pytest.approx((-31.0, -9.0), abs=0.5)
    assert drift.drifted == "down"


@pytest.mark.parametrize("freedom", [1.0, 2.5, 9.0, 18.7, 100.0, 12_345.6])
def test_the_quantile_is_students(freedom: float) -> None:
    """The same as SciPy's."""
    assert student_quantile(freedom) == pytest.approx(float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)), rel=1e-8)


@given(ENOUGH, ENOUGH)
def test_the_interval_is_welchs(this: list[int], last: list[int]) -> None:
    """The same as SciPy's for any scores; the difference itself where there is no spread."""
    drift = drift_of(Sums.of(this), Sums.of(last))

    assert drift.interval is not None
    if len(set(this)) == len(set(last)) == 1:
        assert drift.interval == (drift.delta, drift.delta)
        return
    expected = stats.ttest_ind(this, last, equal_var=False).confidence_interval(CONFIDENCE)
    assert drift.interval == pytest.approx((float(expected.low), float(expected.high)), rel=1e-6, abs=1e-6)


@given(SCORES, SCORES)
def test_drift_is_told_only_with_reason(this: list[int], last: list[int]) -> None:
    """A drift has enough runs, at least a point, and an interval without 0 on the side it says."""
    drift = drift_of(Sums.of(this), Sums.of(last))

    if min(len(this), len(last)) < LEAST_RUNS:
        assert (drift.interval, drift.drifted) == (None, None)
    if drift.drifted is not None:
        assert drift.delta is not None
        assert drift.interval is not None
        assert abs(drift.delta) >= 1.0
        assert drift.interval[0] > 0 if drift.drifted == "up" else drift.interval[1] < 0
        assert may_have_drifted(Sums.of(this), Sums.of(last)), "the quick look never misses one"


@given(SCORES, SCORES)
def test_turning_the_weeks_round_turns_the_drift_round(this: list[int], last: list[int]) -> None:
    """What went up one way went down the other way."""
    there, back = drift_of(Sums.of(this), Sums.of(last)), drift_of(Sums.of(last), Sums.of(this))

    assert (there.drifted, back.drifted) in {(None, None), ("up", "down"), ("down", "up")}
    if there.delta is not None and back.delta is not None:
        assert there.delta == pytest.approx(-back.delta)


@given(SCORES, SCORES)
def test_sums_add_up_however_they_are_split(one: list[int], two: list[int]) -> None:
    """Days that are added give the week's own mean and variance, exactly."""
    together = Sums.of(one).plus(Sums.of(two))

    assert together == Sums.of(one + two)
    if one + two:
        assert together.mean == pytest.approx(statistics.mean(one + two))
    if len(one + two) > 1:
        assert together.variance == pytest.approx(statistics.variance(one + two))


def test_the_same_agent_seldom_drifts() -> None:
    """Two thousand pairs of weeks of an agent that does not change: hardly one in a hundred is taken for drift."""
    chance = random.Random(7)

    def week() -> Sums:
        return Sums.of(min(100, max(0, round(chance.gauss(75, 15)))) for _ in range(40))

    assert sum(drift_of(week(), week()).drifted is not None for _ in range(2000)) <= 10


def test_a_real_change_is_found() -> None:
    """An agent that loses 15 points of a hundred is told of nearly always."""
    chance = random.Random(8)

    def week(mean: float) -> Sums:
        return Sums.of(min(100, max(0, round(chance.gauss(mean, 12)))) for _ in range(60))

    assert sum(drift_of(week(65), week(80)).drifted == "down" for _ in range(200)) >= 190
