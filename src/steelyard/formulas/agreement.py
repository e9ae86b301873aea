"""How far two who judge the same runs agree: Cohen's kappa with a bootstrap interval, and tries of one judge."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 10_000
LEAST_RUNS = 10  # with fewer, an interval would say more about chance than about the judge
LEAST_TASKS = 5
_BATCH = 1 << 20
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Spread:
    """A 95 % interval (percentiles of the bootstrap) and what was resampled: whole tasks, or single runs."""

    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Retest:
    """One judge asked several times about each run."""

    runs: int
    tries: int
    identical: int
    share_identical: float | None
    pairwise_agreement: float | None
    kappa: float | None


def agreement(pairs: Pairs) -> float | None:
    """The share of pairs whose two sides say the same; None without pairs."""
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def cohen_kappa(pairs: Pairs) -> float | None:
    """Agreement beyond chance: (p_o - p_e) / (1 - p_e), in whole numbers until the division.

    None without pairs, and where chance alone explains everything: both sides say one and the same thing of all runs.
    """
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(count * second[name] for name, count in first.items())
    same = sum(a == b for a, b in pairs)
    return None if n * n == chance else (n * same - chance) / (n * n - chance)


def kappa_spread(pairs: Pairs, tasks: Sequence[str], resamples: int = RESAMPLES) -> Spread | None:
    """A bootstrap interval of kappa, with a seed from the data alone.

    Runs of one task are alike, so whole tasks are drawn; with fewer than 5 tasks single runs are, which says nothing of
    other tasks. None with fewer than 10 runs, or when more than half of the resamples have no kappa.
    """
    import numpy as np

    if len(pairs) < LEAST_RUNS:
        return None
    names = sorted({name for pair in pairs for name in pair})
    by_task = len(set(tasks)) >= LEAST_TASKS
    groups = {task: place for place, task in enumerate(sorted(set(tasks)))} if by_task else {}
    tables = np.zeros((len(groups) or len(pairs), len(names) ** 2))
    for place, (pair, task) in enumerate(sorted(zip(pairs, tasks, strict=True), key=lambda one: (one[1], one[0]))):
        cell = names.index(pair[0]) * len(names) + names.index(pair[1])
        tables[groups[task] if by_task else place, cell] += 1
    found = _resampled(tables, len(names), resamples)
    if 2 * len(found) < resamples:
        return None
    low, high = (float(end) for end in np.quantile(found, (0.025, 0.975)))
    return Spread(low, high, "task" if by_task else "run")


def _resampled(tables: "NDArray[np.float64]", kinds: int, resamples: int) -> "NDArray[np.float64]":
    """The kappas of resampled tables, without those that have none."""
    import numpy as np

    seed = int.from_bytes(hashlib.blake2b(tables.tobytes(), digest_size=16).digest(), "little")
    rng = np.random.Generator(np.random.SFC64(seed))
    units = len(tables)
    step = max(1, _BATCH // units)
    found = []
    for low in range(0, resamples, step):
        rows = min(step, resamples - low)
        drawn = rng.multinomial(units, np.full(units, 1 / units), size=rows) @ tables
        square = drawn.reshape(rows, kinds, kinds)
        n = square.sum(axis=(1, 2))
        chance = (square.sum(axis=2) * square.sum(axis=1)).sum(axis=1)
        same = np.trace(square, axis1=1, axis2=2)
        beyond = n * n - chance
        known = beyond > 0
        found.append((n * same - chance)[known] / beyond[known])
    return np.concatenate(found)


def retest(tries: Sequence[Sequence[str]]) -> Retest:
    """What the tries of each run have in common; kappa is the mean of Cohen's over all pairs of tries (Light's)."""
    count = min((len(one) for one in tries), default=0)
    between = [[(one[i], one[j]) for one in tries] for i, j in combinations(range(count), 2)]
    known = [kappa for kappa in map(cohen_kappa, between) if kappa is not None]
    shares = [share for share in map(agreement, between) if share is not None]
    identical = sum(len(set(one[:count])) == 1 for one in tries) if count else 0
    return Retest(
        runs=len(tries),
        tries=count,
        identical=identical,
        share_identical=identical / len(tries) if tries and count else None,
        pairwise_agreement=fsum(shares) / len(shares) if shares else None,
        kappa=fsum(known) / len(known) if known else None,
    )
