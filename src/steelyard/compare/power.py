"""What size of difference a design can see, and how many repeats a wanted one needs: from the variance of a pilot."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.compare.normal import student_quantile
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.compare.table import Floats, Ints

POWER = 0.8
ALPHA = 0.05
LEAST_TASKS = 5  # with fewer, the spread between tasks is a guess
MOST_REPEATS = 10_000


@dataclass(frozen=True)
class Pilot:
    """Paired deltas in two parts of variance: between the means of tasks, and between the pairs of one task.

    `cost_usd` and `seconds` are what one pair of runs (both arms) took on average, where known.
    """

    tasks: int
    pairs: int
    mean: float
    between: float
    within: float
    cost_usd: float | None = None
    seconds: float | None = None

    @property
    def repeats(self) -> float:
        """Pairs per task, on average."""
        return self.pairs / self.tasks if self.tasks else 0.0


@dataclass(frozen=True)
class RepeatPlan:
    """Repeats per task and arm for a wanted effect. None: no number of repeats is enough, `tasks_needed` are.

    `detectable` lists the smallest effect that 1, 2, 3, 5, 10, 20, 50 repeats would see.
    """

    effect: float
    power: float
    alpha: float
    repeats: int | None
    tasks: int
    tasks_needed: int
    runs: int | None
    cost_usd: float | None
    seconds: float | None
    detectable: tuple[tuple[int, float], ...]


def pilot_from(deltas: "Floats", starts: "Ints", cost_usd: float | None = None, seconds: float | None = None) -> Pilot:
    """The two parts of variance, by analysis of variance; a part that comes out negative is 0."""
    import numpy as np

    count, tasks = len(deltas), len(starts)
    if tasks == 0:
        return Pilot(0, 0, 0.0, 0.0, 0.0, cost_usd, seconds)
    sizes = np.diff(np.append(starts, count))
    means = np.add.reduceat(deltas, starts) / sizes
    centred = deltas - np.repeat(means, sizes)
    within = float((centred**2).sum()) / (count - tasks) if count > tasks else 0.0
    grand = float(deltas.mean())
    between = 0.0
    if tasks > 1:
        typical = (count - float((sizes**2).sum()) / count) / (tasks - 1)
        spread = float((sizes * (means - grand) ** 2).sum()) / (tasks - 1)
        between = max(0.0, (spread - within) / typical)
    return Pilot(tasks, count, grand, between, within, cost_usd, seconds)


def detectable(pilot: Pilot, repeats: float, power: float = POWER, alpha: float = ALPHA) -> float | None:
    """The smallest true mean difference that so many repeats would show with that power; None below 5 tasks."""
    if pilot.tasks < LEAST_TASKS or repeats <= 0:
        return None
    return _reach(pilot.tasks, power, alpha) * math.sqrt((pilot.between + pilot.within / repeats) / pilot.tasks)


def plan_repeats(pilot: Pilot, effect: float, power: float = POWER, alpha: float = ALPHA) -> RepeatPlan:
    """How many repeats per task and arm show a difference of `effect` with that power, and what they cost."""
    if not (math.isfinite(effect) and effect > 0):
        raise InputError(f"the wanted effect must be a number above 0, not {effect}")
    if not (0 < power < 1 and 0 < alpha < 1):
        raise InputError(f"power and alpha lie between 0 and 1, not {power} and {alpha}")
    if pilot.tasks < LEAST_TASKS:
        raise InputError(f"a plan needs a pilot with pairs on at least {LEAST_TASKS} tasks, and this has {pilot.tasks}")
    allowed = pilot.tasks * (effect / _reach(pilot.tasks, power, alpha)) ** 2 - pilot.between
    repeats: int | None = None
    if pilot.within == 0 and allowed >= 0:
        repeats = 1
    elif allowed > 0 and pilot.within / allowed <= MOST_REPEATS:
        repeats = max(1, math.ceil(pilot.within / allowed - 1e-9))
    runs = None if repeats is None else 2 * repeats * pilot.tasks
    return RepeatPlan(
        effect=effect,
        power=power,
        alpha=alpha,
        repeats=repeats,
        tasks=pilot.tasks,
        tasks_needed=_tasks_needed(pilot, effect, power, alpha),
        runs=runs,
        cost_usd=None if runs is None or pilot.cost_usd is None else pilot.cost_usd * runs / 2,
        seconds=None if runs is None or pilot.seconds is None else pilot.seconds * runs / 2,
        detectable=tuple((n, detectable(pilot, n, power, alpha) or 0.0) for n in (1, 2, 3, 5, 10, 20, 50)),
    )


def _tasks_needed(pilot: Pilot, effect: float, power: float, alpha: float) -> int:
    """Tasks that would be enough at the pilot's own repeats."""
    variance = pilot.between + pilot.within / max(pilot.repeats, 1.0)
    tasks = LEAST_TASKS
    for _ in range(100):  # more tasks mean more degrees of freedom, hence a few rounds until it settles
        needed = max(LEAST_TASKS, math.ceil(variance * (_reach(tasks, power, alpha) / effect) ** 2 - 1e-9))
        if needed <= tasks:
            break
        tasks = needed
    return tasks


def _reach(tasks: int, power: float, alpha: float) -> float:
    """How many standard errors away a true difference must be."""
    return student_quantile(1 - alpha / 2, tasks - 1) + student_quantile(power, tasks - 1)
