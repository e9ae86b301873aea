"""Style sheets and scripts: read once, named by their content, kept by the browser for good."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.record import sha256
from steelyard.web.answers import answer_bytes
from steelyard.web.problems import ProblemError

if TYPE_CHECKING:
    from steelyard.web.service import Service

MEDIA = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
FOREVER = "public, max-age=31536000, immutable"


@cache
def contents() -> dict[str, bytes]:
    """Every static file by its name; nothing else can be asked for."""
    folder = files("steelyard.web") / "static"
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.rpartition(".")[2] in MEDIA}


@cache
def address(name: str) -> str:
    """Where a static file is, for as long as its content is the same."""
    return f"/static/{name}?v={sha256(contents()[name])[:12]}"


def router(_service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.api_route("/static/{name}", methods=["GET", "HEAD"])
    async def static(request: Request, name: str) -> Response:
        """One file."""
        found = contents().get(name)
        if found is None:
            raise ProblemError("no-such-route", "there is no such file")
        made = answer_bytes(request, found, media=MEDIA[name.rpartition(".")[2]])
        if request.query_params.get("v"):
            made.headers["Cache-Control"] = FOREVER
        return made

    return routes
