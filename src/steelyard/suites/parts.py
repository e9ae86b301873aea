"""Scorers, agents and judges of a file: each checked by its own class, and kept with every default filled in."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard import plugins
from steelyard.domain.record import JsonObject
from steelyard.errors import InputError
from steelyard.suites.check import check, expect, path
from steelyard.suites.problems import Problems, SuiteError, listed, near, shown
from steelyard.suites.yamlfile import Node, read_yaml

ARM_FIELDS = {"type": (), "agent": ("overlay", "env", "preamble")}
_PATH_FIELDS = ("path", "paths", "patterns")
_ROOTED = re.compile(r"[/\\]|[A-Za-z]:[/\\]")


def scorers(node: Node | None, root: Path, about: str, problems: Problems) -> list[JsonObject]:
    """The scorers of a list, whose names differ."""
    if not expect(node, list, about, problems):
        return []
    specs: list[JsonObject] = []
    names: dict[str, int] = {}
    for index, item in enumerate(node.value):
        here = path(about, index)
        if not expect(item, dict, here, problems):
            continue
        name = item.child("name")
        if name is not None and isinstance(name.value, str):
            if name.value in names:
                first = names[name.value]
                problems.add(name.at, path(here, "name"), f"another scorer has this name, at line {first}; rename one")
            names.setdefault(name.value, name.at[0])
        data = item.plain()
        _check_paths(item, data, here, problems)
        spec = part("scorers", item, data, problems, (root, here))
        if spec is not None:
            specs.append(spec)
    return specs


def part(
    kind: str, node: Node, data: Mapping[str, Any], problems: Problems, where: tuple[Path, str], type_key: str = "type"
) -> JsonObject | None:
    """A part's whole configuration, or None with its mistakes noted; `where` is the file's directory and the field."""
    root, about = where
    name = data.get("type")
    given = node.child(type_key)
    if given is None or name is None:
        problems.add(node.at, path(about, type_key), f"this field is missing{listed(plugins.names(kind))}")
        return None
    if not isinstance(name, str):
        problems.add(given.at, path(about, type_key), f"must be text, not {shown(name)}{listed(plugins.names(kind))}")
        return None
    if not is_installed(kind, name):
        installed = plugins.names(kind)
        problems.add(given.at, path(about, type_key), f"unknown type{listed(installed)}{near(name, installed)}")
        return None
    try:
        model = plugins.load(kind, name)
    except (ImportError, AttributeError) as error:
        why = " ".join(str(error).split())
        problems.add(given.at, path(about, type_key), f"type '{name}' is installed but can't be loaded: {why}")
        return None
    own = [type_key, *(field for field in model.model_fields if field != "type"), *ARM_FIELDS[type_key]]
    record = check(model, data, node, about, problems, own)
    return None if record is None else _resolved(record, node, root, about, problems)


def is_installed(kind: str, name: str) -> bool:
    """Whether there is such a part; installed packages are looked through only for a name that is not built in."""
    return name in plugins.BUILT_IN[kind] or name in plugins.names(kind)


def _resolved(record: Any, node: Node, root: Path, about: str, problems: Problems) -> JsonObject | None:
    """The part's fields; one that names a file of its own reads it now, so that the frozen part needs it no more."""
    if not _script_is_fine(record, node, root, about, problems):
        return None
    try:
        whole = record.resolved(root) if hasattr(record, "resolved") else record
    except InputError as error:
        field = next((key for key in ("script", "files", "file", "path") if node.child(key)), None)
        child = node.child(field) if field else None
        problems.add(child.at if child else node.at, path(about, field) if field else about, str(error))
        return None
    return dict(whole.model_dump(mode="json"))


def _script_is_fine(record: Any, node: Node, root: Path, about: str, problems: Problems) -> bool:
    """Whether a scripted agent's file is YAML within bounds: the agent itself reads it with a reader that has none."""
    script = node.child("script")
    if record.type != "scripted" or script is None:
        return True
    try:
        read_yaml(root / script.value)
    except SuiteError as error:
        problems.add(script.at, path(about, "script"), str(error).splitlines()[0])
        return False
    return True


def _check_paths(node: Node, data: JsonObject, about: str, problems: Problems) -> None:
    """`path`, `paths` and `patterns` stay inside the tree; what does not is noted once, and made harmless in `data`."""
    for field in _PATH_FIELDS:
        child = node.child(field)
        if child is None:
            continue
        items = enumerate(child.value) if isinstance(child.value, list) else [(None, child)]
        for index, item in items:
            why = outside(item.value) if isinstance(item.value, str) else None
            if why is None:
                continue
            steps = (field,) if index is None else (field, index)
            problems.add(item.at, path(about, *steps), f"{why}; allowed: a path relative to the tree")
            if index is None:
                data[field] = "noted"
            else:
                data[field][index] = f"noted-{index}"


def outside(text: str) -> str | None:
    """Why a path could leave the tree, or None when it can't."""
    if not text.strip():
        return "is empty"
    if _ROOTED.match(text):
        return "is an absolute path"
    if ".." in re.split(r"[/\\]", text):
        return "has a '..' step"
    return None
