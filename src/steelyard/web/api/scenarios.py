"""Scenarios, which may be edited, and tasks, which are frozen when they are made."""

import re
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Header, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.suite import Scenario
from steelyard.store import scenarios as stored
from steelyard.store.clean import storable
from steelyard.web.answers import answer, parse, read_body
from steelyard.web.api.runs import Cursor, Limit, Word, visible
from steelyard.web.auth import Caller, caller_of
from steelyard.web.bodies import ScenarioEdit, ScenarioIn, TaskIn
from steelyard.web.cursors import page, read_cursor
from steelyard.web.documents import (
    ScenarioOut,
    ScenarioPage,
    TaskOut,
    TaskPage,
    scenario_document,
    task_document,
)
from steelyard.web.problems import ProblemError, documented
from steelyard.web.scenarios import checked, freeze
from steelyard.web.service import now

if TYPE_CHECKING:
    from steelyard.store.scenarios import StoredScenario, StoredTask
    from steelyard.web.service import Service

Name = Annotated[str, Path(max_length=200)]
IfMatch = Annotated[str | None, Header(max_length=200, description='the revision that was read, as "3"')]
_SENT = documented("conflict", "body-too-large", "unsupported-media-type", "invalid-request", "too-slow")
_MISSING = documented("not-found", "invalid-request")


def _body(name: str) -> dict[str, object]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()
    _add_scenarios(routes, service)
    _add_edit(routes, service)
    _add_tasks(routes, service)
    return routes


def _add_scenarios(routes: APIRouter, service: "Service") -> None:
    tags = ["scenarios"]

    @routes.get(
        "/v1/scenarios",
        tags=tags,  # type: ignore[arg-type]  # FastAPI's list is invariant
        response_model=ScenarioPage,
        operation_id="scenarios",
        responses=documented("invalid-request"),
    )
    def scenarios(request: Request, workspace: Word = None, limit: Limit = 50, cursor: Cursor = None) -> Response:
        """A page of scenarios, newest first."""
        caller = caller_of(request.scope)
        mine = visible(caller, workspace)
        about = ["scenarios", mine]
        after = read_cursor(cursor, about)
        if workspace is not None and not caller.sees(workspace):
            return answer(request, page([], limit, about, scenario_document, None))
        named = None if mine is None else storable(mine)
        rows = stored.list_scenarios(service.database, named, after=after, limit=limit + 1)
        return answer(request, page(rows, limit, about, scenario_document, lambda row: row.seq))

    @routes.post(
        "/v1/scenarios",
        tags=tags,  # type: ignore[arg-type]
        status_code=201,
        response_model=ScenarioOut,
        operation_id="add_scenario",
        responses=_SENT,
        openapi_extra=_body("ScenarioIn"),
    )
    async def add(request: Request) -> Response:
        """Store a new scenario; a name that is taken is 409."""
        caller = caller_of(request.scope)
        caller.need("write")
        data = await read_body(request, service)
        made = await run_in_threadpool(lambda: create_scenario(service, parse(data, ScenarioIn), caller))
        return answer(request, scenario_document(made), 201)

    @routes.get(
        "/v1/scenarios/{name}",
        tags=tags,  # type: ignore[arg-type]
        response_model=ScenarioOut,
        operation_id="scenario",
        responses=_MISSING,
    )
    def one(request: Request, name: Name, workspace: Word = None) -> Response:
        """A scenario by its name; `workspace` where no token says which."""
        return answer(request, scenario_document(read_scenario(service, name, caller_of(request.scope), workspace)))


def _add_edit(routes: APIRouter, service: "Service") -> None:
    @routes.put(
        "/v1/scenarios/{name}",
        tags=["scenarios"],
        response_model=ScenarioOut,
        operation_id="edit_scenario",
        responses=documented(
            "not-found", "stale", "body-too-large", "unsupported-media-type", "invalid-request", "too-slow"
        ),
        openapi_extra=_body("ScenarioEdit"),
    )
    async def edit(request: Request, name: Name, workspace: Word = None, if_match: IfMatch = None) -> Response:
        """Replace a scenario's fields. Tasks that were made of it stay as they are.

        With `If-Match: "REVISION"` the edit is refused (412) when somebody else was quicker.
        """
        caller = caller_of(request.scope)
        caller.need("write")
        data = await read_body(request, service)
        revision = _revision(if_match)

        def work() -> "StoredScenario":
            given = parse(data, ScenarioEdit)
            before = read_scenario(service, name, caller, workspace)
            fields = checked(given, before.scenario)
            return stored.edit_scenario(service.database, before, fields, at=now(), revision=revision)

        return answer(request, scenario_document(await run_in_threadpool(work)))


def _add_tasks(routes: APIRouter, service: "Service") -> None:
    tags = ["tasks"]

    @routes.get(
        "/v1/tasks",
        tags=tags,  # type: ignore[arg-type]
        response_model=TaskPage,
        operation_id="tasks",
        responses=documented("invalid-request"),
    )
    def tasks(request: Request, workspace: Word = None, limit: Limit = 50, cursor: Cursor = None) -> Response:
        """A page of frozen tasks, newest first."""
        caller = caller_of(request.scope)
        mine = visible(caller, workspace)
        about = ["tasks", mine]
        after = read_cursor(cursor, about)
        if workspace is not None and not caller.sees(workspace):
            return answer(request, page([], limit, about, task_document, None))
        named = None if mine is None else storable(mine)
        rows = stored.list_tasks(service.database, named, after=after, limit=limit + 1)
        return answer(request, page(rows, limit, about, task_document, lambda row: row.seq))

    @routes.post(
        "/v1/tasks",
        tags=tags,  # type: ignore[arg-type]
        status_code=201,
        response_model=TaskOut,
        operation_id="add_task",
        responses={200: {"model": TaskOut, "description": "It was there already"}, **_SENT, **_MISSING},
        openapi_extra=_body("TaskIn"),
    )
    async def add(request: Request) -> Response:
        """Freeze a scenario and an instruction into a task; the same again is 200, another under its id 409."""
        caller = caller_of(request.scope)
        caller.need("write")
        data = await read_body(request, service)
        made, new = await run_in_threadpool(lambda: freeze_task(service, parse(data, TaskIn), caller))
        return answer(request, task_document(made), 201 if new else 200)

    @routes.get(
        "/v1/tasks/{task_id}",
        tags=tags,  # type: ignore[arg-type]
        response_model=TaskOut,
        operation_id="task",
        responses=_MISSING,
    )
    def one(request: Request, task_id: Name, workspace: Word = None) -> Response:
        """A frozen task with its whole snapshot."""
        home = home_of(caller_of(request.scope), workspace, f"no task {task_id[:80]!r} is stored")
        return answer(request, task_document(stored.read_task(service.database, home, storable(task_id))))


def create_scenario(service: "Service", body: ScenarioIn, caller: Caller) -> "StoredScenario":
    """Store a new scenario in the caller's workspace."""
    home = caller.home(body.workspace)
    return stored.create_scenario(service.database, home, body.name, checked(body), at=now())


def freeze_task(service: "Service", body: TaskIn, caller: Caller) -> "tuple[StoredTask, bool]":
    """Store a task with its scenario as it is now, and whether it is new."""
    home = caller.home(body.workspace)
    scenario: Scenario | None = None
    if body.scenario is not None:
        scenario = stored.read_scenario(service.database, home, body.scenario).scenario
    return stored.create_task(service.database, home, freeze(body, scenario), at=now())


def read_scenario(service: "Service", name: str, caller: Caller, workspace: str | None) -> "StoredScenario":
    """A scenario that the caller may see."""
    home = home_of(caller, workspace, f"no scenario {name[:80]!r} is stored")
    return stored.read_scenario(service.database, home, storable(name))


def home_of(caller: Caller, workspace: str | None, missing: str) -> str:
    """The workspace to look in; one that the caller can't see has nothing in it."""
    if workspace is not None and not caller.sees(workspace):
        raise ProblemError("not-found", missing)
    return storable(caller.workspace or workspace or "default")


def _revision(given: str | None) -> int | None:
    """The revision of an If-Match header: `"3"` or 3; `*` is any."""
    if given is None or given.strip() == "*":
        return None
    found = re.fullmatch(r'\s*"?(\d{1,15})"?\s*', given)
    if found is None:
        raise ProblemError("invalid-request", 'If-Match: give the revision that you read, as "3"')
    return int(found[1])
