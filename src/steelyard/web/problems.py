"""Errors as RFC 9457 problem documents: one stable `type` for each cause, one line of detail for people."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from starlette.responses import Response

from steelyard.domain.mistakes import mistakes
from steelyard.domain.record import JsonObject, Record
from steelyard.errors import InputError, SteelyardError
from steelyard.store.errors import ConflictError, NotFoundError
from steelyard.store.scenarios import StaleError

TYPE = "urn:steelyard:problem:"
MEDIA = "application/problem+json"
# cause → (status, title). A cause never changes its name or its status.
CAUSES: dict[str, tuple[int, str]] = {
    "malformed": (400, "This is not HTTP"),
    "unauthenticated": (401, "A token is needed"),
    "invalid-token": (401, "The token is not valid"),
    "forbidden": (403, "The token does not allow this"),
    "not-found": (404, "There is no such thing"),
    "no-such-route": (404, "There is no such address"),
    "method-not-allowed": (405, "The address does not take this method"),
    "too-slow": (408, "The request took too long to arrive"),
    "conflict": (409, "Something else is stored under that name"),
    "stale": (412, "It was changed meanwhile"),
    "body-too-large": (413, "The request body is too large"),
    "unsupported-media-type": (415, "The request body has the wrong type"),
    "misdirected": (421, "This server does not answer to that host name"),
    "invalid-request": (422, "The request is not valid"),
    "rate-limited": (429, "Too many requests"),
    "internal-error": (500, "Something went wrong here"),
    "store-unavailable": (503, "The store does not answer"),
    "too-many-streams": (503, "Too many are following already"),
}
_MOST_ERRORS = 100


class Mistake(Record):
    """One wrong field."""

    message: str


class Problem(Record):
    """What went wrong, for programs (`type`) and for people (`detail`)."""

    type: str = Field(description="a stable name of the cause: " + ", ".join(TYPE + cause for cause in CAUSES))
    title: str
    status: int
    detail: str
    instance: str | None = None
    request_id: str | None = None
    errors: tuple[Mistake, ...] = ()


class ProblemError(Exception):
    """A request that is answered with a problem document."""

    def __init__(
        self, cause: str, detail: str, *, errors: list[str] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail
        self.errors = (errors or [])[:_MOST_ERRORS]
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        """The HTTP status of its cause."""
        return CAUSES[self.cause][0]

    def document(self, instance: str | None = None, request_id: str | None = None) -> JsonObject:
        """The problem as JSON."""
        found: JsonObject = {
            "type": TYPE + self.cause,
            "title": CAUSES[self.cause][1],
            "status": self.status,
            "detail": self.detail,
        }
        if instance is not None:
            found["instance"] = instance
        if request_id is not None:
            found["request_id"] = request_id
        if self.errors:
            found["errors"] = [{"message": message} for message in self.errors]
        return found


def respond(problem: ProblemError, scope: Mapping[str, Any]) -> Response:
    """The problem as a response to a request: a document, or a page for who came with a browser."""
    from steelyard.web.pages.errors import problem_page, wants_page

    if wants_page(scope):
        return problem_page(problem, scope)
    instance = scope.get("raw_path", b"").decode("ascii", "replace") or None
    document = problem.document(instance, scope.get("state", {}).get("request_id"))
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, problem.status, headers=problem.headers, media_type=MEDIA)


def problem_of(error: SteelyardError) -> ProblemError:
    """What the rest of Steelyard says went wrong, as a problem."""
    line = " ".join(str(error).split())
    if isinstance(error, NotFoundError):
        return ProblemError("not-found", line)
    if isinstance(error, StaleError):
        return ProblemError("stale", line)
    if isinstance(error, ConflictError):
        return ProblemError("conflict", line)
    if isinstance(error, InputError):
        return ProblemError("invalid-request", line)
    # What the database said may name hosts and files: that is for the log, not for a stranger.
    return ProblemError("store-unavailable", "the store did not do what it was asked; try again", headers=_LATER)


_LATER = {"Retry-After": "2"}


def invalid(error: ValidationError, record: type[BaseModel]) -> ProblemError:
    """A body or value that does not fit its record, field by field."""
    lines = mistakes(error, record)
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return ProblemError("invalid-request", lines[0] + more, errors=lines)


def documented(*causes: str) -> dict[int | str, JsonObject]:
    """The `responses` of a route: these causes, and those that every route has."""
    found: dict[int | str, JsonObject] = {}
    for cause in (*causes, *_EVERYWHERE):
        status, title = CAUSES[cause]
        found[status] = {"description": title, "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
        if status in _HEADERS:
            found[status]["headers"] = {_HEADERS[status]: {"schema": {"type": "string"}}}
    return found


_EVERYWHERE = ("unauthenticated", "forbidden", "misdirected", "rate-limited", "internal-error", "store-unavailable")
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
