"""The order of runs."""

from hypothesis import given
from hypothesis import strategies as st

from steelyard.domain.run import Cell
from steelyard.engine.plan import plan


def test_arms_of_a_task_stand_together_and_take_turns_at_being_first() -> None:
    """For each (repeat, task) every arm comes once, and over repeats each arm is first."""
    cells = plan(["t"], ["a", "b"], range(1, 5), set())

    assert [cell.arm for cell in cells] == ["b", "a", "a", "b", "b", "a", "a", "b"]
    assert [cell.repeat for cell in cells] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_what_is_done_is_left_out() -> None:
    """A finished cell is not planned again; everything else is."""
    done = {Cell(task_id="t", arm="a", repeat=1)}

    assert plan(["t"], ["a", "b"], range(1, 2), done) == [Cell(task_id="t", arm="b", repeat=1)]


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 6))
def test_every_cell_is_planned_once(tasks: int, arms: int, repeats: int) -> None:
    """Tasks × arms × repeats, none missing, none twice."""
    cells = plan([f"t{n}" for n in range(tasks)], [f"a{n}" for n in range(arms)], range(1, repeats + 1), set())

    assert len(cells) == len(set(cells)) == tasks * arms * repeats


def test_no_arm_is_early_on_average() -> None:
    """Over a full rotation each arm's mean place within its block is the same."""
    cells = plan(["t"], ["a", "b", "c"], range(1, 7), set())

    places: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    for place, cell in enumerate(cells):
        places[cell.arm].append(place % 3)
    assert {sum(found) for found in places.values()} == {6}
