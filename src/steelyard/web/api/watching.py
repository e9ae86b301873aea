"""Watching over time: trend, baseline history, drift and trust of a workspace."""

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.record import Record
from steelyard.store.clean import storable
from steelyard.web.answers import answer
from steelyard.web.auth import caller_of
from steelyard.web.problems import ProblemError, documented

if TYPE_CHECKING:
    from steelyard.web.service import Service

Workspace = Annotated[str, Path(max_length=200)]
Days = Annotated[int, Query(ge=1, le=366, description="how many days, the last one included")]
Arm = Annotated[str | None, Query(max_length=200, description="this arm only")]
Day = Annotated[date | None, Query(description="the last day, in UTC; today unless told")]


class Tiers(Record):
    """How many runs reached each tier."""

    Bronze: int
    Silver: int
    Gold: int
    Elite: int


class TrendDay(Record):
    """The scores of one day, and the latency baseline of the run that finished last."""

    day: str
    runs: int
    mean: float | None
    sd: float | None
    tiers: Tiers
    baseline_p50_s: float | None


class Trend(Record):
    """Scores by day, of a workspace and of each of its arms; days without runs are left out."""

    workspace: str
    since: str
    until: str
    days: tuple[TrendDay, ...]
    arms: dict[str, tuple[TrendDay, ...]]


class BaselineDay(Record):
    """What latency was measured against at the end of a day."""

    day: str
    p50_s: float | None


class BaselineHistory(Record):
    """The latency baseline by day."""

    workspace: str
    since: str
    until: str
    days: tuple[BaselineDay, ...]


class Week(Record):
    """The scores of seven days."""

    runs: int
    mean: float | None
    sd: float | None


class ArmDrift(Record):
    """A week against the week before; `drifted` only when the interval of the difference leaves out 0."""

    drifted: Literal["up", "down"] | None
    delta: float | None
    interval: tuple[float, float] | None
    confidence: float
    this_week: Week
    last_week: Week
    reason: str


class DriftOut(ArmDrift):
    """The same for all arms together and for each of them."""

    workspace: str
    as_of: str
    arms: dict[str, ArmDrift]


class ArmTrust(Record):
    """How many runs in a row were Gold or better."""

    streak: int
    trusted: bool


class Trust(Record):
    """Which arms have earned trust: at least `needed` runs in a row."""

    workspace: str
    needed: int
    arms: dict[str, ArmTrust]


ANSWERS: tuple[type[Record], ...] = (Trend, BaselineHistory, DriftOut, Trust)


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["workspaces"], prefix="/v1/workspaces/{workspace}")
    told = documented("not-found", "invalid-request")

    @routes.get("/trend", response_model=Trend, operation_id="trend", responses=told)
    def trend(request: Request, workspace: Workspace, days: Days = 30, until: Day = None, arm: Arm = None) -> Response:
        """Scores by day: runs, mean, spread, tiers."""
        home = _seen(request, workspace)
        wanted = None if arm is None else storable(arm)
        return answer(request, service.store.trend(home, until=day_or_today(until), days=days, arm=wanted))

    @routes.get("/baseline/history", response_model=BaselineHistory, operation_id="baseline_history", responses=told)
    def history(request: Request, workspace: Workspace, days: Days = 30, until: Day = None) -> Response:
        """The p50 that latency was measured against, by day."""
        found = service.store.trend(_seen(request, workspace), until=day_or_today(until), days=days)
        kept = [{"day": day["day"], "p50_s": day["baseline_p50_s"]} for day in found["days"]]
        window = {name: found[name] for name in ("workspace", "since", "until")}
        return answer(request, {**window, "days": kept})

    @routes.get("/drift", response_model=DriftOut, operation_id="drift", responses=told)
    def drift(request: Request, workspace: Workspace, as_of: Day = None) -> Response:
        """The seven days up to one against the seven before, with an interval."""
        return answer(request, service.store.drift(_seen(request, workspace), as_of=day_or_today(as_of)))

    @routes.get("/trust", response_model=Trust, operation_id="trust", responses=told)
    def trust(request: Request, workspace: Workspace) -> Response:
        """How many runs in a row each arm has scored Gold or better."""
        return answer(request, service.store.trust(_seen(request, workspace)))

    return routes


def day_or_today(given: date | None) -> str:
    """A day as it is stored; today in UTC unless told."""
    return (given or datetime.now(UTC).date()).isoformat()


def _seen(request: Request, workspace: str) -> str:
    if not caller_of(request.scope).sees(workspace) or not workspace.isprintable():
        raise ProblemError("not-found", f"no workspace {workspace[:80]!r} is here")
    return storable(workspace)
