"""Runs: lists, one run, and its score, trace, diff, scorers and judge."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from steelyard.errors import InputError
from steelyard.formulas.gates import mean_score, overall
from steelyard.store.clean import storable
from steelyard.store.errors import NotFoundError
from steelyard.store.explore import Place, Question, explore
from steelyard.store.quick import score_json
from steelyard.store.reads import RunFilter
from steelyard.store.rows import StoredRun, instant
from steelyard.web.answers import answer, answer_bytes
from steelyard.web.auth import Caller, caller_of
from steelyard.web.cursors import make_cursor, page, read_cursor
from steelyard.web.documents import Judged, RunOut, RunPage, Score, Scorers, gradings, run_document, summary_document
from steelyard.web.problems import documented

if TYPE_CHECKING:
    from steelyard.web.service import Service

MOST = 200
WINDOW = 2_000  # runs that one page looks through: deep pages cost no more than the first
RunId = Annotated[str, Path(description="a run's id, in full", max_length=200)]
Limit = Annotated[int, Query(ge=1, le=MOST, description="how many at most")]
Cursor = Annotated[str | None, Query(max_length=200, description="the `next_cursor` of the page before")]
Word = Annotated[str | None, Query(max_length=200)]
NOT_FOUND = documented("not-found", "invalid-request")


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["runs"])

    @routes.get("/v1/runs/{run_id}/score", response_model=Score, operation_id="run_score", responses=NOT_FOUND)
    async def score(request: Request, run_id: RunId) -> Response:
        """The newest score of a run: the seed's document, then the weights and the axes that are defaults."""
        key = storable(run_id)
        state = request.scope["state"]  # where it was read when its caller was let in
        row = state["score"] if "score" in state else await service.reads.ask(service.reads.one, "score", key)
        if row is None or not caller_of(request.scope).sees(row.workspace):
            raise _no_run(run_id)
        return answer_bytes(request, score_json(row, key).encode())

    @routes.get("/v1/runs/{run_id}", response_model=RunOut, operation_id="run", responses=NOT_FOUND)
    def one(request: Request, run_id: RunId) -> Response:
        """A run with everything that was measured and said of it."""
        return answer(request, run_document(read_run(service, run_id, caller_of(request.scope))))

    @routes.get("/v1/runs/{run_id}/scorers", response_model=Scorers, operation_id="run_scorers", responses=NOT_FOUND)
    def scorers(request: Request, run_id: RunId) -> Response:
        """What the scorers said, the newest first of all."""
        stored = read_run(service, run_id, caller_of(request.scope))
        newest = stored.gradings[-1].scorers if stored.gradings else stored.run.scorers
        document = {
            "run_id": stored.run.run_id,
            "overall": overall(newest),
            "mean_score": mean_score(newest),
            "scorers": [result.model_dump(mode="json") for result in newest],
            "gradings": gradings(stored),
        }
        return answer(request, document)

    @routes.get("/v1/runs/{run_id}/judge", response_model=Judged, operation_id="run_judge", responses=NOT_FOUND)
    def judge(request: Request, run_id: RunId) -> Response:
        """What the judge said."""
        stored = read_run(service, run_id, caller_of(request.scope))
        said = [judged.model_dump(mode="json") for judged in stored.judgements]
        document = {
            "run_id": stored.run.run_id,
            "gate": stored.gates.judge,
            "judgement": said[-1] if said else None,
            "judgements": said,
        }
        return answer(request, document)

    _add_artifacts(routes, service)
    _add_list(routes, service)
    return routes


def _add_artifacts(routes: APIRouter, service: "Service") -> None:
    described = {"description": "The trajectory", "content": {"application/json": {"schema": {"type": "object"}}}}

    @routes.get("/v1/runs/{run_id}/trace", operation_id="run_trace", responses={200: described, **NOT_FOUND})
    def trace(request: Request, run_id: RunId) -> Response:
        """What the agent said and did, step by step, in the shape of ATIF v1.7."""
        return answer_bytes(request, _artifact(service, request, run_id, "trajectory"))

    text = {"description": "The change", "content": {"text/x-diff": {"schema": {"type": "string"}}}}

    @routes.get(
        "/v1/runs/{run_id}/diff", operation_id="run_diff", response_class=Response, responses={200: text, **NOT_FOUND}
    )
    def diff(request: Request, run_id: RunId) -> Response:
        """What the agent changed, as git writes it."""
        found = _artifact(service, request, run_id, "diff").decode("utf-8", "backslashreplace")
        return answer_bytes(request, found.encode(), media="text/x-diff; charset=utf-8")


def _add_list(routes: APIRouter, service: "Service") -> None:
    @routes.get("/v1/runs", response_model=RunPage, operation_id="runs", responses=documented("invalid-request"))
    def runs(  # each is one filter of the query
        request: Request,
        workspace: Word = None,
        experiment: Word = None,
        task: Word = None,
        arm: Word = None,
        status: Annotated[Literal["completed", "failed", "interrupted"] | None, Query()] = None,
        outcome: Annotated[Literal["COMPLETED", "BLOCKED", "FAILED"] | None, Query()] = None,
        tier: Annotated[Literal["Unranked", "Bronze", "Silver", "Gold", "Elite"] | None, Query()] = None,
        verdict: Annotated[Literal["PASS", "FAIL", "UNPARSEABLE", "NOT_RUN"] | None, Query()] = None,
        since: Annotated[str | None, Query(max_length=60, description="finished at or after, ISO 8601")] = None,
        until: Annotated[str | None, Query(max_length=60, description="finished before, ISO 8601")] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """A page of runs, newest first; what is left out does not matter.

        A page looks through 2,000 runs at most: where few match it may be short, or empty, and `next_cursor` goes on.
        """
        caller = caller_of(request.scope)
        wanted = RunFilter(
            workspace=visible(caller, workspace),
            experiment=experiment,
            task_id=task,
            arm=arm,
            status=status,
            outcome=outcome,
            tier=tier,
            verdict=verdict,
            since=None if since is None else instant(since, "since"),
            until=None if until is None else instant(until, "until"),
        )
        about = ["runs", asdict(wanted)]
        after = read_cursor(cursor, about)
        if workspace is not None and not caller.sees(workspace):
            return answer(request, page([], limit, about, summary_document, None))
        place = None if after is None else Place(None, after)
        found = explore(service.database, Question(wanted, window=WINDOW), after=place, limit=limit)
        document = {
            "data": [summary_document(row) for row in found.rows],
            "has_more": found.next is not None,
            "next_cursor": make_cursor(found.next.seq, about) if found.next else None,
        }
        return answer(request, document)


def visible(caller: Caller, workspace: str | None) -> str | None:
    """The workspace that a list is about."""
    return workspace if caller.workspace is None else caller.workspace


def read_run(service: "Service", run_id: str, caller: Caller) -> StoredRun:
    """A run by its whole id, if the caller may see it."""
    try:
        stored = service.store.run(run_id, workspace=caller.workspace)
    except InputError:
        raise _no_run(run_id) from None
    if stored.run.run_id != storable(run_id):
        raise _no_run(run_id)
    return stored


def _artifact(service: "Service", request: Request, run_id: str, name: str) -> bytes:
    stored = read_run(service, run_id, caller_of(request.scope))
    sha = stored.run.artifacts.get(name)
    if sha is None:
        raise NotFoundError(f"run {run_id} has no {name}")
    return service.store.artifact(sha)


def _no_run(run_id: str) -> NotFoundError:
    return NotFoundError(f"no run {run_id[:80]!r} is stored")
