"""The list of workspaces: how each scored lately."""

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.record import JsonObject, Record
from steelyard.store.clean import storable
from steelyard.store.overview import read_overview
from steelyard.web.answers import answer
from steelyard.web.api.runs import Cursor, Limit
from steelyard.web.api.watching import ArmDrift, Day, Days, Tiers, TrendDay, day_or_today
from steelyard.web.auth import Caller, caller_of
from steelyard.web.cursors import make_cursor, read_name_cursor
from steelyard.web.problems import documented

if TYPE_CHECKING:
    from steelyard.web.service import Service


class WorkspaceSummary(Record):
    """A workspace over some days: its scores, its drift, and when a run of it was last scored."""

    workspace: str
    runs: int
    arms: int
    mean: float | None
    tiers: Tiers
    baseline_p50_s: float | None
    last_day: str | None
    drift: ArmDrift
    days: tuple[TrendDay, ...]


class WorkspacePage(Record):
    """A page of workspaces, by name."""

    data: tuple[WorkspaceSummary, ...]
    has_more: bool
    next_cursor: str | None


ANSWERS: tuple[type[Record], ...] = (WorkspacePage,)


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["workspaces"])

    @routes.get(
        "/v1/workspaces",
        response_model=WorkspacePage,
        operation_id="workspaces",
        responses=documented("invalid-request"),
    )
    def workspaces(
        request: Request, days: Days = 30, until: Day = None, limit: Limit = 50, cursor: Cursor = None
    ) -> Response:
        """A page of workspaces by name, each with its scores of the last days."""
        window = (day_or_today(until), days)
        return answer(request, list_workspaces(service, caller_of(request.scope), window, cursor, limit))

    return routes


def list_workspaces(
    service: "Service", caller: Caller, window: tuple[str, int], cursor: str | None, limit: int
) -> JsonObject:
    """The workspaces that a caller sees, over a `window` of its last day and how many days."""
    until, days = window
    after = read_name_cursor(cursor, "workspaces")
    mine = None if caller.workspace is None else storable(caller.workspace)
    rows = read_overview(service.database, mine, until=until, days=days, after=after, limit=limit + 1)
    more, rows = len(rows) > limit, rows[:limit]
    onward = make_cursor(rows[-1]["workspace"], "workspaces") if more else None
    return {"data": rows, "has_more": more, "next_cursor": onward}
