"""The statements of the one hot path, storing a run: built once, because building one costs more than running it."""

from typing import TYPE_CHECKING

from sqlalchemy import ARRAY, Text, any_, bindparam, delete, insert, select, update

from steelyard.domain.record import JsonObject
from steelyard.formulas.scorecard import HISTORY_MOST
from steelyard.store import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_RUNS = schema.runs.c
_LEASE = schema.leases.c
_WORKSPACE = schema.workspaces.c

_cell = (
    _RUNS.experiment == bindparam("experiment"),
    _RUNS.task_id == bindparam("task_id"),
    _RUNS.arm == bindparam("arm"),
    _RUNS.repeat == bindparam("repeat"),
)
# Within the workspace: whoever may write elsewhere can't make a run of this one count no more.
COUNTING_TRIES = select(_RUNS.seq, _RUNS.infrastructure).where(
    *_cell, _RUNS.workspace == bindparam("workspace"), _RUNS.replaced == 0
)
REPLACE_TRIES = (
    update(schema.runs)
    .where(
        _RUNS.experiment == bindparam("of_experiment"),
        _RUNS.task_id == bindparam("of_task_id"),
        _RUNS.arm == bindparam("of_arm"),
        _RUNS.repeat == bindparam("of_repeat"),
        _RUNS.workspace == bindparam("of_workspace"),
        _RUNS.replaced == 0,
    )
    .values(replaced=1)
)
FINISHED = select(_RUNS.task_id, _RUNS.arm, _RUNS.repeat).where(
    _RUNS.experiment == bindparam("experiment"), _RUNS.infrastructure == 0
)
_lease = (
    _LEASE.experiment == bindparam("experiment"),
    _LEASE.task_id == bindparam("task_id"),
    _LEASE.arm == bindparam("arm"),
    _LEASE.repeat == bindparam("repeat"),
)
TAKE_LEASE = update(schema.leases).where(
    _LEASE.experiment == bindparam("of_experiment"),
    _LEASE.task_id == bindparam("of_task_id"),
    _LEASE.arm == bindparam("of_arm"),
    _LEASE.repeat == bindparam("of_repeat"),
)
END_LEASE = delete(schema.leases).where(*_lease)
RECORD = select(_RUNS.record).where(_RUNS.run_id == bindparam("run_id"))
RECORDS = select(_RUNS.run_id, _RUNS.record).where(_RUNS.run_id.in_(bindparam("run_ids", expanding=True)))
# The same for PostgreSQL, in one text however many they are.
RECORDS_ANY = select(_RUNS.run_id, _RUNS.record).where(_RUNS.run_id == any_(bindparam("run_ids", type_=ARRAY(Text))))
TASK = select(schema.tasks.c.snapshot).where(schema.tasks.c.sha256 == bindparam("sha256"))
FIRST_SCORE = select(schema.agent_run_scores).where(
    schema.agent_run_scores.c.run_id == bindparam("run_id"), schema.agent_run_scores.c.version == 1
)
WEIGHTS = select(_WORKSPACE.weights).where(_WORKSPACE.id == bindparam("workspace"))
LOCK_WORKSPACE = WEIGHTS.with_for_update()
HISTORY = (
    select(_RUNS.wall_s)
    .where(
        _RUNS.workspace == bindparam("workspace"),
        _RUNS.outcome == "COMPLETED",
        _RUNS.infrastructure == 0,
        _RUNS.seq < bindparam("before"),
    )
    .order_by(_RUNS.seq.desc())
    .limit(HISTORY_MOST)
)
# `inline`: nobody asks for the numbers that rows get, so nothing is returned.
ADD_RUN = insert(schema.runs).inline()
ADD_SCORE = insert(schema.agent_run_scores).inline()
ADD_EVENT = insert(schema.outbox).inline()
ADD_JUDGEMENT = insert(schema.judgements).inline()
ADD_LEASE = insert(schema.leases)


def insert_new(connection: "Connection", table: "Table", rows: list[JsonObject]) -> None:
    """Insert rows unless their primary keys are there; no error either way, whoever else is writing."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_or_leave

        connection.execute(insert_or_leave(table).on_conflict_do_nothing(), rows)
    else:
        connection.execute(insert(table).prefix_with("OR IGNORE"), rows)
