"""The composite: the seed's formula by hand, its bounds, and the cost term against a reference."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.formulas.composite import (
    COST_WEIGHT,
    W_JUDGE,
    W_OBJ,
    Cost,
    base_score,
    composite,
    cost_adjustment,
    cost_ratio,
    objective01,
    reference_cost,
)

unit = st.floats(0, 1)
amount = st.none() | st.floats(0, 1e9)
costs = st.builds(Cost, amount, amount, amount, amount)


def test_the_constants_are_the_seeds() -> None:
    """Objective 0.6, judge 0.4, cost at most 0.1."""
    assert (W_OBJ, W_JUDGE, COST_WEIGHT) == (0.6, 0.4, 0.1)


@pytest.mark.parametrize(("passed", "total", "value"), [(0, 0, 1.0), (0, 4, 0.0), (3, 4, 0.75), (4, 4, 1.0)])
def test_objective(passed: int, total: int, value: float) -> None:
    """Passed over total; a task without checks can't fail what it does not assert."""
    assert objective01(passed, total) == value


@pytest.mark.parametrize(
    ("obj01", "judge01", "value"), [(1.0, 0.5, 0.8), (0.5, 1.0, 0.7), (0.0, 1.0, 0.4), (0.75, None, 0.75)]
)
def test_base(obj01: float, judge01: float | None, value: float) -> None:
    """Without a judge's score the objective alone is the base: its weight is not kept at 1."""
    assert base_score(obj01, judge01) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("candidate", "reference", "ratio"),
    [
        (5.0, 10.0, 0.5),
        (0.0, 0.0, 1.0),
        (1.0, 0.0, 2.0),
        (None, 1.0, None),
        (1.0, None, None),
        (math.nan, 1.0, None),
        (1.0, math.inf, None),
        (-1.0, 1.0, None),
    ],
)
def test_one_cost_ratio(candidate: float | None, reference: float | None, ratio: float | None) -> None:
    """Unknown is never zero, and a reference of zero has a stated ratio."""
    assert cost_ratio(candidate, reference) == ratio


@pytest.mark.parametrize(
    ("candidate", "reference", "value"),
    [
        (Cost(50, 5, 5, 5.0), Cost(100, 10, 10, 10.0), 0.05),
        (Cost(200, 20, 20, 20.0), Cost(100, 10, 10, 10.0), -0.1),
        (Cost(900, 90, 90, 90.0), Cost(100, 10, 10, 10.0), -0.1),
        (Cost(50, None, None, 10.0), Cost(100, 10, None, 10.0), 0.025),
        (Cost(), Cost(100, 10, 10, 10.0), 0.0),
        (Cost(50, 5, 5, 5.0), None, 0.0),
        (Cost(0, 0, 0, 0.0), Cost(100, 10, 10, 10.0), 0.1),
    ],
)
def test_cost_adjustment(candidate: Cost, reference: Cost | None, value: float) -> None:
    """Cheaper is positive, pricier negative, never beyond 0.1; the baseline and the unknown get 0."""
    assert cost_adjustment(candidate, reference) == pytest.approx(value, abs=1e-12)


def test_the_reference_is_the_mean_of_what_is_known() -> None:
    """A run that does not know its tokens is left out of their mean."""
    assert reference_cost([Cost(10, None, 2, 1.0), Cost(30, None, None, 3.0)]) == Cost(20, None, 2, 2.0)
    assert reference_cost([]) == Cost()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_not_finite_stays_visible(bad: float) -> None:
    """It becomes not-a-number, which is a hard regression later, and never a quiet 0 or 1."""
    assert math.isnan(composite(bad, None))
    assert math.isnan(composite(1.0, bad))


@given(unit, st.none() | unit, costs, costs)
def test_composites_lie_between_0_and_1(obj01: float, judge01: float | None, mine: Cost, theirs: Cost) -> None:
    """Whatever the parts, the composite is in range and the same every time."""
    value = composite(obj01, judge01, cost_adjustment(mine, theirs))
    assert 0 <= value <= 1
    assert value == composite(obj01, judge01, cost_adjustment(mine, theirs))


@given(unit, unit, st.none() | unit, st.floats(-0.1, 0.1))
def test_more_checks_passed_is_never_worse(a: float, b: float, judge01: float | None, adjustment: float) -> None:
    """The composite rises, or stays, with the objective."""
    assert composite(min(a, b), judge01, adjustment) <= composite(max(a, b), judge01, adjustment)


@given(costs, costs)
def test_the_cost_term_is_bounded(mine: Cost, theirs: Cost) -> None:
    """Never beyond a tenth in either direction."""
    assert -COST_WEIGHT <= cost_adjustment(mine, theirs) <= COST_WEIGHT
