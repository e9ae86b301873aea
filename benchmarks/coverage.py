"""How often the nominal 95 % interval holds the truth: simulated normal, skewed and binary deltas."""

import sys
from collections.abc import Callable

import numpy as np

from steelyard.compare.bootstrap import intervals

TASKS = (10, 30, 100)
REPEATS = 5
EXPERIMENTS = 400
RESAMPLES = 2000


def normal(rng: np.random.Generator, tasks: int) -> np.ndarray:
    """Tasks differ as much as their repeats do; the true mean is 0."""
    return rng.normal(0, 1, (tasks, 1)) + rng.normal(0, 1, (tasks, REPEATS))


def skewed(rng: np.random.Generator, tasks: int) -> np.ndarray:
    """Exponential between and within tasks, shifted to a true mean of 0."""
    return rng.exponential(1, (tasks, 1)) + rng.exponential(1, (tasks, REPEATS)) - 2


def binary(rng: np.random.Generator, tasks: int) -> np.ndarray:
    """Pass deltas of -1, 0, 1: both arms share each task's own rate, so the true mean is 0."""
    rate = rng.beta(2, 2, (tasks, 1))
    return (rng.random((tasks, REPEATS)) < rate).astype(float) - (rng.random((tasks, REPEATS)) < rate)


SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": normal,
    "skewed": skewed,
    "binary": binary,
}


def covered(shape: Callable[[np.random.Generator, int], np.ndarray], tasks: int, experiments: int) -> float:
    """The share of experiments whose interval holds 0."""
    rng = np.random.default_rng(tasks)
    starts = np.arange(0, tasks * REPEATS, REPEATS)
    held = 0
    for _ in range(experiments):
        interval = intervals(shape(rng, tasks).reshape(-1, 1), starts, RESAMPLES)[0]
        held += interval is not None and interval.low <= 0 <= interval.high
    return held / experiments


def main(argv: list[str]) -> None:
    """Print a Markdown table."""
    experiments = int(argv[0]) if argv else EXPERIMENTS
    print(f"{experiments} experiments each, {REPEATS} repeats per task, {RESAMPLES:,} resamples; nominal 95 %.\n")
    print("| deltas | " + " | ".join(f"{tasks} tasks" for tasks in TASKS) + " |")
    print("| --- |" + " --- |" * len(TASKS))
    for name, shape in SHAPES.items():
        shares = [f"{100 * covered(shape, tasks, experiments):.1f} %" for tasks in TASKS]
        print(f"| {name} | " + " | ".join(shares) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
