"""What is added later: experiments, and new scores, judgements and gradings of runs that are stored."""

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update

from steelyard.domain.experiment import Experiment
from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.record import canonical_json
from steelyard.domain.run import Run
from steelyard.domain.score import Scorecard
from steelyard.domain.suite import snapshot
from steelyard.formulas.gates import gates_of
from steelyard.store import schema
from steelyard.store.clean import clean_record, exact_json, storable
from steelyard.store.connection import Database
from steelyard.store.errors import ConflictError, NotFoundError
from steelyard.store.outbox import add_events, event_row
from steelyard.store.rows import instant, run_row, score_row, scored_event, scorer_results
from steelyard.store.saving import judgement_row, stored_record
from steelyard.store.statements import ADD_JUDGEMENT, ADD_SCORE, insert_new
from steelyard.store.watching import Scored, watch_again, watch_new
from steelyard.store.workspaces import lock_workspace

if TYPE_CHECKING:
    from sqlalchemy import Connection


_RUNS = schema.runs.c
_SCORES = schema.agent_run_scores.c


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
        told = [event_row("agent.run.scored", scored_event(card, workspace, version), scored_at)]
        run = Run.model_validate_json(stored_record(connection, card.run_id) or "")
        scored = Scored(run, card, version, scored_at)
        if latest is not None:
            told += watch_again(connection, scored, (previous.score, previous.tier))
        elif not run.is_infrastructure:  # imported: its record stated a score, but none was given here
            told += watch_new(connection, [scored])[0]
        add_events(connection, told)
    return version


def add_judgement(database: Database, run_id: str, judged: JudgeResult, *, secrets: tuple[str, ...] = ()) -> None:
    """Add a verdict to a run; every verdict is kept, and the newest is the run's."""
    judged = JudgeResult.model_validate(clean_record(judged.model_dump(), secrets), strict=False)
    with database.write(f"judging run {run_id}") as connection:
        _locked(connection, run_id)
        connection.execute(ADD_JUDGEMENT, judgement_row(run_id, judged))
        run = Run.model_validate_json(stored_record(connection, run_id) or "")
        regraded = _latest_grading(connection, run_id)
        _update_gates(connection, run.model_copy(update={"judge": judged, "scorers": regraded or run.scorers}))


def add_grading(database: Database, run_id: str, scorers: tuple[ScorerResult, ...], *, graded_at: str) -> None:
    """Add what the scorers say now; the run's own record keeps what they said then."""
    cleaned = clean_record({"scorers": [scorer.model_dump() for scorer in scorers]}, ())["scorers"]
    results = tuple(ScorerResult.model_validate(item, strict=False) for item in cleaned)
    with database.write(f"grading run {run_id}") as connection:
        _locked(connection, run_id)
        run = Run.model_validate_json(stored_record(connection, run_id) or "")
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
