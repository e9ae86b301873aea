"""Early stopping: has enough been seen? A betting test of paired deltas that may be looked at after every repeat.

A wave is one repeat of every task in both arms. Against "the mean over these tasks is at most m" we bet a fixed share
of our capital on every pair: capital = product of 1 + share · (delta - m) / (1 + m), over all pairs of all waves, with
delta in [-1, 1]. If the claim is true, the expected factor of a wave is at most 1 whatever each single task's mean is:
the tasks' runs are independent, so it is the product over tasks of 1 + share · (mean of task - m) / (1 + m), which by
the inequality of arithmetic and geometric means is largest when all tasks have the same mean, and then at most 1.
The capital is thus a supermartingale; so is the average over several shares; and by Ville's inequality it ever reaches
1 / a with probability at most a, no matter when and how often we look. Both sides at alpha / 2 give an interval that
holds the mean at all times with probability 1 - alpha, and every decision is read off that interval.

Nothing depends on the order of the runs, nor of the waves.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from steelyard.compare.pairing import composites, sides
from steelyard.compare.table import RecordTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.compare.table import Floats, Ints

Decision = Literal["improved", "regressed", "no_difference", "undecided"]
Measure = Literal["composite_delta", "pass_delta"]
ALPHA = 0.05
MARGIN = 0.05
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95)
LARGEST_LOG = 690.0  # keeps e-values finite in JSON
_STEPS = 36  # halvings of [-1, 1]: far below what is shown


@dataclass(frozen=True)
class Sequential:
    """What the waves so far allow to say. `e_value` is the evidence for the decision, or the most there is for any.

    `interval` holds the mean delta over these tasks, at every look together, with probability 1 - alpha.
    """

    decision: Decision
    waves: int
    tasks: int
    mean: float | None
    interval: tuple[float, float]
    e_value: float
    needed: float


def decide(deltas: "Floats", alpha: float = ALPHA, margin: float = MARGIN) -> Sequential:
    """Decide from waves × tasks of paired deltas in [-1, 1]; a difference goes before the lack of a large one."""
    waves, tasks = deltas.shape
    needed = math.log(2 / alpha)
    flat = _flat(deltas)
    better, worse = log_capital(flat, 0.0), log_capital(-flat, 0.0)
    alike = min(log_capital(flat, -margin), log_capital(-flat, -margin))
    decision: Decision = "undecided"
    evidence = max(better, worse, alike)
    for name, found in (("improved", better), ("regressed", worse), ("no_difference", alike)):
        if found >= needed:
            decision, evidence = name, found  # type: ignore[assignment]  # the three names are decisions
            break
    return Sequential(
        decision=decision,
        waves=waves,
        tasks=tasks,
        mean=float(flat.mean()) if flat.size else None,
        interval=interval(deltas, alpha),
        e_value=math.exp(min(evidence, LARGEST_LOG)),
        needed=2 / alpha,
    )


def log_capital(deltas: "Floats", bound: float) -> float:
    """The logarithm of the capital won against "the mean is at most `bound`", above -1 and below 1."""
    import numpy as np

    shares = np.array(SHARES)
    logs = np.log1p(np.multiply.outer(shares / (1 + bound), np.sort(deltas) - bound)).sum(axis=1)
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


def interval(deltas: "Floats", alpha: float = ALPHA) -> tuple[float, float]:
    """The means that have not been ruled out; all of [-1, 1] before the first wave."""
    flat = _flat(deltas)
    needed = math.log(2 / alpha)
    return _lowest(flat, needed), -_lowest(-flat, needed)


def _lowest(flat: "Floats", needed: float) -> float:
    """The largest bound that the capital has ruled out: the capital falls as the bound rises."""
    low, high = -1.0, 1.0
    if not flat.size:
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if log_capital(flat, middle) >= needed:
            low = middle
        else:
            high = middle
    return low


def _flat(deltas: "Floats") -> "Floats":
    import numpy as np

    flat: Floats = np.sort(np.clip(np.asarray(deltas, dtype=np.float64).ravel(), -1.0, 1.0))
    return flat


@dataclass(frozen=True)
class Waves:
    """Complete waves as waves × tasks of deltas; `incomplete` are repeats in which a task lacks its pair."""

    measure: Measure
    repeats: tuple[int, ...]
    deltas: "Floats"
    incomplete: tuple[int, ...]


def waves_of(
    table: RecordTable, arms: tuple[str, str], tasks: "Sequence[str]", measure: Measure = "composite_delta"
) -> Waves:
    """The deltas of baseline and candidate by wave; a wave counts only when every task has its pair."""
    import numpy as np

    both = sides(table, *arms)
    rows = both.pair_rows
    values = even_composites(table, arms, rows) if measure == "composite_delta" else _passes(table, rows)
    column = {task: place for place, task in enumerate(sorted(tasks))}
    by_wave: dict[int, Floats] = {}
    for repeat in np.unique(table.repeat).tolist():
        by_wave[repeat] = np.full(len(column), np.nan)
    for row, value in zip(rows[0].tolist(), values.tolist(), strict=True):
        place = column.get(table.tasks[table.task[row]])
        if place is not None:
            by_wave[int(table.repeat[row])][place] = value
    whole = [repeat for repeat, found in by_wave.items() if not np.isnan(found).any()]
    deltas = np.array([by_wave[repeat] for repeat in whole]).reshape(len(whole), len(column))
    return Waves(measure, tuple(whole), deltas, tuple(repeat for repeat in by_wave if repeat not in whole))


def even_composites(table: RecordTable, arms: tuple[str, str], rows: "tuple[Ints, Ints]") -> "Floats":
    """Composite deltas that treat both arms alike, pair by pair.

    The composite charges cost to the candidate alone, against the baseline's mean over all repeats, and stops at 1: two
    equal arms do not come out at 0, and later repeats change earlier deltas. Here each pair is weighed on its own, once
    in either direction, and the delta is half the difference: exactly as likely up as down when the arms are equal.
    """
    import numpy as np

    count = len(rows[0])
    chosen = np.concatenate(rows)
    own = replace(
        table,
        tasks=tuple(map(str, range(count))),
        task=np.concatenate((np.arange(count), np.arange(count))),
        arm=table.arm[chosen],
        error=table.error[chosen],
        repeat=np.ones(2 * count, dtype=np.int64),
        success=table.success[chosen],
        numbers={name: values[chosen] for name, values in table.numbers.items()},
        run_ids=[table.run_ids[int(row)] for row in chosen],
    )
    there, back = (_composite_deltas(own, names) for names in (arms, arms[::-1]))
    deltas: Floats = (there - back) / 2
    return np.where(np.isfinite(deltas), deltas, np.nan)


def _composite_deltas(table: RecordTable, arms: tuple[str, str]) -> "Floats":
    import numpy as np

    both = sides(table, *arms)
    scores = composites(both)
    with np.errstate(invalid="ignore"):
        found: Floats = scores.candidate[both.paired_candidate] - scores.baseline[both.paired_baseline]
    return found


def _passes(table: RecordTable, rows: "tuple[Ints, Ints]") -> "Floats":
    import numpy as np

    return table.success[rows[1]].astype(np.float64) - table.success[rows[0]]
