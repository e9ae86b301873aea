"""What a report shows, before it is drawn."""

import pytest

from steelyard.compare.weigh import weigh
from steelyard.reports.view import MOST_TASKS, view_of
from tests.reports.support import compared, record, records


def test_an_improvement_says_why() -> None:
    """The verdict, its reason, five measures, three gates and no regression."""
    view = view_of(compared(gain=1))
    assert (view.verdict, view.tone, view.regressions) == ("improved", "good", ())
    assert "6 tasks add up to a gain of +1.2" in view.why
    assert [measure.label for measure in view.measures] == ["Composite", "Pass rate", "Cost", "Duration", "Tokens"]
    assert [gate.answer for gate in view.gates] == ["holds", "holds", "holds"]


def test_a_regression_lists_tasks_with_runs_to_look_at() -> None:
    """One entry a task, with what fell from where to where, and links where there are pages."""
    view = view_of(compared(gain=-1), lambda run_id: f"/runs/{run_id}")
    assert (view.verdict, view.tone, len(view.regressions)) == ("regressed", "bad", 5)
    first = view.regressions[0]
    assert first.hard
    assert first.details[0].startswith("objective checks passed 2.")
    assert first.candidate_runs[0].href == f"/runs/{first.candidate_runs[0].run_id}"


def test_runs_that_regressions_name_have_a_row_each() -> None:
    """Every run that is named has its place among the rows that tell what came of it."""
    view = view_of(compared(gain=-1))
    named = [run for one in view.regressions for run in (*one.candidate_runs, *one.baseline_runs)]
    assert named
    for run in named:
        assert run.place is not None
        assert view.named_runs[run.place - 1].link.run_id == run.run_id
    assert view.named_runs[0].cells[3:5] in {("fail", "1 of 4"), ("fail", "2 of 4")}


def test_acceptance_commands_are_shown_where_they_are_counted() -> None:
    """A secondary diagnostic of the seed, which only records from elsewhere state."""
    found = [r.model_copy(update={"acceptance_cmd_count": 3}) for r in records(2, 1, 0)]
    rows = [row[:3] for row in view_of(weigh(found, "old", "new")).consumption.rows]
    assert ("acceptance commands, median", "3", "3") in rows
    assert not any(row[0].startswith("acceptance") for row in view_of(compared()).consumption.rows)


@pytest.mark.parametrize(("tasks", "left_out"), [(MOST_TASKS, 0), (MOST_TASKS + 1, 1), (500, 440)])
def test_many_tasks_stay_readable(tasks: int, left_out: int) -> None:
    """Only the largest losses and gains get a row, and the view says how many do not."""
    view = view_of(compared(tasks=tasks, repeats=1))
    assert (len(view.tasks), view.tasks_left_out) == (MOST_TASKS, left_out)
    numbers = [task.number for task in view.tasks if task.number is not None]
    assert numbers == sorted(numbers)


def test_what_is_unknown_is_called_so() -> None:
    """No cost, no tokens: unknown in the tables and gates, and never a zero."""
    gone = {"total_cost_usd": None, "input_tokens": None}
    found = [record("t", arm, repeat, 4, **gone) for arm in ("old", "new") for repeat in (1, 2)]
    view = view_of(weigh(found, "old", "new"))
    assert view.gates[2].answer == "unknown"
    cost = view.consumption.rows[0]
    assert cost[1:4] == ("unknown", "unknown", "unknown")
    assert cost[4] == "2 / 2"
    assert view.measures[2].mean == "unknown"


def test_without_composites_there_is_no_verdict_but_a_decision() -> None:
    """Records of other tools may state neither checks nor composites."""
    found = [r.model_copy(update={"objective_passed": None, "objective_total": None}) for r in records(6, 2, 1)]
    view = view_of(weigh(found, "old", "new"))
    assert (view.verdict, view.tone) == ("no verdict", "unknown")
    assert view.decision.startswith("prefer new")


def test_nothing_measured_says_so() -> None:
    """Every run an infrastructure failure: no verdict, no pair, and the reason with its count."""
    found = [record("t", arm, 1, 0, error_class="rate_limited") for arm in ("old", "new")]
    view = view_of(weigh(found, "old", "new"))
    assert "every one failed for an infrastructure reason" in view.why
    assert view.decision.startswith("insufficient data")
    assert view.excluded is not None
    assert view.excluded.rows == (("new", "rate limited", "1"), ("old", "rate limited", "1"))


def test_a_doubtful_drop_is_not_called_hard() -> None:
    """Under `significant` a drop that so few repeats could never show is in doubt."""
    view = view_of(compared(repeats=2, gain=-1, regressions="significant"))
    assert view.verdict == "neutral"
    assert [one.hard for one in view.regressions] == [False] * 5
    assert view.regressions[0].details[-1] == "too few repeats to ever show it"


def test_three_arms_are_each_weighed_against_the_baseline() -> None:
    """A row an arm, with Holm's p-value."""
    third = [
        r.model_copy(update={"arm": "third", "run_id": f"{r.run_id}-3"}) for r in records(6, 2, -1) if r.arm == "new"
    ]
    view = view_of(weigh([*records(6, 2, 1), *third], "old", "new"))
    assert view.others is not None
    assert [row[:2] for row in view.others.rows] == [("new", "improved"), ("third", "regressed")]
