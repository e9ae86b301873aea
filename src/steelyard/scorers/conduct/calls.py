"""Tool calls of any agent as plain texts: commands that were run, paths that were named, addresses that were asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.domain.trajectory import ToolCall, Trajectory

What = Literal["command", "path", "url"]

LONGEST = 1_000_000
_SHELL_TOOLS = ("bash", "shell", "exec", "terminal", "command", "run", "python", "execute", "process")
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "code", "argv", "bash_command", "keystrokes", "shell_command")
_IGNORED_KEYS = ("description", "explanation", "reason", "justification", "timeout", "timeout_ms", "thought")
_URL_KEYS = ("url", "urls", "uri", "href", "link")


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that was done at a step: the text of a command, a path, or an address."""

    step: int
    tool: str
    what: What
    text: str


def acts(trajectory: Trajectory) -> Iterator[Act]:
    """Everything the agent did, in order; what it only wrote (file contents, messages) is not a deed."""
    for step in trajectory.steps:
        if step.source != "agent":
            continue
        for call in step.tool_calls or ():
            for what, text in _texts(call):
                yield Act(step.step_id, call.function_name, what, text[:LONGEST])


def _texts(call: ToolCall) -> Iterator[tuple[What, str]]:
    name = call.function_name.lower()
    is_shell = any(word in name for word in _SHELL_TOOLS)
    for key, value in call.arguments.items():
        what = _what(key.lower(), is_shell)
        if what is not None:
            for text in _strings(value, join=what == "command"):
                yield what, text


def _what(key: str, is_shell: bool) -> What | None:
    if key in _IGNORED_KEYS:
        return None
    if key in _URL_KEYS:
        return "url"
    if key in _COMMAND_KEYS:
        return "command"
    if any(word in key for word in ("path", "file", "dir", "cwd", "workdir", "notebook")) and "content" not in key:
        return "path"
    return "command" if is_shell else None


def _strings(value: Any, *, join: bool) -> Iterator[str]:
    """The strings in an argument; a list of words is one command, wherever a command is expected."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        if join and value and all(isinstance(item, str) for item in value):
            yield " ".join(value)
            return
        for item in value:
            yield from _strings(item, join=join)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item, join=join)
