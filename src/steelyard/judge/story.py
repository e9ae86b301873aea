"""A trajectory as text for a judge: its first and last steps within a bound, whatever its size, the middle counted."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from steelyard.domain.trajectory import Step, Trajectory
from steelyard.judge.fence import middle_cut, shorten

PIECE_LIMIT = 4_000
LEAST_ROOM = 1_000
CALLS_LIMIT = 40
Clean = Callable[[str], str]


def tell(trajectory: Trajectory | None, limit: int, secrets: Sequence[str] = ()) -> str:
    """What the agent said and did. Only the steps that are shown are read, so a huge session costs no more."""
    if trajectory is None or not trajectory.steps:
        return "(empty: the agent left no steps)"
    steps = trajectory.steps

    def cut(text: str) -> str:
        return middle_cut(text, PIECE_LIMIT, secrets)

    head, used = _fill(steps, limit // 2, cut)
    tail, _ = _fill(reversed(steps[used:]), limit - limit // 2, cut)
    between = len(steps) - len(head) - len(tail)
    gap = [f"[… {between:,} of {len(steps):,} steps were cut from the middle …]"] if between else []
    return "\n\n".join(chain([_totals(trajectory)], head, gap, reversed(tail)))


def _fill(steps: Iterable[Step], room: int, cut: Clean) -> tuple[list[str], int]:
    """Steps as text while there is room, the last one cut if need be; and how many."""
    shown: list[str] = []
    for step in steps:
        if room < LEAST_ROOM:
            break
        shown.append(shorten("\n".join(_lines(step, cut)), room))
        room -= len(shown[-1]) + 2
    return shown, len(shown)


def _totals(trajectory: Trajectory) -> str:
    """How much it took, which efficiency is judged by."""
    known = [f"{len(trajectory.steps):,} steps"]
    final = trajectory.final_metrics
    for name, count in (
        ("prompt tokens", final.total_prompt_tokens if final else None),
        ("completion tokens", final.total_completion_tokens if final else None),
    ):
        if count is not None:
            known.append(f"{count:,} {name}")
    return f"[{', '.join(known)}]"


def _lines(step: Step, cut: Clean) -> Iterator[str]:
    yield f"[{step.step_id}] {step.source}"
    if step.reasoning_content:
        yield f"(thinking) {cut(step.reasoning_content)}"
    if step.message:
        yield cut(as_text(step.message))
    calls = step.tool_calls or ()
    for call in calls[:CALLS_LIMIT]:
        yield f"-> {cut(call.function_name[:200])} {cut(_arguments(call.arguments))}"
    results = step.observation.results if step.observation else ()
    for result in results[:CALLS_LIMIT]:
        yield f"<- {cut(as_text(result.content))}"
    left = max(0, len(calls) - CALLS_LIMIT) + max(0, len(results) - CALLS_LIMIT)
    if left:
        yield f"[… {left:,} more calls and results of this step were cut …]"


def _arguments(arguments: dict[str, Any]) -> str:
    """A call's arguments; long texts among them as they are, which is easier to read than JSON escapes."""
    return ", ".join(f"{str(name)[:200]}={as_text(value)}" for name, value in list(arguments.items())[:CALLS_LIMIT])


def as_text(value: Any) -> str:
    """A message's or a result's content: text as it is, ATIF's content parts joined, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(p, dict) and "text" in p for p in value):
        return "\n".join(str(part["text"]) for part in value)
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (ValueError, RecursionError, TypeError):
        return f"[a {type(value).__name__} that can't be shown]"
