"""Scenarios: a list, an editor with one row a scorer, their YAML, and the tasks that are frozen of them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import APIRouter
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.suite import FrozenTask, Scenario, snapshot
from steelyard.store import scenarios as stored
from steelyard.store.clean import storable
from steelyard.store.errors import ConflictError
from steelyard.web.answers import parse
from steelyard.web.api.scenarios import create_scenario, freeze_task, home_of, read_scenario
from steelyard.web.auth import Caller, caller_of
from steelyard.web.bodies import ScenarioIn, TaskIn
from steelyard.web.cursors import make_cursor, read_cursor
from steelyard.web.pages.editor import Draft, Fields, added, build, draft_of, moved, new_row, read_draft, scorer_types
from steelyard.web.pages.scenario_yaml import YamlError, from_document, to_document
from steelyard.web.pages.shell import render
from steelyard.web.pages.signing import read_form
from steelyard.web.pages.text import visible
from steelyard.web.problems import ProblemError
from steelyard.web.scenarios import freeze
from steelyard.web.service import now

if TYPE_CHECKING:
    from steelyard.web.service import Service

PAGE = 50
SHOWN = 200_000  # characters of a snapshot on the page
NEW = "/new-scenario"
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


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()
    _add_views(routes, service)

    @routes.get(NEW)
    def new(request: Request) -> Response:
        """An empty editor."""
        caller = caller_of(request.scope)
        home = home_of(caller, request.query_params.get("workspace") or None, "no such workspace is here")
        desk = Desk(home, draft=Draft(draft_of(Scenario()).fields, [new_row("r1")]))
        return _page(request, desk, caller)

    @routes.post(NEW)
    async def make(request: Request) -> Response:
        """What was done with a new scenario's form."""
        given = await read_form(request)
        return await run_in_threadpool(_work, service, request, given, None)

    @routes.post("/scenarios/{name}")
    async def edit(request: Request, name: str) -> Response:
        """What was done with the form of one that is there."""
        given = await read_form(request)
        return await run_in_threadpool(_work, service, request, given, name)

    return routes


def _add_views(routes: APIRouter, service: "Service") -> None:
    @routes.get("/scenarios")
    def scenarios(request: Request) -> Response:
        """The list, and the newest tasks."""
        caller = caller_of(request.scope)
        wanted = request.query_params.get("workspace") or None
        mine = caller.workspace if wanted is None or caller.sees(wanted) else ""
        home = mine if mine is not None else wanted and storable(wanted)
        after = read_cursor(request.query_params.get("cursor"), ["scenarios", home])
        rows = stored.list_scenarios(service.database, home, after=after, limit=PAGE + 1)
        more = {"cursor": make_cursor(rows[PAGE - 1].seq, ["scenarios", home])} if len(rows) > PAGE else None
        asked = {} if wanted is None else {"workspace": wanted}
        shown = {
            "rows": [(row, scenario_address(row.name, row.workspace)) for row in rows[:PAGE]],
            "tasks": stored.list_tasks(service.database, home, after=None, limit=PAGE),
            "onward": more and f"/scenarios?{urlencode({**asked, **more})}",
            "may_write": caller.may("write"),
            "new": NEW + (f"?{urlencode(asked)}" if asked else ""),
        }
        twin = "/v1/scenarios" + (f"?{urlencode(asked)}" if asked else "")
        return render(request, "scenarios.html", title="Scenarios", here="scenarios", twin=twin, **shown)

    @routes.get("/scenarios/{name}")
    def scenario(request: Request, name: str, workspace: str | None = None) -> Response:
        """The editor."""
        caller = caller_of(request.scope)
        found = read_scenario(service, name, caller, workspace)
        desk = Desk(found.workspace, found.name, found, found.revision, draft_of(found.scenario))
        desk.yaml = to_document(found.name, found.scenario)
        if request.query_params.get("saved") == str(found.revision):
            desk.notice = {"tone": "good", "text": f"Saved as revision {found.revision}."}
        return _page(request, desk, caller)

    @routes.get("/scenarios/{name}/yaml")
    def as_yaml(request: Request, name: str, workspace: str | None = None) -> Response:
        """A piece of a suite file, to keep."""
        found = read_scenario(service, name, caller_of(request.scope), workspace)
        headers = {"Content-Disposition": f'attachment; filename="{found.name}.yaml"'}
        body = to_document(found.name, found.scenario)
        return Response(body, headers=headers, media_type="application/yaml; charset=utf-8")

    @routes.get("/tasks/{task_id}")
    def task(request: Request, task_id: str, workspace: str | None = None) -> Response:
        """A frozen task: its snapshot and the sha256 that names it."""
        home = home_of(caller_of(request.scope), workspace, f"no task {task_id[:80]!r} is stored")
        found = stored.read_task(service.database, home, storable(task_id))
        twin = f"/v1/tasks/{found.task_id}?{urlencode({'workspace': found.workspace})}"
        shown = {"task": found, "snapshot": _shown(snapshot(found.task))}
        return render(request, "task.html", title=found.task_id, here="scenarios", twin=twin, **shown)


def _shown(text: str) -> Markup:
    """A snapshot whole: cutting its one line would hide what the sha256 is of."""
    rest = len(text) - SHOWN
    return Markup.escape(visible(text[:SHOWN]) + (f" … {rest:,} more characters" if rest > 0 else ""))


def _work(service: "Service", request: Request, given: Fields, name: str | None) -> Response:
    """Do what the pressed button says, and show the form again or what came of it."""
    caller = caller_of(request.scope)
    caller.need("write")
    service.guard.confirm(caller)  # it may have been revoked while its form was still coming
    desk = _desk(service, caller, given, name)
    action, _, key = given.get("do", ["save"])[0].partition(":")
    if action in ("save", "preview", "freeze"):
        done = _finish(service, caller, desk, action)
        if done is not None:
            return RedirectResponse(done, 303)
    elif action == "yaml":
        _load_yaml(desk)
    elif action == "add":
        added(desk.draft)
    elif action == "remove":
        desk.draft.rows = [row for row in desk.draft.rows if row.key != key]
    elif action in ("up", "down"):
        moved(desk.draft, key, -1 if action == "up" else 1)
    wrong = bool(desk.mistakes) or not desk.draft.is_fine
    return _page(request, desk, caller, 422 if wrong else 200)


def _desk(service: "Service", caller: Caller, given: Fields, name: str | None) -> Desk:
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


def _page(request: Request, desk: Desk, caller: Caller, status: int = 200) -> Response:
    is_new = desk.before is None
    twin = None if is_new else f"/v1/scenarios/{desk.name}?{urlencode({'workspace': desk.workspace})}"
    shown: dict[str, Any] = {
        "title": "New scenario" if is_new else desk.name,
        "here": "scenarios",
        "twin": twin,
        "desk": desk,
        "is_new": is_new,
        "action": NEW if is_new else f"/scenarios/{desk.name}",
        "as_yaml": None if is_new else f"/scenarios/{desk.name}/yaml?{urlencode({'workspace': desk.workspace})}",
        "types": list(scorer_types().values()),
        "blank": {name: new_row("KEY", name) for name in scorer_types()},
        "raw": {row.key: canonical_json(row.raw) for row in desk.draft.rows if row.raw is not None},
        "may_write": caller.may("write"),
        "bound": caller.workspace is not None,
        "snapshot": None if desk.frozen is None else _shown(snapshot(desk.frozen.task)),
        "notice": desk.notice,
    }
    return render(request, "scenario.html", status, **shown)
