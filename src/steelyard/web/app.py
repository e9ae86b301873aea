"""The application: routes, what they answer, and the front that every request passes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from steelyard import __version__
from steelyard.errors import SteelyardError
from steelyard.events.logs import configure
from steelyard.web import pages
from steelyard.web.api import (
    comparing,
    experiments,
    health,
    ingest,
    overview,
    progress,
    runs,
    scenarios,
    tokens,
    watching,
    workspaces,
)
from steelyard.web.bodies import BODIES
from steelyard.web.delivery import delivering
from steelyard.web.documents import ANSWERS, schemas
from steelyard.web.front import Front, as_problem
from steelyard.web.problems import ProblemError, respond
from steelyard.web.service import Options, Service

_ABOUT = (
    "Scores, comparisons and everything behind them. Errors are RFC 9457 problem documents whose `type` names the "
    "cause. Lists are pages: `{data, has_more, next_cursor}`, newest first."
)


def make_app(options: Options) -> Front:
    """The application of one server process; its store is open until it ends."""
    configure(as_json=options.log_json)
    service = Service(options)
    return Front(make_api(service), service)


def make_api(service: Service) -> FastAPI:
    """All routes."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with delivering(service):
            yield
        service.close()

    app = FastAPI(
        title="Steelyard",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    parts_of = (
        runs,
        ingest,
        experiments,
        comparing,
        progress,
        scenarios,
        overview,
        workspaces,
        watching,
        tokens,
        health,
    )
    for part in parts_of:
        app.include_router(part.router(service))
    app.include_router(pages.router(service))
    _answer_errors(app)
    app.openapi = lambda: _describe(app)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return app


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        lines = [f"{'.'.join(map(str, item['loc'][1:]))}: {item['msg']}" for item in error.errors()]
        problem = ProblemError("invalid-request", lines[0] if lines else "the request is not valid", errors=lines)
        return respond(problem, request.scope)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        if error.status_code != 405:
            detail = "there is nothing at this address; /openapi.json describes what there is"
            return respond(ProblemError("no-such-route", detail), request.scope)
        allowed = ", ".join(_methods(app, request.scope["path"]))
        detail = f"{request.method[:20]} is not allowed here; allowed: {allowed}"
        return respond(ProblemError("method-not-allowed", detail, headers={"Allow": allowed}), request.scope)

    @app.exception_handler(ProblemError)
    @app.exception_handler(SteelyardError)
    @app.exception_handler(Exception)
    async def told(request: Request, error: Exception) -> Response:
        return respond(as_problem(error, request.scope), request.scope)


def _methods(app: FastAPI, path: str) -> list[str]:
    """The methods that an address takes, of all its routes."""
    found: set[str] = set()
    for template, methods in app.openapi()["paths"].items():
        pattern = re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path):
            found |= {method.upper() for method in methods}
    return sorted(found)


def _describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document: FastAPI's routes with our records, token and errors in it."""
    if app.openapi_schema:
        return app.openapi_schema
    from fastapi.openapi.utils import get_openapi

    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    parts = found.setdefault("components", {})
    parts["schemas"] = {
        **schemas(
            (
                *BODIES,
                *ANSWERS,
                *watching.ANSWERS,
                *overview.ANSWERS,
                *tokens.ANSWERS,
                *comparing.ANSWERS,
                *progress.ANSWERS,
            ),
            "validation",
        )
    }
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}, {}]
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            answers = operation["responses"]
            if "HTTPValidationError" in str(answers.get("422", "")):
                del answers["422"]
            is_stream = "text/event-stream" in answers.get("200", {}).get("content", {})
            if method == "get" and path.startswith("/v1/") and not is_stream:
                tagged = {"headers": {"ETag": {"schema": {"type": "string"}}}}
                answers["200"] |= tagged
                answers["304"] = {"description": "What If-None-Match names is still so", **tagged}
    app.openapi_schema = found
    return found
