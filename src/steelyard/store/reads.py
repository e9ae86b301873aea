"""Reading back: one run, pages of runs, an experiment's cells and what it has spent."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, func, not_, select, true

from steelyard.domain.experiment import Experiment
from steelyard.domain.grade import JudgeResult
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Cell, Gates, Run
from steelyard.domain.suite import FrozenTask, Task
from steelyard.errors import InputError
from steelyard.store import schema
from steelyard.store.clean import storable
from steelyard.store.connection import Database
from steelyard.store.errors import NotFoundError
from steelyard.store.rows import Grading, StoredRun, scorer_results, stored_score

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection
    from sqlalchemy.sql import Select

_RUNS = schema.runs.c
_SUMMARY = [column for column in schema.runs.columns if column.name != "record"]
_BATCH = 200


@dataclass(frozen=True)
class RunFilter:
    """Which runs: what is None does not matter. `verdict` is the judge's, `since` and `until` are finishing times."""

    workspace: str | None = None
    experiment: str | None = None
    task_id: str | None = None
    arm: str | None = None
    status: str | None = None
    outcome: str | None = None
    objective: str | None = None
    verdict: str | None = None
    tier: str | None = None
    error_class: str | None = None
    failure_mode: str | None = None
    infrastructure: bool | None = None
    replaced: bool | None = None
    disagree: bool = False
    since: str | None = None
    until: str | None = None

    def conditions(self, columns: Any = _RUNS) -> "list[ColumnElement[bool]]":
        """The filter as SQL conditions on the columns of `runs`, or of a part of them."""
        found: list[ColumnElement[bool]] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None or (value is False and field.name == "disagree"):
                continue
            if field.name == "disagree":
                found.append(columns.disagreement.is_not(None))
            elif field.name == "since":
                found.append(columns.finished_at >= value)
            elif field.name == "until":
                found.append(columns.finished_at < value)
            else:
                column = columns.judge if field.name == "verdict" else columns[field.name]
                found.append(column == (int(value) if isinstance(value, bool) else storable(value)))
        return found


EVERY_RUN = RunFilter()


@dataclass(frozen=True)
class Spent:
    """What an experiment has used so far, replaced tries included; `unknown_cost` counts runs that did not say."""

    cost_usd: float
    tokens: int
    seconds: float
    unknown_cost: int


def read_runs(database: Database, wanted: RunFilter, *, after: int | None = None, limit: int = 50) -> list[JsonObject]:
    """A page of run summaries (columns, not records), newest first; `after` is the `seq` of the last one seen."""
    query = select(*_SUMMARY).where(true(), *wanted.conditions()).order_by(_RUNS.seq.desc()).limit(limit)
    if after is not None:
        query = query.where(_RUNS.seq < after)
    with database.read() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def iter_runs(database: Database, experiment: str, *, replaced: bool = False) -> Iterator[Run]:
    """The runs of an experiment in the order they were stored, one per cell unless `replaced` tries are wanted too.

    Judge and scorers are the newest that were given. Read in batches: memory stays flat, and no lock is held between.
    """
    after = 0
    while True:
        query = select(_RUNS.seq, _RUNS.record, _RUNS.run_id).where(_RUNS.experiment == experiment, _RUNS.seq > after)
        if not replaced:
            query = query.where(_RUNS.replaced == 0)
        with database.read() as connection:
            rows = connection.execute(query.order_by(_RUNS.seq).limit(_BATCH)).all()
            judged, graded = _newest(connection, [row.run_id for row in rows])
        for row in rows:
            run = Run.model_validate_json(row.record)
            newer: JsonObject = {}
            if row.run_id in judged:
                newer["judge"] = JudgeResult.model_validate_json(judged[row.run_id])
            if row.run_id in graded:
                newer["scorers"] = scorer_results(graded[row.run_id])
            yield run.model_copy(update=newer) if newer else run
        if len(rows) < _BATCH:
            return
        after = rows[-1].seq


def _newest(connection: "Connection", run_ids: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The newest judgement and grading of each run that has any."""
    found = []
    for table in (schema.judgements, schema.gradings):
        rows = connection.execute(
            select(table.c.run_id, table.c.record).where(table.c.run_id.in_(run_ids)).order_by(table.c.seq)
        )
        found.append({row.run_id: row.record for row in rows})
    return found[0], found[1]


def read_run(database: Database, name: str, *, workspace: str | None = None) -> StoredRun:
    """A run by its id, by a unique start of it, or the `latest`, with all its scores, judgements and gradings."""
    with database.read() as connection:
        run_id = _find(connection, name, "run", workspace)
        row = connection.execute(select(schema.runs).where(_RUNS.run_id == run_id)).mappings().one()
        scores = schema.agent_run_scores
        judged, graded = schema.judgements, schema.gradings
        return StoredRun(
            seq=row["seq"],
            run=Run.model_validate_json(row["record"]),
            gates=gates_of_row(row),
            replaced=bool(row["replaced"]),
            scores=tuple(
                stored_score(score)
                for score in connection.execute(
                    select(scores).where(scores.c.run_id == run_id).order_by(scores.c.version)
                ).mappings()
            ),
            judgements=tuple(
                JudgeResult.model_validate_json(record)
                for record in connection.execute(
                    select(judged.c.record).where(judged.c.run_id == run_id).order_by(judged.c.seq)
                ).scalars()
            ),
            gradings=tuple(
                Grading(graded_at=g.graded_at, objective=g.objective, scorers=scorer_results(g.record))
                for g in connection.execute(select(graded).where(graded.c.run_id == run_id).order_by(graded.c.seq))
            ),
        )


def gates_of_row(row: Any) -> Gates:
    """The gates as they stand after the newest judgement and grading."""
    return Gates(objective=row["objective"], judge=row["judge"], run=row["run_gate"], disagreement=row["disagreement"])


def read_experiment(database: Database, name: str) -> Experiment:
    """An experiment by its id, by a unique start of it, or the `latest`."""
    table = schema.experiments
    with database.read() as connection:
        found = _find(connection, name, "experiment", None)
        record = connection.execute(select(table.c.record).where(table.c.id == found)).scalar_one()
    return Experiment.model_validate_json(record)


def last_experiment(database: Database, suite_path: str) -> Experiment | None:
    """The newest experiment that was made of a suite file; None when there is none."""
    table = schema.experiments
    newest = select(table.c.record).where(table.c.suite_path == storable(suite_path)).order_by(table.c.seq.desc())
    with database.read() as connection:
        record = connection.execute(newest.limit(1)).scalar()
    return None if record is None else Experiment.model_validate_json(record)


def read_experiments(
    database: Database, *, workspace: str | None = None, after: int | None = None, limit: int = 50
) -> list[JsonObject]:
    """A page of experiments (id, workspace, created_at, suite_path, seq), newest first."""
    table = schema.experiments
    columns = [column for column in table.columns if column.name != "record"]
    query = select(*columns).order_by(table.c.seq.desc()).limit(limit)
    if workspace is not None:
        query = query.where(table.c.workspace == workspace)
    if after is not None:
        query = query.where(table.c.seq < after)
    with database.read() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def read_task(database: Database, sha256: str) -> FrozenTask:
    """A frozen task by its sha256."""
    with database.read() as connection:
        found = connection.execute(select(schema.tasks.c.snapshot).where(schema.tasks.c.sha256 == sha256)).scalar()
    if found is None:
        raise NotFoundError(f"no task with sha256 {sha256[:80]} is stored")
    return FrozenTask(task=Task.model_validate_json(found), sha256=sha256)


def finished_cells(database: Database, experiment: str) -> set[Cell]:
    """The cells that need not run again; an infrastructure failure counts as missing."""
    cells = select(_RUNS.task_id, _RUNS.arm, _RUNS.repeat).where(
        _RUNS.experiment == experiment, _RUNS.infrastructure == 0
    )
    with database.read() as connection:
        return {Cell(task_id=row.task_id, arm=row.arm, repeat=row.repeat) for row in connection.execute(cells)}


def spent(database: Database, experiment: str) -> Spent:
    """Money, tokens and seconds of all tries, failed and replaced ones included.

    A run that does not know all it used is asked turn by turn: what one of them said counts.
    """
    mine, whole = _RUNS.experiment == experiment, _RUNS.cost_usd.is_not(None) & _RUNS.total_tokens.is_not(None)
    sums: Select[Any] = select(
        func.coalesce(func.sum(case((whole, _RUNS.cost_usd))), 0.0),
        func.coalesce(func.sum(case((whole, _RUNS.total_tokens))), 0),
        func.coalesce(func.sum(_RUNS.wall_s), 0.0),
        func.count() - func.count(_RUNS.cost_usd),
    ).where(mine)
    with database.read() as connection:
        cost, tokens, seconds, unknown = connection.execute(sums).one()
        for record in connection.execute(select(_RUNS.record).where(mine, not_(whole))).scalars():
            run = Run.model_validate_json(record)
            cost, tokens = cost + run.known_cost_usd, tokens + run.known_tokens
    return Spent(cost_usd=float(cost), tokens=int(tokens), seconds=float(seconds), unknown_cost=int(unknown))


def _find(connection: "Connection", name: str, what: str, workspace: str | None) -> str:
    table, column = (schema.runs, _RUNS.run_id) if what == "run" else (schema.experiments, schema.experiments.c.id)
    mine = true() if workspace is None else table.c.workspace == workspace
    name = storable(name)
    if name == "latest":
        found = connection.execute(select(column).where(mine).order_by(table.c.seq.desc()).limit(1)).scalar()
        if found is None:
            raise NotFoundError(f"no {what} is stored yet; `steelyard run SUITE` makes one")
        return str(found)
    exact = connection.execute(select(column).where(mine, column == name)).scalar()
    if exact is not None:
        return str(exact)
    matches = list(connection.execute(select(column).where(mine, _starts(connection, column, name)).limit(4)).scalars())
    if not name or not matches:
        raise NotFoundError(f"no {what} '{name[:80]}' is stored; `steelyard runs` lists them, `latest` is the last")
    if len(matches) > 1:
        shown = ", ".join(sorted(matches)[:3]) + (", …" if len(matches) > 3 else "")
        raise InputError(f"'{name}' is the start of more than one {what}: {shown}; give more of it")
    return str(matches[0])


def _starts(connection: "Connection", column: Any, prefix: str) -> "ColumnElement[bool]":
    """Whether a column starts with a text, in the way each database has an index for."""
    if connection.dialect.name == "postgresql":
        starts: ColumnElement[bool] = column.startswith(prefix, autoescape=True)
        return starts
    within: ColumnElement[bool] = (column >= prefix) & (column < prefix + "\U0010ffff")
    return within
