"""A plan in full: repeats, money and time for several effects, and what a design could see, honest about few tasks."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from steelyard.compare.arms import shown
from steelyard.compare.fewtasks import repeats_for_these, seen_on_these
from steelyard.compare.power import LEAST_TASKS, Pilot, detectable, plan_repeats

EFFECTS = (0.02, 0.05, 0.1, 0.2)
REPEATS = (1, 2, 3, 5, 10, 20, 50)


@dataclass(frozen=True)
class Wanted:
    """What the plan is for: an effect, seen with this power at this level, by a suite that repeats so often now."""

    effect: float
    power: float
    alpha: float
    repeats_now: int


@dataclass(frozen=True)
class Row:
    """What one effect takes; `repeats` None: no number of repeats is known to be enough."""

    effect: float
    repeats: int | None
    runs: int | None
    cost_usd: float | None
    seconds: float | None
    tasks_needed: int | None


@dataclass(frozen=True)
class Design:
    """The plan for one measure. `scope` says whether it speaks of tasks like these or of these tasks alone."""

    measure: str
    scope: Literal["tasks like these", "these tasks only"]
    pilot: Pilot
    detectable_now: float | None
    wanted: Row
    effects: tuple[Row, ...]
    detectable: tuple[tuple[int, float | None], ...]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The plan as JSON, rounded to 6 decimals."""
        pilot = self.pilot
        return {
            "measure": self.measure,
            "scope": self.scope,
            "pilot": {
                "tasks": pilot.tasks,
                "pairs": pilot.pairs,
                "mean": shown(pilot.mean),
                "variance_between_tasks": shown(pilot.between),
                "variance_within_tasks": shown(pilot.within) if _tells_repeats(pilot) else None,
            },
            "detectable_now": shown(self.detectable_now),
            **_rounded(self.wanted),
            "effects": [_rounded(row) for row in self.effects],
            "detectable": [{"repeats": n, "effect": shown(effect)} for n, effect in self.detectable],
            "notes": list(self.notes),
        }


def _rounded(row: Row) -> dict[str, Any]:
    return {key: shown(value) if isinstance(value, float) else value for key, value in asdict(row).items()}


def design_of(measure: str, pilot: Pilot, wanted: Wanted) -> Design:
    """The plan that a pilot allows."""
    many = pilot.tasks >= LEAST_TASKS
    effects = sorted({*EFFECTS, wanted.effect})
    return Design(
        measure=measure,
        scope="tasks like these" if many else "these tasks only",
        pilot=pilot,
        detectable_now=_seen(pilot, wanted.repeats_now, wanted),
        wanted=_row(pilot, wanted.effect, wanted),
        effects=tuple(_row(pilot, effect, wanted) for effect in effects),
        detectable=tuple((n, _seen(pilot, n, wanted)) for n in REPEATS),
        notes=tuple(_notes(pilot)),
    )


def _tells_repeats(pilot: Pilot) -> bool:
    """Whether any task was repeated: only then is chance within tasks known."""
    return pilot.pairs > pilot.tasks


def _seen(pilot: Pilot, repeats: int, wanted: Wanted) -> float | None:
    if pilot.tasks < LEAST_TASKS:
        return seen_on_these(pilot, repeats, wanted.power, wanted.alpha)
    if not _tells_repeats(pilot) and repeats != 1:
        return None
    return detectable(pilot, repeats, wanted.power, wanted.alpha)


def _row(pilot: Pilot, effect: float, wanted: Wanted) -> Row:
    if pilot.tasks < LEAST_TASKS:
        repeats, tasks = repeats_for_these(pilot, effect, wanted.power, wanted.alpha), None
    else:
        plan = plan_repeats(pilot, effect, wanted.power, wanted.alpha)
        repeats, tasks = plan.repeats, plan.tasks_needed
    runs = None if repeats is None else 2 * repeats * pilot.tasks
    return Row(
        effect=effect,
        repeats=repeats,
        runs=runs,
        cost_usd=None if runs is None or pilot.cost_usd is None else pilot.cost_usd * runs / 2,
        seconds=None if runs is None or pilot.seconds is None else pilot.seconds * runs / 2,
        tasks_needed=tasks,
    )


def _notes(pilot: Pilot) -> Iterable[str]:
    if pilot.tasks < LEAST_TASKS:
        tasks = "1 task" if pilot.tasks == 1 else f"{pilot.tasks} tasks"
        yield (
            f"the pilot has pairs on {tasks}: repeats can show a difference on just that, and say nothing about other "
            f"tasks; add tasks until there are at least {LEAST_TASKS}"
        )
    if not _tells_repeats(pilot):
        yield "the pilot has one repeat of each task: how much chance there is within a task is not known"
    elif pilot.within == 0 and pilot.between == 0:
        yield "no two pairs of the pilot differed: the plan is the least that can do, and may be too little"
    elif pilot.pairs - pilot.tasks < 10:
        yield "the pilot is small: take the numbers as a guess, and plan again with more runs"
