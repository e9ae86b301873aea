"""The scorecard of a run (seed 001), formula version 2: four axes from 0 to 100, their weighted sum, a tier.

Scoring is fail-safe: an axis that can't be computed (nothing measured, or a measurement that is not a finite number
of at least 0) is 50 and is named in `defaulted_axes`. No input makes it raise. Rounding is half up on the decimal
numbers as they were written: near a half the arithmetic is done again in exact fractions.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from steelyard.domain.run import Run
from steelyard.domain.score import Axes, Axis, Scorecard, Tier, Weights
from steelyard.domain.usage import Resources

FORMULA_VERSION = "2"
DEFAULT = 50
COMPLETION: dict[str, int] = {"COMPLETED": 100, "BLOCKED": 30, "FAILED": 0}
HISTORY_MOST, HISTORY_LEAST = 20, 5
DEFAULT_WEIGHTS = Weights()
_AXES: tuple[Axis, ...] = ("completion", "error_rate", "latency", "resource_efficiency")
_NEAR_HALF = 1e-6


class Stage(NamedTuple):
    """One stage that was executed, how many attempts it took, and whether it passed in the end."""

    name: str
    attempts: int
    passed: bool


class RunFacts(NamedTuple):
    """All that the formula looks at; what is unknown is None or left out.

    `history_wall_s` are the COMPLETED runs of the workspace before this one, oldest first; `baseline_p50_s`, where it
    is given, is used in their place.
    """

    run_id: str
    outcome: str
    stages: Sequence[tuple[str, int, bool]] = ()
    wall_s: float | None = None
    history_wall_s: Sequence[float] = ()
    baseline_p50_s: float | None = None
    resources: Resources | None = None
    weights: Weights = DEFAULT_WEIGHTS


class Scored(NamedTuple):
    """The formula's answer as plain numbers; `to_scorecard` makes the record of it."""

    score: int
    completion: int
    error_rate: int
    latency: int
    resource_efficiency: int
    defaulted: tuple[Axis, ...]


def score_run(facts: RunFacts) -> Scorecard:
    """The scorecard of one run."""
    return to_scorecard(facts, score_facts(facts))


def score_facts(facts: RunFacts) -> Scored:
    """The four axes and the score, without building a record: for many runs at once."""
    completion = COMPLETION.get(facts.outcome)
    error_rate = error_rate_axis(facts.stages)
    latency = latency_axis(facts.wall_s, _p50_of(facts))
    resource = resource_axis(facts.resources)
    defaulted: tuple[Axis, ...] = ()
    if completion is None or error_rate is None or latency is None or resource is None:
        known = (completion, error_rate, latency, resource)
        defaulted = tuple(name for name, axis in zip(_AXES, known, strict=True) if axis is None)
        completion, error_rate, latency, resource = (DEFAULT if axis is None else axis for axis in known)
    score = weighted_score(completion, error_rate, latency, resource, facts.weights)
    return Scored(score, completion, error_rate, latency, resource, defaulted)


def to_scorecard(facts: RunFacts, scored: Scored) -> Scorecard:
    """The record of a score, with the weights and the inputs it was made of."""
    return Scorecard(
        run_id=facts.run_id,
        score=scored.score,
        tier=tier_of(scored.score),
        formula_version=FORMULA_VERSION,
        axes=Axes(
            completion=scored.completion,
            error_rate=scored.error_rate,
            latency=scored.latency,
            resource_efficiency=scored.resource_efficiency,
        ),
        weights=facts.weights,
        defaulted_axes=scored.defaulted,
        inputs=inputs_of(facts),
    )


def inputs_of(facts: RunFacts) -> dict[str, Any]:
    """The measurements a score was made of, as JSON: enough to compute it again. What is not a number is None."""
    resources = facts.resources
    return {
        "outcome": facts.outcome,
        "stages": [list(stage) for stage in facts.stages],
        "wall_s": _number(facts.wall_s),
        "p50_s": _number(_p50_of(facts)),
        "history_runs": len(_usable(facts.history_wall_s)),
        "peak_memory_mb": _number(resources.peak_memory_mb) if resources else None,
        "memory_limit_mb": _number(resources.memory_limit_mb) if resources else None,
        "cpu_periods": resources.cpu_periods if resources else None,
        "cpu_throttled_periods": resources.cpu_throttled_periods if resources else None,
    }


def facts_of(run: Run, history: Sequence[float], weights: Weights = DEFAULT_WEIGHTS) -> RunFacts:
    """What the formula looks at in a run; without stages the required `command` scorers count as stages."""
    return RunFacts(
        run_id=run.run_id,
        outcome=run.outcome,
        stages=stages_of(run),
        wall_s=run.wall_s,
        history_wall_s=history,
        resources=run.resources,
        weights=weights,
    )


def stages_of(run: Run) -> tuple[Stage, ...]:
    """Each executed stage with the attempts it took until it passed (all of them when it never did).

    A stage that passed at once and ran again only because a later stage was repaired keeps its first pass.
    """
    stages: dict[str, Stage] = {}
    for attempt in run.stages:
        before = stages.get(attempt.name)
        if before is None:
            stages[attempt.name] = Stage(attempt.name, 1, attempt.passed)
        elif not before.passed:
            stages[attempt.name] = Stage(attempt.name, before.attempts + 1, attempt.passed)
    if stages:
        return tuple(stages.values())
    commands = (s for s in run.scorers if s.type == "command" and s.required and not s.crashed and s.verdict != "N/A")
    return tuple(Stage(scorer.name, 1, scorer.verdict == "PASS") for scorer in commands)


def error_rate_axis(stages: Iterable[tuple[str, int, bool]]) -> int | None:
    """100 × stages passed at the first attempt / stages executed; a stage with no attempt was not executed."""
    executed = first = 0
    for _, attempts, passed in stages:
        if attempts >= 1:
            executed += 1
            first += passed and attempts == 1
    return (200 * first + executed) // (2 * executed) if executed else None


def rolling_p50(history: Sequence[float]) -> float | None:
    """The median of the last 20 usable wall times; None when there are fewer than 5."""
    recent = _usable(history)
    count = len(recent)
    if count < HISTORY_LEAST:
        return None
    ordered = sorted(recent)
    half = count // 2
    return float(ordered[half]) if count % 2 else (ordered[half - 1] + ordered[half]) / 2


def latency_axis(wall_s: float | None, p50_s: float | None) -> int | None:
    """100 · (3 − wall / p50) / 2.5, clamped: half the usual time is 100, the usual time 80, three times 0."""
    if wall_s is None or p50_s is None or not (0 <= wall_s < math.inf and 0 < p50_s < math.inf):
        return None
    return _round_half_up(40 * (3 - wall_s / p50_s), lambda: 40 * (3 - _exact(wall_s) / _exact(p50_s)))


def resource_axis(resources: Resources | None) -> int | None:
    """.7 · memory + .3 · cpu; an unknown part counts 50, and with both unknown there is no axis."""
    if resources is None:
        return None
    peak, limit = resources.peak_memory_mb, resources.memory_limit_mb
    periods, throttled = resources.cpu_periods, resources.cpu_throttled_periods
    has_memory = peak is not None and limit is not None and 0 <= peak < math.inf and 0 < limit < math.inf
    has_cpu = periods is not None and (periods == 0 or (periods > 0 and throttled is not None and throttled >= 0))
    if not has_memory and not has_cpu:
        return None
    used = peak / limit if has_memory else 0.5  # type: ignore[operator]  # has_memory says that both are known
    slow = 0.5 if not has_cpu else min(throttled, periods) / periods if periods else 0.0  # type: ignore[operator, type-var]  # likewise
    value = (70 * (1 - used) if used < 1 else 0.0) + (30 * (1 - slow) if slow < 1 else 0.0)

    def exactly() -> Fraction:
        memory = min(Fraction(1), _exact(peak) / _exact(limit)) if has_memory else Fraction(1, 2)
        cpu = min(Fraction(1), Fraction(throttled or 0, periods)) if has_cpu and periods else Fraction(slow)
        return 70 * (1 - memory) + 30 * (1 - cpu)

    return _round_half_up(value, exactly)


def weighted_score(completion: int, error_rate: int, latency: int, resource: int, weights: Weights) -> int:
    """The weighted sum of the axes, rounded half up."""
    if weights is DEFAULT_WEIGHTS:  # the defaults in whole tenths: exact, and four times as quick
        return (4 * completion + 3 * error_rate + 2 * latency + resource + 5) // 10
    axes = (completion, error_rate, latency, resource)
    shares = (weights.completion, weights.error_rate, weights.latency, weights.resource_efficiency)
    total = sum(share * axis for share, axis in zip(shares, axes, strict=True))
    return _round_half_up(
        total, lambda: sum((_exact(s) * a for s, a in zip(shares, axes, strict=True)), start=Fraction(0))
    )


def tier_of(score: int | None) -> Tier:
    """The name of a score's range; without a score, Unranked."""
    if score is None:
        return "Unranked"
    return "Elite" if score >= 90 else "Gold" if score >= 70 else "Silver" if score >= 40 else "Bronze"


def _p50_of(facts: RunFacts) -> float | None:
    return facts.baseline_p50_s if facts.baseline_p50_s is not None else rolling_p50(facts.history_wall_s)


def _usable(history: Sequence[float]) -> Sequence[float]:
    """The last 20 wall times that are finite and not negative."""
    recent = history[-HISTORY_MOST:]
    if not recent or (min(recent) >= 0 and sum(recent) < math.inf):  # false when any of them is not a number
        return recent
    return [wall for wall in history if 0 <= wall < math.inf][-HISTORY_MOST:]


def _round_half_up(value: float, exactly: Callable[[], Fraction]) -> int:
    """Half up into 0..100; only a value next to a half is worth the exact arithmetic."""
    if value <= 0:
        return 0
    if value >= 100:
        return 100
    floor = int(value)
    over = value - floor - 0.5
    if -_NEAR_HALF < over < _NEAR_HALF:
        return min(100, math.floor(exactly() + Fraction(1, 2)))
    return floor + (over > 0)


def _exact(value: float | None) -> Fraction:
    """A number as it was written in decimal: 0.1 is a tenth here."""
    return Fraction(repr(value))


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
