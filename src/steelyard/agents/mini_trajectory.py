"""Reads mini-swe-agent's trajectory file: messages with the whole answers of the model's service in them."""

import json
from typing import Any

from steelyard.agents.failures import api_failure
from steelyard.agents.program import Heard, from_ms, with_cost, with_tokens
from steelyard.agents.streams import count, money, obj, objects, parse_object, text, total
from steelyard.agents.transcript import Transcript
from steelyard.domain.trajectory import Metrics
from steelyard.domain.usage import Usage
from steelyard.errors import AgentError, RunError

# The names of litellm's exceptions, which it gives as its exit status, and the HTTP status they stand for.
STATUSES = {
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "RateLimitError": 429,
    "InternalServerError": 500,
    "ServiceUnavailableError": 503,
}


def read_trajectory(data: bytes, prompt: str, model: str | None) -> Heard:
    """What the file says; an empty or broken one says nothing."""
    document = parse_object(data)
    if document is None:
        return Heard(model=model, notes=["it left no trajectory that can be read"])
    info, transcript = obj(document.get("info")), Transcript(prompt)
    each = []
    messages = objects(document.get("messages"))
    for message in messages:
        found = _message(transcript, message)
        if found is not None:
            each.append(found)
    effort = Usage(steps=transcript.agent_steps, tool_calls=transcript.tool_calls)
    usage = with_tokens(effort, [total([part[place] for part in each]) for place in range(4)])
    cost = money(obj(info.get("model_stats")).get("instance_cost"))
    status = text(info.get("exit_status"))
    return Heard(
        usage=with_cost(usage, cost, "reported") if cost else usage,
        response=(text(info.get("submission")) or "").strip("\n"),
        steps=transcript.steps(),
        tools=("bash",),
        version=text(info.get("mini_version")),
        model=model,
        error=_error(status, messages, model),
        finished=status is not None,
        acted=bool(messages),
        notes=transcript.notes(),
    )


def _message(transcript: Transcript, message: dict[str, Any]) -> list[int | None] | None:
    """Put a message into the transcript; what tokens it took, if the model's service wrote it."""
    role, extra = message.get("role"), obj(message.get("extra"))
    when = _when(extra.get("timestamp"))
    said = text(message.get("content")) or ""
    if role == "assistant":
        answer = obj(extra.get("response"))
        draft = transcript.add("agent", None, when)
        draft.model = text(answer.get("model"))
        if said:
            draft.texts.append(transcript.clipped(said))
        for call in objects(message.get("tool_calls")):
            function = obj(call.get("function"))
            transcript.call(
                draft, str(call.get("id")), str(function.get("name")), _arguments(function.get("arguments"))
            )
        counts = _counts(obj(answer.get("usage")))
        draft.metrics = _metrics(counts, money(extra.get("cost")))
        return counts
    if role == "tool":
        result = {"exit_code": extra["returncode"]} if isinstance(extra.get("returncode"), int) else None
        transcript.result(text(message.get("tool_call_id")), extra.get("raw_output", said), result)
    elif role in ("system", "user"):
        source = "system" if role == "system" else "user"
        transcript.add(source, None, when).texts.append(transcript.clipped(said))  # type: ignore[arg-type]  # one of the two
    return None


def _error(status: str | None, messages: list[dict[str, Any]], model: str | None) -> RunError | None:
    if status in (None, "Submitted"):
        return None
    last = obj(messages[-1] if messages else None)
    said = f"{status}: {text(last.get('content')) or text(obj(last.get('extra')).get('exception_str')) or ''}"
    if status == "LimitsExceeded":
        return AgentError("budget_exceeded", "it used up its cost or step limit; raise max_turns or the budget")
    if status == "ContextWindowExceededError":
        return AgentError("context_overflow", f"the conversation outgrew the model's context: {said[:300]}")
    if status in STATUSES or status in ("APIConnectionError", "Timeout", "APIError", "BadRequestError"):
        return api_failure("mini-swe-agent", said, STATUSES.get(str(status)), model)
    return AgentError("agent_crashed", f"it ended with {said[:300]}")


def _arguments(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _when(seconds: Any) -> str | None:
    return from_ms(seconds * 1000) if isinstance(seconds, (int, float)) else None


def _counts(usage: dict[str, Any]) -> list[int | None]:
    """Input without cached tokens, output, cache read, cache write; litellm's prompt tokens include cached ones."""
    details = obj(usage.get("prompt_tokens_details"))
    whole, output = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    read = count(usage.get("cache_read_input_tokens") or details.get("cached_tokens") or 0)
    written = count(usage.get("cache_creation_input_tokens") or details.get("cache_creation_tokens") or 0)
    fresh = None if whole is None or read is None or written is None else max(0, whole - read - written)
    return [fresh, output, read, written]


def _metrics(counts: list[int | None], cost: float | None) -> Metrics:
    fresh, output, read, written = counts
    return Metrics(
        prompt_tokens=total([fresh, read, written]), completion_tokens=output, cached_tokens=read, cost_usd=cost
    )
