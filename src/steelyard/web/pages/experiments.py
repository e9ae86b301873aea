"""Experiments: the list, and one of them as it goes on."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.experiment import Experiment
from steelyard.domain.record import JsonObject
from steelyard.store.clean import storable
from steelyard.store.progress import Glance, Shape, glance, shapes
from steelyard.store.reads import RunFilter
from steelyard.web.api.experiments import REPORTED
from steelyard.web.api.progress import is_lately, progress_document, standing
from steelyard.web.api.runs import visible
from steelyard.web.auth import caller_of
from steelyard.web.cursors import make_cursor, read_cursor
from steelyard.web.pages import text
from steelyard.web.pages.columns import COLUMNS
from steelyard.web.pages.shell import render

if TYPE_CHECKING:
    from steelyard.web.service import Service

PAGE = 25
NEWEST = 50
STATES = {"running": "even", "finished": "good", "stopped": "bad"}
_SHOWN = (
    "run", "task", "arm", "status", "objective", "judge", "score", "cost", "tokens", "duration", "finished",
)  # fmt: skip


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/experiments")
    def experiments(request: Request) -> Response:
        """A page of the list, newest first."""
        mine = visible(caller_of(request.scope), None)
        about = ["experiments", mine]
        after = read_cursor(request.query_params.get("cursor") or None, about)
        rows = service.store.experiments(workspace=mine, after=after, limit=PAGE + 1)
        onward = f"/experiments?cursor={make_cursor(rows[PAGE - 1]['seq'], about)}" if len(rows) > PAGE else None
        return render(
            request,
            "experiments.html",
            title="Experiments",
            here="experiments",
            twin="/v1/experiments",
            rows=_listed(service, rows[:PAGE]),
            first="/experiments" if after is not None else None,
            onward=onward,
        )

    @routes.get("/experiments/{experiment_id:path}")
    def experiment(request: Request, experiment_id: str) -> Response:
        """How far it has come, and its newest runs."""
        caller = caller_of(request.scope)
        found, now = standing(service, experiment_id, caller)
        name = storable(experiment_id)
        newest = service.store.runs(RunFilter(experiment=name, workspace=caller.workspace), limit=NEWEST)
        document = progress_document(name, found, now)
        return render(request, "experiment.html", **_view(name, found, document, newest))

    return routes


def experiment_address(name: str) -> str:
    """Where an experiment is shown."""
    return f"/experiments/{quote(name, safe='')}"


def _listed(service: "Service", rows: list[JsonObject]) -> list[JsonObject]:
    sizes = shapes(service.database, [row["id"] for row in rows])
    found = []
    for row in rows:
        seen = glance(service.database, row["id"])
        shape = sizes.get(row["id"], Shape(0, 0, 0, {}))
        state = _state(row, seen, shape)
        several = shape.arms > 1 or not shape.planned
        found.append(
            {
                **row,
                "href": experiment_address(row["id"]),
                "compare": f"/compare?{urlencode({'experiment': row['id']})}" if several else None,
                "suite": "/".join((row["suite_path"] or text.NONE).split("/")[-2:]),
                "seen": seen,
                "shape": shape,
                "state": state,
                "tone": STATES[state],
                "percent": min(100.0, 100 * seen.finished / shape.planned) if shape.planned else 0.0,
            }
        )
    return found


def _state(row: JsonObject, seen: Glance, shape: Shape) -> str:
    if seen.working:
        return "running"
    if seen.more or seen.finished >= shape.planned:
        return "finished"
    alive = shape.settings.get(REPORTED) and is_lately(seen.last_finished or row["created_at"])
    return "running" if alive else "stopped"


def _view(name: str, found: Experiment | None, document: JsonObject, newest: list[JsonObject]) -> dict[str, Any]:
    planned, finished = document["planned"], document["finished"]
    columns = [column for column in COLUMNS if column.name in _SHOWN]
    runs = f"/runs?{urlencode({'experiment': name})}"
    again = None
    if document["state"] == "stopped" and found is not None and found.suite_path:
        again = found.to_resume
    return {
        "title": name,
        "here": "experiments",
        "twin": f"/v1{experiment_address(name)}/progress",
        "name": name,
        "found": found,
        "now": document,
        "tone": STATES[document["state"]],
        "percent": min(100.0, 100 * finished / planned) if planned else 100.0,
        "events": f"/v1{experiment_address(name)}/events",
        "compare": f"/compare?{urlencode({'experiment': name})}" if len(document["arms"]) > 1 else None,
        "runs": runs,
        "again": again,
        "until_decided": None if found is None else found.settings.get("until_decided"),
        "heads": [{"column": column, "href": "", "order": None} for column in columns],
        "rows": [[(column, column.cell(row)) for column in columns] for row in newest],
        "most": NEWEST,
    }
