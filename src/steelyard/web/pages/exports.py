"""The runs of a filter as a file: CSV and JSON as they are read, Parquet in one piece; at most `MOST` runs."""

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from steelyard.domain.record import JsonObject
from steelyard.store.explore import explore
from steelyard.web.auth import caller_of
from steelyard.web.documents import RunSummary, summary_document
from steelyard.web.pages.filters import Asked
from steelyard.web.problems import ProblemError

if TYPE_CHECKING:
    from steelyard.web.service import Service

MOST = 100_000
BATCH = 1_000
GATES = ("objective", "judge", "run_gate")
FIELDS = (*(name for name in RunSummary.model_fields if name not in ("gates", "tags")), *GATES, "tags")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def router(service: "Service") -> APIRouter:
    """The routes."""
    from steelyard.web.pages.runs import asked_of

    routes = APIRouter()

    @routes.get("/runs.{kind}")
    def export(request: Request, kind: str) -> Response:
        """The file."""
        caller = caller_of(request.scope)
        asked = asked_of(request, caller.workspace)
        if kind not in ("csv", "json", "parquet"):
            raise ProblemError("no-such-route", f"{kind[:20]!r} is no format; allowed: csv, json, parquet")
        if asked.mistakes:
            raise ProblemError("invalid-request", asked.mistakes[0], errors=asked.mistakes)
        hidden = caller.workspace is not None and asked.values.get("workspace") not in (None, caller.workspace)
        rows = iter(()) if hidden else _rows(service, asked)
        named = {"Content-Disposition": f'attachment; filename="runs.{kind}"'}
        if kind == "parquet":
            return Response(_parquet(rows), headers=named, media_type="application/vnd.apache.parquet")
        made, media = (_csv(rows), "text/csv; charset=utf-8") if kind == "csv" else (_json(rows), "application/json")
        return StreamingResponse(made, headers=named, media_type=media)

    return routes


def _rows(service: "Service", asked: Asked) -> Iterator[JsonObject]:
    """The rows in their order, read page by page: no lock is held while a slow client takes them."""
    place, sent = None, 0
    while sent < MOST:
        found = explore(service.database, asked.question, after=place, limit=min(BATCH, MOST - sent))
        yield from found.rows
        sent += len(found.rows)
        place = found.next
        if place is None:
            return


def _csv(rows: Iterator[JsonObject]) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(FIELDS)
    for number, row in enumerate(rows, 1):
        writer.writerow([_cell(row[name]) for name in FIELDS])
        if number % 200 == 0:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is marked as text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _json(rows: Iterator[JsonObject]) -> Iterator[str]:
    separator = "["
    for row in rows:
        yield separator + json.dumps(summary_document(row), ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[" else "]\n"


def _parquet(rows: Iterator[JsonObject]) -> bytes:
    try:
        import polars as pl
    except ImportError:
        raise ProblemError("invalid-request", "Parquet needs Polars: pip install 'steelyard[records]'") from None
    whole = {"repeat", "attempt", "checks_passed", "checks_total", "score", "steps", "tool_calls", "files_changed"}
    real = {"wall_s", "cost_usd", "mean_score", "judge01", "composite"}
    kinds = {
        name: pl.Int64
        if name in whole or name.endswith("_tokens")
        else pl.Float64
        if name in real
        else pl.Boolean
        if name in ("replaced", "infrastructure")
        else pl.String
        for name in FIELDS
    }
    columns: dict[str, list[Any]] = {name: [] for name in FIELDS}
    for row in rows:
        for name, column in columns.items():
            column.append(bool(row[name]) if kinds[name] == pl.Boolean else row[name])
    out = io.BytesIO()
    frame = pl.DataFrame([pl.Series(name, values, dtype=kinds[name]) for name, values in columns.items()])
    frame.write_parquet(out, compression="zstd")
    return out.getvalue()
