"""A comparison drawn, as numbers: where each mark stands, in per cent of the width: a drawing fits every screen.

A template draws them as SVG with links and classes only: no script, no inline style, light and dark by the style sheet.
"""

from dataclasses import dataclass

from steelyard.domain.comparison import Comparison, Spread
from steelyard.reports import words
from steelyard.reports.view import Measure, Task, shown_tasks
from steelyard.web.pages.columns import run_address

MOST_LINKS = 12
_SHOW = {"cost_usd": words.money, "duration_seconds": words.seconds, "total_tokens": words.count}
_TITLES = {"cost_usd": "Cost", "duration_seconds": "Duration", "total_tokens": "Tokens"}


@dataclass(frozen=True)
class TaskBar:
    """A task: its words, its bar from the middle, and its runs on both sides."""

    task: Task
    task_id: str
    start: float
    width: float
    baseline_runs: tuple[tuple[str, str], ...]
    candidate_runs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ForestRow:
    """A paired delta: the mean as a dot, its interval as a line, on a scale of its own with zero in the middle."""

    measure: Measure
    mean: float
    low: float | None
    high: float | None
    reach: str


@dataclass(frozen=True)
class Box:
    """The spread of one arm: a dot a run (or percentile), the box from quartile to quartile, the median."""

    arm: str
    label: str
    dots: tuple[float, ...]
    quartiles: tuple[float, float, float] | None
    role: str


@dataclass(frozen=True)
class Boxes:
    """The spread of a measure in every arm, on one scale that begins at 0."""

    title: str
    highest: str
    boxes: tuple[Box, ...]


def task_bars(comparison: Comparison, tasks: tuple[Task, ...]) -> list[TaskBar]:
    """A bar a task, the worst first; the longest reaches the edge."""
    rows, _ = shown_tasks(comparison)
    reach = max((abs(task.number) for task in tasks if task.number is not None), default=0.0) or 1.0
    found = []
    for task, row in zip(tasks, rows, strict=True):
        part = 0.0 if task.number is None else 48 * task.number / reach
        found.append(
            TaskBar(
                task=task,
                task_id=row.task_id,
                start=50 + min(0.0, part),
                width=abs(part),
                baseline_runs=_links(row.baseline_run_ids),
                candidate_runs=_links(row.candidate_run_ids),
            )
        )
    return found


def _links(run_ids: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((words.name(run_id), run_address(run_id)) for run_id in run_ids[:MOST_LINKS])


def forest(measures: tuple[Measure, ...]) -> list[ForestRow]:
    """A row a measure that is known."""
    found = []
    for measure in measures:
        if measure.numbers is None:
            continue
        mean, low, high = measure.numbers
        reach = max(abs(value) for value in (mean, low or 0.0, high or 0.0)) * 1.15 or 1.0
        places = [None if value is None else 50 + 48 * value / reach for value in (mean, low, high)]
        found.append(ForestRow(measure, places[0] or 50.0, places[1], places[2], _scale(measure, reach)))
    return found


def _scale(measure: Measure, reach: float) -> str:
    text = f"{reach:,.0f}" if reach >= 100 else f"{reach:.3g}"
    unit = {"percentage points": " pp", "US dollars": " $", "seconds": " s"}.get(measure.unit, "")
    return text + unit


def spread_boxes(comparison: Comparison) -> list[Boxes]:
    """Cost, time and tokens, arm by arm; a measure that no run states is left out."""
    by_measure: dict[str, list[Spread]] = {}
    for one in comparison.spreads:
        by_measure.setdefault(one.measure, []).append(one)
    found = []
    for measure, spreads in by_measure.items():
        most = max((spread.values[-1] for spread in spreads if spread.values), default=None)
        if most is None:
            continue
        boxes = tuple(_box(spread, most or 1.0, comparison) for spread in spreads)
        found.append(Boxes(_TITLES[measure], _SHOW[measure](most), boxes))
    return found


def _box(spread: Spread, most: float, comparison: Comparison) -> Box:
    show = _SHOW[spread.measure]
    label = "no run states it"
    if spread.quartiles is not None:
        low, middle, high = (show(value) for value in spread.quartiles)
        label = f"median {middle}, half of the runs from {low} to {high}; {words.many(spread.runs, 'run')}"
    if spread.unknown:
        label += f", {spread.unknown:,} unknown"
    return Box(
        arm=words.name(spread.arm),
        label=label,
        dots=tuple(_place(value, most) for value in spread.values),
        quartiles=None
        if spread.quartiles is None
        else (_place(spread.quartiles[0], most), _place(spread.quartiles[1], most), _place(spread.quartiles[2], most)),
        role={comparison.baseline: "baseline", comparison.candidate: "candidate"}.get(spread.arm, "other"),
    )


def _place(value: float, most: float) -> float:
    return 1 + 98 * max(0.0, value) / most
