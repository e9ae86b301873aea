"""Writes replies and errors down in each protocol, whole or as a stream of events."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.testing.scripted_model.asks import Protocol
from steelyard.testing.scripted_model.replies import Reply
from steelyard.testing.scripted_model.tools import Call

Event = tuple[str | None, Any]
CREATED = 1_700_000_000
OVERFLOW = {
    "anthropic": ("prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
    "chat": ("This model's maximum context length is 128000 tokens.", "context_length_exceeded"),
    "responses": ("Your input exceeds the context window of this model.", "context_length_exceeded"),
}
ANTHROPIC_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error"} | {
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
OPENAI_ERRORS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def whole(protocol: Protocol, reply: Reply) -> dict[str, Any]:
    """A reply as one JSON document."""
    return {"anthropic": _message, "chat": _completion, "responses": _response}[protocol](reply)


def events(protocol: Protocol, reply: Reply) -> Iterator[Event]:
    """A reply as stream events: (event name or None, data)."""
    return {"anthropic": _message_events, "chat": _chunks, "responses": _response_events}[protocol](reply)


def encode(event: Event) -> bytes:
    """A stream event as server-sent-event bytes."""
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def error(protocol: Protocol, status: int, message: str, error_type: str | None = None) -> dict[str, Any]:
    """An error document of a protocol."""
    if protocol == "anthropic":
        kind = error_type or ANTHROPIC_ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}
    code = error_type or OPENAI_ERRORS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


def _pieces(text: str) -> Iterator[str]:
    """A text in two pieces, so that clients have something to put together."""
    middle = len(text) // 2
    yield from (part for part in (text[:middle], text[middle:]) if part)


def _arguments(call: Call) -> str:
    return call.input if isinstance(call.input, str) else json.dumps(call.input)


def _anthropic_usage(usage: Mapping[str, int], output: int | None = None) -> dict[str, int]:
    return {
        "input_tokens": usage["input_tokens"],
        "cache_creation_input_tokens": usage["cache_write_tokens"],
        "cache_read_input_tokens": usage["cache_read_tokens"],
        "output_tokens": usage["output_tokens"] if output is None else output,
    }


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for part, call in enumerate(reply.calls):
        arguments = call.input if not isinstance(call.input, str) else {"input": call.input}
        blocks.append({"type": "tool_use", "id": reply.id("toolu", part), "name": call.name, "input": arguments})
    return blocks or [{"type": "text", "text": ""}]


def _message(reply: Reply) -> dict[str, Any]:
    return {
        "id": reply.id("msg"),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": _blocks(reply),
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": _anthropic_usage(reply.usage),
    }


def _message_events(reply: Reply) -> Iterator[Event]:
    whole_message = _message(reply)
    start = {**whole_message, "content": [], "stop_reason": None, "usage": _anthropic_usage(reply.usage, output=1)}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(whole_message["content"]):
        if block["type"] == "text":
            empty: dict[str, Any] = {**block, "text": ""}
            deltas = [("text_delta", "text", piece) for piece in _pieces(block["text"])]
        else:
            empty = {**block, "input": {}}
            deltas = [("input_json_delta", "partial_json", piece) for piece in _pieces(json.dumps(block["input"]))]
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        for kind, key, piece in deltas:
            delta = {"type": kind, key: piece}
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    end = {"stop_reason": whole_message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": _anthropic_usage(reply.usage)}
    yield "message_stop", {"type": "message_stop"}


def _prompt_tokens(usage: Mapping[str, int]) -> int:
    return usage["input_tokens"] + usage["cache_read_tokens"] + usage["cache_write_tokens"]


def _chat_usage(usage: Mapping[str, int]) -> dict[str, Any]:
    prompt = _prompt_tokens(usage)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage["output_tokens"],
        "total_tokens": prompt + usage["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": usage["cache_read_tokens"]},
    }


def _chat_calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {"id": reply.id("call", n), "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
        for n, call in enumerate(reply.calls)
    ]


def _completion(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = _chat_calls(reply)
    finish = "tool_calls" if reply.calls else "stop"
    return {
        "id": reply.id("chatcmpl"),
        "object": "chat.completion",
        "created": CREATED,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": _chat_usage(reply.usage),
    }


def _chunks(reply: Reply) -> Iterator[Event]:
    head = {"id": reply.id("chatcmpl"), "object": "chat.completion.chunk", "created": CREATED, "model": reply.model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(_chat_calls(reply)):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, **call, "function": function}]})
        for piece in _pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    yield None, {**head, "choices": [], "usage": _chat_usage(reply.usage)}
    yield None, "[DONE]"


def _items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append(
            {"type": "message", "id": reply.id("msg"), "role": "assistant", "status": "completed", "content": content}
        )
    for part, call in enumerate(reply.calls):
        item = {"id": reply.id("item", part), "call_id": reply.id("call", part), "name": call.name}
        if isinstance(call.input, str):
            items.append({"type": "custom_tool_call", **item, "input": call.input, "status": "completed"})
        else:
            items.append({"type": "function_call", **item, "arguments": _arguments(call), "status": "completed"})
    return items


def _response(reply: Reply) -> dict[str, Any]:
    prompt, usage = _prompt_tokens(reply.usage), reply.usage
    cached = {"cached_tokens": usage["cache_read_tokens"], "cache_write_tokens": usage["cache_write_tokens"]}
    return {
        "id": reply.id("resp"),
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "model": reply.model,
        "output": _items(reply),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": cached,
            "output_tokens": usage["output_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + usage["output_tokens"],
        },
    }


def _response_events(reply: Reply) -> Iterator[Event]:
    whole_response = _response(reply)
    number = 0

    def event(kind: str, **data: Any) -> Event:
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number - 1, **data}

    start = {**whole_response, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=start)
    for index, item in enumerate(whole_response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        opened = {**item, "status": "in_progress"} | ({"content": []} if item["type"] == "message" else {})
        yield event("response.output_item.added", output_index=index, item=opened)
        if item["type"] == "message":
            part = item["content"][0]
            yield event("response.content_part.added", **place, content_index=0, part={**part, "text": ""})
            for piece in _pieces(part["text"]):
                yield event("response.output_text.delta", **place, content_index=0, delta=piece)
            yield event("response.output_text.done", **place, content_index=0, text=part["text"])
            yield event("response.content_part.done", **place, content_index=0, part=part)
        elif item["type"] == "function_call":
            yield event("response.function_call_arguments.delta", **place, delta=item["arguments"])
            yield event("response.function_call_arguments.done", **place, arguments=item["arguments"])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=whole_response)
