"""Plans: repeats for a wanted effect, and honest words where a pilot is too small."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.compare.designs import Wanted, design_of
from steelyard.compare.fewtasks import repeats_for_these, seen_on_these
from steelyard.compare.power import Pilot, detectable

WANTED = Wanted(effect=0.05, power=0.8, alpha=0.05, repeats_now=3)


def test_a_good_pilot_gives_repeats_cost_and_time() -> None:
    """Both arms' runs of every task and repeat are counted and paid for."""
    design = design_of("composite_delta", Pilot(40, 120, 0.03, 0.001, 0.02, cost_usd=0.5, seconds=20.0), WANTED)
    row = design.wanted
    assert design.scope == "tasks like these"
    assert row.repeats is not None
    assert row.runs == 2 * 40 * row.repeats
    assert row.cost_usd == pytest.approx(0.5 * 40 * row.repeats)
    assert row.seconds == pytest.approx(20.0 * 40 * row.repeats)
    assert design.detectable_now == detectable(design.pilot, 3)
    assert [r.effect for r in design.effects] == [0.02, 0.05, 0.1, 0.2]
    assert design.notes == ()


def test_where_repeats_are_not_enough_tasks_are_named() -> None:
    """When tasks differ a lot, no number of repeats shows a small effect."""
    design = design_of("composite_delta", Pilot(6, 60, 0.0, 0.5, 0.01), WANTED)
    assert design.wanted.repeats is None
    assert design.wanted.tasks_needed is not None
    assert design.wanted.tasks_needed > 1000


def test_one_task_speaks_of_itself_alone() -> None:
    """A pilot on one task plans for that task, and says that it is silent about others."""
    design = design_of("composite_delta", Pilot(1, 5, 0.1, 0.0, 0.02), WANTED)
    assert design.scope == "these tasks only"
    assert design.wanted.repeats is not None
    assert design.wanted.tasks_needed is None
    assert "pairs on 1 task" in design.notes[0]


def test_one_repeat_tells_nothing_about_more() -> None:
    """Chance within a task is unknown, not zero."""
    design = design_of("composite_delta", Pilot(8, 8, 0.1, 0.3, 0.0), WANTED)
    assert [effect is None for _, effect in design.detectable] == [False, True, True, True, True, True, True]
    assert design.document()["pilot"]["variance_within_tasks"] is None
    assert "one repeat of each task" in design.notes[0]


def test_one_run_alone_can_plan_nothing() -> None:
    """One task, one repeat: everything is unknown and the notes say why."""
    design = design_of("pass_delta", Pilot(1, 1, 0.0, 0.0, 0.0), WANTED)
    assert (design.wanted.repeats, design.detectable_now) == (None, None)
    assert len(design.notes) == 2


def test_no_variation_is_called_a_lower_bound() -> None:
    """A pilot in which nothing ever varied may only have been lucky."""
    design = design_of("pass_delta", Pilot(8, 24, 0.0, 0.0, 0.0), WANTED)
    assert "may be too little" in design.notes[0]


@given(st.integers(1, 4), st.floats(0.001, 1.0), st.floats(0.01, 0.5), st.integers(2, 20))
def test_the_repeats_that_are_named_are_the_fewest_that_do(tasks: int, within: float, effect: float, k: int) -> None:
    """They show the effect, and one fewer would not, or would leave nothing to measure the spread with."""
    pilot = Pilot(tasks, tasks * k, 0.0, 0.0, within)
    repeats = repeats_for_these(pilot, effect, 0.8, 0.05)
    if repeats is None:
        seen = seen_on_these(pilot, 10_000, 0.8, 0.05)
        assert seen is not None
        assert seen > effect
        return
    seen = seen_on_these(pilot, repeats, 0.8, 0.05)
    assert seen is not None
    assert seen <= effect
    fewer = seen_on_these(pilot, repeats - 1, 0.8, 0.05)
    assert fewer is None or fewer > effect
