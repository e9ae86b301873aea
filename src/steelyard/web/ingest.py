"""A finished run comes in: made whole, stored and scored in one transaction, answered the same whenever it comes again.

A body without times gets those of its arrival, and `timings.received_at` says so: when it comes again, it is compared
with the times it got then.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import ValidationError

from steelyard.domain.diff import printable
from steelyard.domain.experiment import Finished
from steelyard.domain.grade import ScorerResult
from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.run import Parity, Run, StageAttempt
from steelyard.domain.trajectory import Trajectory
from steelyard.domain.usage import Resources, Usage
from steelyard.errors import InputError, SteelyardError
from steelyard.store.errors import ConflictError
from steelyard.store.rows import instant
from steelyard.store.statements import RECORD
from steelyard.web.auth import Caller
from steelyard.web.bodies import RunIn, StageIn
from steelyard.web.documents import score_document, unranked
from steelyard.web.problems import ProblemError, invalid
from steelyard.web.service import Service, now
from steelyard.worktree.patch import parse_patch

if TYPE_CHECKING:
    from collections.abc import Iterator

RECEIVED = "received_at"
_SCORE = {"PASS": 1.0, "FAIL": 0.0, "N/A": None}


def ingest(service: Service, body: RunIn, caller: Caller) -> tuple[int, JsonObject]:
    """Store and score a run: 201 and its score, or 200 and the score it has when it is stored already."""
    workspace = caller.home(body.workspace)
    try:
        status, document = _ingest(service, body, workspace)
    except SteelyardError as error:
        service.metrics.failures.labels(type(error).__name__).inc()
        raise
    if status == 201:
        service.metrics.scores.labels(document["tier"]).inc()
    return status, document


def _ingest(service: Service, body: RunIn, workspace: str) -> tuple[int, JsonObject]:
    at = now()
    known = body.task_sha256 or ""
    if not known and "task_id" in body.model_fields_set:
        known = service.reads.task(workspace, body.task_id) or ""
    try:
        saved = service.store.store_run(finished_of(body, workspace, known, at), scored_at=at)
    except ConflictError:
        earlier = _stored(service, body.run_id)
        if earlier is None or earlier.workspace != workspace:
            raise
        again = finished_of(body, workspace, body.task_sha256 or earlier.task_sha256, earlier.finished_at)
        saved = service.store.store_run(again, scored_at=at)  # the conflict again, if it is one
    document = unranked(body.run_id) if saved.score is None else score_document(saved.score)
    return (201 if saved.is_new else 200), document


def _stored(service: Service, run_id: str) -> Run | None:
    with service.database.read() as connection:
        record = connection.execute(RECORD, {"run_id": run_id}).scalar()
    return None if record is None else Run.model_validate_json(record)


def finished_of(body: RunIn, workspace: str, task_sha: str, received: str) -> Finished:
    """The run that a body tells of, with everything that can be derived from what it says."""
    times = _times(body, received)
    blobs = _blobs(body)
    changed = body.changed_files or _changed(blobs.get("diff", b""))
    same = body.model_dump(include=_SAME)
    try:
        run = Run(
            **same,
            **times,
            experiment=body.experiment or "",
            workspace=workspace,
            task_sha256=task_sha,
            status=body.status or ("completed" if body.error_class is None else "failed"),
            stages=tuple(attempt for stage in body.stages for attempt in _attempts(stage)),
            scorers=tuple(
                ScorerResult(**{**dict(s), "score": _SCORE[s.verdict] if s.score is None else s.score})
                for s in body.scorers
            ),
            turns=body.turns,
            judge=body.judge,
            changed_files=changed,
            usage=Usage(**dict(body.usage)),
            resources=Resources(**dict(body.resources)),
            parity=Parity(**dict(body.parity)),
            notes=body.notes,
        )
        canonical_json(run.model_dump())  # a number that no JSON holds is said now, not when it is stored
    except ValidationError as error:
        raise invalid(error, Run) from None
    except ValueError as error:
        raise ProblemError("invalid-request", f"a number is out of range: {error}") from None
    return Finished(run, blobs)


_SAME = {
    "run_id",
    "task_id",
    "arm",
    "repeat",
    "attempt",
    "outcome",
    "error_class",
    "error_detail",
    "is_ledger",
    "final_response",
    "added_lines",
    "removed_lines",
    "baseline_tree",
}


def _times(body: RunIn, received: str) -> JsonObject:
    """`started_at`, `finished_at`, `wall_s` and `timings`: what was said, and what follows from it."""
    if RECEIVED in body.timings:
        raise ProblemError("invalid-request", f"timings.{RECEIVED}: is the server's own; leave it out")
    started = _moment("started_at", body.started_at)
    finished = _moment("finished_at", body.finished_at)
    wall = body.wall_s
    if wall is None:
        if started is None or finished is None:
            raise ProblemError("invalid-request", "wall_s: is required, or both started_at and finished_at")
        wall = max(0.0, (finished - started).total_seconds())
    timings = dict(body.timings)
    if started is None and finished is None:
        finished = datetime.fromisoformat(received)
        timings[RECEIVED] = finished.timestamp()
    try:
        if finished is None:
            assert started is not None  # noqa: S101  # for the type checker: one of the two is there
            finished = started + timedelta(seconds=wall)
        started = started or finished - timedelta(seconds=wall)
    except OverflowError:
        raise ProblemError("invalid-request", "wall_s: leads out of the years 1 to 9999") from None
    return {
        "started_at": body.started_at or instant(started.isoformat()),
        "finished_at": body.finished_at or instant(finished.isoformat()),
        "wall_s": wall,
        "timings": timings,
    }


def _moment(field: str, text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(instant(text, field)).astimezone(UTC)


def _attempts(stage: StageIn) -> "Iterator[StageAttempt]":
    """One attempt as it was told, or as many as the stage took, of which only the last may have passed."""
    count = 1 if stage.attempt is not None else stage.attempts
    for number in range(1, count + 1):
        passed = stage.passed and number == count
        told = stage.exit_code if number == count else None
        yield StageAttempt(
            name=stage.name,
            attempt=stage.attempt or number,
            exit_code=told if told is not None else 0 if passed else 1,
            passed=passed,
            duration_s=stage.duration_s if number == count else 0.0,
            output_tail=stage.output_tail if number == count else "",
            timed_out=stage.timed_out and number == count,
        )


def _changed(patch: bytes) -> tuple[str, ...]:
    """The paths that a git patch touches; a change in another form names none."""
    try:
        return tuple(sorted({printable(path) for change in parse_patch(patch) for path in change.paths}))
    except InputError:
        return ()


def _blobs(body: RunIn) -> dict[str, bytes]:
    blobs = dict(body.artifacts)
    if body.diff is not None:
        blobs["diff"] = body.diff.encode()
    if body.trajectory is not None:
        try:
            Trajectory.model_validate(body.trajectory)
        except ValidationError as error:
            raise invalid(error, Trajectory) from None
        blobs["trajectory"] = canonical_json(body.trajectory).encode()
    return {name: data for name, data in blobs.items() if data}
