"""Turns what a script wants done (write, shell, read) into a call of whichever tool the request offers."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SHELLS = ("bash", "shell", "exec_command", "shell_command", "run_shell_command", "execute_bash", "terminal", "run")
WRITERS = ("write", "write_file", "create_file")
READERS = ("read", "read_file", "view")
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_CWD = re.compile(r"(?:[Ww]orking directory:|<cwd>|Current directory:)\s*`?([^\s<`]+)")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers; `freeform` ones take text instead of an object."""

    name: str
    properties: Mapping[str, Any]
    freeform: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, ready to be written down in any protocol."""

    name: str
    input: Mapping[str, Any] | str


def working_directory(text: str) -> str | None:
    """Where the client says that it works, if its prompt says so."""
    found = _CWD.search(text)
    return found.group(1).rstrip(".,") if found else None


def as_call(wanted: Mapping[str, Any], tools: Iterable[Tool], cwd: str | None) -> Call | None:
    """The call that does what is wanted; None when no offered tool can."""
    if "name" in wanted:
        return Call(str(wanted["name"]), wanted.get("input", {}))
    offered = {tool.name.lower(): tool for tool in tools}
    if "shell" in wanted:
        return _shell(str(wanted["shell"]), offered)
    if "read" in wanted:
        return _read(str(wanted["read"]), offered, cwd)
    return _write(wanted["write"], offered, cwd)


def submission(text: str, tools: Iterable[Tool]) -> Call | None:
    """How a client that ends only by a shell command is told the final text."""
    command = f"echo {SUBMIT} && printf '%s\\n' {shlex.quote(text)}"
    return _shell(command, {tool.name.lower(): tool for tool in tools})


def _shell(command: str, offered: Mapping[str, Tool]) -> Call | None:
    for name in SHELLS:
        tool = offered.get(name)
        if tool is None:
            continue
        key = next((key for key in ("command", "cmd", "script") if key in tool.properties), "command")
        schema = tool.properties.get(key)
        is_list = isinstance(schema, Mapping) and schema.get("type") == "array"
        value: Any = ["bash", "-lc", command] if is_list else command
        more = {"description": "a scripted command"} if "description" in tool.properties else {}
        return Call(tool.name, {key: value, **more})
    code = offered.get("exec")
    if code is not None and code.freeform:
        return Call(code.name, f"text(await tools.exec_command({json.dumps({'cmd': command})}));")
    return None


def _read(path: str, offered: Mapping[str, Tool], cwd: str | None) -> Call | None:
    for name in READERS:
        tool = offered.get(name)
        if tool is not None:
            return Call(tool.name, {_path_key(tool): _absolute(path, cwd)})
    return _shell(f"cat {shlex.quote(path)}", offered)


def _write(wanted: Mapping[str, str], offered: Mapping[str, Tool], cwd: str | None) -> Call | None:
    path, content = wanted["path"], wanted["content"]
    if wanted.get("via", "tool") == "tool":
        for name in WRITERS:
            tool = offered.get(name)
            if tool is not None:
                return Call(tool.name, {_path_key(tool): _absolute(path, cwd), "content": content})
        patch = offered.get("apply_patch")
        if patch is not None and patch.freeform and content.endswith("\n"):
            lines = "".join(f"+{line}\n" for line in content[:-1].split("\n"))
            return Call(patch.name, f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
    folder = shlex.quote(path.rpartition("/")[0] or ".")
    return _shell(f"mkdir -p {folder} && printf '%s' {shlex.quote(content)} > {shlex.quote(path)}", offered)


def _path_key(tool: Tool) -> str:
    return next((key for key in ("file_path", "filePath", "path", "filename") if key in tool.properties), "file_path")


def _absolute(path: str, cwd: str | None) -> str:
    return path if path.startswith("/") or cwd is None else f"{cwd.rstrip('/')}/{path}"
