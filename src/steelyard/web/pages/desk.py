"""What is done with the editor of a scenario: its form is read, and what the pressed button says is done."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.suite import FrozenTask, Scenario
from steelyard.store import scenarios as stored
from steelyard.store.errors import ConflictError
from steelyard.web.answers import parse
from steelyard.web.api.scenarios import create_scenario, freeze_task, read_scenario
from steelyard.web.auth import Caller
from steelyard.web.bodies import ScenarioIn, TaskIn
from steelyard.web.pages.editor import Draft, Fields, added, build, draft_of, moved, read_draft
from steelyard.web.pages.scenario_yaml import YamlError, from_document
from steelyard.web.problems import ProblemError
from steelyard.web.scenarios import freeze
from steelyard.web.service import now

if TYPE_CHECKING:
    from steelyard.web.service import Service

_TASK = ("task_id", "prompt", "tags")


@dataclass
class Desk:
    """An editor: whose scenario, what is in its form, and what there is to say."""

    workspace: str
    name: str = ""
    before: stored.StoredScenario | None = None
    revision: int | None = None
    draft: Draft = field(default_factory=lambda: draft_of(Scenario()))
    task: dict[str, str] = field(default_factory=lambda: dict.fromkeys(_TASK, ""))
    yaml: str = ""
    mistakes: dict[str, list[str]] = field(default_factory=dict)
    frozen: FrozenTask | None = None
    notice: JsonObject | None = None

    @property
    def kept(self) -> tuple[JsonObject, ...]:
        """The scorers that may stay though their type is not installed."""
        return () if self.before is None else self.before.scenario.scorers

    def said(self, about: str) -> list[str]:
        """The mistakes at one of the other fields."""
        return self.mistakes.get(about, [])

    def wrong(self, about: str, *messages: str) -> None:
        """Note a mistake that is none of the scenario's own fields'."""
        self.mistakes.setdefault(about, []).extend(messages)


def scenario_address(name: str, workspace: str, **more: Any) -> str:
    """Where a scenario is edited."""
    return f"/scenarios/{name}?{urlencode({'workspace': workspace, **more})}"


def read_desk(service: "Service", caller: Caller, given: Fields, name: str | None) -> Desk:
    """An editor as its form was sent; `name` is that of a scenario which is there."""

    def sent(field: str) -> str:
        return given.get(field, [""])[0].replace("\r\n", "\n").strip()

    task = {field: sent(field) for field in _TASK}
    common = {"draft": read_draft(given), "task": task, "yaml": sent("yaml")}
    if name is None:
        home = caller.home(sent("workspace") or None)
        return Desk(home, sent("name"), **common)  # type: ignore[arg-type]  # texts and a draft
    before = read_scenario(service, name, caller, sent("workspace") or None)
    revision = int(sent("revision")) if sent("revision").isdecimal() and len(sent("revision")) < 16 else None
    return Desk(before.workspace, before.name, before, revision, **common)  # type: ignore[arg-type]  # as above


def act(service: "Service", caller: Caller, desk: Desk, button: str) -> str | None:
    """Do what the pressed button says; the address to go on to, None when the form is shown again."""
    action, _, key = button.partition(":")
    if action in ("save", "preview", "freeze"):
        return _finish(service, caller, desk, action)
    if action == "yaml":
        _load_yaml(desk)
    elif action == "add":
        added(desk.draft)
    elif action == "remove":
        desk.draft.rows = [row for row in desk.draft.rows if row.key != key]
    elif action in ("up", "down"):
        moved(desk.draft, key, -1 if action == "up" else 1)
    return None


def _load_yaml(desk: Desk) -> None:
    try:
        desk.draft = draft_of(from_document(desk.yaml, desk.name, desk.kept))
        desk.notice = {"tone": "good", "text": "Loaded into the form; nothing is saved yet."}
    except YamlError as error:
        desk.wrong("yaml", *error.lines)


def _finish(service: "Service", caller: Caller, desk: Desk, action: str) -> str | None:
    """Save, preview or freeze; the address to go on to, None when the form is shown again."""
    scenario = build(desk.draft, desk.kept)
    task = _task(desk, needed=action == "freeze") if action != "save" else None
    if desk.before is None and action != "preview":
        _check_name(desk)
    if scenario is None or desk.mistakes:
        return None
    if action == "preview":
        desk.frozen = None if task is None else _frozen(desk, task, scenario)
        return None
    if task is not None and _frozen(desk, task, scenario) is None:
        return None
    saved = _save(service, caller, desk, scenario)
    if saved is None:
        return None
    if task is None:
        return scenario_address(saved.name, saved.workspace, saved=saved.revision)
    try:
        made, _ = freeze_task(service, task.model_copy(update={"scenario": saved.name}), caller)
    except ConflictError as error:
        desk.before, desk.revision = saved, saved.revision
        desk.wrong("task_id", str(error))
        return None
    return f"/tasks/{made.task_id}?{urlencode({'workspace': made.workspace})}"


def _check_name(desk: Desk) -> None:
    """Whether a new scenario's name can be one."""
    try:
        parse(canonical_json({"name": desk.name}).encode(), ScenarioIn)
    except ProblemError as error:
        desk.wrong("name", *[line.removeprefix("name: ") for line in error.errors or [error.detail]])


def _save(service: "Service", caller: Caller, desk: Desk, scenario: Scenario) -> stored.StoredScenario | None:
    """Store what was edited; the same again is no new revision."""
    try:
        if desk.before is None:
            given = {**scenario.model_dump(mode="json"), "name": desk.name, "workspace": desk.workspace}
            return create_scenario(service, parse(canonical_json(given).encode(), ScenarioIn), caller)
        if desk.before.scenario == scenario and desk.revision in (None, desk.before.revision):
            return desk.before
        return stored.edit_scenario(service.database, desk.before, scenario, at=now(), revision=desk.revision)
    except stored.StaleError:
        now_at = desk.before.revision if desk.before else 0
        desk.wrong("form", f"Somebody else saved revision {now_at} meanwhile. Open it in another tab, and save again.")
        desk.revision = now_at
    except ConflictError:
        desk.wrong("name", "a scenario of this name is there already; give it another")
    except ProblemError as error:
        desk.wrong("form", *(error.errors or [error.detail]))
    return None


def _task(desk: Desk, *, needed: bool) -> TaskIn | None:
    """The task that the form describes; a preview may do without its own words."""
    words = dict(desk.task)
    if not needed:
        words |= {"task_id": words["task_id"] or "example", "prompt": words["prompt"] or "What the agent is told."}
    tags = [tag.strip() for tag in words["tags"].split(",") if tag.strip()]
    body = {"id": words["task_id"], "prompt": words["prompt"] or None, "tags": tags, "workspace": desk.workspace}
    try:
        return parse(canonical_json(body).encode(), TaskIn)
    except ProblemError as error:
        for line in error.errors or [error.detail]:
            about = "task_id" if line.startswith("id") else "tags" if line.startswith("tags") else "prompt"
            desk.wrong(about, line.partition(": ")[2] or line)
    return None


def _frozen(desk: Desk, task: TaskIn, scenario: Scenario) -> FrozenTask | None:
    """The task as it would be frozen."""
    try:
        return freeze(task.model_copy(update={"scenario": desk.name or None}), scenario)
    except ProblemError as error:
        desk.wrong("freeze", *(error.errors or [error.detail]))
    return None
