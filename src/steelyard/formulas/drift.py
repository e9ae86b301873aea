"""Drift: whether this week's mean score differs from last week's, with an interval (Welch) and not a bare percentage.

A week is known by three sums (runs, scores, squared scores), so that it costs the same to look at ten runs and at a
million. The interval is wide, 99.9 %: an alert is looked for after every run, and what is looked at often is found
by chance sooner or later.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

CONFIDENCE = 0.999
LEAST_RUNS = 10  # a week with fewer says nothing
LEAST_CHANGE = 1.0  # of 100 points: less is not worth an alert, however certain
DAYS = 7

Direction = Literal["up", "down"]


@dataclass(frozen=True)
class Sums:
    """What is kept of some scores: how many, their sum, the sum of their squares; all whole numbers, so exact."""

    runs: int = 0
    total: int = 0
    squares: int = 0

    @classmethod
    def of(cls, scores: Iterable[int]) -> "Sums":
        """The sums of scores."""
        kept = list(scores)
        return cls(len(kept), sum(kept), sum(score * score for score in kept))

    def plus(self, other: "Sums") -> "Sums":
        """Both together."""
        return Sums(self.runs + other.runs, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float | None:
        """The mean; None without runs."""
        return self.total / self.runs if self.runs else None

    @property
    def variance(self) -> float | None:
        """The sample variance, computed in whole numbers until the last division; None with fewer than two runs."""
        if self.runs < 2:
            return None
        return (self.runs * self.squares - self.total * self.total) / (self.runs * (self.runs - 1))


@dataclass(frozen=True)
class Drift:
    """This week against the last. `interval` is None where nothing can be said; `drifted` only when it leaves out 0."""

    this_week: Sums
    last_week: Sums
    delta: float | None
    interval: tuple[float, float] | None
    drifted: Direction | None
    reason: str


def drift_of(this_week: Sums, last_week: Sums, *, least_runs: int = LEAST_RUNS) -> Drift:
    """Compare two weeks; a few runs are no drift, and neither is less than a point."""
    least = max(2, least_runs)
    if min(this_week.runs, last_week.runs) < least:
        reason = f"{this_week.runs} runs this week and {last_week.runs} last week; at least {least} each are needed"
        return Drift(this_week, last_week, _delta(this_week, last_week), None, None, reason)
    delta = this_week.total / this_week.runs - last_week.total / last_week.runs
    low, high = _interval(this_week, last_week, delta)
    drifted: Direction | None = None
    if low > 0 or high < 0:
        drifted = ("up" if delta > 0 else "down") if abs(delta) >= LEAST_CHANGE else None
        reason = "the interval leaves out 0" if drifted else f"less than {LEAST_CHANGE:g} point"
    else:
        reason = "the interval holds 0"
    return Drift(this_week, last_week, delta, (low, high), drifted, reason)


def may_have_drifted(this_week: Sums, last_week: Sums) -> bool:
    """A quick look that never says no where `drift_of` says yes: the normal interval is inside the wider Welch one."""
    if min(this_week.runs, last_week.runs) < LEAST_RUNS:
        return False
    delta = this_week.total / this_week.runs - last_week.total / last_week.runs
    return abs(delta) >= LEAST_CHANGE and abs(delta) > 3.29 * _error(this_week, last_week)


def _delta(this_week: Sums, last_week: Sums) -> float | None:
    if this_week.mean is None or last_week.mean is None:
        return None
    return this_week.mean - last_week.mean


def _error(a: Sums, b: Sums) -> float:
    return math.sqrt((a.variance or 0.0) / a.runs + (b.variance or 0.0) / b.runs)


def _interval(a: Sums, b: Sums, delta: float) -> tuple[float, float]:
    """Welch's interval; without any spread on either side it is the difference itself."""
    part_a, part_b = (a.variance or 0.0) / a.runs, (b.variance or 0.0) / b.runs
    if part_a + part_b == 0:
        return delta, delta
    freedom = (part_a + part_b) ** 2 / (part_a**2 / (a.runs - 1) + part_b**2 / (b.runs - 1))
    half = student_quantile(freedom) * math.sqrt(part_a + part_b)
    return delta - half, delta + half


def student_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """The t that `confidence` of Student's distribution lies within, by bisection: no table, no approximation."""
    low, high = 0.0, 2.0
    while _outside(high, freedom) > 1 - confidence:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _outside(middle, freedom) > 1 - confidence else (low, middle)
    return high


def _outside(t: float, freedom: float) -> float:
    """How much of Student's distribution lies beyond ±t: the regularised incomplete beta function."""
    x, a, b = freedom / (freedom + t * t), freedom / 2, 0.5
    if x >= 1.0:
        return 1.0
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1), tiny)
    result = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1.0 / _not_zero(1.0 + step * d, tiny)
            c = _not_zero(1.0 + step / c, tiny)
            result *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return result


def _not_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
