"""Spreads: every run's value, or percentiles of many, beside quartiles and what is unknown."""

import statistics

from hypothesis import given
from hypothesis import strategies as st

from steelyard.compare.spread import MOST_VALUES
from steelyard.compare.weigh import weigh
from steelyard.domain.comparison import Spread
from tests.compare.support import record

COSTS = st.lists(st.none() | st.floats(0, 1e6), min_size=1, max_size=20)


def cost_spread(costs: list[float | None]) -> Spread:
    """The spread of an arm's cost, beside an arm of one run."""
    runs = [record(f"t{n}", "a", total_cost_usd=cost) for n, cost in enumerate(costs)]
    found = weigh([*runs, record("t0", "b")], "b", "a", resamples=50).spreads
    return next(one for one in found if (one.measure, one.arm) == ("cost_usd", "a"))


@given(COSTS)
def test_few_values_are_all_there(costs: list[float | None]) -> None:
    """Sorted, the unknown counted and left out, the median that of the statistics."""
    found = cost_spread(costs)
    known = sorted(round(cost, 6) for cost in costs if cost is not None)
    assert list(found.values) == known
    assert (found.runs, found.unknown) == (len(known), len(costs) - len(known))
    if known:
        assert found.quartiles is not None
        low, middle, high = found.quartiles
        assert known[0] <= low <= middle <= high <= known[-1]
        assert abs(middle - statistics.median(known)) < 1e-5
    else:
        assert found.quartiles is None


def test_many_values_become_percentiles() -> None:
    """Of 1,000 runs: 101 values from the least to the most, evenly through the runs."""
    found = cost_spread([float(n) for n in range(1001)])
    assert len(found.values) == MOST_VALUES
    assert found.values == tuple(10.0 * n for n in range(101))
    assert found.quartiles == (250.0, 500.0, 750.0)


def test_an_infrastructure_failure_is_no_value() -> None:
    """It counts for nobody, here too."""
    runs = [record("t", "a"), record("t", "b"), record("u", "a", total_cost_usd=99.0, error_class="rate_limited")]
    found = weigh(runs, "b", "a", resamples=50).spreads
    assert max(one.values[-1] for one in found if one.measure == "cost_usd") == 1.0
