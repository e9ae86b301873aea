"""A run as its one-line record (seed 004)."""

from steelyard.domain.run import Run
from steelyard.domain.run_record import RunRecord
from steelyard.domain.score import Scorecard
from steelyard.formulas.composite import composite_of, judge01_of
from steelyard.formulas.gates import judge_gate, objective_counts, overall


def is_success(run: Run) -> bool:
    """OVERALL is PASS; when it is N/A, the judge's verdict is PASS."""
    verdict = overall(run.scorers)
    return verdict == "PASS" if verdict != "N/A" else judge_gate(run.judge) == "PASS"


def record_of(run: Run, scorecard: Scorecard | None = None, composite: float | None = None) -> RunRecord:
    """The record of a run; without a composite against a reference, its own is stated (cost term 0).

    An imported run's record is the one it was made of.
    """
    if run.imported is not None:
        return RunRecord.model_validate_json(run.imported)
    passed, total = objective_counts(run.scorers)
    value = composite_of(run) if composite is None else composite
    return RunRecord(
        run_id=run.run_id,
        task_id=run.task_id,
        arm=run.arm,
        repeat=run.repeat,
        success=is_success(run),
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
