"""Experiments: what was planned."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.experiment import Experiment
from steelyard.domain.record import JsonObject
from steelyard.domain.suite import FrozenTask
from steelyard.store.clean import storable
from steelyard.store.errors import NotFoundError
from steelyard.web.answers import answer, parse, read_body
from steelyard.web.api.runs import Cursor, Limit, Word, visible
from steelyard.web.auth import Caller, caller_of
from steelyard.web.bodies import ExperimentIn
from steelyard.web.cursors import page, read_cursor
from steelyard.web.documents import ExperimentOut, ExperimentPage
from steelyard.web.problems import documented
from steelyard.web.service import now
from steelyard.web.weighing import find_experiment

if TYPE_CHECKING:
    from steelyard.web.service import Service

REPORTED = "reported"
ExperimentId = Annotated[str, Path(description="an experiment's id, in full", max_length=200)]
_BODY = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ExperimentIn"}}}}


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["experiments"])

    @routes.get(
        "/v1/experiments",
        response_model=ExperimentPage,
        operation_id="experiments",
        responses=documented("invalid-request"),
    )
    def experiments(request: Request, workspace: Word = None, limit: Limit = 50, cursor: Cursor = None) -> Response:
        """A page of experiments, newest first."""
        caller = caller_of(request.scope)
        mine = visible(caller, workspace)
        about = ["experiments", mine]
        after = read_cursor(cursor, about)
        if workspace is not None and not caller.sees(workspace):
            return answer(request, page([], limit, about, _summary, None))
        named = None if mine is None else storable(mine)
        rows = service.store.experiments(workspace=named, after=after, limit=limit + 1)
        return answer(request, page(rows, limit, about, _summary, lambda row: row["seq"]))

    @routes.post(
        "/v1/experiments",
        status_code=201,
        response_model=ExperimentOut,
        operation_id="add_experiment",
        responses=documented("conflict", "body-too-large", "unsupported-media-type", "invalid-request", "too-slow"),
        openapi_extra={"requestBody": _BODY},
    )
    async def add(request: Request) -> Response:
        """Store what was planned elsewhere; the same experiment again changes nothing."""
        caller = caller_of(request.scope)
        caller.need("write")
        data = await read_body(request, service)
        stored = await run_in_threadpool(lambda: _create(service, parse(data, ExperimentIn), caller))
        return answer(request, _document(stored), 201)

    _add_one(routes, service)
    return routes


def _add_one(routes: APIRouter, service: "Service") -> None:
    missing = documented("not-found", "invalid-request")

    @routes.get(
        "/v1/experiments/{experiment_id}", response_model=ExperimentOut, operation_id="experiment", responses=missing
    )
    def one(request: Request, experiment_id: ExperimentId) -> Response:
        """An experiment: tasks, arms and how to compare them."""
        found = find_experiment(service, experiment_id, caller_of(request.scope))
        if found is None:
            raise NotFoundError(f"no experiment {experiment_id[:80]!r} is stored")
        return answer(request, _document(found))


def _create(service: "Service", body: ExperimentIn, caller: Caller) -> Experiment:
    workspace = caller.home(body.workspace)
    known = find_experiment(service, body.id, caller)
    experiment = Experiment(
        id=body.id,
        workspace=workspace,
        created_at=body.created_at or (known.created_at if known else now()),
        suite_path=body.suite_path,
        tasks=tuple(FrozenTask.of(task) for task in body.tasks),
        arms=body.arms,
        repeats=body.repeats,
        compare=body.compare,
        settings={**body.settings, REPORTED: True},  # who is at it claims nothing here
    )
    service.store.create_experiment(experiment)
    return experiment


def _summary(row: JsonObject) -> JsonObject:
    return {name: row[name] for name in ("id", "workspace", "created_at", "suite_path")}


def _document(found: Experiment) -> JsonObject:
    document = found.model_dump(mode="json")
    return {**document, "tasks": [{"id": frozen.task.id, "sha256": frozen.sha256} for frozen in found.tasks]}
