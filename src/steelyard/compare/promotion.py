"""Whether to promote the candidate (seed 000): only what is clear, measured and without a hard regression."""

from dataclasses import replace

from steelyard.compare.pairing import Composites, Sides
from steelyard.compare.verdict import Judgement, judge
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.comparison import Delta


def fewest_repeats(judgement: Judgement) -> int:
    """The smallest number of counted runs of any task and arm of the baseline's tasks; 0 when one is missing."""
    return min((min(row.baseline_runs, row.candidate_runs) for row in judgement.rows if row.baseline_runs), default=0)


def reasons_against(judgement: Judgement, composite_delta: Delta, min_repeats: int) -> list[str]:
    """Every reason not to promote; none means: promote. Ambiguity never promotes."""
    reasons = []
    if judgement.verdict != "improved":
        reasons.append(f"the verdict is {judgement.verdict or 'not known: no composites'}, not improved")
    if judgement.hard:
        reasons.append(f"{judgement.hard} hard regression{'s' if judgement.hard > 1 else ''}")
    unclear = sorted({r.task_id for r in judgement.regressions if r.kind == "not_measurable"})
    if unclear:
        reasons.append(f"drops that are not measurable with so few repeats: {_some(unclear)}")
    few = [
        r.task_id for r in judgement.rows if r.baseline_runs and min(r.baseline_runs, r.candidate_runs) < min_repeats
    ]
    if few or not judgement.rows:
        reasons.append(f"fewer than {min_repeats} repeats per task and arm: {_some(few) or 'no runs'}")
    if composite_delta.ci95 is not None and not composite_delta.ci95[0] > 0:
        low, high = composite_delta.ci95
        reasons.append(f"the composite delta's 95 % interval, {low:g} to {high:g}, is not above 0")
    if judgement.unscored:
        reasons.append(f"no composite is known for runs of {_some(list(judgement.unscored))}")
    return reasons


def decided_by_default(both: Sides, scores: Composites, spec: CompareSpec, names: tuple[str, str]) -> str | None:
    """Would the verdict fall if every measurement that is missing had come out against the candidate? Then say so."""
    if scores.source != "derived" or not (scores.judge_pairs_lost or scores.cost_unknown_runs):
        return None
    worst = replace(scores, baseline=scores.highest_baseline, candidate=scores.lowest_candidate)
    if judge(both, worst, spec, names).verdict == "improved":
        return None
    missing = []
    if scores.judge_pairs_lost:
        missing.append(f"the judge's score on one side of {scores.judge_pairs_lost} pairs")
    if scores.cost_unknown_runs:
        missing.append(f"the cost of {scores.cost_unknown_runs} runs")
    return f"measurements that are missing could undo the gain: {' and '.join(missing)}"


def _some(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
