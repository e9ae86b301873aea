import random
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.domain.grade import JudgeResult, ScorerResult, Verdict
from steelyard.domain.run import JudgeGate, Parity, Run
from steelyard.formulas.gates import disagreement, gates_of, judge_gate, mean_score, objective_counts, overall

STEADY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def result(
    verdict: Verdict, *, required: bool = True, mechanical: bool = True, score: float | None = None
) -> ScorerResult:
    """One scorer's answer."""
    default = {"PASS": 1.0, "FAIL": 0.0, "N/A": None}[verdict]
    return ScorerResult(
        name="x",
        type="t",
        verdict=verdict,
        score=default if score is None else score,
        required=required,
        mechanical=mechanical,
        detail="",
        duration_s=0.0,
    )


PASS, FAIL, NA = result("PASS"), result("FAIL"), result("N/A")
WARN, FINE = result("FAIL", required=False), result("PASS", required=False)
RUBRIC = result("N/A", required=False, mechanical=False)


@pytest.mark.parametrize(
    ("results", "verdict", "counts"),
    [
        ([], "N/A", (0, 0)),
        ([PASS], "PASS", (1, 1)),
        ([FAIL], "FAIL", (0, 1)),
        ([NA], "N/A", (0, 0)),
        ([PASS, NA], "PASS", (1, 1)),
        ([PASS, FAIL], "FAIL", (1, 2)),
        ([WARN], "PASS", (0, 0)),
        ([FINE, WARN], "PASS", (0, 0)),
        ([FINE, NA], "PASS", (0, 0)),
        ([FAIL, FINE], "FAIL", (0, 1)),
        ([PASS, WARN], "PASS", (1, 1)),
        ([RUBRIC], "N/A", (0, 0)),
        ([result("FAIL", mechanical=False)], "N/A", (0, 0)),
    ],
)
def test_overall(results: list[ScorerResult], verdict: str, counts: tuple[int, int]) -> None:
    """A required failure fails; advisory scorers alone pass; with none that applies there is no verdict."""
    assert overall(results) == verdict
    assert objective_counts(results) == counts


@pytest.mark.parametrize(
    ("results", "mean"),
    [
        ([], None),
        ([NA, RUBRIC], None),
        ([PASS, FAIL], 0.5),
        ([PASS, WARN, NA, RUBRIC], 0.5),
        ([result("FAIL", score=0.25), PASS], 0.625),
    ],
)
def test_the_mean_is_over_applicable_mechanical_scorers(results: list[ScorerResult], mean: float | None) -> None:
    """Advisory scorers count in the mean; N/A and the judge's rubric don't."""
    assert mean_score(results) == mean


@pytest.mark.parametrize(
    ("objective", "judge", "results", "name"),
    [
        ("FAIL", "PASS", [FAIL], "plausible but violates a hard constraint"),
        ("PASS", "FAIL", [PASS], "mechanical pass, not convincing"),
        ("PASS", "PASS", [PASS, WARN], "review the warning"),
        ("PASS", "PASS", [PASS, FINE], None),
        ("FAIL", "FAIL", [FAIL, WARN], None),
        ("PASS", "NOT_RUN", [PASS, WARN], None),
        ("FAIL", "UNPARSEABLE", [FAIL], None),
        ("N/A", "PASS", [WARN], None),
        ("N/A", "FAIL", [], None),
    ],
)
def test_disagreements_have_names(
    objective: Verdict, judge: JudgeGate, results: list[ScorerResult], name: str | None
) -> None:
    """The three named disagreements, and nothing else, have a name."""
    assert disagreement(objective, judge, results) == name


def run(**more: object) -> Run:
    """A run that completed without anything to grade."""
    fields: dict[str, object] = {
        "run_id": "r",
        "experiment": "e",
        "workspace": "w",
        "task_id": "t",
        "arm": "a",
        "repeat": 1,
        "task_sha256": "0",
        "status": "completed",
        "outcome": "COMPLETED",
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:00:01Z",
        "wall_s": 1.0,
        "parity": Parity(agent="command", sandbox="local"),
        **more,
    }
    return Run.model_validate(fields)


@pytest.mark.parametrize(
    ("more", "badge"),
    [
        ({}, "PASS"),
        ({"outcome": "BLOCKED"}, "PASS"),
        ({"error_class": "budget_exceeded"}, "FAIL"),
        ({"status": "failed", "error_class": "agent_crashed"}, "FAIL"),
        ({"status": "interrupted"}, "FAIL"),
    ],
)
def test_the_badge_needs_a_completed_run_without_error(more: dict[str, object], badge: str) -> None:
    """The badge says whether the run itself went well, whatever its grades are."""
    gates = gates_of(run(**more))
    assert (gates.run, gates.objective, gates.judge) == (badge, "N/A", "NOT_RUN")


@pytest.mark.parametrize("verdict", ["PASS", "FAIL", "UNPARSEABLE"])
def test_the_judges_gate_is_its_verdict(verdict: str) -> None:
    """Nothing is added to what the judge said."""
    judged = JudgeResult.model_validate(
        {
            "verdict": verdict,
            "backend": "canned",
            "model": "m",
            "prompt_version": "1",
            "duration_s": 0.0,
            "scored_at": "2026-01-01T00:00:00Z",
        }
    )
    assert judge_gate(judged) == verdict
    assert gates_of(run(judge=judged, scorers=(PASS,))).judge == verdict


RESULTS = st.lists(
    st.builds(
        result,
        st.sampled_from(get_args(Verdict)),
        required=st.booleans(),
        mechanical=st.booleans(),
        score=st.none() | st.floats(0, 1),
    ),
    max_size=12,
)


@STEADY
@given(RESULTS, st.integers())
def test_the_order_of_scorers_changes_nothing(results: list[ScorerResult], seed: int) -> None:
    """Any order gives the same verdict, mean and counts."""
    other = random.Random(seed).sample(results, len(results))
    assert overall(other) == overall(results)
    assert mean_score(other) == mean_score(results)
    assert objective_counts(other) == objective_counts(results)


@STEADY
@given(RESULTS)
def test_numbers_stay_in_bounds(results: list[ScorerResult]) -> None:
    """0 ≤ passed ≤ total, the mean is in [0, 1], and FAIL means that a required check did not pass."""
    done, total = objective_counts(results)
    mean = mean_score(results)
    assert 0 <= done <= total <= len(results)
    assert mean is None or 0 <= mean <= 1
    assert (overall(results) == "FAIL") == (done < total)
    assert (overall(results) == "N/A") == (mean is None)


def test_a_scorer_in_quarantine_counts_for_nothing() -> None:
    """Neither its pass nor its failure is in the verdict, the counts or the mean; alone it leaves nothing to say."""
    good = result("PASS")
    bad = result("FAIL").model_copy(update={"quarantined": True})

    assert (overall([good, bad]), objective_counts([good, bad]), mean_score([good, bad])) == ("PASS", (1, 1), 1.0)
    assert (overall([bad]), objective_counts([bad]), mean_score([bad])) == ("N/A", (0, 0), None)
    assert [one.standing for one in (good, bad)] == ["required", "quarantined"]
