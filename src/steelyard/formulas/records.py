"""A run as its one-line record (seed 004)."""

from steelyard.domain.grade import ScorerResult
from steelyard.domain.run import Run
from steelyard.domain.run_record import RunRecord
from steelyard.domain.score import Scorecard
from steelyard.formulas.composite import composite_of, judge01_of, objective_counts


def is_success(scorers: tuple[ScorerResult, ...], judge_verdict: str | None) -> bool:
    """OVERALL is PASS; when no required scorer applies (OVERALL N/A), the judge's verdict is PASS.

    With only advisory scorers that apply, OVERALL is PASS: nothing that could gate it has failed.
    """
    applicable = [scorer for scorer in scorers if scorer.mechanical and scorer.verdict != "N/A"]
    if applicable:
        return not any(scorer.required and scorer.verdict == "FAIL" for scorer in applicable)
    return judge_verdict == "PASS"


def record_of(run: Run, scorecard: Scorecard | None = None, composite: float | None = None) -> RunRecord:
    """The record of a run; without a composite against a reference, its own is stated (cost term 0)."""
    passed, total = objective_counts(run.scorers)
    value = composite_of(run) if composite is None else composite
    return RunRecord(
        run_id=run.run_id,
        task_id=run.task_id,
        arm=run.arm,
        repeat=run.repeat,
        success=is_success(run.scorers, run.judge.verdict if run.judge else None),
        duration_seconds=run.wall_s,
        total_cost_usd=run.usage.cost_usd,
        input_tokens=run.usage.input_tokens,
        output_tokens=run.usage.output_tokens,
        cache_read_tokens=run.usage.cache_read_tokens,
        cache_write_tokens=run.usage.cache_write_tokens,
        step_count=run.usage.steps,
        tool_call_count=run.usage.tool_calls,
        objective_passed=passed,
        objective_total=total,
        judge01=judge01_of(run),
        composite=round(value, 6),
        score=scorecard.score if scorecard else None,
        tier=scorecard.tier if scorecard else "Unranked",
        error_class=run.error_class,
        started_at=run.started_at,
    )
