"""The verdict (seed 000): per-task composites, what counts as a hard regression, improved or neutral or regressed."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.compare.arms import shown
from steelyard.compare.deltas import starts_of
from steelyard.compare.pairing import (
    Composites,
    Sides,
    even_composites,
    objective_passed,
    objective_rates,
    task_means,
)
from steelyard.compare.significance import attainable, drop_p_values, holm
from steelyard.compare.table import RecordTable
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.comparison import Regression, RegressionKind, TaskRow, Verdict

if TYPE_CHECKING:
    from steelyard.compare.table import Bools, Floats, Ints

SIGNIFICANT = 0.05
MOST_RUN_IDS = 20
_DROPS: dict[str, tuple[RegressionKind, str]] = {
    "passed": ("objective_drop", "objective checks passed fell"),
    "rate": ("objective_rate_drop", "the rate of objective checks passed fell"),
    "composite": ("composite_drop", "the composite fell"),
}


@dataclass(frozen=True)
class Judgement:
    """The verdict with everything it rests on; `unscored` are tasks where an arm has runs but no composite."""

    verdict: Verdict | None
    gain: float | None
    rows: tuple[TaskRow, ...]
    regressions: tuple[Regression, ...]
    unscored: tuple[str, ...]

    @property
    def hard(self) -> int:
        """How many hard regressions there are."""
        return sum(regression.hard for regression in self.regressions)


@dataclass(frozen=True)
class _Means:
    """Per-task means of one arm, by task code, and the ids of each task's first runs."""

    runs: "Ints"
    run_ids: "list[tuple[str, ...]]"
    excluded: "Bools"
    composite: "Floats"
    passed: "Floats"
    rate: "Floats"
    success: "Floats"


def judge(both: Sides, scores: Composites, spec: CompareSpec, names: tuple[str, str]) -> Judgement:
    """Weigh the arms task by task. Without any composite there is no verdict and nothing to regress."""
    base = _means(both, both.baseline, scores.baseline, names[0])
    cand = _means(both, both.candidate, scores.candidate, names[1])
    evidence = _Evidence(both, scores) if spec.regressions == "significant" else None
    rows, regressions, unscored, deltas = [], [], [], []
    for task in range(len(both.table.tasks)):
        if base.runs[task] == 0 and cand.runs[task] == 0:
            continue
        found: list[Regression] = []
        if scores.source != "none":
            found = _regressions(both.table.tasks[task], task, (base, cand), spec, evidence)
            if base.runs[task] and cand.runs[task] and _unknown(base, cand, task):
                unscored.append(both.table.tasks[task])
        row = _row(both, task, (base, cand), found)
        rows.append(row)
        regressions += found
        if row.delta is not None and row.status == "both":
            deltas.append(cand.composite[task] - base.composite[task])
    if scores.source == "none" or not len(both.baseline):
        return Judgement(None, None, tuple(rows), (), tuple(unscored))
    gain = round(math.fsum(deltas), 6) + 0.0
    verdict: Verdict = "neutral"
    if any(regression.hard for regression in regressions):
        verdict = "regressed"
    elif gain > spec.thresholds.min_composite_gain:
        verdict = "improved"
    return Judgement(verdict, gain, tuple(rows), tuple(regressions), tuple(unscored))


def _means(both: Sides, rows: "Ints", composites: "Floats", arm: str) -> _Means:
    import numpy as np

    table = both.table
    count = len(table.tasks)
    left_out = np.zeros(count, dtype=bool)
    if arm in table.arms:
        left_out[table.task[(table.arm == table.arms.index(arm)) & ~table.counted]] = True
    tasks = table.task[rows]
    runs = np.bincount(tasks, minlength=count)
    success = task_means(tasks, table.success[rows].astype(np.float64), count)
    told = both.stated.any()  # else success stands for the checks everywhere
    return _Means(
        runs=runs,
        run_ids=_first_ids(table, rows, runs),
        excluded=left_out,
        composite=task_means(tasks, composites, count),
        passed=task_means(tasks, objective_passed(both, rows), count) if told else success,
        rate=task_means(tasks, objective_rates(both, rows), count) if told else success,
        success=success,
    )


def _first_ids(table: RecordTable, rows: "Ints", runs: "Ints") -> list[tuple[str, ...]]:
    """The ids of the first 20 runs of every task; rows lie by task."""
    import numpy as np

    counts = np.minimum(runs, MOST_RUN_IDS)
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    found = table.ids(rows[np.repeat(np.cumsum(runs) - runs, counts) + within])
    return [found[end - count : end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]


def _unknown(base: _Means, cand: _Means, task: int) -> bool:
    return math.isnan(base.composite[task]) or math.isnan(cand.composite[task])


def _regressions(
    name: str, task: int, arms: tuple[_Means, _Means], spec: CompareSpec, evidence: "_Evidence | None"
) -> list[Regression]:
    """What speaks against the candidate on one task."""
    base, cand = arms
    if not base.runs[task]:
        bad = math.isinf(cand.composite[task])
        return [_not_finite(name, None, None)] if bad else []
    if not cand.runs[task]:
        return [_missing(name, shown(base.composite[task]), measured=not cand.excluded[task])]
    found = []
    if math.isinf(base.composite[task]) or math.isinf(cand.composite[task]):
        found.append(_not_finite(name, shown(base.composite[task]), shown(cand.composite[task])))
    limits = {"composite": spec.thresholds.regression_composite_drop}
    if spec.thresholds.objective_drop_is_regression:
        limits = {"passed": 0.0, "rate": 0.0, **limits}
    for measure, limit in limits.items():
        before, after = float(getattr(base, measure)[task]), float(getattr(cand, measure)[task])
        fell = shown(before - after)
        if fell is not None and fell > limit:
            found.append(_drop(name, measure, (before, after), evidence.of(task, measure) if evidence else None))
    return found


def _drop(name: str, measure: str, numbers: tuple[float, float], evidence: "tuple[float, bool] | None") -> Regression:
    """A drop; under `significant` it is hard only when its own pairs say so, and may be not measurable."""
    before, after = numbers
    kind, words = _DROPS[measure]
    hard, p, detail = True, None, f"{words} from {before:g} to {after:g}"
    if evidence is not None:
        p, measurable = round(evidence[0], 6), evidence[1]
        hard = measurable and evidence[0] < SIGNIFICANT
        if not measurable:
            kind, detail = "not_measurable", f"{detail}; too few repeats to ever show it"
        else:
            detail = f"{detail} (p = {p:g}, one-sided, Holm over tasks)"
    return Regression(
        task_id=name,
        kind=kind,
        hard=hard,
        detail=detail,
        baseline=shown(before),
        candidate=shown(after),
        delta=shown(after - before),
        p=p,
    )


def _missing(name: str, before: float | None, *, measured: bool) -> Regression:
    reason = "the baseline ran this task and the candidate did not"
    if not measured:
        reason = "every run of the candidate on this task failed for an infrastructure reason: not measured"
    return Regression(
        task_id=name,
        kind="missing_task" if measured else "not_measurable",
        hard=measured,
        detail=reason,
        baseline=before,
        candidate=None,
        delta=None,
    )


def _not_finite(name: str, before: float | None, after: float | None) -> Regression:
    detail = "a composite that is not a finite number"
    return Regression(
        task_id=name, kind="not_finite", hard=True, detail=detail, baseline=before, candidate=after, delta=None
    )


def _row(both: Sides, task: int, arms: tuple[_Means, _Means], found: list[Regression]) -> TaskRow:
    base, cand = arms
    table = both.table
    before, after = float(base.composite[task]), float(cand.composite[task])
    return TaskRow(
        task_id=table.tasks[task],
        baseline=shown(before),
        candidate=shown(after),
        delta=shown(after - before),
        regressions=tuple(regression.kind for regression in found),
        status="both"
        if base.runs[task] and cand.runs[task]
        else "baseline_only"
        if base.runs[task]
        else "candidate_only",
        baseline_runs=int(base.runs[task]),
        candidate_runs=int(cand.runs[task]),
        baseline_success_rate=shown(base.success[task]),
        candidate_success_rate=shown(cand.success[task]),
        baseline_objective=shown(base.rate[task]),
        candidate_objective=shown(cand.rate[task]),
        baseline_run_ids=base.run_ids[task],
        candidate_run_ids=cand.run_ids[task],
    )


class _Evidence:
    """One-sided paired evidence of a drop, by task and measure, adjusted over tasks (Holm)."""

    def __init__(self, both: Sides, scores: Composites) -> None:
        import numpy as np

        before, after = (scores.baseline, scores.candidate) if scores.source != "derived" else even_composites(both)
        with np.errstate(invalid="ignore"):
            columns = {
                "composite": after[both.paired_candidate] - before[both.paired_baseline],
                "passed": objective_passed(both, both.candidate)[both.paired_candidate]
                - objective_passed(both, both.baseline)[both.paired_baseline],
                "rate": objective_rates(both, both.candidate)[both.paired_candidate]
                - objective_rates(both, both.baseline)[both.paired_baseline],
            }
        self.found = {name: self._by_task(both.pair_tasks, column) for name, column in columns.items()}

    @staticmethod
    def _by_task(tasks: "Ints", deltas: "Floats") -> dict[int, tuple[float, bool]]:
        import numpy as np

        known = np.isfinite(deltas)
        tasks, deltas = tasks[known], deltas[known]
        starts = starts_of(tasks)
        if not len(starts):
            return {}
        pairs = np.diff(np.append(starts, len(deltas))).tolist()
        adjusted = holm(drop_p_values(deltas, starts))
        able = [
            attainable(count) * len(starts) < SIGNIFICANT or p < SIGNIFICANT
            for count, p in zip(pairs, adjusted, strict=True)
        ]
        return dict(zip(tasks[starts].tolist(), zip(adjusted, able, strict=True), strict=True))

    def of(self, task: int, measure: str) -> tuple[float, bool]:
        """The adjusted p-value, and whether so many pairs could ever have shown a drop."""
        return self.found[measure].get(task, (1.0, False))
