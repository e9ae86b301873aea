"""Workspaces: the latency baseline, and the weights that runs are scored with."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.score import Weights
from steelyard.formulas.scorecard import rolling_p50
from steelyard.store.clean import storable
from steelyard.web.answers import answer, parse, read_body
from steelyard.web.auth import Caller, caller_of
from steelyard.web.bodies import WeightsIn
from steelyard.web.documents import Baseline, WeightsOut
from steelyard.web.problems import ProblemError, documented

if TYPE_CHECKING:
    from steelyard.web.service import Service

Workspace = Annotated[str, Path(max_length=200)]
_BODY = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WeightsIn"}}}}


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["workspaces"])

    @routes.get(
        "/v1/workspaces/{workspace}/baseline",
        response_model=Baseline,
        operation_id="baseline",
        responses=documented("not-found", "invalid-request"),
    )
    def baseline(request: Request, workspace: Workspace) -> Response:
        """The wall times that the next run's latency is measured against, and their median."""
        home = _seen(caller_of(request.scope), workspace)
        walls = service.store.history(home)
        document = {"workspace": workspace, "p50_s": rolling_p50(walls), "runs": len(walls), "wall_s": walls}
        return answer(request, document)

    @routes.get(
        "/v1/workspaces/{workspace}/weights",
        response_model=WeightsOut,
        operation_id="weights",
        responses=documented("not-found", "invalid-request"),
    )
    def weights(request: Request, workspace: Workspace) -> Response:
        """How much each axis counts."""
        home = _seen(caller_of(request.scope), workspace)
        return answer(request, _document(workspace, service.store.weights(home)))

    @routes.put(
        "/v1/workspaces/{workspace}/weights",
        response_model=WeightsOut,
        operation_id="set_weights",
        responses=documented("not-found", "body-too-large", "unsupported-media-type", "invalid-request", "too-slow"),
        openapi_extra={"requestBody": _BODY},
    )
    async def set_weights(request: Request, workspace: Workspace) -> Response:
        """Score with these weights from now on; earlier scores keep theirs. Needs the scope admin."""
        caller = caller_of(request.scope)
        home = _seen(caller, workspace)
        caller.need("admin")
        data = await read_body(request, service)

        def work() -> Weights:
            return service.store.set_weights(home, parse(data, WeightsIn).model_dump())

        return answer(request, _document(workspace, await run_in_threadpool(work)))

    return routes


def _seen(caller: Caller, workspace: str) -> str:
    if not caller.sees(workspace) or not workspace.isprintable():
        raise ProblemError("not-found", f"no workspace {workspace[:80]!r} is here")
    return storable(workspace)


def _document(workspace: str, weights: Weights) -> dict[str, object]:
    return {"workspace": workspace, "weights": weights.model_dump()}
