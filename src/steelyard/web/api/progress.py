"""How far an experiment has come, asked once or followed as server-sent events."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from steelyard.domain.experiment import Experiment
from steelyard.domain.record import JsonObject, Record
from steelyard.store.clean import storable
from steelyard.store.errors import NotFoundError
from steelyard.store.progress import Progress, pulse, read_progress, summary
from steelyard.store.reads import RunFilter
from steelyard.store.rows import instant
from steelyard.web.answers import answer
from steelyard.web.api.experiments import REPORTED, ExperimentId
from steelyard.web.auth import Caller, caller_of
from steelyard.web.documents import summary_document
from steelyard.web.problems import ProblemError, documented
from steelyard.web.weighing import find_experiment

if TYPE_CHECKING:
    from steelyard.web.service import Service

MOST_STREAMS = 64  # of one server process; each asks the store once a second
LOOK_S = 1.0
QUIET_S = 15.0  # then progress is told though nothing changed: a connection that is gone is noticed
LONGEST_S = 3600.0  # then the browser asks anew
MOST_AT_ONCE = 200
LATELY_S = 300.0  # how long after its last run an experiment that is reported from elsewhere is taken to go on


class ArmProgressOut(Record):
    """How far an arm has come."""

    arm: str
    planned: int | None
    finished: int
    passed: int
    infrastructure_failures: int
    cost_usd: float
    unknown_cost: int


class ProgressOut(Record):
    """How far an experiment has come: `running` while somebody is at it, `stopped` when runs are missing."""

    experiment: str
    state: Literal["running", "finished", "stopped"]
    planned: int | None
    finished: int
    missing: int | None
    working: int
    infrastructure_failures: int
    cost_usd: float
    unknown_cost: int
    tokens: int
    first_started: str | None
    last_finished: str | None
    eta_s: float | None
    arms: tuple[ArmProgressOut, ...]


ANSWERS: tuple[type[Record], ...] = (ProgressOut,)


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["experiments"])
    streams: set[object] = set()

    @routes.get(
        "/v1/experiments/{experiment_id}/progress",
        response_model=ProgressOut,
        operation_id="progress",
        responses=documented("not-found", "invalid-request"),
    )
    def progress(request: Request, experiment_id: ExperimentId) -> Response:
        """How many runs are finished, what they cost, and how long the rest may take."""
        found, now = standing(service, experiment_id, caller_of(request.scope))
        return answer(request, progress_document(experiment_id, found, now))

    described = {
        "description": "Events `progress` (a ProgressOut), `run` (a RunSummary, with its number as id) and `end`",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }

    @routes.get(
        "/v1/experiments/{experiment_id}/events",
        operation_id="experiment_events",
        response_class=Response,
        responses={200: described, **documented("not-found", "invalid-request", "too-many-streams")},
    )
    async def events(request: Request, experiment_id: ExperimentId) -> Response:
        """The same, again whenever it changes, and every run as it finishes, until the experiment ends."""
        caller = caller_of(request.scope)
        await run_in_threadpool(standing, service, experiment_id, caller)
        if len(streams) >= MOST_STREAMS:
            raise ProblemError(
                "too-many-streams",
                f"{MOST_STREAMS} are being followed already; ask for /progress instead",
                headers={"Retry-After": "10"},
            )
        mark = object()
        streams.add(mark)
        given = request.headers.get("last-event-id", "")
        after = int(given) if given.isascii() and given.isdigit() and len(given) < 18 else None
        ending = request.scope["state"]["ending"] = asyncio.Event()  # the server sets it when it is told to end

        async def follow() -> AsyncIterator[str]:
            try:
                async for text in _follow(service, (experiment_id, caller), after, ending):
                    yield text
            finally:
                streams.discard(mark)

        return StreamingResponse(
            follow(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )

    return routes


def standing(service: "Service", name: str, caller: Caller) -> tuple[Experiment | None, Progress]:
    """An experiment and how far it has come; one that nobody described is there as far as it has runs."""
    found = find_experiment(service, name, caller)
    key = storable(name)
    if found is None:
        wanted = RunFilter(experiment=key, workspace=caller.workspace)
        if not service.store.runs(wanted, limit=1):
            raise NotFoundError(f"no experiment {name[:80]!r} is stored; /experiments lists them")
    return found, read_progress(service.database, key, caller.workspace)


def progress_document(name: str, found: Experiment | None, now: Progress) -> JsonObject:
    """What `ProgressOut` describes."""
    each = None if found is None else len(found.tasks) * found.repeats
    known = {arm.arm: arm for arm in now.arms}
    arms = list(known) if found is None else [*(arm.name for arm in found.arms), *known]
    rows = []
    for arm in dict.fromkeys(arms):
        one = known.get(arm)
        planned = each or None if found is not None and any(arm == one_arm.name for one_arm in found.arms) else None
        rows.append(
            {
                "arm": arm,
                "planned": planned,
                "finished": one.runs if one else 0,
                "passed": one.passed if one else 0,
                "infrastructure_failures": one.infrastructure if one else 0,
                "cost_usd": round(one.cost_usd, 6) if one else 0.0,
                "unknown_cost": one.unknown_cost if one else 0,
            }
        )
    planned_all = None if found is None or each is None else each * len(found.arms) or None
    alive = found is not None and _is_reported_on(found, now)
    return {"experiment": storable(name), **summary(now, planned_all, alive=alive), "arms": rows}


def _is_reported_on(found: Experiment, now: Progress) -> bool:
    last = now.last_finished or instant(found.created_at)
    return is_lately(last, now.pace_s or 0.0) if found.settings.get(REPORTED) else False


def is_lately(last: str, pace_s: float = 0.0) -> bool:
    """Whether an experiment whose runs come in from elsewhere, where nobody claims cells, is taken to go on."""
    gone = (datetime.now(UTC) - datetime.fromisoformat(last)).total_seconds()
    return gone < max(LATELY_S, 3 * pace_s)


async def _follow(
    service: "Service", who: tuple[str, Caller], after: int | None, ending: asyncio.Event
) -> AsyncIterator[str]:
    """Events until the experiment, the server or the hour ends."""
    name, caller = who
    seen: tuple[int, int] | None = None
    begun = said = time.monotonic()
    while not ending.is_set() and time.monotonic() - begun < LONGEST_S:
        try:
            await run_in_threadpool(service.guard.confirm, caller)
        except ProblemError:
            return  # the token was revoked: so is the stream
        beat = await run_in_threadpool(pulse, service.database, storable(name), caller.workspace)
        if beat != seen or time.monotonic() - said > QUIET_S:
            found, now = await run_in_threadpool(standing, service, name, caller)
            for row in await run_in_threadpool(_new_runs, service, who, beat[0] if after is None else after):
                yield _event("run", summary_document(row), row["seq"])
            after, seen, said = max(after or 0, now.last_seq), beat, time.monotonic()
            document = progress_document(name, found, now)
            yield _event("progress", document)
            if document["state"] != "running":
                yield _event("end", {"state": document["state"]})
                return
        try:
            await asyncio.wait_for(ending.wait(), LOOK_S)
        except TimeoutError:
            continue


def _new_runs(service: "Service", who: tuple[str, Caller], after: int) -> list[JsonObject]:
    """The runs stored after one, oldest first."""
    name, caller = who
    wanted = RunFilter(experiment=storable(name), workspace=caller.workspace)
    rows = service.store.runs(wanted, limit=MOST_AT_ONCE)
    return [row for row in reversed(rows) if row["seq"] > after]


def _event(kind: str, document: JsonObject, number: int | None = None) -> str:
    """One event; JSON holds no line break that is not escaped."""
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(document, ensure_ascii=True)}\n\n"
