"""Storing a finished run: one transaction that holds all of it, its score and its event, or nothing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update

from steelyard.domain.experiment import Experiment, Finished
from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.record import canonical_json
from steelyard.domain.run import Run
from steelyard.domain.score import Scorecard
from steelyard.domain.suite import snapshot
from steelyard.formulas.gates import gates_of
from steelyard.formulas.scorecard import facts_of, score_run
from steelyard.store import schema
from steelyard.store.clean import clean_blobs, clean_record, exact_json, storable
from steelyard.store.connection import Database
from steelyard.store.errors import ConflictError, NotFoundError, RefusedError, storing
from steelyard.store.outbox import add_event
from steelyard.store.rows import StoredScore, instant, run_row, score_row, scored_event, scorer_results, stored_score
from steelyard.store.statements import (
    ADD_JUDGEMENT,
    ADD_RUN,
    ADD_SCORE,
    COUNTING_TRIES,
    END_LEASE,
    FIRST_SCORE,
    RECORD,
    REPLACE_TRIES,
    insert_new,
)
from steelyard.store.watching import Scored, watch_again, watch_new
from steelyard.store.workspaces import baseline_history, lock_workspace

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from steelyard.domain.record import JsonObject

_RUNS = schema.runs.c
_SCORES = schema.agent_run_scores.c


@dataclass(frozen=True)
class Saved:
    """A run that is stored: the first score it got (None for an infrastructure failure), and whether it is new."""

    score: StoredScore | None
    is_new: bool


def create_experiment(database: Database, experiment: Experiment) -> None:
    """Store what was planned, and the frozen tasks; the same experiment again changes nothing."""
    record = exact_json(experiment.model_dump(mode="json"))
    row = {
        "id": experiment.id,
        "workspace": experiment.workspace,
        "created_at": instant(experiment.created_at, "created_at"),
        "suite_path": storable(experiment.suite_path) if experiment.suite_path is not None else None,
        "record": record,
    }
    with database.write(f"storing experiment {experiment.id}") as connection:
        found = connection.execute(
            select(schema.experiments.c.record).where(schema.experiments.c.id == experiment.id)
        ).scalar()
        if found is not None:
            if found != record:
                raise ConflictError(f"another experiment {experiment.id} is stored already")
            return
        tasks = {
            frozen.sha256: {"sha256": frozen.sha256, "task_id": frozen.task.id, "snapshot": snapshot(frozen.task)}
            for frozen in sorted(experiment.tasks, key=lambda task: task.sha256)
        }
        if tasks:
            insert_new(connection, schema.tasks, list(tasks.values()))
        insert_new(connection, schema.workspaces, [{"id": experiment.workspace}])
        connection.execute(insert(schema.experiments).values(row))


def save(database: Database, finished: Finished, *, scored_at: str, tags: tuple[str, ...] = ()) -> Saved:
    """Store a finished run and score it, unless it is an infrastructure failure.

    The same run again is answered with the score it got; another run under the same id is a `ConflictError`.
    """
    doing = f"storing run {finished.run.run_id}"
    blobs = clean_blobs(finished)
    with storing(doing):
        kept = {name: (*database.artifacts.put(data), len(data)) for name, data in blobs.items()}
    run, record = _as_stored(finished, {name: sha for name, (sha, _, _) in kept.items()})
    try:
        with database.write(doing) as connection:
            saved = _save(connection, run, record, instant(scored_at, "scored_at"), tags)
            _refer(connection, run.run_id, kept)
    except RefusedError:  # another process stored the same id between our look and our insert
        with database.read() as connection:
            if _stored_record(connection, run.run_id) is None:
                raise
            return _again(connection, run, record)
    for name, (sha, _, _) in kept.items():
        if not database.artifacts.has(sha):  # `prune` took it in the moment before we referred to it
            with storing(doing):
                database.artifacts.put(blobs[name])
    return saved


def _as_stored(finished: Finished, artifacts: dict[str, str]) -> tuple[Run, str]:
    """The run as it will be read back (redacted, storable, with its artifacts) and its canonical JSON."""
    cleaned = clean_record(finished.run.model_dump(), finished.secrets)
    cleaned["artifacts"] = {**cleaned["artifacts"], **artifacts}
    return Run.model_validate(cleaned, strict=False), canonical_json(cleaned)


def _save(connection: "Connection", run: Run, record: str, scored_at: str, tags: tuple[str, ...]) -> Saved:
    weights = lock_workspace(connection, run.workspace)
    if _stored_record(connection, run.run_id) is not None:
        return _again(connection, run, record)
    row = {**run_row(run, record, tags), "score": None, "tier": "Unranked", "replaced": _replace(connection, run)}
    card = None
    if not run.is_infrastructure:
        card = score_run(facts_of(run, baseline_history(connection, run.workspace), weights))
        row |= {"score": card.score, "tier": card.tier}
    connection.execute(ADD_RUN, row)
    if card is not None:
        connection.execute(ADD_SCORE, score_row(card, 1, scored_at))
        add_event(connection, "agent.run.scored", scored_event(card, run.workspace, 1), scored_at)
        watch_new(connection, Scored(run, card, 1, scored_at))
    if run.judge is not None:
        connection.execute(ADD_JUDGEMENT, _judgement_row(run.run_id, run.judge))
    if run.experiment:
        connection.execute(END_LEASE, _cell(run))
    return Saved(None if card is None else StoredScore(1, scored_at, card), is_new=True)


def _cell(run: Run) -> "JsonObject":
    return {"experiment": run.experiment, "task_id": run.task_id, "arm": run.arm, "repeat": run.repeat}


def _stored_record(connection: "Connection", run_id: str) -> str | None:
    return connection.execute(RECORD, {"run_id": run_id}).scalar()


def _again(connection: "Connection", run: Run, record: str) -> Saved:
    if _stored_record(connection, run.run_id) != record:
        raise ConflictError(f"another run {run.run_id} is stored already; a run never changes")
    found = connection.execute(FIRST_SCORE, {"run_id": run.run_id}).mappings().first()
    return Saved(None if found is None else stored_score(found), is_new=False)


def _replace(connection: "Connection", run: Run) -> int:
    """Of all tries of a cell one counts: the newest that was measured, else the newest. 1 when it isn't this one."""
    if not run.experiment:
        return 0  # it belongs to no plan: nothing is another try of it
    mine = {**_cell(run), "workspace": run.workspace}
    earlier = connection.execute(COUNTING_TRIES, mine).all()
    if run.is_infrastructure and any(not infrastructure for _, infrastructure in earlier):
        return 1
    if earlier:
        connection.execute(REPLACE_TRIES, {f"of_{name}": value for name, value in mine.items()})
    return 0


def _refer(connection: "Connection", run_id: str, kept: dict[str, tuple[str, int, int]]) -> None:
    if not kept:
        return
    # In one order for everybody: two transactions that keep the same artifacts never wait for each other in a circle.
    ordered = sorted(kept.items(), key=lambda item: item[1])
    files = {sha: {"sha256": sha, "bytes": size, "stored_bytes": packed} for _, (sha, packed, size) in ordered}
    insert_new(connection, schema.artifacts, list(files.values()))
    names = [{"run_id": run_id, "name": name, "sha256": sha} for name, (sha, _, _) in ordered]
    insert_new(connection, schema.run_artifacts, names)


def add_score(database: Database, card: Scorecard, *, scored_at: str) -> int:
    """Add a score row to a run; the version it got. The earlier rows stay as they are."""
    with database.write(f"scoring run {card.run_id}") as connection:
        workspace = _locked(connection, card.run_id)
        previous = connection.execute(select(_RUNS.score, _RUNS.tier).where(_RUNS.run_id == card.run_id)).one()
        latest = connection.execute(select(func.max(_SCORES.version)).where(_SCORES.run_id == card.run_id)).scalar()
        version = (latest or 0) + 1
        connection.execute(ADD_SCORE, score_row(card, version, scored_at))
        newest = {"score": card.score, "tier": card.tier}
        connection.execute(update(schema.runs).where(_RUNS.run_id == card.run_id).values(newest))
        add_event(connection, "agent.run.scored", scored_event(card, workspace, version), scored_at)
        run = Run.model_validate_json(_stored_record(connection, card.run_id) or "")
        scored = Scored(run, card, version, scored_at)
        if latest is None:  # imported: its record stated a score, but none was given here
            watch_new(connection, scored)
        else:
            watch_again(connection, scored, (previous.score, previous.tier))
    return version


def add_judgement(database: Database, run_id: str, judged: JudgeResult, *, secrets: tuple[str, ...] = ()) -> None:
    """Add a verdict to a run; every verdict is kept, and the newest is the run's."""
    judged = JudgeResult.model_validate(clean_record(judged.model_dump(), secrets), strict=False)
    with database.write(f"judging run {run_id}") as connection:
        _locked(connection, run_id)
        connection.execute(ADD_JUDGEMENT, _judgement_row(run_id, judged))
        run = Run.model_validate_json(_stored_record(connection, run_id) or "")
        regraded = _latest_grading(connection, run_id)
        _update_gates(connection, run.model_copy(update={"judge": judged, "scorers": regraded or run.scorers}))


def add_grading(database: Database, run_id: str, scorers: tuple[ScorerResult, ...], *, graded_at: str) -> None:
    """Add what the scorers say now; the run's own record keeps what they said then."""
    cleaned = clean_record({"scorers": [scorer.model_dump() for scorer in scorers]}, ())["scorers"]
    results = tuple(ScorerResult.model_validate(item, strict=False) for item in cleaned)
    with database.write(f"grading run {run_id}") as connection:
        _locked(connection, run_id)
        run = Run.model_validate_json(_stored_record(connection, run_id) or "")
        judge = _latest_judgement(connection, run_id) or run.judge
        run = run.model_copy(update={"scorers": results, "judge": judge})
        row = {"run_id": run_id, "objective": gates_of(run).objective, "graded_at": instant(graded_at, "graded_at")}
        connection.execute(insert(schema.gradings).values(**row, record=canonical_json(cleaned)))
        _update_gates(connection, run)


def _locked(connection: "Connection", run_id: str) -> str:
    workspace = connection.execute(select(_RUNS.workspace).where(_RUNS.run_id == run_id)).scalar()
    if workspace is None:
        raise NotFoundError(f"no run {run_id} is stored")
    lock_workspace(connection, workspace)
    return str(workspace)


def _update_gates(connection: "Connection", run: Run) -> None:
    row = run_row(run, "", ())
    changed = [
        "objective",
        "judge",
        "run_gate",
        "disagreement",
        "failure_mode",
        "judge01",
        "composite",
        "checks_passed",
        "checks_total",
        "mean_score",
    ]
    connection.execute(update(schema.runs).where(_RUNS.run_id == run.run_id).values({n: row[n] for n in changed}))


def _latest_grading(connection: "Connection", run_id: str) -> tuple[ScorerResult, ...] | None:
    table = schema.gradings
    latest = select(table.c.record).where(table.c.run_id == run_id).order_by(table.c.seq.desc()).limit(1)
    record = connection.execute(latest).scalar()
    return None if record is None else scorer_results(record)


def _latest_judgement(connection: "Connection", run_id: str) -> JudgeResult | None:
    table = schema.judgements
    latest = select(table.c.record).where(table.c.run_id == run_id).order_by(table.c.seq.desc()).limit(1)
    record = connection.execute(latest).scalar()
    return None if record is None else JudgeResult.model_validate_json(record)


def _judgement_row(run_id: str, judged: JudgeResult) -> "JsonObject":
    record = canonical_json(judged.model_dump(mode="json"))
    return {"run_id": run_id, "verdict": judged.verdict, "scored_at": judged.scored_at, "record": record}
