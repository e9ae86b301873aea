"""What a request asks for, read the same way from every protocol."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.testing.scripted_model.tools import SUBMIT, Tool

Protocol = Literal["anthropic", "chat", "responses"]
_TURN = re.compile(r"_(\d{6})_\d+$")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a reply. `replies` counts the model's replies that the conversation holds already."""

    protocol: Protocol
    model: str
    stream: bool
    replies: int
    tools: tuple[Tool, ...]
    prompt: str
    forced: str | None = None
    wants_json: bool = False

    @property
    def submits(self) -> bool:
        """Whether this client ends only by running a certain shell command."""
        return SUBMIT in self.prompt


def read_ask(protocol: Protocol, body: Mapping[str, Any]) -> Ask:
    """The request as an `Ask`; parts that are missing or of a wrong kind are taken as absent."""
    reader = {"anthropic": _anthropic, "chat": _chat, "responses": _responses}[protocol]
    return reader(body)


def _anthropic(body: Mapping[str, Any]) -> Ask:
    messages = _objects(body.get("messages"))
    choice = _object(body.get("tool_choice"))
    output = _object(body.get("output_config")).get("format") or body.get("output_format")
    tools = tuple(
        Tool(str(tool.get("name", "")), _object(_object(tool.get("input_schema")).get("properties")))
        for tool in _objects(body.get("tools"))
    )
    return Ask(
        protocol="anthropic",
        model=str(body.get("model", "")),
        stream=body.get("stream") is True,
        replies=_runs(message.get("role") == "assistant" for message in messages),
        tools=tools,
        prompt=_text(body.get("system")) + "\n" + _text([message.get("content") for message in messages]),
        forced=str(choice["name"]) if choice.get("type") == "tool" and choice.get("name") else None,
        wants_json=bool(output),
    )


def _chat(body: Mapping[str, Any]) -> Ask:
    messages = _objects(body.get("messages"))
    choice = _object(_object(body.get("tool_choice")).get("function"))
    functions = [_object(tool.get("function")) for tool in _objects(body.get("tools"))]
    return Ask(
        protocol="chat",
        model=str(body.get("model", "")),
        stream=body.get("stream") is True,
        replies=sum(message.get("role") == "assistant" for message in messages),
        tools=tuple(
            Tool(str(function.get("name", "")), _object(_object(function.get("parameters")).get("properties")))
            for function in functions
        ),
        prompt=_text([message.get("content") for message in messages]),
        forced=str(choice["name"]) if choice.get("name") else None,
        wants_json=_object(body.get("response_format")).get("type") in ("json_schema", "json_object"),
    )


def _responses(body: Mapping[str, Any]) -> Ask:
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else _objects(given)
    offered = _objects(body.get("tools"))
    for item in items:
        if item.get("type") == "additional_tools":
            offered = [*offered, *_objects(item.get("tools"))]
    spaces = [tool for tool in offered if tool.get("type") == "namespace" and tool.get("name") == "functions"]
    offered = [*offered, *(tool for space in spaces for tool in _objects(space.get("tools")))]
    choice = _object(body.get("tool_choice"))
    return Ask(
        protocol="responses",
        model=str(body.get("model", "")),
        stream=body.get("stream") is True,
        replies=_replies(items),
        tools=tuple(
            Tool(
                str(tool.get("name") or tool.get("type") or ""),
                _object(_object(tool.get("parameters")).get("properties")),
                freeform=tool.get("type") == "custom",
            )
            for tool in offered
        ),
        prompt=_text(body.get("instructions")) + "\n" + _text([item.get("content") for item in items]),
        forced=str(choice["name"]) if choice.get("name") else None,
        wants_json=bool(_object(_object(body.get("text")).get("format")).get("type") in ("json_schema", "json_object")),
    )


def _replies(items: Iterable[Mapping[str, Any]]) -> int:
    """How many replies made these items: a reply is a run of the model's items; its calls carry its number."""
    count, inside, turns = 0, False, set[str]()
    for item in items:
        kind = item.get("type") or "message"
        if kind in ("function_call", "custom_tool_call"):
            found = _TURN.search(str(item.get("call_id", "")))
            turn = found.group(1) if found else None
            if turn is None or turn not in turns:
                count += not inside
            if turn is not None:
                turns.add(turn)
            inside = True
        elif kind == "reasoning" or (kind == "message" and item.get("role") == "assistant"):
            count += not inside
            inside = True
        else:
            inside = False
    return count


def _runs(flags: Iterable[bool]) -> int:
    """How many runs of true there are: clients may split one reply over several messages."""
    count, before = 0, False
    for flag in flags:
        count += flag and not before
        before = flag
    return count


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    """All text in a piece of a conversation."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_text(part) for part in value)
    if isinstance(value, Mapping):
        return _text(value.get("text") or value.get("content"))
    return ""
