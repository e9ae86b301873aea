"""A run as its one-line record."""

import pytest

from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.run import Run
from steelyard.domain.run_record import RunRecord, run_record_schema
from steelyard.domain.usage import Usage
from steelyard.formulas.records import record_of
from steelyard.formulas.scorecard import facts_of, score_run
from tests.formulas.test_scorecard import run_with

REQUIRED = [
    "run_id",
    "task_id",
    "arm",
    "repeat",
    "success",
    "duration_seconds",
    "total_cost_usd",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
]


def scorer(verdict: str, *, required: bool = True) -> ScorerResult:
    """A result of a mechanical scorer."""
    return ScorerResult.model_validate(
        {
            "name": "s",
            "type": "command",
            "verdict": verdict,
            "score": None,
            "required": required,
            "detail": "",
            "duration_s": 0.0,
        }
    )


def judged(verdict: str, rating: int | None) -> JudgeResult:
    """A judge's answer with three equal ratings."""
    return JudgeResult.model_validate(
        {
            "verdict": verdict,
            "task_completion": rating,
            "instruction_adherence": rating,
            "efficiency": rating,
            "backend": "canned",
            "model": "m",
            "prompt_version": "1",
            "duration_s": 0.0,
            "scored_at": "2026-01-01T00:00:00Z",
        }
    )


@pytest.mark.parametrize(
    ("run", "success"),
    [
        (run_with(scorers=(scorer("PASS"),)), True),
        (run_with(scorers=(scorer("PASS"), scorer("FAIL"))), False),
        (run_with(scorers=(scorer("PASS"), scorer("FAIL", required=False))), True),
        (run_with(scorers=(scorer("PASS"),), judge=judged("FAIL", 1)), True),
        (run_with(scorers=(scorer("FAIL", required=False),), judge=judged("FAIL", 1)), True),
        (run_with(scorers=(scorer("N/A"),), judge=judged("PASS", 5)), True),
        (run_with(judge=judged("FAIL", 1)), False),
        (run_with(judge=judged("UNPARSEABLE", None)), False),
        (run_with(), False),
    ],
)
def test_success_is_overall_pass_or_else_the_judge(run: Run, success: bool) -> None:
    """OVERALL decides; when it is N/A the judge's PASS does; with neither there is no success."""
    assert record_of(run).success is success


def test_a_record_states_what_the_composite_is_made_of() -> None:
    """Checks, judge's score and the run's own composite, unknown cost as null."""
    run = run_with(
        scorers=(scorer("PASS"), scorer("FAIL")), judge=judged("PASS", 5), usage=Usage(input_tokens=3, steps=2)
    )
    record = record_of(run, score_run(facts_of(run, [])))
    assert (record.objective_passed, record.objective_total, record.judge01) == (1, 2, 1.0)
    assert record.composite == 0.7
    assert (record.total_cost_usd, record.output_tokens, record.total_tokens, record.step_count) == (
        None,
        None,
        None,
        2,
    )
    assert (record.score, record.tier) == (70, "Gold")


def test_the_schema_asks_for_the_seeds_fields() -> None:
    """Every field that the seed scores with is required, and unknown ones are welcome."""
    schema = run_record_schema()
    assert schema["required"] == REQUIRED
    assert schema["additionalProperties"] is True


def test_what_was_read_is_what_is_written() -> None:
    """Fields that were not given are not added, and unknown ones stay."""
    line = (
        '{"run_id":"r","task_id":"t","arm":"a","repeat":1,"success":true,"duration_seconds":1.5,"total_cost_usd":null,'
        '"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,"mood":{"x":[1,null]}}'
    )
    record = RunRecord.model_validate_json(line)
    assert record.model_dump_json(exclude_unset=True) == line
    assert (record.total_tokens, record.non_cache_tokens) == (10, 3)
