"""Two arms side by side: which runs pair up, and what the composite of each run is in this comparison."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from steelyard.compare.table import RecordTable
from steelyard.formulas.composite import COST_WEIGHT, W_JUDGE, W_OBJ

if TYPE_CHECKING:
    from steelyard.compare.table import Bools, Floats, Ints

Source = Literal["derived", "recorded", "none"]
_COSTS = ("tokens", "tool_call_count", "step_count", "duration_seconds")


@dataclass(frozen=True)
class Sides:
    """The counted rows of both arms, by task and repeat, and where the pairs are.

    `paired_baseline[i]` and `paired_candidate[i]` are places in `baseline` and `candidate` that form pair i.
    """

    table: RecordTable
    baseline: "Ints"
    candidate: "Ints"
    paired_baseline: "Ints"
    paired_candidate: "Ints"

    @cached_property
    def pair_rows(self) -> "tuple[Ints, Ints]":
        """The rows of the table that form each pair: baseline's and candidate's."""
        return self.baseline[self.paired_baseline], self.candidate[self.paired_candidate]

    @cached_property
    def pair_tasks(self) -> "Ints":
        """The task code of each pair, ascending."""
        tasks: Ints = self.table.task[self.pair_rows[0]]
        return tasks

    @cached_property
    def stated(self) -> "Bools":
        """By task code: whether all its runs, in both arms, state their checks; else checks would meet successes."""
        import numpy as np

        table = self.table
        found = np.ones(len(table.tasks), dtype=np.bool_)
        told = table.states("objective_passed") and table.states("objective_total")
        lacking = np.isnan(table.number("objective_passed") + table.number("objective_total")) if told else None
        for rows in (self.baseline, self.candidate):
            found[table.task[rows if lacking is None else rows[lacking[rows]]]] = False
        return found

    def difference(self, column: "Floats") -> "Floats":
        """Candidate minus baseline of a column of the table, pair by pair."""
        before, after = self.pair_rows
        result: Floats = column[after] - column[before]
        return result


def sides(table: RecordTable, baseline: str, candidate: str) -> Sides:
    """Match the runs of two arms by (task, repeat)."""
    import numpy as np

    ours, theirs = table.rows_of(baseline), table.rows_of(candidate)
    our_keys, their_keys = table.keys(ours), table.keys(theirs)
    if np.array_equal(our_keys, their_keys):  # a complete design: every run has its partner
        every = np.arange(len(ours))
        return Sides(table, ours, theirs, every, every)
    _, left, right = np.intersect1d(our_keys, their_keys, assume_unique=True, return_indices=True)
    return Sides(table, ours, theirs, left, right)


@dataclass(frozen=True)
class Composites:
    """The composite of every counted run of both arms (NaN: unknown), and how it came about.

    `source`: derived (from checks, judge and cost), recorded (as the records state it) or none. `lowest_candidate` and
    `highest_baseline` are what the same runs would have had, had every measurement that is missing on one side come
    out against the candidate.
    """

    source: Source
    baseline: "Floats"
    candidate: "Floats"
    highest_baseline: "Floats"
    lowest_candidate: "Floats"
    judge_pairs: int = 0
    judge_pairs_lost: int = 0
    cost_unknown_runs: int = 0
    notes: tuple[str, ...] = field(default=())


def composites(both: Sides) -> Composites:
    """Computed anew where every counted run states its checks; else as recorded; none when no record states any."""
    import numpy as np

    table = both.table
    rows = np.concatenate((both.baseline, both.candidate))
    if len(rows) and both.stated.all():
        return _derived(both)
    recorded = table.number("composite")
    baseline, candidate = recorded[both.baseline], recorded[both.candidate]
    source: Source = "none" if np.isnan(baseline).all() and np.isnan(candidate).all() else "recorded"
    return Composites(source, baseline, candidate, baseline, candidate)


def _derived(both: Sides) -> Composites:
    import numpy as np

    table = both.table
    judge = table.number("judge01")
    has_baseline, has_candidate = ~np.isnan(judge[both.baseline]), ~np.isnan(judge[both.candidate])
    keep_baseline, keep_candidate = _judged(both, has_baseline, has_candidate)
    adjustment, cost_known = _cost_adjustments(table, both.candidate, both.baseline)
    base = _base(both, both.baseline, np.where(keep_baseline, judge[both.baseline], np.nan))
    cand = _base(both, both.candidate, np.where(keep_candidate, judge[both.candidate], np.nan))
    one_sided = bool((has_baseline != keep_baseline).any() or (has_candidate != keep_candidate).any())
    high, low = base, cand
    if one_sided:  # the missing ratings, had they been the best for the baseline and the worst for the candidate
        high = _base(both, both.baseline, np.where(has_baseline, judge[both.baseline], 1.0))
        low = _base(both, both.candidate, np.where(has_candidate, judge[both.candidate], 0.0))
    pair_has = has_baseline[both.paired_baseline].astype(int) + has_candidate[both.paired_candidate]
    return Composites(
        source="derived",
        baseline=base,
        candidate=np.clip(cand + adjustment, 0, 1),
        highest_baseline=high,
        lowest_candidate=np.clip(low + np.where(cost_known, adjustment, -COST_WEIGHT), 0, 1),
        judge_pairs=int((pair_has == 2).sum()),
        judge_pairs_lost=int((pair_has == 1).sum()),
        cost_unknown_runs=int((~cost_known & np.isin(table.task[both.candidate], table.task[both.baseline])).sum()),
    )


def _judged(both: Sides, has_baseline: "Bools", has_candidate: "Bools") -> "tuple[Bools, Bools]":
    """Whose judge's score counts: in a pair only where both have one; unpaired, where the whole task has it."""
    import numpy as np

    table = both.table
    tasks = len(table.tasks)
    lacking = np.bincount(table.task[both.baseline][~has_baseline], minlength=tasks) + np.bincount(
        table.task[both.candidate][~has_candidate], minlength=tasks
    )
    whole = lacking == 0
    keep_baseline = has_baseline & whole[table.task[both.baseline]]
    keep_candidate = has_candidate & whole[table.task[both.candidate]]
    pair = has_baseline[both.paired_baseline] & has_candidate[both.paired_candidate]
    keep_baseline[both.paired_baseline] = pair
    keep_candidate[both.paired_candidate] = pair
    return keep_baseline, keep_candidate


def _base(both: Sides, rows: "Ints", judge01: "Floats") -> "Floats":
    """(0.6 · objective + 0.4 · judge) / (0.6 + 0.4), or the objective alone without a judge's score."""
    import numpy as np

    objective = objective_rates(both, rows)
    judged = (W_OBJ * objective + W_JUDGE * judge01) / (W_OBJ + W_JUDGE)
    result: Floats = np.where(np.isnan(judge01), objective, judged)
    return result


def objective_rates(both: Sides, rows: "Ints") -> "Floats":
    """Checks passed / total of these rows; 1.0 without checks; success alone on a task that does not state them."""
    import numpy as np

    table = both.table
    if not both.stated.any():
        return table.success[rows].astype(np.float64)
    passed, total = table.number("objective_passed")[rows], table.number("objective_total")[rows]
    rate = np.where(total > 0, np.clip(passed / np.maximum(total, 1), 0, 1), 1.0)
    result: Floats = np.where(both.stated[table.task[rows]], rate, table.success[rows])
    return result


def objective_passed(both: Sides, rows: "Ints") -> "Floats":
    """Checks passed in these rows; success as one check on a task that does not state them."""
    import numpy as np

    table = both.table
    if not both.stated.any():
        return table.success[rows].astype(np.float64)
    result: Floats = np.where(
        both.stated[table.task[rows]], table.number("objective_passed")[rows], table.success[rows]
    )
    return result


def even_composites(both: Sides) -> "tuple[Floats, Floats]":
    """Composites of both arms with a cost term for either, against the mean of all runs of the task in both.

    The verdict's own composites have a cost term for the candidate alone. That leans against it a little, which no
    test of chance may take for evidence: here arms that are alike differ as often one way as the other.
    """
    import numpy as np

    table = both.table
    judge = table.number("judge01")
    has_baseline, has_candidate = ~np.isnan(judge[both.baseline]), ~np.isnan(judge[both.candidate])
    every = np.concatenate((both.baseline, both.candidate))
    found = []
    for rows, keep in zip((both.baseline, both.candidate), _judged(both, has_baseline, has_candidate), strict=True):
        base = _base(both, rows, np.where(keep, judge[rows], np.nan))
        found.append(np.clip(base + _cost_adjustments(table, rows, every)[0], 0, 1))
    return found[0], found[1]


def _cost_adjustments(table: RecordTable, rows: "Ints", against: "Ints") -> "tuple[Floats, Bools]":
    """The cost term of each run against the mean of others for its task, and whether it was measured."""
    import numpy as np

    tasks, others = table.task[rows], table.task[against]
    total = np.zeros(len(rows))
    known = np.zeros(len(rows))
    for name in _COSTS:
        column = table.total_tokens if name == "tokens" else table.number(name)
        reference = task_means(others, column[against], len(table.tasks))[tasks]
        value = column[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(reference == 0, np.where(value == 0, 1.0, 2.0), value / reference)
        usable = ~(np.isnan(value) | np.isnan(reference))
        total += np.where(usable, ratio, 0.0)
        known += usable
    mean = total / np.maximum(known, 1)
    return np.where(known > 0, COST_WEIGHT * np.clip(1 - mean, -1, 1), 0.0), known > 0


def task_means(tasks: "Ints", values: "Floats", count: int) -> "Floats":
    """The mean of the known values by task code, of so many tasks; NaN for a task without any."""
    import numpy as np

    known = ~np.isnan(values)
    if not known.all():
        tasks, values = tasks[known], values[known]
    counts = np.bincount(tasks, minlength=count)
    with np.errstate(invalid="ignore"):
        sums = np.bincount(tasks, weights=values, minlength=count)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
