"""Weigh two arms: from run records to the whole answer, without reading, writing or asking the time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from steelyard.compare.arms import arm_metrics, pick_arms
from steelyard.compare.bootstrap import LEAST_TASKS, RESAMPLES, held_by
from steelyard.compare.decision import decide
from steelyard.compare.deltas import MEASURES, paired
from steelyard.compare.named import named_runs
from steelyard.compare.pairing import Composites, Sides, composites, sides
from steelyard.compare.promotion import decided_by_default, fewest_repeats, reasons_against
from steelyard.compare.significance import holm
from steelyard.compare.spread import spreads
from steelyard.compare.table import RecordTable, table_of
from steelyard.compare.verdict import Judgement, judge
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.comparison import Against, ArmMetrics, Comparison, Decision, Delta, Paired
from steelyard.domain.run_record import RunRecord

MIN_REPEATS = 5
MANY_RECORDS = 100_000
METHOD = (
    "Deltas are candidate minus baseline over pairs of the same task and repeat. Intervals: 95 % BCa bootstrap of the "
    "mean, {resamples} resamples of tasks and then of pairs within them, seeded from the data (percentile where BCa is "
    "not defined). p-values: two-sided sign-flip test by task, exact up to 16 tasks, else {flips} random flips; "
    "McNemar's exact test for pass/fail looks at pairs alone. Composites are means over repeats, deltas are rounded to "
    "6 decimals before they meet a threshold. Minimum detectable effects are for 80 % power at 5 %."
)


@dataclass(frozen=True)
class _Weighed:
    """One candidate against the baseline, before it becomes a record."""

    both: Sides
    scores: Composites
    judgement: Judgement
    pairs: Paired
    decision: Decision
    arms: dict[str, ArmMetrics]


def weigh(
    records: RecordTable | Iterable[RunRecord],
    baseline: str | None = None,
    candidate: str | None = None,
    spec: CompareSpec = CompareSpec(),  # noqa: B008  # frozen
    min_repeats: int = MIN_REPEATS,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare two arms; the names may also stand in `spec`, and with two arms one of them is enough."""
    table = records if isinstance(records, RecordTable) else table_of(records)
    names = pick_arms(table.arms, baseline or spec.baseline, candidate or spec.candidate)
    main, spread = _at_once(
        len(table),
        partial(_weigh_two, table, names, spec, min_repeats, resamples),
        partial(spreads, table, [*names, *(arm for arm in table.arms if arm not in names)]),
    )
    judgement, pairs = main.judgement, main.pairs
    reasons = reasons_against(judgement, pairs.composite_delta, min_repeats)
    if judgement.verdict == "improved" and (default := decided_by_default(main.both, main.scores, spec, names)):
        reasons.append(default)
    others = _others(table, names, spec, (min_repeats, resamples), main)
    excluded = _excluded(table)
    return Comparison(
        baseline=names[0],
        candidate=names[1],
        verdict=judgement.verdict,
        promote=not reasons,
        net_composite_gain=judgement.gain,
        tasks=judgement.rows,
        regressions=judgement.regressions,
        decision=main.decision,
        arms=_all_arms(table, main, others),
        paired=pairs,
        excluded=_total(excluded),
        notes=tuple(_notes(table, main, names)),
        excluded_by_arm=excluded,
        promote_reasons=tuple(reasons),
        composite_source=main.scores.source,
        min_repeats=min_repeats,
        fewest_repeats=fewest_repeats(judgement),
        thresholds={**spec.thresholds.model_dump(), "regressions": spec.regressions},
        against_baseline=_against_baseline(others),
        method=METHOD.format(resamples=f"{resamples:,}", flips="10,000"),
        named_runs=named_runs(main.both, main.scores, judgement, names),
        spreads=spread,
    )


def _weigh_two(
    table: RecordTable, names: tuple[str, str], spec: CompareSpec, min_repeats: int, resamples: int
) -> _Weighed:
    both = sides(table, *names)
    scores = composites(both)
    pairs, ours, theirs, judgement = _at_once(
        len(table),
        partial(paired, both, scores, names, resamples),  # takes longest
        partial(arm_metrics, table, both.candidate, scores.candidate),
        partial(arm_metrics, table, both.baseline, scores.baseline),
        partial(judge, both, scores, spec, names),
    )
    few = fewest_repeats(judgement) < min_repeats
    decision = decide((names[1], ours), (names[0], theirs), pairs.pairs, few=few)
    return _Weighed(both, scores, judgement, pairs, decision, {names[0]: theirs, names[1]: ours})


def _at_once(records: int, *parts: Callable[[], Any]) -> list[Any]:
    """The answers of parts that do not need each other; of many records two at a time, as NumPy does the work then."""
    if records < MANY_RECORDS:
        return [part() for part in parts]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        return [done.result() for done in [pool.submit(part) for part in parts]]


def _others(
    table: RecordTable, names: tuple[str, str], spec: CompareSpec, sizes: tuple[int, int], main: _Weighed
) -> dict[str, _Weighed]:
    """With three or more arms, every one of them against the baseline, by name."""
    arms = [arm for arm in table.arms if arm != names[0]]
    if len(arms) < 2:
        return {}
    return {arm: main if arm == names[1] else _weigh_two(table, (names[0], arm), spec, *sizes) for arm in arms}


def _all_arms(table: RecordTable, main: _Weighed, others: dict[str, _Weighed]) -> dict[str, ArmMetrics]:
    """Every arm's metrics; its composites are those against the baseline."""
    found = {arm: weighed.arms[arm] for arm, weighed in others.items()} | main.arms
    return {arm: found[arm] for arm in table.arms}


def _against_baseline(others: dict[str, _Weighed]) -> tuple[Against, ...]:
    """A row an arm, p-values adjusted for having looked so often."""
    rows = []
    for arm, weighed in others.items():
        measure: Literal["pass_delta", "composite_delta"] = (
            "pass_delta" if weighed.scores.source == "none" else "composite_delta"
        )
        delta = getattr(weighed.pairs, measure)
        rows.append(
            Against(
                arm=arm,
                verdict=weighed.judgement.verdict,
                net_composite_gain=weighed.judgement.gain,
                hard_regressions=weighed.judgement.hard,
                choice=weighed.decision.choice,
                measure=measure,
                mean=delta.mean,
                ci95=delta.ci95,
                p=delta.p,
                p_holm=None,
            )
        )
    adjusted = iter(holm([row.p for row in rows if row.p is not None]))
    return tuple(row if row.p is None else row.model_copy(update={"p_holm": round(next(adjusted), 6)}) for row in rows)


def _excluded(table: RecordTable) -> dict[str, dict[str, int]]:
    """Runs left out for an infrastructure reason, by arm and reason."""
    import numpy as np

    found: dict[str, dict[str, int]] = {}
    rows = np.flatnonzero(~table.counted)
    for arm, error in zip(table.arm[rows].tolist(), table.error[rows].tolist(), strict=True):
        by_reason = found.setdefault(table.arms[arm], {})
        by_reason[table.errors[error]] = by_reason.get(table.errors[error], 0) + 1
    return {arm: dict(sorted(reasons.items())) for arm, reasons in sorted(found.items())}


def _total(excluded: dict[str, dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for reasons in excluded.values():
        for reason, count in reasons.items():
            total[reason] = total.get(reason, 0) + count
    return dict(sorted(total.items()))


def _deltas(pairs: Paired) -> list[tuple[str, Delta]]:
    return [(name, getattr(pairs, name)) for name in MEASURES]


def _same(delta: Delta) -> bool:
    return delta.ci95 is not None and delta.ci95[0] == delta.ci95[1]


def _notes(table: RecordTable, main: _Weighed, names: tuple[str, str]) -> list[str]:
    """What a reader must know before trusting the numbers."""
    pairs, scores, rows = main.pairs, main.scores, main.judgement.rows
    notes = []
    tasks = pairs.pass_delta.tasks
    if pairs.pairs == 0:
        notes.append("there is no pair of the same task and repeat in both arms: insufficient data")
    elif tasks < LEAST_TASKS:
        notes.append(
            f"pairs on {tasks} task{'s' if tasks > 1 else ''} only: "
            f"an interval needs at least {LEAST_TASKS} tasks to mean anything"
        )
    elif (share := held_by(tasks)) is not None:
        notes.append(
            f"pairs on {tasks} tasks only: a 95 % interval of so few is too narrow "
            f"(it holds the truth in {share} % of cases); look at the p-values too"
        )
    alike = [name.replace("_", " ") for name, delta in _deltas(pairs) if delta.pairs > 1 and _same(delta)]
    if alike and tasks >= LEAST_TASKS:
        notes.append(
            f"no two pairs differed in {', '.join(alike)}: such an interval has no width and says nothing about chance"
        )
    if main.decision.provisional and pairs.pairs:
        notes.append("too few repeats for a promotion: the decision is provisional")
    if scores.source == "none" and table.counted.any():
        notes.append("no record states a composite or its objective checks: there is a decision but no verdict")
    if scores.source == "recorded":
        notes.append(
            "composites are taken as recorded; success stands for the objective checks where they are not stated"
        )
    if scores.judge_pairs_lost:
        notes.append(
            f"the judge scored one side only of {scores.judge_pairs_lost} pairs: it was dropped from both sides there"
        )
    if scores.cost_unknown_runs:
        notes.append(f"nothing is known of the cost of {scores.cost_unknown_runs} candidate runs: their cost term is 0")
    if pairs.unpaired_count:
        notes.append(f"{pairs.unpaired_count} runs have no partner in the other arm")
    only = [row.task_id for row in rows if row.status == "candidate_only"]
    if only:
        notes.append(f"tasks that only {names[1]} ran are shown and never counted as gain: {', '.join(only[:5])}")
    left_out = int((~table.counted).sum())
    if left_out:
        notes.append(f"{left_out} runs failed for infrastructure reasons and count neither for nor against an arm")
    return notes
