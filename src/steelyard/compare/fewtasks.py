"""A plan for these very tasks: what repeats can show where there are too few tasks to speak of others."""

import math

from steelyard.compare.normal import student_quantile
from steelyard.compare.power import MOST_REPEATS, Pilot

LEAST_FREEDOM = 4  # with fewer pairs to spare, the spread between repeats is a guess


def repeats_for_these(pilot: Pilot, effect: float, power: float, alpha: float) -> int | None:
    """Repeats of each task that show a mean difference on just these tasks; None when the pilot can't tell.

    Only the variance between repeats counts, since the tasks are taken as all that there are.
    """
    if pilot.tasks < 1 or pilot.pairs <= pilot.tasks or not effect > 0:
        return None
    low, high = 1 + math.ceil(LEAST_FREEDOM / pilot.tasks), MOST_REPEATS
    if _reach(pilot, high, power, alpha) > effect:
        return None
    while low < high:  # what can be seen only gets smaller with more repeats
        middle = (low + high) // 2
        if _reach(pilot, middle, power, alpha) <= effect:
            high = middle
        else:
            low = middle + 1
    return low


def seen_on_these(pilot: Pilot, repeats: int, power: float, alpha: float) -> float | None:
    """The smallest mean difference on just these tasks that so many repeats would show."""
    if pilot.tasks < 1 or pilot.pairs <= pilot.tasks or pilot.tasks * (repeats - 1) < LEAST_FREEDOM:
        return None
    return _reach(pilot, repeats, power, alpha)


def _reach(pilot: Pilot, repeats: int, power: float, alpha: float) -> float:
    freedom = pilot.tasks * (repeats - 1)
    errors = student_quantile(1 - alpha / 2, freedom) + student_quantile(power, freedom)
    return errors * math.sqrt(pilot.within / (pilot.tasks * repeats))
