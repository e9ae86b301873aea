"""Tokens: who may sign in, since when, until when; made and revoked by whoever holds the scope admin."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from steelyard.errors import InputError
from steelyard.store.tokens import SCOPES, Wanted, add_token, make_token, revoke_token
from steelyard.web.api.tokens import tokens_of
from steelyard.web.auth import Caller, caller_of
from steelyard.web.pages.shell import render
from steelyard.web.pages.signing import read_form
from steelyard.web.problems import ProblemError
from steelyard.web.service import now

if TYPE_CHECKING:
    from steelyard.web.service import Service

ENDS = (("30d", "in 30 days"), ("12h", "in 12 hours"), ("8w", "in 8 weeks"), ("52w", "in a year"), ("", "never"))
REACH = {"read": "looks at runs", "write": "sends runs, edits scenarios", "admin": "sets weights, makes tokens"}


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/tokens")
    def tokens(request: Request) -> Response:
        """The list, and the form for a new one."""
        return _page(service, request)

    @routes.post("/tokens")
    async def create(request: Request) -> Response:
        """A new token, shown this once: in the answer to the form, which nothing keeps."""
        caller = caller_of(request.scope)
        fields = {name: values[0].strip() for name, values in (await read_form(request)).items()}
        return await run_in_threadpool(_create, service, request, caller, fields)

    @routes.post("/tokens/{token_id}/revoke")
    async def revoke(request: Request, token_id: str) -> Response:
        """The token opens nothing any more."""
        await read_form(request)
        return await run_in_threadpool(_revoke, service, request, token_id)

    return routes


def _create(service: "Service", request: Request, caller: Caller, fields: dict[str, str]) -> Response:
    caller.need("admin")
    service.guard.confirm(caller)  # it may have been revoked while its form was still coming
    given = {name: fields.get(name, "") for name in ("name", "workspace", "scope", "expires")}
    home = caller.workspace or given["workspace"] or "default"
    wanted = Wanted(home, given["name"] or "unnamed", given["scope"] or "read", given["expires"] or None)
    try:
        text, row = make_token(wanted, datetime.now(UTC))
    except InputError as error:
        return _page(service, request, 422, given=given, problem=str(error))
    first = not tokens_of(service, caller) and caller.token is None
    add_token(service.database, service.guard.key, text, row)
    answer = _page(service, request, made={"text": text, "token": row, "is_first": first})
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _revoke(service: "Service", request: Request, token_id: str) -> Response:
    caller = caller_of(request.scope)
    known = {token["id"]: token for token in tokens_of(service, caller)}
    service.guard.confirm(caller)
    if token_id not in known:
        raise ProblemError("not-found", f"no token {token_id[:60]!r} is stored here")
    revoke_token(service.database, token_id, at=now())
    told = f"Token {known[token_id]['name']} ({token_id}) opens nothing any more."
    return _page(service, request, notice={"tone": "good", "text": told})


def _page(service: "Service", request: Request, status: int = 200, **more: Any) -> Response:
    caller = caller_of(request.scope)
    listed = tokens_of(service, caller)
    values: dict[str, Any] = {
        "title": "Tokens",
        "here": "tokens",
        "twin": "/v1/tokens",
        "tokens": listed,
        "caller": caller,
        "open_door": caller.token is None and not listed,
        "scopes": [(scope, REACH[scope]) for scope in SCOPES],
        "ends": ENDS,
        "given": {"name": "", "workspace": "", "scope": "read" if listed else "admin", "expires": "30d"},
        "problem": None,
        "made": None,
    }
    return render(request, "tokens.html", status, **{**values, **more})
