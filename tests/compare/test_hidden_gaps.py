"""What a comparison says of tests that agents could not see."""

from steelyard.compare.runs import material_of, weigh_runs
from steelyard.domain.run import Run
from steelyard.domain.suite import Arm
from steelyard.reports import html, markdown, text
from steelyard.reports.view import view_of
from tests.compare.test_parity import run

ARMS = [Arm(name=name, agent={"type": "command"}) for name in ("old", "new")]


def with_hidden(arm: str, task: int, *, passes: bool) -> Run:
    """A run that passes what it could see."""
    seen = run(arm, task, 1)
    unseen = seen.scorers[0].model_copy(
        update={"name": "hidden", "type": "hidden_tests", "verdict": "PASS" if passes else "FAIL"}
    )
    return seen.model_copy(update={"scorers": (*seen.scorers, unseen)})


def test_the_gap_of_each_arm_is_in_every_report() -> None:
    """An arm that writes for the tests at hand is told from one that solves the task."""
    runs = [with_hidden("old", task, passes=True) for task in (1, 2)]
    runs += [with_hidden("new", task, passes=task == 1) for task in (1, 2)]
    found = weigh_runs(material_of(runs, ARMS), "old", "new")

    assert {gap.arm: (gap.runs, gap.visible, gap.hidden) for gap in found.hidden_gaps} == {
        "old": (2, 1.0, 1.0),
        "new": (2, 1.0, 0.5),
    }
    for said in (text.render(view_of(found)), markdown.render(view_of(found)), html.render(view_of(found))):
        assert "Visible and hidden tests" in said
        assert "+50.0 pp" in said


def test_without_hidden_tests_nothing_is_said() -> None:
    """No table of nothing."""
    runs = [run(name, task, 1) for name in ("old", "new") for task in (1, 2)]

    assert weigh_runs(material_of(runs, ARMS), "old", "new").hidden_gaps == ()
