"""A finished run comes in: made whole, stored and scored in one transaction, answered the same whenever it comes again.

A body without times gets those of its arrival, and `timings.received_at` says so: when it comes again, it is compared
with the times it got then.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
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
from steelyard.store.errors import ConflictError, RefusedError
from steelyard.store.rows import instant
from steelyard.store.saving import Saved
from steelyard.store.statements import RECORD
from steelyard.web.answers import parse
from steelyard.web.auth import Caller, now
from steelyard.web.bodies import RunIn, StageIn
from steelyard.web.documents import score_document, unranked
from steelyard.web.problems import ProblemError, invalid, problem_of
from steelyard.worktree.patch import parse_patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steelyard.web.service import Service

LOG = logging.getLogger("steelyard.web")
RECEIVED = "received_at"
_SCORE = {"PASS": 1.0, "FAIL": 0.0, "N/A": None}


@dataclass(frozen=True)
class Sent:
    """A run as somebody sent it."""

    data: bytes
    caller: Caller


@dataclass(frozen=True)
class Answered:
    """What became of it: 201 or 200 and its score, or why it was not stored."""

    run_id: str | None
    status: int
    score: JsonObject | None = None
    problem: ProblemError | None = None


@dataclass(frozen=True)
class _Read:
    """A body that was understood: its place among those sent with it, and where it belongs."""

    place: int
    body: RunIn
    workspace: str

    @property
    def asks(self) -> bool:
        """Whether the workspace's own task of that id is meant."""
        return not self.body.task_sha256 and "task_id" in self.body.model_fields_set


@dataclass(frozen=True)
class _Whole:
    """A body and the run that was made of it."""

    read: _Read
    finished: Finished


def ingest_many(service: "Service", sent: Sequence[Sent]) -> list[Answered]:
    """Store and score runs in their order, those of a workspace in one transaction; one that is wrong spoils no other.

    201 and its score, or 200 and the score it got when it is stored already.
    """
    at = now()
    answers: dict[int, Answered] = {}
    homes: dict[str, list[_Read]] = {}
    for place, one in enumerate(sent):
        found = _read(service, one, place)
        if isinstance(found, Answered):
            answers[place] = found
        else:
            homes.setdefault(found.workspace, []).append(found)
    for workspace, reads in homes.items():
        answers |= _take(service, workspace, reads, at)
    return [answers[place] for place in range(len(sent))]


def _take(service: "Service", workspace: str, reads: list[_Read], at: str) -> dict[int, Answered]:
    """What becomes of a workspace's runs, by their places."""
    try:
        asked = {read.body.task_id for read in reads if read.asks}
        known = service.reads.tasks(workspace, asked) if asked else {}
    except SteelyardError as error:
        return {read.place: _refused(service, read.body.run_id, error) for read in reads}
    answers: dict[int, Answered] = {}
    wholes: list[_Whole] = []
    for read in reads:
        task = read.body.task_sha256 or (known.get(read.body.task_id, "") if read.asks else "")
        try:
            wholes.append(_Whole(read, finished_of(read.body, workspace, task, at)))
        except (ProblemError, SteelyardError) as error:
            answers[read.place] = _refused(service, read.body.run_id, error)
    told = _store(service, wholes, at) if wholes else []
    return answers | {whole.read.place: one for whole, one in zip(wholes, told, strict=True)}


def _read(service: "Service", sent: Sent, place: int) -> "_Read | Answered":
    run_id = None
    try:
        body = parse(sent.data, RunIn)
        run_id = body.run_id
        return _Read(place, body, sent.caller.home(body.workspace))
    except (ProblemError, SteelyardError) as error:
        return _refused(service, run_id, error)


def _store(service: "Service", wholes: list[_Whole], at: str) -> list[Answered]:
    try:
        saved = service.store.store_runs([whole.finished for whole in wholes], scored_at=at)
    except (InputError, RefusedError):  # of one of them: each by itself
        return [_store_alone(service, whole, at) for whole in wholes]
    except SteelyardError as error:
        return [_refused(service, whole.read.body.run_id, error) for whole in wholes]
    return [_told(service, whole.read, found) for whole, found in zip(wholes, saved, strict=True)]


def _store_alone(service: "Service", whole: _Whole, at: str) -> Answered:
    read = whole.read
    try:
        try:
            return _told(service, read, service.store.store_run(whole.finished, scored_at=at))
        except ConflictError:
            earlier = _stored(service, read.body.run_id)
            if earlier is None or earlier.workspace != read.workspace:
                raise
        task = read.body.task_sha256 or earlier.task_sha256
        again = finished_of(read.body, read.workspace, task, earlier.finished_at)
        return _told(service, read, service.store.store_run(again, scored_at=at))  # the conflict again, if it is one
    except (ProblemError, SteelyardError) as error:
        return _refused(service, read.body.run_id, error)


def _told(service: "Service", read: _Read, saved: Saved) -> Answered:
    run_id = read.body.run_id
    document = unranked(run_id) if saved.score is None else score_document(saved.score)
    if saved.is_new:
        service.metrics.scores.labels(document["tier"]).inc()
    return Answered(run_id, 201 if saved.is_new else 200, document)


def _refused(service: "Service", run_id: str | None, error: ProblemError | SteelyardError) -> Answered:
    if isinstance(error, ProblemError):
        return Answered(run_id, error.status, problem=error)
    service.metrics.failures.labels(type(error).__name__).inc()
    problem = problem_of(error)
    if problem.status >= 500:
        LOG.error("run %s: %s", run_id, error)
    return Answered(run_id, problem.status, problem=problem)


def _stored(service: "Service", run_id: str) -> Run | None:
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
