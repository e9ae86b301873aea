"""Finished runs come in: one as JSON, many as NDJSON lines with a result each."""

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from steelyard.web.answers import NDJSON, answer, media_of, read_body
from steelyard.web.auth import caller_of
from steelyard.web.bulk import BulkAnswer
from steelyard.web.documents import Score
from steelyard.web.ingest import Sent, ingest_many
from steelyard.web.intake import LARGEST
from steelyard.web.problems import ProblemError, documented

if TYPE_CHECKING:
    from steelyard.web.service import Service

_RUN = {"$ref": "#/components/schemas/RunIn"}
_LINES = {"type": "string", "description": "one RunIn a line"}
_RESULTS = {"type": "string", "description": "one LineResult a line, in the order of the lines sent"}
_BODY = {"required": True, "content": {"application/json": {"schema": _RUN}, NDJSON: {"schema": _LINES}}}
_BULK = {"required": True, "content": {NDJSON: {"schema": _LINES}}}
_CAUSES = documented("conflict", "body-too-large", "unsupported-media-type", "invalid-request", "too-slow")


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["runs"])
    again = "It was stored before: the score it got then; of NDJSON lines, a result a line"
    responses = {200: {"model": Score, "description": again, "content": {NDJSON: {"schema": _RESULTS}}}, **_CAUSES}

    @routes.post(
        "/v1/runs",
        status_code=201,
        response_model=Score,
        operation_id="add_run",
        responses=responses,
        openapi_extra={"requestBody": _BODY},
    )
    async def add(request: Request) -> Response:
        """Store and score a finished run. The same run again is 200 with the same score, another under its id 409.

        With `Content-Type: application/x-ndjson` it does what `/v1/runs/bulk` does.
        """
        caller = caller_of(request.scope)
        caller.need("write")
        if media_of(request) == NDJSON:
            return BulkAnswer(service, request, caller)
        data = await read_body(request, service)
        sent = Sent(data, caller)
        if len(data) <= LARGEST:
            told = await service.intake.take(sent)
        else:
            (told,) = await run_in_threadpool(ingest_many, service, [sent])
        if told.problem is not None:
            raise told.problem
        return answer(request, told.score, told.status)

    @routes.post(
        "/v1/runs/bulk",
        operation_id="add_runs",
        response_class=Response,
        responses={200: {"description": "A result a line", "content": {NDJSON: {"schema": _RESULTS}}}, **_CAUSES},
        openapi_extra={"requestBody": _BULK},
    )
    async def add_many(request: Request) -> Response:
        """Store and score one finished run a line; a wrong line spoils no other, and results come as they are known.

        A line that is too large, a body that stops and a token that is revoked end it: the last result says so.
        """
        caller = caller_of(request.scope)
        caller.need("write")
        if media_of(request) != NDJSON:
            raise ProblemError("unsupported-media-type", f"send the lines as Content-Type: {NDJSON}")
        return BulkAnswer(service, request, caller)

    return routes
