"""What a comparison says of the judge's verdicts, arm by arm."""

from typing import Any

from steelyard.compare.runs import material_of, weigh_runs
from steelyard.domain.grade import JudgeResult
from steelyard.domain.suite import Arm
from steelyard.reports import markdown, text
from steelyard.reports.view import view_of
from tests.compare.test_parity import run

ARMS = [Arm(name=name, agent={"type": "command"}) for name in ("old", "new")]


def judged(verdict: str, rating: int | None = None, **more: Any) -> JudgeResult:
    """What a judge said, all ratings the same."""
    ratings = dict.fromkeys(("task_completion", "instruction_adherence", "efficiency"), rating)
    footprint = {"backend": "canned", "model": "m-1", "prompt_version": "1", "duration_s": 1.0, "scored_at": "now"}
    return JudgeResult.model_validate({"verdict": verdict, **ratings, **footprint, "cost_usd": 0.5, **more})


def test_verdicts_ratings_modes_and_cost_by_arm() -> None:
    """Each verdict is counted, unjudged runs apart; a cost that nobody knows makes the sum unknown."""
    runs = [
        run("old", 1, 1, judge=judged("PASS", 4)),
        run("old", 2, 1, judge=judged("FAIL", 1, failure_mode="no_op")),
        run("new", 1, 1, judge=judged("UNPARSEABLE", cost_usd=None)),
        run("new", 2, 1),
    ]
    found = weigh_runs(material_of(runs, ARMS), "old", "new")
    old, new = found.judged

    assert (old.passed, old.failed, old.unparseable, old.not_run) == (1, 1, 0, 0)
    assert (old.ratings["efficiency"], old.failure_modes, old.cost_usd) == (2.5, {"no_op": 1}, 1.0)
    assert (new.passed, new.unparseable, new.not_run, new.cost_usd) == (0, 1, 1, None)
    assert set(new.ratings.values()) == {None}
    view = view_of(found)
    for said in (text.render(view), markdown.render(view)):
        assert "What the judge said" in said
        assert "no_op 1" in said.replace("\\", "")


def test_without_a_judge_nothing_is_said() -> None:
    """No table of zeros."""
    runs = [run(name, task, 1) for name in ("old", "new") for task in (1, 2)]
    found = weigh_runs(material_of(runs, ARMS), "old", "new")

    assert found.judged == ()
    assert "What the judge said" not in text.render(view_of(found))
