"""One arm of a suite: its own fields, and the rest, which belongs to its agent."""

import re
from pathlib import Path

from steelyard.domain.suite import Arm
from steelyard.suites.check import check, expect, path
from steelyard.suites.parts import ARM_FIELDS, part
from steelyard.suites.problems import Problems, kind_of, quoted, shown
from steelyard.suites.yamlfile import Node

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_arm(name: str, node: Node, root: Path, about: str, problems: Problems) -> Arm | None:
    """The arm, or None with its mistakes noted."""
    data = node.plain()
    own = {key: data.pop(key) for key in ARM_FIELDS["agent"] if key in data}
    if "type" in data:
        problems.add(node.key_at("type"), path(about, "type"), "unknown field; did you mean 'agent'?")
        data.pop("type")
    data["type"] = data.pop("agent", None)
    agent = part("agents", node, data, problems, (root, about), "agent")
    if not _env(node.child("env"), path(about, "env"), problems):
        own.pop("env", None)
    _overlay(node.child("overlay"), root, path(about, "overlay"), problems)
    return check(Arm, {**own, "name": name, "agent": agent or {}}, node, about, problems)


def _env(node: Node | None, about: str, problems: Problems) -> bool:
    """Whether `env` is a list of variable names; what is noted never repeats a value."""
    if node is not None and isinstance(node.value, dict):
        what = "values never stand in a suite; write a list of names, and set the variables before you run"
        problems.add(node.at, about, f"{what}: env: [{', '.join(k for k in node.value if _VARIABLE.fullmatch(k))}]")
        return False
    if not expect(node, list, about, problems):
        return False
    seen: set[str] = set()
    fine = True
    for index, item in enumerate(node.value):
        here = path(about, index)
        text = item.value
        if isinstance(text, str) and _VARIABLE.fullmatch(text) and text not in seen:
            seen.add(text)
            continue
        fine = False
        if isinstance(text, str) and "=" in text:
            what = "values never stand in a suite; give the variable's name alone, and set it before you run"
        elif isinstance(text, dict):
            what = "values never stand in a suite; give the variable's name alone, as text"
        elif isinstance(text, str) and text in seen:
            what = f"{text} is named twice"
        else:
            what = f"must be a variable's name, not {shown(text)}; allowed: letters, digits and _"
        problems.add(item.at, here, what)
    return fine


def _overlay(node: Node | None, root: Path, about: str, problems: Problems) -> None:
    if node is not None and isinstance(node.value, str) and kind_of(root / node.value) != "directory":
        problems.add(node.at, about, f"there is no directory {quoted(node.value)} beside the suite")
