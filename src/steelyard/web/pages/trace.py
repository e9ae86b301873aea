"""The trajectory on a page: some steps at a time, found by number, by text or by their errors."""

import json
from dataclasses import dataclass
from typing import Any

from steelyard.errors import InputError
from steelyard.web.pages.text import bounded

PAGE = 100
SHORT, LONG = 3_000, 200_000
BUDGET = 300_000  # characters on one page; what comes after is shown shorter


@dataclass(frozen=True)
class Trace:
    """The steps of a trajectory as they were stored, and which of them hold an error."""

    steps: list[dict[str, Any]]
    errors: list[int]


@dataclass(frozen=True)
class Part:
    """A call or a result: a head and a body that is folded."""

    head: str
    body: str
    is_error: bool = False


@dataclass(frozen=True)
class StepView:
    """One step."""

    index: int
    source: str
    at: str | None
    model: str | None
    tokens: str
    message: str
    reasoning: str
    parts: list[Part]
    is_error: bool


def parse_trace(data: bytes) -> Trace:
    """A stored trajectory; what is not a step is left out."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("the stored trajectory is not JSON") from None
    found = document.get("steps") if isinstance(document, dict) else None
    steps = [step for step in found if isinstance(step, dict)] if isinstance(found, list) else []
    return Trace(steps, [index for index, step in enumerate(steps) if _has_error(step)])


def pick(trace: Trace, start: int, query: str, only: str) -> tuple[list[int], int, int]:
    """The indexes of the steps on a page, how many there are in all, and where the page begins."""
    if only == "errors":
        chosen: Any = trace.errors
    elif query:
        needle = query.casefold()
        chosen = [n for n, step in enumerate(trace.steps) if needle in _searched(step)]
    else:
        chosen = range(len(trace.steps))
    start = max(0, min(start, max(0, len(chosen) - 1)))
    return list(chosen[start : start + PAGE]), len(chosen), start


def view(trace: Trace, indexes: list[int], *, whole: bool = False) -> list[StepView]:
    """Steps as they are shown; a page of very long ones shows less of each."""
    left, views = BUDGET, []
    for index in indexes:
        limit = LONG if whole else min(SHORT, max(200, left // 4))
        made = _step(index, trace.steps[index], limit)
        left = max(0, left - len(made.message) - len(made.reasoning) - sum(len(part.body) for part in made.parts))
        views.append(made)
    return views


def _step(index: int, step: dict[str, Any], limit: int) -> StepView:
    parts = [
        Part(f"{_word(call.get('function_name'))}{_hint(call)}", bounded(_pretty(call.get("arguments")), limit))
        for call in _objects(step.get("tool_calls"))
    ]
    for result in _results(step):
        failed = _is_error(result)
        head = "output, failed" if failed else "output"
        parts.append(Part(head, bounded(plain(result.get("content")), limit), failed))
    given = step.get("metrics")
    metrics: dict[str, Any] = given if isinstance(given, dict) else {}
    tokens = [
        f"{metrics[name]:,} {word}"
        for name, word in (("prompt_tokens", "in"), ("completion_tokens", "out"), ("cached_tokens", "cached"))
        if isinstance(metrics.get(name), int)
    ]
    return StepView(
        index=index,
        source=_word(step.get("source")),
        at=step.get("timestamp") if isinstance(step.get("timestamp"), str) else None,
        model=step.get("model_name") if isinstance(step.get("model_name"), str) else None,
        tokens=" · ".join(tokens),
        message=bounded(plain(step.get("message")), limit),
        reasoning=bounded(plain(step.get("reasoning_content")), limit),
        parts=parts,
        is_error=_has_error(step),
    )


def plain(value: Any) -> str:
    """A message as text: ATIF allows a string or a list of parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, dict) and isinstance(item.get("text"), str) for item in value):
        return "\n".join(item["text"] for item in value)
    return _pretty(value)


def _pretty(value: Any) -> str:
    if isinstance(value, dict) and all(isinstance(item, str | int | float | None) for item in value.values()):
        return "\n".join(f"{name}: {item}" for name, item in value.items())
    return json.dumps(value, ensure_ascii=False, indent=1)


def _hint(call: dict[str, Any]) -> str:
    """The first short argument, which mostly says what a call is about."""
    arguments = call.get("arguments")
    if isinstance(arguments, dict):
        for item in arguments.values():
            if isinstance(item, str) and item.strip():
                line = item.strip().splitlines()[0]
                return f": {line[:100]}{'…' if len(line) > 100 else ''}"
    return ""


def _word(value: Any) -> str:
    return value[:200] if isinstance(value, str) else "?"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _results(step: dict[str, Any]) -> list[dict[str, Any]]:
    observation = step.get("observation")
    return _objects(observation.get("results")) if isinstance(observation, dict) else []


def _has_error(step: dict[str, Any]) -> bool:
    return any(_is_error(result) for result in _results(step))


def _is_error(result: dict[str, Any]) -> bool:
    """Whether a call failed, in the ways that the agents' transcripts say so."""
    extra = result.get("extra")
    if isinstance(extra, dict):
        code = extra.get("exit_code", extra.get("returncode"))
        if extra.get("is_error") is True or extra.get("status") in ("failed", "error"):
            return True
        if isinstance(code, int):
            return code != 0
    content = result.get("content")
    return isinstance(content, str) and content.startswith("exit ") and content.split(maxsplit=2)[1:2] != ["0"]


def _searched(step: dict[str, Any]) -> str:
    texts = [plain(step.get("message")), plain(step.get("reasoning_content"))]
    for call in _objects(step.get("tool_calls")):
        texts += [_word(call.get("function_name")), plain(call.get("arguments"))]
    texts += [plain(result.get("content")) for result in _results(step)]
    return "\n".join(texts).casefold()
