"""The clustered bootstrap: resample tasks, then pairs within each resampled task.

Repeats of one task are not independent, so a replicate first draws as many tasks as there are, with replacement, and
then, inside each, as many pairs as it has, with replacement. All deltas share the resamples.

Plain two-stage resampling counts the noise of repeats twice: once in the spread of the task means, once in the pairs.
So the deltas are rescaled first (Davison and Hinkley, Bootstrap Methods and their Application, section 3.8): task
means are drawn together until they spread as much as tasks themselves do, and deviations within a task are widened by
sqrt(n / (n - 1)). The mean stays what it is, and with one pair per task nothing changes.

How it stays cheap without changing what is drawn: for each task a pool of second-stage resamples is made beforehand
(its sums only, centred so that their mean is the task's own sum), at least 16,384 over all tasks. A replicate is then
one draw per task from that pool. With one pair per task this is the plain bootstrap. Where a full second stage would
take more than 4 million draws, tasks with 64 pairs or more draw their sums from the normal distribution with exactly
the covariance that resampling their pairs has.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.compare.normal import normal_cdf, normal_quantile

if TYPE_CHECKING:
    import numpy as np

    from steelyard.compare.table import Floats, Ints

RESAMPLES = 10_000
LEAST_TASKS = 5
# Below so many tasks a nominal 95 % interval holds the truth in that many per cent of experiments, as every BCa of so
# few values does: measured on normal and skewed deltas with 1 and with 5 repeats (benchmarks/coverage.py).
HELD = ((7, "80 to 86"), (10, "86 to 90"), (15, "88 to 91"), (30, "90 to 93"))
POOL_ROWS = 16_384
MOST_DRAWS = 4_000_000
MANY_PAIRS = 64
_BATCH_ELEMENTS = 1 << 17  # draws worked on at once: small enough to stay in the cache


@dataclass(frozen=True)
class Interval:
    """A 95 % interval, how it was made, and the standard error of the replicates."""

    low: float
    high: float
    method: str
    standard_error: float


def seed_of(values: "Floats", starts: "Ints") -> int:
    """A seed from the data (or its sums by task) alone, so that the same input gives the same bytes."""
    import numpy as np

    digest = hashlib.blake2b(np.ascontiguousarray(values.T).data, digest_size=16)
    digest.update(np.ascontiguousarray(starts, dtype=np.int64).data)
    return int.from_bytes(digest.digest(), "little")


def held_by(tasks: int) -> str | None:
    """How often, in per cent, an interval of so few tasks holds the truth; None where it is near enough to 95."""
    return next((share for below, share in HELD if tasks < below), None)


def task_sums(values: "Floats", starts: "Ints") -> "Floats":
    """The sum of each column by task."""
    import numpy as np

    return np.column_stack([np.add.reduceat(values[:, k], starts) for k in range(values.shape[1])])


def intervals(
    values: "Floats", starts: "Ints", resamples: int = RESAMPLES, seed: int | None = None
) -> list[Interval | None]:
    """A 95 % interval for the mean of each column of `values` (pairs × deltas), whose tasks begin at `starts`.

    None for every column when there are fewer than 5 tasks. Quickest when each column lies in one piece (order "F").
    """
    import numpy as np

    if len(starts) < LEAST_TASKS:
        return [None] * values.shape[1]
    rng = np.random.Generator(np.random.SFC64(seed_of(values, starts) if seed is None else seed))
    counts = np.diff(np.append(starts, len(values))).astype(np.float64)
    sums = task_sums(values, starts)
    drawn_from = values if counts.max() == 1 else rescaled(values, starts, sums)
    pool, pool_counts = _pool(drawn_from, starts, task_sums(drawn_from, starts), rng)
    replicates = _replicates(pool, pool_counts, len(starts), resamples, rng)
    means = sums.sum(axis=0) / len(values)
    return [_bca(replicates[:, k], float(means[k]), _acceleration(sums[:, k], counts)) for k in range(values.shape[1])]


def rescaled(values: "Floats", starts: "Ints", sums: "Floats") -> "Floats":
    """Deltas with the same mean whose two-stage resampling has the variance of the mean, neither more nor less."""
    import numpy as np

    sizes = np.diff(np.append(starts, len(values)))
    total, tasks = len(values), len(starts)
    typical = (total - float((sizes**2).sum()) / total) / (tasks - 1)
    widen = _by_pair(np.sqrt(sizes / np.maximum(sizes - 1, 1)), sizes)
    result = np.empty(values.shape, order="F")
    for k in range(values.shape[1]):
        means = sums[:, k] / sizes
        away = values[:, k] - _by_pair(means, sizes)
        within = float(away @ away) / (total - tasks)
        grand = float(sums[:, k].sum()) / total
        spread = float((sizes * (means - grand) ** 2).sum()) / (tasks - 1)
        between = max(0.0, (spread - within) / typical)
        keep = np.sqrt(between / (between + within / typical)) if between > 0 else 0.0
        away *= widen
        np.add(away, _by_pair(grand + keep * (means - grand), sizes), out=result[:, k])
    return result


def _by_pair(numbers: "Floats", sizes: "Ints") -> "Floats":
    """A number of each task at each of its pairs; several times as quick where all tasks have the same number."""
    import numpy as np

    return np.repeat(numbers, int(sizes[0]) if sizes.min() == sizes.max() else sizes)


def _pool(values: "Floats", starts: "Ints", sums: "Floats", rng: "np.random.Generator") -> "tuple[Floats, Floats]":
    """Second-stage resamples of every task: sums by delta, and the pairs in each (all rows of a task have the same)."""
    import numpy as np

    counts = np.diff(np.append(starts, len(values)))
    tasks, deltas = sums.shape
    if counts.max() == 1:
        return sums, counts.astype(np.float64)
    size = max(1, math.ceil(POOL_ROWS / tasks))
    pool = np.empty((size, tasks, deltas))
    if len(values) * size <= MOST_DRAWS:
        exact = np.ones(tasks, dtype=bool)
    else:
        exact = counts < MANY_PAIRS
        pool[:, ~exact] = _normal_sums(values, starts, sums, size, rng)[:, ~exact]
    if exact.any():
        _fill_exact(pool, exact, (values, starts, counts), rng)
    pool += sums - pool.mean(axis=0)
    return pool.reshape(size * tasks, deltas), np.tile(counts.astype(np.float64), size)


def _fill_exact(
    pool: "Floats", exact: "np.ndarray", data: "tuple[Floats, Ints, Ints]", rng: "np.random.Generator"
) -> None:
    """Resample the pairs of each of these tasks, one row of the pool at a time in cache-sized batches."""
    import numpy as np

    values, starts, counts = data
    held = counts[exact]
    first = np.repeat(starts[exact], held)
    width = np.repeat(held, held).astype(np.float64)
    begins = np.concatenate(([0], np.cumsum(held)[:-1]))
    step = max(1, _BATCH_ELEMENTS // len(first))
    columns = [np.ascontiguousarray(values[:, k]) for k in range(values.shape[1])]
    for low in range(0, len(pool), step):
        rows = min(step, len(pool) - low)
        picks = (rng.random((rows, len(first))) * width).astype(np.int64) + first
        for k, column in enumerate(columns):
            pool[low : low + rows, exact, k] = np.add.reduceat(column.take(picks), begins, axis=1)


def _normal_sums(values: "Floats", starts: "Ints", sums: "Floats", size: int, rng: "np.random.Generator") -> "Floats":
    """Sums of n pairs drawn with replacement have covariance n · cov(pairs of the task): draw them from that."""
    import numpy as np

    counts = np.diff(np.append(starts, len(values))).astype(np.float64)
    tasks, deltas = sums.shape
    sizes = counts.astype(np.int64)
    centred = [values[:, k] - _by_pair(sums[:, k] / counts, sizes) for k in range(deltas)]
    covariance = np.empty((tasks, deltas, deltas))
    for i in range(deltas):
        for j in range(i + 1):
            covariance[:, i, j] = covariance[:, j, i] = np.add.reduceat(centred[i] * centred[j], starts)
    roots, axes = np.linalg.eigh(covariance)
    spread = axes * np.sqrt(np.clip(roots, 0, None))[:, None, :]
    noise = rng.standard_normal((size, tasks, deltas))
    drawn: Floats = sums + np.einsum("tij,stj->sti", spread, noise)
    return drawn


def _replicates(pool: "Floats", counts: "Floats", tasks: int, resamples: int, rng: "np.random.Generator") -> "Floats":
    """The mean of each delta in each replicate: sums and pairs of one draw per task."""
    import numpy as np

    result = np.empty((resamples, pool.shape[1]))
    columns = [np.ascontiguousarray(pool[:, k]) for k in range(pool.shape[1])]
    same = counts.min() == counts.max()
    step = max(1, _BATCH_ELEMENTS // tasks)
    kind = np.uint16 if len(pool) <= 1 << 16 else np.uint32
    for low in range(0, resamples, step):
        rows = min(step, resamples - low)
        picks = rng.integers(0, len(pool), (rows, tasks), dtype=kind).astype(np.intp)
        pairs = counts[0] * tasks if same else counts.take(picks).sum(axis=1)
        for k, column in enumerate(columns):
            result[low : low + rows, k] = column.take(picks).sum(axis=1) / pairs
    return result


def _acceleration(sums: "Floats", counts: "Floats") -> float:
    """The skewness of the leave-one-task-out means: how fast the standard error changes with the mean."""
    import numpy as np

    without = (sums.sum() - sums) / (counts.sum() - counts)
    away = without.mean() - without
    spread = float((away**2).sum())
    scale = float(np.abs(sums).sum()) ** 2
    return 0.0 if spread <= 1e-28 * scale else float((away**3).sum()) / (6 * spread**1.5)


def _bca(replicates: "Floats", mean: float, acceleration: float) -> Interval:
    """Bias-corrected and accelerated, or the plain percentiles where the correction is not defined."""
    import numpy as np

    ordered = np.sort(replicates)
    error = float(ordered.std(ddof=1))
    slack = 1e-12 * max(abs(mean), float(np.abs(ordered[[0, -1]]).max()))
    below = (np.searchsorted(ordered, mean - slack) + np.searchsorted(ordered, mean + slack, side="right")) / 2
    share = float(below) / len(ordered)
    if not 0 < share < 1 or ordered[-1] - ordered[0] <= slack:
        return Interval(_at(ordered, 0.025), _at(ordered, 0.975), "percentile", error)
    bias = normal_quantile(share)
    ends = []
    for z in (normal_quantile(0.025), normal_quantile(0.975)):
        shrink = 1 - acceleration * (bias + z)
        if shrink <= 0:
            return Interval(_at(ordered, 0.025), _at(ordered, 0.975), "percentile", error)
        ends.append(_at(ordered, normal_cdf(bias + (bias + z) / shrink)))
    return Interval(ends[0], ends[1], "BCa", error)


def _at(ordered: "Floats", share: float) -> float:
    """The quantile of sorted numbers, by linear interpolation."""
    place = share * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 2)
    part = place - low
    return float(ordered[low] * (1 - part) + ordered[low + 1] * part)
