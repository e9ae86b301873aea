"""Signing in and out, and the secret that every form carries so that no other site can send it."""

import hmac
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.store.tokens import token_id
from steelyard.web.answers import pieces
from steelyard.web.pages.session import COOKIE, FORM_COOKIE, make_session, set_cookie, sign
from steelyard.web.problems import ProblemError

if TYPE_CHECKING:
    from steelyard.web.service import Service

LARGEST_FORM = 2_000_000
_NONCE = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class FormSecret:
    """A random cookie and the field that only who knows our key can make of it."""

    nonce: str
    field: str
    is_new: bool
    scope: object

    def keep(self, answer: Response) -> None:
        """Give the browser its cookie."""
        set_cookie(answer, FORM_COOKIE, self.nonce, self.scope)  # type: ignore[arg-type]  # an ASGI scope


def form_secret(request: Request) -> FormSecret:
    """The secret of this browser, made when it has none; a session has its own."""
    given = request.cookies.get(FORM_COOKIE, "")
    known = _NONCE.fullmatch(given) is not None
    nonce = given if known else secrets.token_hex(16)
    key: bytes = request.scope["state"]["form_key"]
    field = sign(key, "form", nonce, request.cookies.get(COOKIE, ""))
    return FormSecret(nonce, field, not known, request.scope)


async def read_form(request: Request) -> dict[str, list[str]]:
    """A form's fields, if it was sent from one of our own pages; every form is read by this."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    ours = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if site not in (None, "same-origin") or origin not in (None, ours):
        raise ProblemError("forbidden", "the form was sent from another site")
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise ProblemError("unsupported-media-type", "send the form as application/x-www-form-urlencoded")
    body = b"".join([piece async for piece in pieces(request, LARGEST_FORM)])
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=5_000)
    except ValueError:
        raise ProblemError("invalid-request", "the form can't be read") from None
    secret = form_secret(request)
    if secret.is_new or not hmac.compare_digest(fields.get("csrf", [""])[0].encode(), secret.field.encode()):
        raise ProblemError("forbidden", "the form is out of date; reload the page and send it again")
    return fields


def inside(address: str) -> str:
    """An address of ours to go on to; anything else is the start."""
    return address if re.fullmatch(r"/(?![/\\])[\x21-\x7e]{0,2000}", address) else "/runs"


def router(service: "Service") -> APIRouter:
    """The routes."""
    from steelyard.web.pages.shell import render

    routes = APIRouter()

    @routes.get("/")
    async def start() -> Response:
        """The start is the list of runs."""
        return RedirectResponse("/runs", 303)

    @routes.get("/sign-in")
    async def ask(request: Request) -> Response:
        """The form."""
        onward = inside(request.query_params.get("next", "/runs"))
        return render(request, "sign_in.html", title="Sign in", onward=onward, problem=None)

    @routes.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        """A token becomes a session."""
        fields = await read_form(request)
        onward = inside(fields.get("next", ["/runs"])[0])
        token = fields.get("token", [""])[0].strip()
        client = request.client.host if request.client else "unknown"
        try:
            headers = {b"authorization": b"Bearer " + token.encode("latin-1", "replace")}
            await run_in_threadpool(service.guard.admit, headers, client)
        except ProblemError as error:
            shown = {"onward": onward, "problem": error.detail}
            return render(request, "sign_in.html", error.status, title="Sign in", **shown)
        name = token_id(token) or ""
        row = await run_in_threadpool(service.guard.reads.one, "token", name)
        answer = RedirectResponse(onward, 303)
        set_cookie(answer, COOKIE, make_session(service.guard, name, row.hash if row else ""), request.scope)
        return answer

    @routes.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        """The browser forgets its session."""
        await read_form(request)
        answer = RedirectResponse("/sign-in", 303)
        set_cookie(answer, COOKIE, "", request.scope, 0)
        return answer

    return routes
