"""Plans and A/A checks: variance by hand, repeats that really reach the power, noise that really is noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.compare.aa import aa_check
from steelyard.compare.pilots import pilot_of, pilot_of_arm
from steelyard.compare.power import Pilot, detectable, pilot_from, plan_repeats
from steelyard.compare.table import table_of
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.run_record import RunRecord
from steelyard.errors import InputError
from tests.compare.support import record


def test_the_two_parts_of_variance_by_hand() -> None:
    """Two tasks with means 1 and 5 and pairs 2 apart: within 2, between 8 - 2/2."""
    pilot = pilot_from(np.array([0.0, 2.0, 4.0, 6.0]), np.array([0, 2]))
    assert (pilot.mean, pilot.within, pilot.between) == (3.0, 2.0, 7.0)
    assert (pilot.tasks, pilot.pairs, pilot.repeats) == (2, 4, 2.0)


def test_a_plan_reaches_its_power_in_simulation() -> None:
    """With the planned repeats about 80 % of experiments find the effect by a t-test over tasks."""
    from scipy import stats

    pilot = Pilot(tasks=20, pairs=100, mean=0.0, between=0.01, within=0.5)
    plan = plan_repeats(pilot, 0.15)
    assert plan.repeats is not None
    rng = np.random.default_rng(6)
    spread = np.sqrt(pilot.between + pilot.within / plan.repeats)
    p_values = stats.ttest_1samp(rng.normal(0.15, spread, (4000, 20)), 0, axis=1).pvalue
    assert 0.78 < (p_values < 0.05).mean() < 0.9


def test_a_plan_costs_what_its_runs_cost() -> None:
    """Both arms, all tasks, all repeats."""
    plan = plan_repeats(Pilot(10, 50, 0.0, 0.0, 1.0, cost_usd=0.5, seconds=30.0), 0.5)
    assert plan.repeats is not None
    assert plan.runs == 2 * 10 * plan.repeats
    assert plan.cost_usd == pytest.approx(0.5 * 10 * plan.repeats)
    assert plan.seconds == pytest.approx(30.0 * 10 * plan.repeats)


def test_no_number_of_repeats_makes_up_for_too_few_tasks() -> None:
    """When tasks differ too much in their effect, only more tasks help, and the plan says how many."""
    plan = plan_repeats(Pilot(tasks=6, pairs=30, mean=0.0, between=1.0, within=0.1), 0.1)
    assert plan.repeats is None
    assert plan.runs is None
    assert plan.tasks_needed > 700


@pytest.mark.parametrize(
    ("pilot", "effect", "power", "message"),
    [
        (Pilot(4, 20, 0.0, 0.0, 1.0), 0.1, 0.8, "at least 5 tasks"),
        (Pilot(9, 20, 0.0, 0.0, 1.0), 0.0, 0.8, "above 0"),
        (Pilot(9, 20, 0.0, 0.0, 1.0), float("nan"), 0.8, "above 0"),
        (Pilot(9, 20, 0.0, 0.0, 1.0), 0.1, 1.0, "between 0 and 1"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(pilot: Pilot, effect: float, power: float, message: str) -> None:
    """Too small a pilot, no effect, an impossible power."""
    with pytest.raises(InputError, match=message):
        plan_repeats(pilot, effect, power)


@given(st.integers(5, 50), st.floats(0, 2), st.floats(0.001, 2), st.floats(0.05, 1))
def test_a_plan_sees_what_it_was_made_for_and_one_repeat_fewer_does_not(
    tasks: int, between: float, within: float, effect: float
) -> None:
    """The planned repeats are enough and are the fewest."""
    pilot = Pilot(tasks, tasks * 3, 0.0, between, within)
    repeats = plan_repeats(pilot, effect).repeats
    if repeats is not None:
        assert (detectable(pilot, repeats) or 0.0) <= effect * (1 + 1e-6)
        assert repeats == 1 or (detectable(pilot, repeats - 1) or 0.0) > effect * (1 - 1e-6)


def noisy_arm() -> list[RunRecord]:
    """One arm, six tasks, eight repeats, composites by chance."""
    rng = np.random.default_rng(1)
    return [
        record(f"t{task}", arm, k, composite=round(float(value), 3), success=bool(value > 0.5))
        for arm in ("a", "b")
        for task in range(6)
        for k, value in enumerate(rng.uniform(0, 1, 8), start=1)
    ]


def test_pilots_come_from_records() -> None:
    """Two arms give the variance of their deltas; one arm alone twice its own, and no spread of effects."""
    table = table_of(noisy_arm())
    both, alone = pilot_of(table, "b", "a"), pilot_of_arm(table, "a")
    assert (both.tasks, both.pairs) == (6, 48)
    assert both.cost_usd == 2.0
    assert alone.between == 0.0
    assert alone.within == pytest.approx(2 / 12, rel=0.4)
    with pytest.raises(InputError, match="no measure is called 'luck'"):
        pilot_of(table, "b", "a", "luck")


def test_an_arm_against_itself_shows_how_often_noise_cries_wolf() -> None:
    """The seed's rule regresses on noise nearly always; asking for evidence, hardly ever; promotion never."""
    table = table_of(noisy_arm())
    plain = aa_check(table, "a", CompareSpec(), splits=40)
    careful = aa_check(table, "a", CompareSpec(regressions="significant"), splits=40)
    assert plain.improved + plain.neutral + plain.regressed == plain.splits == 40
    assert plain.regressed > 30
    assert careful.regressed <= 4
    assert (plain.tasks, plain.repeats, plain.promoted) == (6, 4, 0)
    assert plain == aa_check(table, "a", CompareSpec(), splits=40)
    assert plain.document()["rates"]["regressed"] == plain.regressed / 40


def test_an_arm_without_repeats_can_not_be_split() -> None:
    """One run a task has no two halves."""
    with pytest.raises(InputError, match="at least two counted repeats"):
        aa_check(table_of([record("t", "a")]), "a", CompareSpec())
