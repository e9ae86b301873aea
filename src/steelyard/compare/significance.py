"""How surprising a difference would be if there were none: sign-flip tests by task, McNemar, Holm's correction."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.compare.normal import normal_cdf

if TYPE_CHECKING:
    from steelyard.compare.table import Floats, Ints

EXACT_TASKS = 16  # 65,536 sign patterns
FLIPS = 10_000
EXACT_COINS = 1000  # pairs that changed, up to which McNemar's sum is done in whole numbers
EXACT_PAIRS = 12  # of one task: 4,096 sign patterns
_BATCH_ELEMENTS = 1 << 17  # signs worked on at once: small enough to stay in the cache
_SLACK = 1e-12  # sums that differ by float noise only are equal


def sign_flip(sums: "Floats", seed: int) -> list[float]:
    """Two-sided p-values of the columns of task sums (tasks × deltas): the sign of a whole task's deltas is flipped.

    Exact over all patterns for at most 16 tasks, else by 10,000 random ones, the observed pattern counted in.
    """
    import numpy as np

    observed = np.abs(sums.sum(axis=0)) - _SLACK * np.abs(sums).sum(axis=0)
    if len(sums) <= EXACT_TASKS:
        flipped = _all_patterns(sums)
        return [float(p) for p in (np.abs(flipped) >= observed).mean(axis=0)]
    rng = np.random.Generator(np.random.SFC64(seed))
    reached = np.ones(sums.shape[1])
    total = sums.sum(axis=0)
    step = max(1, _BATCH_ELEMENTS // len(sums))
    for low in range(0, FLIPS, step):
        rows = min(step, FLIPS - low)
        bits = np.unpackbits(np.frombuffer(rng.bytes(rows * math.ceil(len(sums) / 8)), dtype=np.uint8))
        kept = bits.reshape(rows, -1)[:, : len(sums)].astype(np.float64)  # 1 keeps a task's sign, 0 flips it
        reached += (np.abs(2 * (kept @ sums) - total) >= observed).sum(axis=0)
    return [float(p) for p in reached / (FLIPS + 1)]


def _all_patterns(sums: "Floats") -> "Floats":
    """The total under every pattern of signs, each found by adding one task to all patterns of those before it."""
    import numpy as np

    totals = np.zeros((1, sums.shape[1]))
    for row in sums:
        totals = np.concatenate((totals + row, totals - row))
    return totals


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p-value of pairs that changed, as if gained or lost were the toss of a coin."""
    changed, fewer = gained + lost, min(gained, lost)
    if changed == 0:
        return 1.0
    if changed <= EXACT_COINS:
        term = total = 1
        for k in range(fewer):
            term = term * (changed - k) // (k + 1)
            total += term
        return min(1.0, float(total / (1 << (changed - 1))))
    return min(1.0, 2 * _binomial_tail(changed, fewer))


def _binomial_tail(changed: int, fewer: int) -> float:
    """The same sum by logarithms of its terms, which are never too large for a float."""
    import numpy as np

    steps = np.arange(fewer, dtype=np.float64)
    first = -changed * math.log(2)
    logs = first + np.concatenate(([0.0], np.cumsum(np.log(changed - steps) - np.log1p(steps))))
    return float(np.exp(logs).sum())


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for having looked that many times (Holm's step-down), in the order given."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, place in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = running
    return adjusted


def drop_p_values(deltas: "Floats", starts: "Ints") -> list[float]:
    """For each task, the one-sided p-value that its pairs dropped: the signs of its own deltas are flipped.

    A pair that did not change has no sign to flip and counts for nothing. Exact for at most 12 changed pairs; beyond
    that the flipped sum is taken as normal, one smallest delta nearer to 0 (the continuity correction of deltas that
    are all of one size), and never below what is attainable.
    """
    import numpy as np

    found = []
    for pairs in np.split(deltas, starts[1:]):
        own = pairs[pairs != 0]
        total = float(own.sum())
        if len(own) <= EXACT_PAIRS:
            limit = total + _SLACK * float(np.abs(own).sum())
            found.append(float((_all_patterns(own[:, None])[:, 0] <= limit).mean()))
        else:
            nearer = total + float(np.abs(own).min())
            found.append(max(attainable(len(own)), normal_cdf(nearer / math.sqrt(float((own**2).sum())))))
    return found


def attainable(pairs: int) -> float:
    """The smallest one-sided p-value that so many pairs could ever give."""
    return 0.5 ** min(pairs, 1000)
