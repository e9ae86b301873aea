"""What a script says: steps of text, tool calls, usage, delays and faults, read from JSON with clear mistakes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import InputError

USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
INTENTS = ("write", "shell", "read")
FAULTS = ("status", "drop", "cut_after", "pause_s", "overflow")
AFTER = "Done."


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong at a step, for the first `times` requests that reach it (None: every one).

    Exactly one of: `status` (an HTTP error, with `message`, `error_type` and `retry_after_s`), `overflow` (the
    protocol's own "prompt is too long"), `drop` (the connection is closed without an answer), `cut_after` (the answer
    breaks off after that many stream events), `pause_s` (a slow stream: so long between events).
    """

    status: int | None = None
    message: str | None = None
    error_type: str | None = None
    retry_after_s: float | None = None
    overflow: bool = False
    drop: bool = False
    cut_after: int | None = None
    pause_s: float | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model. `json` is a structured answer, given in whichever way the request asks for one."""

    text: str = ""
    calls: tuple[Mapping[str, Any], ...] = ()
    json: Mapping[str, Any] | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    delay_s: float = 0.0
    fault: Fault | None = None

    def tokens(self, kind: str) -> int:
        """How many tokens of a kind this reply says it used."""
        return self.usage.get(kind, {"input_tokens": 100, "output_tokens": 10}.get(kind, 0))


@dataclass(frozen=True, slots=True)
class Script:
    """Steps in order; a conversation that goes on past the last one is answered with `after`."""

    steps: tuple[Step, ...]
    after: str = AFTER

    def step(self, index: int) -> Step:
        """The reply for a conversation that holds `index` replies already."""
        return self.steps[index] if index < len(self.steps) else Step(text=self.after)


@dataclass(frozen=True, slots=True)
class Scripts:
    """The script served at the root, and those served under `/s/NAME`."""

    default: Script
    named: Mapping[str, Script] = field(default_factory=dict)

    def find(self, name: str | None) -> Script | None:
        """The script of a name; None when there is none."""
        return self.default if name is None else self.named.get(name)


def read_scripts(value: Any, where: str = "script") -> Scripts:
    """Scripts from JSON-like data: a list of steps, `{"steps": […]}`, or `{"scripts": {NAME: …}, "steps": […]}`."""
    if isinstance(value, Scripts):
        return value
    if isinstance(value, Script):
        return Scripts(value)
    if isinstance(value, Mapping) and "scripts" in value:
        _only(value, ("scripts", "steps", "after"), where)
        _kind(value["scripts"], Mapping, "an object of named scripts", f"{where}.scripts")
        named = {str(name): _script(part, f"{where}.scripts.{name}") for name, part in value["scripts"].items()}
        rest = {key: part for key, part in value.items() if key != "scripts"}
        return Scripts(_script({"steps": [], **rest}, where), named)
    return Scripts(_script(value, where))


def load_scripts(path: Path) -> Scripts:
    """Scripts from a JSON file; `InputError` names the file and the field."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    return read_scripts(value, str(path))


def _script(value: Any, where: str) -> Script:
    if isinstance(value, Script):
        return value
    if isinstance(value, Mapping):
        _only(value, ("steps", "after"), where)
        steps, after = value.get("steps", []), value.get("after", AFTER)
    else:
        steps, after = value, AFTER
    _kind(steps, (list, tuple), "a list of steps", where)
    _kind(after, str, "text", f"{where}.after")
    return Script(tuple(_step(part, f"{where}[{index}]") for index, part in enumerate(steps)), after)


def _step(value: Any, where: str) -> Step:
    if isinstance(value, Step):
        return value
    if isinstance(value, str):
        return Step(text=value)
    _kind(value, Mapping, "an object or a text", where)
    _only(value, ("text", "calls", "json", "usage", "delay_s", "fault"), where)
    _kind(value.get("text", ""), str, "text", f"{where}.text")
    _kind(value.get("calls", []), (list, tuple), "a list", f"{where}.calls")
    if value.get("json") is not None:
        _kind(value["json"], Mapping, "an object", f"{where}.json")
    return Step(
        text=value.get("text", ""),
        calls=tuple(_call(call, f"{where}.calls[{n}]") for n, call in enumerate(value.get("calls", []))),
        json=value.get("json"),
        usage=_usage(value.get("usage", {}), f"{where}.usage"),
        delay_s=_number(value.get("delay_s", 0.0), f"{where}.delay_s"),
        fault=_fault(value["fault"], f"{where}.fault") if value.get("fault") is not None else None,
    )


def _call(value: Any, where: str) -> Mapping[str, Any]:
    _kind(value, Mapping, "an object", where)
    if "name" in value:
        _only(value, ("name", "input"), where)
        _kind(value["name"], str, "a tool's name", f"{where}.name")
        _kind(value.get("input", {}), (Mapping, str), "an object, or text for a tool that takes text", f"{where}.input")
        return dict(value)
    if len(value) != 1 or next(iter(value)) not in INTENTS:
        raise InputError(f"{where}: give one of {', '.join(INTENTS)}, or name and input")
    if "write" in value:
        _kind(value["write"], Mapping, "an object with path and content", f"{where}.write")
        _only(value["write"], ("path", "content", "via"), f"{where}.write")
        if value["write"].get("via", "tool") not in ("tool", "shell"):
            raise InputError(f"{where}.write.via: must be tool or shell")
        for name in ("path", "content"):
            _kind(value["write"].get(name), str, "text", f"{where}.write.{name}")
    else:
        _kind(next(iter(value.values())), str, "text", f"{where}.{next(iter(value))}")
    return dict(value)


def _usage(value: Any, where: str) -> Mapping[str, int]:
    _kind(value, Mapping, "an object", where)
    _only(value, USAGE, where)
    for name, count in value.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise InputError(f"{where}.{name}: must be a whole number, 0 or more")
    return dict(value)


def _fault(value: Any, where: str) -> Fault:
    if isinstance(value, Fault):
        return value
    _kind(value, Mapping, "an object", where)
    _only(value, tuple(Fault.__dataclass_fields__), where)
    if sum(name in value for name in FAULTS) != 1:
        raise InputError(f"{where}: give exactly one of {', '.join(FAULTS)}")
    for name in ("status", "times", "cut_after"):
        if name in value and (not isinstance(value[name], int) or value[name] < 0):
            raise InputError(f"{where}.{name}: must be a whole number, 0 or more")
    if "status" in value and not 400 <= value["status"] <= 599:
        raise InputError(f"{where}.status: must be an HTTP error, 400 to 599")
    for name in ("retry_after_s", "pause_s"):
        if name in value:
            _number(value[name], f"{where}.{name}")
    return Fault(**value)


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 3600:
        raise InputError(f"{where}: must be a number of seconds, 0 to 3600")
    return float(value)


def _kind(value: Any, kind: Any, what: str, where: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{where}: must be {what}, not {type(value).__name__}")


def _only(value: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
    unknown = sorted(str(key) for key in value if key not in allowed)
    if unknown:
        raise InputError(f"{where}: unknown field {unknown[0]}; allowed: {', '.join(allowed)}")
