"""The composite of a run (seed 000): a number in [0, 1] from objective checks, the judge, and cost against a reference.

Nothing here rounds: composites are rounded to 6 decimals only when they are shown or stored.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # records are weighed without anything of stored runs
    from steelyard.domain.run import Run

W_OBJ = 0.6
W_JUDGE = 0.4
COST_WEIGHT = 0.1


class Cost(NamedTuple):
    """What a run consumed, in the four measures that count; None is unknown, which is never zero."""

    tokens: float | None = None
    tool_calls: float | None = None
    steps: float | None = None
    wall_s: float | None = None


def objective01(passed: float, total: float) -> float:
    """Checks passed / total; 1.0 without checks. Counts that can't be (negative, more than all) are clamped."""
    return _clamp(passed / total, 0.0, 1.0) if total > 0 else 1.0


def base_score(obj01: float, judge01: float | None) -> float:
    """(0.6 · objective + 0.4 · judge) / (0.6 + 0.4), or the objective alone without a judge's score."""
    if judge01 is None:
        return obj01
    return (W_OBJ * obj01 + W_JUDGE * judge01) / (W_OBJ + W_JUDGE)


def cost_ratio(candidate: float | None, reference: float | None) -> float | None:
    """Candidate / reference; against a reference of 0 it is 1 when the candidate is 0 too, else 2; None if unknown."""
    if not _known(candidate) or not _known(reference):
        return None
    if reference == 0:
        return 1.0 if candidate == 0 else 2.0
    return candidate / reference  # type: ignore[operator]  # both are known here


def cost_adjustment(candidate: Cost, reference: Cost | None) -> float:
    """0.1 · clamp(1 − mean ratio, −1, 1) over the measures known on both sides; 0 when there is none."""
    if reference is None:
        return 0.0
    ratios = [r for r in map(cost_ratio, candidate, reference) if r is not None]
    return COST_WEIGHT * _clamp(1 - sum(ratios) / len(ratios), -1.0, 1.0) if ratios else 0.0


def composite(obj01: float, judge01: float | None, adjustment: float = 0.0) -> float:
    """Base + cost adjustment, clamped to [0, 1]; not a number when an input is not finite, so that it can be seen."""
    value = base_score(obj01, judge01) + adjustment
    return _clamp(value, 0.0, 1.0) if math.isfinite(value) else math.nan


def reference_cost(runs: Sequence[Cost]) -> Cost:
    """The mean of each measure over the baseline's runs of a task, where it is known."""

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None and math.isfinite(value)]
        return sum(known) / len(known) if known else None

    return Cost(*(mean(column) for column in zip(*runs, strict=True))) if runs else Cost()


def cost_of(run: "Run") -> Cost:
    """Tokens, tool calls, steps and wall-clock of a run."""
    return Cost(run.usage.total_tokens, run.usage.tool_calls, run.usage.steps, run.wall_s)


def judge01_of(run: "Run") -> float | None:
    """The judge's score of a run, where there is one."""
    return run.judge.judge01 if run.judge is not None else None


def composite_of(run: "Run", reference: Cost | None = None) -> float:
    """A run's composite against a reference; without one (the baseline itself) the cost term is 0."""
    from steelyard.formulas.gates import objective_counts

    passed, total = objective_counts(run.scorers)
    return composite(objective01(passed, total), judge01_of(run), cost_adjustment(cost_of(run), reference))


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value >= 0


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
