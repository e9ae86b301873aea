"""Finished runs come in: one as JSON, many as NDJSON lines with a result each."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from typing import IO, TYPE_CHECKING

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from steelyard.domain.record import JsonObject
from steelyard.errors import SteelyardError
from steelyard.web.answers import NDJSON, answer, media_of, parse, pieces, read_body, to_bytes, too_large
from steelyard.web.auth import Caller, caller_of
from steelyard.web.bodies import RunIn
from steelyard.web.documents import Score
from steelyard.web.ingest import ingest
from steelyard.web.problems import ProblemError, documented, problem_of

if TYPE_CHECKING:
    from steelyard.web.service import Service

BATCH = 50  # lines that go to a thread together
_RUN = {"$ref": "#/components/schemas/RunIn"}
_LINES = {"type": "string", "description": "one RunIn a line"}
_RESULTS = {"type": "string", "description": "one LineResult a line, in the order of the lines sent"}
_BODY = {"required": True, "content": {"application/json": {"schema": _RUN}}}
_BULK = {"required": True, "content": {NDJSON: {"schema": _LINES}}}
_CAUSES = documented("conflict", "body-too-large", "unsupported-media-type", "invalid-request", "too-slow")


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["runs"])
    responses = {200: {"model": Score, "description": "It was stored before: the score it got then"}, **_CAUSES}

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
            return await _bulk(service, request, caller)
        data = await read_body(request, service.options.max_body)
        status, document = await run_in_threadpool(lambda: ingest(service, parse(data, RunIn), caller))
        return answer(request, document, status)

    @routes.post(
        "/v1/runs/bulk",
        operation_id="add_runs",
        response_class=Response,
        responses={200: {"description": "A result a line", "content": {NDJSON: {"schema": _RESULTS}}}, **_CAUSES},
        openapi_extra={"requestBody": _BULK},
    )
    async def add_many(request: Request) -> Response:
        """Store and score one finished run a line; a wrong line spoils no other."""
        caller = caller_of(request.scope)
        caller.need("write")
        if media_of(request) != NDJSON:
            raise ProblemError("unsupported-media-type", f"send the lines as Content-Type: {NDJSON}")
        return await _bulk(service, request, caller)

    return routes


async def _bulk(service: "Service", request: Request, caller: Caller) -> Response:
    """Read lines and store them as they come; the results wait in a file, because not every client reads and writes."""
    results = tempfile.SpooledTemporaryFile(max_size=1_000_000)  # noqa: SIM115  # closed when it has been sent
    try:
        batch: list[tuple[int, bytes]] = []
        number = 0
        async for line in _lines(request, service.options.max_body):
            number += 1
            if line.strip():
                batch.append((number, line))
            if len(batch) >= BATCH:
                await run_in_threadpool(_store, service, caller, batch, results)
                batch = []
        await run_in_threadpool(_store, service, caller, batch, results)
    except BaseException:
        results.close()
        raise
    size = results.tell()
    results.seek(0)
    return StreamingResponse(_send(results), media_type=NDJSON, headers={"Content-Length": str(size)})


def _send(results: IO[bytes]) -> Iterator[bytes]:
    with results:
        while piece := results.read(65_536):
            yield piece


async def _lines(request: Request, limit: int) -> AsyncIterator[bytes]:
    """The body line by line, none longer than the limit of one run."""
    rest = bytearray()
    async for piece in pieces(request, None):
        *whole, last = piece.split(b"\n")
        for line in whole:
            rest += line
            yield bytes(rest)
            rest.clear()
        rest += last
        if len(rest) > limit:
            raise too_large(limit)
    yield bytes(rest)


def _store(service: "Service", caller: Caller, batch: list[tuple[int, bytes]], results: IO[bytes]) -> None:
    for number, line in batch:
        results.write(to_bytes(_result(service, caller, number, line)) + b"\n")


def _result(service: "Service", caller: Caller, number: int, line: bytes) -> JsonObject:
    run_id = None
    try:
        body = parse(line, RunIn)
        run_id = body.run_id
        status, score = ingest(service, body, caller)
        return {"line": number, "status": status, "run_id": run_id, "score": score, "problem": None}
    except (ProblemError, SteelyardError) as error:
        problem = error if isinstance(error, ProblemError) else problem_of(error)
        document = problem.document()
        return {"line": number, "status": problem.status, "run_id": run_id, "score": None, "problem": document}
