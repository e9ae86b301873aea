"""Tokens, for those who may make them: what they open and when they were used, never their secrets."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.record import JsonObject, Record
from steelyard.store.tokens import list_tokens
from steelyard.web.answers import answer
from steelyard.web.auth import Caller, caller_of
from steelyard.web.problems import documented
from steelyard.web.service import now

if TYPE_CHECKING:
    from steelyard.web.service import Service


class TokenOut(Record):
    """A token; `usable` is false once it was revoked or has expired."""

    id: str
    workspace: str
    name: str
    scope: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    usable: bool


class TokenList(Record):
    """Tokens, newest first."""

    data: tuple[TokenOut, ...]


ANSWERS: tuple[type[Record], ...] = (TokenList,)


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["tokens"])

    @routes.get("/v1/tokens", response_model=TokenList, operation_id="tokens", responses=documented())
    def tokens(request: Request) -> Response:
        """The tokens of the caller's workspace. Needs the scope admin."""
        return answer(request, {"data": tokens_of(service, caller_of(request.scope))})

    return routes


def tokens_of(service: "Service", caller: Caller) -> list[JsonObject]:
    """The tokens that a caller may see: an admin's own workspace's, or all while there is none to sign in with."""
    caller.need("admin")
    at = now()
    return [{**asdict(one), "usable": one.is_usable(at)} for one in list_tokens(service.database, caller.workspace)]
