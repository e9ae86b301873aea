"""The gap between visible and hidden tests."""

import json

from steelyard.domain.grade import ScorerResult, Verdict
from steelyard.domain.run import Parity, Run
from steelyard.formulas.hidden import passes_in_sight, sentence, visible_hidden_gap


def run(arm: str, visible: Verdict, hidden: Verdict | None, error_class: str | None = None) -> Run:
    """A run with a visible command and, maybe, hidden tests."""
    results: list[tuple[str, str, Verdict]] = [("unit", "command", visible)]
    results += [("hidden", "hidden_tests", hidden)] if hidden else []
    scorers = [
        ScorerResult(
            name=name, type=kind, verdict=verdict, score=None, required=True, detail="", duration_s=0.0
        ).model_dump(mode="json")
        for name, kind, verdict in results
    ]
    fields = {
        "run_id": "r", "experiment": "e", "workspace": "w", "task_id": "t", "arm": arm, "repeat": 1, "task_sha256": "0",
        "status": "completed", "outcome": "COMPLETED", "started_at": "", "finished_at": "", "wall_s": 1.0,
        "scorers": scorers, "parity": Parity(agent="a", sandbox="local").model_dump(mode="json"),
        "error_class": error_class,
    }  # fmt: skip
    return Run.model_validate_json(json.dumps(fields))


def test_the_gap_is_visible_minus_hidden_per_arm() -> None:
    """Runs without hidden tests and failures that are not the arm's do not count."""
    runs = [
        run("b", "PASS", "FAIL"), run("b", "PASS", "PASS"), run("b", "PASS", None), run("b", "FAIL", "FAIL"),
        run("b", "FAIL", "FAIL", "sandbox_error"), run("a", "PASS", "PASS"), run("c", "PASS", None),
        run("b", "PASS", "N/A"),
    ]  # fmt: skip

    gaps = visible_hidden_gap(runs)

    assert [(gap.arm, gap.runs) for gap in gaps] == [("a", 1), ("b", 3)]
    assert gaps[0].gap == 0
    assert (gaps[1].visible, gaps[1].hidden) == (2 / 3, 1 / 3)
    assert sentence(gaps[1]) == "hidden tests: b passes 67% in sight and 33% out of sight, gap +33 points (3 runs)"


def test_only_required_tests_in_sight_decide_whether_hidden_ones_tell_of_a_game() -> None:
    """An arm that fails what it could see has hidden nothing."""
    assert passes_in_sight(run("a", "PASS", "FAIL"))
    assert not passes_in_sight(run("a", "FAIL", "FAIL"))
