"""Scenarios: a list, an editor with one row a scorer, their YAML, and the tasks that are frozen of them."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import APIRouter
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.domain.record import canonical_json
from steelyard.domain.suite import Scenario, snapshot
from steelyard.store import scenarios as stored
from steelyard.store.clean import storable
from steelyard.web.api.scenarios import home_of, read_scenario
from steelyard.web.auth import Caller, caller_of
from steelyard.web.cursors import make_cursor, read_cursor
from steelyard.web.pages.desk import Desk, act, read_desk, scenario_address
from steelyard.web.pages.editor import Draft, Fields, draft_of, new_row, scorer_types
from steelyard.web.pages.scenario_yaml import to_document
from steelyard.web.pages.shell import render
from steelyard.web.pages.signing import read_form
from steelyard.web.pages.text import visible

if TYPE_CHECKING:
    from steelyard.web.service import Service

PAGE = 50
SHOWN = 200_000  # characters of a snapshot on the page
NEW = "/new-scenario"


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
    desk = read_desk(service, caller, given, name)
    onward = act(service, caller, desk, given.get("do", ["save"])[0])
    if onward is not None:
        return RedirectResponse(onward, 303)
    wrong = bool(desk.mistakes) or not desk.draft.is_fine
    return _page(request, desk, caller, 422 if wrong else 200)


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
