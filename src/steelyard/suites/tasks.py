"""Scenarios and tasks of a suite: a task takes its scenario's fields and puts its own over them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard import plugins
from steelyard.domain.record import JsonObject
from steelyard.domain.suite import Scenario, Task
from steelyard.suites import parts, trusted
from steelyard.suites.check import check, expect, path, unknown_keys
from steelyard.suites.problems import Problems, kind_of, listed, near, quoted
from steelyard.suites.yamlfile import Node, Place

_MERGED = ("limits", "judge")
_DUMMY = {"id": "scenario", "prompt": "none"}


def name_is_fine(name: str, at: Place, about: str, problems: Problems) -> None:
    """Note a name that could not be typed or shown: control characters, spaces at its ends, nothing at all."""
    if not name.isprintable() or name != name.strip() or not name or name.startswith("-"):
        problems.add(at, about, "a name is printable text that does not start with '-' and has no spaces at its ends")


class Scenarios:
    """The scenarios of a suite, each checked once, also those that no task uses."""

    def __init__(self, node: Node | None, root: Path, overlays: Mapping[str, Path], problems: Problems) -> None:
        self.root, self.overlays = root, overlays
        self.problems = problems
        self.names: list[str] = []
        self.known: dict[str, Task | None] = {}
        if not expect(node, dict, "scenarios", problems):
            return
        self.names = list(node.value)
        for name, item in node.value.items():
            about = path("scenarios", name)
            name_is_fine(name, node.key_at(name), about, problems)
            if expect(item, dict, about, problems):
                unknown_keys(item, Scenario.model_fields, about, problems)
                data = {k: v for k, v in self._data(item, about).items() if k in Scenario.model_fields}
                self.known[name] = check(Task, {**data, **_DUMMY}, item, about, problems)

    def task(self, node: Node, about: str) -> Task | None:
        """A task with its scenario's fields beneath its own; None with its mistakes noted."""
        for field in ("prompt", "turns"):
            _not_blank(node.child(field), path(about, field), self.problems)
        own = check(Task, self._data(node, about), node, about, self.problems)
        scenario = self._scenario(node.child("scenario"), path(about, "scenario"))
        task = own if own is None or scenario is None else _over(scenario, own, node)
        if task is not None:
            trusted.names_exist(task, node, about, self.problems)
            trusted.reference_is_hidden(node, self._shown(task), about, self.problems)
        return task

    def _shown(self, task: Task) -> Iterator[trusted.Shown]:
        """The folders of this machine that an agent finds in its tree, and the reference's place."""
        named = task.reference and (task.reference.patch or task.reference.directory)
        if not named:
            return
        if task.seed is not None and task.seed.directory is not None:
            yield trusted.Shown("the seed", self.root / task.seed.directory, self.root / named)
        for called, folder in self.overlays.items():
            yield trusted.Shown(called, folder, self.root / named)

    def _scenario(self, node: Node | None, about: str) -> Task | None:
        if node is None or not isinstance(node.value, str):
            return None
        if node.value not in self.names:
            what = f"there is no scenario {quoted(node.value)}{listed(self.names)}{near(node.value, self.names)}"
            self.problems.add(node.at, about, what)
        return self.known.get(node.value)

    def _data(self, node: Node, about: str) -> JsonObject:
        """The fields as they stand, with scorers and judges whole and every file that is named looked up."""
        data: JsonObject = node.plain()
        if "scorers" in data:
            data["scorers"] = parts.scorers(node.child("scorers"), self.root, path(about, "scorers"), self.problems)
        _unique_stages(node.child("stages"), path(about, "stages"), self.problems)
        self._judge(node.child("judge"), data, path(about, "judge"))
        self._files(node, about)
        return data

    def _judge(self, node: Node | None, data: JsonObject, about: str) -> None:
        if node is None or not isinstance(node.value, dict):
            return
        backend = node.child("backend")
        name = None if backend is None else backend.value
        if isinstance(name, str) and name not in {"auto", "none"} and not parts.is_installed("judges", name):
            allowed = ["auto", "none", *plugins.names("judges")]
            what = f"unknown judge{listed(allowed)}{near(name, allowed)}"
            self.problems.add(node.key_at("backend"), path(about, "backend"), what)
        panel = node.child("judges")
        if panel is None or not isinstance(panel.value, list):
            return
        specs = []
        for index, item in enumerate(panel.value):
            here = path(about, "judges", index)
            if isinstance(item.value, str):  # a name alone is a judge as it comes
                item = Node(item.at, {"type": item}, keys={"type": item.at})  # the same, spelled out
            if expect(item, dict, here, self.problems):
                specs.append(parts.part("judges", item, item.plain(), self.problems, (self.root, here)))
        data["judge"]["judges"] = [spec for spec in specs if spec is not None]

    def _files(self, node: Node, about: str) -> None:
        """What `seed`, `reference` and `dockerfile` name is there."""
        seed = node.child("seed")
        if seed is not None and isinstance(seed.value, dict):
            self._exists(seed.child("directory"), path(about, "seed", "directory"), "directory")
            self._exists(seed.child("archive"), path(about, "seed", "archive"), "file")
            self._git(seed, path(about, "seed"))
        reference = node.child("reference")
        if reference is not None and isinstance(reference.value, dict):
            self._exists(reference.child("patch"), path(about, "reference", "patch"), "file")
            self._exists(reference.child("directory"), path(about, "reference", "directory"), "directory")
        self._exists(node.child("dockerfile"), path(about, "dockerfile"), "file")
        if node.child("dockerfile") is not None and node.child("image") is not None:
            self.problems.add(node.key_at("image"), path(about, "image"), "give either image or dockerfile, not both")

    def _exists(self, node: Node | None, about: str, kind: str) -> None:
        if node is None or not isinstance(node.value, str):
            return
        if not node.value or kind_of(self.root / node.value) != kind:
            what = f"there is no {kind} {quoted(node.value)} beside the suite"
            self.problems.add(node.at, about, what)

    def _git(self, seed: Node, about: str) -> None:
        for field in ("git", "ref"):
            node = seed.child(field)
            if node is not None and isinstance(node.value, str) and (not node.value or node.value.startswith("-")):
                self.problems.add(node.at, path(about, field), "must not be empty or start with '-'")
        node = seed.child("git")
        if node is None or not isinstance(node.value, str) or node.value.startswith("-"):
            return
        is_remote = "://" in node.value or ":" in node.value.partition("/")[0]
        if not is_remote and kind_of(self.root / node.value) is None:
            what = f"there is no repository {quoted(node.value)} beside the suite; allowed: a path or a URL"
            self.problems.add(node.at, path(about, "git"), what)


def _over(scenario: Task, own: Task, node: Node) -> Task:
    """The task with what it does not say itself taken from the scenario; `limits` and `judge` field by field."""
    update: dict[str, Any] = {
        field: getattr(scenario, field) for field in Scenario.model_fields if field not in node.value
    }
    if "image" in node.value or "dockerfile" in node.value:
        update |= {field: getattr(own, field) for field in ("image", "dockerfile")}
    for field in _MERGED:
        child = node.child(field)
        if child is not None:
            record = getattr(own, field)
            said = {name: getattr(record, name) for name in child.value}
            update[field] = getattr(scenario, field).model_copy(update=said)
    return own.model_copy(update=update)


def _unique_stages(node: Node | None, about: str, problems: Problems) -> None:
    lines: dict[str, int] = {}
    for index, item in enumerate(node.value if node is not None and isinstance(node.value, list) else []):
        name = item.child("name")
        if name is None or not isinstance(name.value, str):
            continue
        if name.value in lines:
            first = lines[name.value]
            problems.add(
                name.at, path(about, index, "name"), f"another stage has this name, at line {first}; rename one"
            )
        lines.setdefault(name.value, name.at[0])


def _not_blank(node: Node | None, about: str, problems: Problems) -> None:
    if node is None:
        return
    items = enumerate(node.value) if isinstance(node.value, list) else [(None, node)]
    for index, item in items:
        if isinstance(item.value, str) and not item.value.strip():
            problems.add(
                item.at, about if index is None else path(about, index), "is empty; say what the agent shall do"
            )
