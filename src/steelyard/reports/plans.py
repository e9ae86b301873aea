"""A plan for people: the answer first, then what other effects and repeats would give."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.reports import words
from steelyard.reports.text import aligned

if TYPE_CHECKING:
    from steelyard.compare.designs import Design, Row


def plan_text(document: dict[str, Any], designs: "Sequence[tuple[str, Design]]") -> str:
    """The whole plan as text."""
    arms = [words.name(arm) for arm in document["arms"]]
    pilot = designs[0][1].pilot
    now = f"{words.many(document['tasks'], 'task')} × 2 arms × {words.many(document['repeats_now'], 'repeat')}"
    opening = (
        f"plan from experiment {document['experiment']}: {' and '.join(arms)}, "
        f"{pilot.pairs:,} {'pair' if pilot.pairs == 1 else 'pairs'} on {words.many(pilot.tasks, 'task')}"
    )
    lines = [
        opening,
        f"the design now: {now}; power {document['power']:g}, alpha {document['alpha']:g}",
    ]
    for name, design in designs:
        lines += ["", *_measure(name, design)]
    notes = dict.fromkeys([*document["notes"], *(note for _, design in designs for note in design.notes)])
    if notes:
        lines += ["", *(f"note: {words.visible(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def _measure(name: str, design: "Design") -> list[str]:
    show: Callable[[float | None], str] = words.points if design.measure == "pass_delta" else words.composite
    scope = " (on these tasks only)" if design.scope == "these tasks only" else ""
    now = design.detectable_now
    seen = "what the design now could see is unknown"
    if now is not None:
        seen = f"the design now could see ±{show(now)} or more"
    rows = [
        (
            show(row.effect),
            _repeats(row, design),
            "–" if row.runs is None else f"{row.runs:,}",
            "–" if row.runs is None else words.money(row.cost_usd),
            "–" if row.runs is None else words.seconds(row.seconds),
        )
        for row in design.effects
    ]
    heads = ("effect", "repeats", "runs", "cost", "time, one by one")
    reach = [(f"{n}", "unknown" if effect is None else f"±{show(effect)}") for n, effect in design.detectable]
    return [
        f"{name}{scope}: {_answer(design, show)}",
        f"  {seen}",
        *(f"    {line}" for line in aligned(heads, rows)),
        "  repeats and the smallest difference they would show:",
        *(f"    {line}" for line in aligned(("repeats", "difference"), reach)),
    ]


def _answer(design: "Design", show: Callable[[float | None], str]) -> str:
    row = design.wanted
    if row.repeats is not None:
        cost, time = words.money(row.cost_usd), words.seconds(row.seconds)
        return (
            f"{words.many(row.repeats, 'repeat')} would show a difference of {show(row.effect)}: "
            f"{words.many(row.runs or 0, 'run')}, cost {cost}, time {time}"
        )
    if design.pilot.pairs <= design.pilot.tasks:
        return (
            f"a difference of {show(row.effect)} needs more than 1 repeat; how many is unknown without a repeated pilot"
        )
    if row.tasks_needed is not None:
        tasks = words.many(row.tasks_needed, "task")
        return f"no number of repeats would show a difference of {show(row.effect)}; about {tasks} would"
    return f"no number of repeats would show a difference of {show(row.effect)}"


def _repeats(row: "Row", design: "Design") -> str:
    if row.repeats is not None:
        return f"{row.repeats:,}"
    if design.pilot.pairs <= design.pilot.tasks:
        return "unknown"
    return "none is enough" if row.tasks_needed is None else f"{row.tasks_needed:,} tasks instead"
