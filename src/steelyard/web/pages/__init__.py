"""The web pages: each is a view of the API, rendered here, readable without JavaScript."""

from typing import TYPE_CHECKING

from fastapi import APIRouter

if TYPE_CHECKING:
    from steelyard.web.service import Service


def router(service: "Service") -> APIRouter:
    """Every page; another page is another module here."""
    from steelyard.web.pages import (
        compare,
        diff,
        experiments,
        exports,
        run,
        runs,
        scenarios,
        signing,
        statics,
        tokens,
        workspaces,
    )

    routes = APIRouter(include_in_schema=False)
    for part in (statics, signing, runs, exports, run, diff, experiments, compare, workspaces, scenarios, tokens):
        routes.include_router(part.router(service))
    return routes
