"""The list of runs: the data explorer."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.store.explore import NEWEST, WINDOW, Answer, explore
from steelyard.web.auth import caller_of
from steelyard.web.pages.columns import COLUMNS, NAMES, Column, chosen
from steelyard.web.pages.filters import FIELDS, Asked, make_cursor, read_asked
from steelyard.web.pages.shell import render

if TYPE_CHECKING:
    from steelyard.web.service import Service

PAGE = 50
_API = {"task", "arm", "status", "tier", "verdict", "workspace", "experiment", "since", "until"}


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/runs")
    def runs(request: Request) -> Response:
        """One page of the list."""
        caller = caller_of(request.scope)
        asked = asked_of(request, caller.workspace)
        hidden = caller.workspace is not None and asked.values.get("workspace") not in (None, caller.workspace)
        found = Answer([], None)
        if not asked.mistakes and not hidden:
            found = explore(service.database, asked.question, after=asked.after, limit=PAGE)
        status = 422 if asked.mistakes else 200
        return render(request, "runs.html", status, **_view(request, asked, found))

    return routes


def asked_of(request: Request, workspace: str | None) -> Asked:
    """What a request's address asks for; columns may come one by one, as a form sends them."""
    params: dict[str, str] = dict(request.query_params)
    params["cols"] = ",".join(request.query_params.getlist("cols"))
    return read_asked(params, workspace, NAMES)


def _view(request: Request, asked: Asked, found: Answer) -> dict[str, Any]:
    columns = chosen(asked.columns, disagree=asked.disagree)
    twin = {name: value for name, value in asked.values.items() if name in _API}
    onward = None if found.next is None else asked.address(cursor=make_cursor(asked, found.next))
    return {
        "title": "Gate disagreements" if asked.disagree else "Runs",
        "here": "disagreements" if asked.disagree else "runs",
        "twin": Asked(values=twin).address("/v1/runs"),
        "asked": asked,
        "fields": FIELDS,
        "chips": [
            (each.title, asked.values[each.name], asked.address(**{each.name: ""}))
            for each in FIELDS
            if each.name in asked.values
        ],
        "heads": [_head(asked, column) for column in columns],
        "rows": [[(column, column.cell(row)) for column in columns] for row in found.rows],
        "all_columns": [(column, column in columns) for column in COLUMNS if column.name != "run"],
        "first": asked.address() if request.query_params.get("cursor") else None,
        "onward": onward,
        "stopped_early": found.stopped_early,
        "window": WINDOW,
        "exports": [(kind, asked.address(f"/runs.{kind}")) for kind in ("csv", "json", "parquet")],
    }


def _head(asked: Asked, column: Column) -> dict[str, Any]:
    """A column's head: where a click leads, and how the list is sorted by it now."""
    is_sorted = bool(column.sort) and column.sort == asked.question.sort
    ascending = is_sorted and asked.question.ascending
    href = ""
    if column.sort:
        onward = {"sort": column.sort, "dir": "desc" if not is_sorted or ascending else "asc"}
        href = asked.address(**onward)
    order = ("ascending" if ascending else "descending") if is_sorted else None
    return {"column": column, "href": href, "order": order, "default": asked.sort == NEWEST}
