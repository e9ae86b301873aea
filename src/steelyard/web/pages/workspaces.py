"""Workspaces: how scores, the latency baseline and trust move over time, and which arm leads."""

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.record import JsonObject
from steelyard.errors import InputError
from steelyard.formulas.scorecard import rolling_p50
from steelyard.store.clean import storable
from steelyard.store.overview import last_day
from steelyard.web.api.overview import list_workspaces
from steelyard.web.auth import caller_of
from steelyard.web.pages import plots
from steelyard.web.pages.shell import render
from steelyard.web.pages.text import seconds
from steelyard.web.problems import ProblemError

if TYPE_CHECKING:
    from steelyard.web.service import Service

SPANS = (7, 30, 90, 365)
PAGE = 50
ARMS = 100  # in the tables; the JSON has all
FEW = 5  # runs: an arm with fewer has no place among the others


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/workspaces")
    def workspaces(request: Request) -> Response:
        """All that the caller sees."""
        until, days = _window(request)
        cursor = request.query_params.get("cursor") or None
        found = list_workspaces(service, caller_of(request.scope), (until, days), cursor, PAGE)
        for one in found["data"]:
            one["href"] = workspace_address(one["workspace"], days=days)
            one["plot"] = plots.trend_plot(one["days"], _since(until, days), until)
            one["mix"] = plots.mix(one["tiers"])
        kept = {name: request.query_params[name] for name in ("until", "days") if name in request.query_params}
        onward = found["next_cursor"] and f"/workspaces?{urlencode({**kept, 'cursor': found['next_cursor']})}"
        shown = {"rows": found["data"], "onward": onward, "days": days}
        twin = f"/v1/workspaces?{urlencode({'days': days, 'until': until})}"
        return render(request, "workspaces.html", title="Workspaces", here="workspaces", twin=twin, **shown)

    @routes.get("/workspaces/{name:path}")
    def workspace(request: Request, name: str) -> Response:
        """One workspace over time."""
        seen = caller_of(request.scope).sees(name) and name.isprintable()
        if not seen or not service.store.has_workspace(storable(name)):
            raise ProblemError("not-found", f"no workspace {name[:80]!r} is here")
        return render(request, "workspace.html", **_view(service, storable(name), *_window(request)))

    return routes


def workspace_address(name: str, **query: Any) -> str:
    """Where a workspace is shown."""
    asked = urlencode({key: value for key, value in query.items() if value not in (None, "")})
    return f"/workspaces/{quote(name, safe='')}{'?' + asked if asked else ''}"


def _window(request: Request) -> tuple[str, int]:
    """The last day and how many days, as the address has them; today and 30 unless told."""
    asked = request.query_params
    days, until = asked.get("days", "30"), asked.get("until", "")
    if not (days.isascii() and days.isdigit() and 1 <= int(days[:9]) <= 366):
        raise InputError(f"days: {days[:40]!r} is not a number from 1 to 366")
    try:
        last = date.fromisoformat(until) if until else datetime.now(UTC).date()
    except ValueError:
        raise InputError(f"until: {until[:40]!r} is not a day such as 2026-01-31") from None
    return last.isoformat(), int(days)


def _since(until: str, days: int) -> str:
    return date.fromordinal(max(1, date.fromisoformat(until).toordinal() - days + 1)).isoformat()


def _view(service: "Service", name: str, until: str, days: int) -> JsonObject:
    store = service.store
    trend = store.trend(name, until=until, days=days)
    drift = store.drift(name, as_of=until)
    trust = store.trust(name)
    walls = store.history(name)
    points, span = trend["days"], (trend["since"], until)
    latest = None if points else last_day(service.database, name)
    base = f"/v1/workspaces/{quote(name, safe='')}"
    return {
        "title": name,
        "here": "workspaces",
        "twin": f"{base}/trend?{urlencode({'days': days, 'until': until})}",
        "twins": [
            ("drift", f"{base}/drift?as_of={until}"),
            ("trust", f"{base}/trust"),
            ("baseline", f"{base}/baseline"),
            ("weights", f"{base}/weights"),
        ],
        "name": name,
        "days": days,
        "until": until,
        "since": trend["since"],
        "points": points,
        "total": _together(points),
        "spans": [(span, workspace_address(name, days=span, until=until)) for span in SPANS],
        "permanent": workspace_address(name, days=days, until=until),
        "latest": latest and (latest, workspace_address(name, days=days, until=latest)),
        "score_plot": plots.trend_plot(points, *span),
        "tier_plot": plots.tier_plot(points, *span),
        "baseline_plot": plots.baseline_plot(points, *span, seconds),
        "p50": rolling_p50(walls),
        "walls": walls,
        "weights": store.weights(name),
        "drift": drift,
        "drifts": _drifts(drift),
        "needed": trust["needed"],
        "few": FEW,
        "arms": _leaderboard(name, trend["arms"], trust["arms"], drift["arms"]),
    }


def _together(points: list[JsonObject]) -> JsonObject:
    runs = sum(point["runs"] for point in points)
    mean = sum(point["runs"] * point["mean"] for point in points) / runs if runs else None
    return {"runs": runs, "mean": mean, "tier": None if mean is None else plots.tier_of(mean)}


def _drifts(drift: JsonObject) -> list[JsonObject]:
    """This week against the last: all together, then each arm, on one axis."""
    rows = [{"arm": None, **drift}, *({"arm": arm, **one} for arm, one in sorted(drift["arms"].items())[:ARMS])]
    reach = plots.reach_of(rows)
    return [{**row, "plot": plots.interval_plot(row, reach), "reach": reach} for row in rows]


def _leaderboard(workspace: str, arms: JsonObject, trust: JsonObject, drifts: JsonObject) -> list[JsonObject]:
    """The arms by their mean score over the days, the best first; those with few runs last and without a place."""
    rows = []
    for arm, points in arms.items():
        tiers = {name: sum(point["tiers"][name] for point in points) for name, _, _ in plots.TIERS}
        rows.append(
            {
                "arm": arm,
                **_together(points),
                "tiers": tiers,
                "mix": plots.mix(tiers),
                "trust": trust.get(arm, {"streak": 0, "trusted": False}),
                "drifted": drifts.get(arm, {}).get("drifted"),
                "href": f"/runs?{urlencode({'workspace': workspace, 'arm': arm})}",
            }
        )
    rows.sort(key=lambda row: (row["runs"] < FEW, -row["mean"], row["arm"]))
    return [{**row, "rank": "" if row["runs"] < FEW else place} for place, row in enumerate(rows[:ARMS], 1)]
