"""Scenarios that may be edited, and tasks that were frozen from them: per workspace, made over HTTP."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ARRAY, Text, any_, bindparam, insert, select, update

from steelyard.domain.record import JsonObject
from steelyard.domain.suite import FrozenTask, Scenario, Task, snapshot
from steelyard.store import schema
from steelyard.store.clean import exact_json
from steelyard.store.connection import Database
from steelyard.store.errors import ConflictError, NotFoundError, RefusedError
from steelyard.store.statements import insert_new

if TYPE_CHECKING:
    from sqlalchemy.sql import Select

_SCENARIO = schema.scenarios.c
_TASK = schema.workspace_tasks.c
FIND_TASK = select(_TASK.sha256).where(_TASK.workspace == bindparam("workspace"), _TASK.task_id == bindparam("id"))
FIND_TASKS = select(_TASK.task_id, _TASK.sha256).where(
    _TASK.workspace == bindparam("workspace"), _TASK.task_id == any_(bindparam("ids", type_=ARRAY(Text)))
)


class StaleError(ConflictError):
    """Somebody else has edited it since the caller read it."""


@dataclass(frozen=True)
class StoredScenario:
    """A scenario by its name, with a revision that counts its edits from 1."""

    seq: int
    workspace: str
    name: str
    revision: int
    created_at: str
    updated_at: str
    scenario: Scenario


@dataclass(frozen=True)
class StoredTask:
    """A frozen task by its id within a workspace."""

    seq: int
    workspace: str
    task_id: str
    sha256: str
    created_at: str
    task: Task


def create_scenario(database: Database, workspace: str, name: str, scenario: Scenario, *, at: str) -> StoredScenario:
    """Store a new scenario; a `ConflictError` when the name is taken."""
    row: JsonObject = {"workspace": workspace, "name": name, "revision": 1, "created_at": at, "updated_at": at}
    row["record"] = exact_json(scenario.model_dump(mode="json"))
    try:
        with database.write(f"storing scenario {name}") as connection:
            insert_new(connection, schema.workspaces, [{"id": workspace}])
            connection.execute(insert(schema.scenarios).values(row))
    except RefusedError:
        raise ConflictError(f"scenario {name} is there already; PUT edits it") from None
    return read_scenario(database, workspace, name)


def edit_scenario(
    database: Database, stored: StoredScenario, scenario: Scenario, *, at: str, revision: int | None = None
) -> StoredScenario:
    """Replace a scenario's fields; `revision` refuses the edit when it is no longer the newest."""
    mine = (_SCENARIO.workspace == stored.workspace, _SCENARIO.name == stored.name)
    with database.write(f"editing scenario {stored.name}") as connection:
        found = connection.execute(select(_SCENARIO.revision).where(*mine).with_for_update()).scalar_one()
        if revision is not None and revision != found:
            raise StaleError(f"scenario {stored.name} is at revision {found}, not {revision}; read it again")
        values = {"record": exact_json(scenario.model_dump(mode="json")), "revision": found + 1, "updated_at": at}
        connection.execute(update(schema.scenarios).where(*mine).values(values))
    return read_scenario(database, stored.workspace, stored.name)


def read_scenario(database: Database, workspace: str, name: str) -> StoredScenario:
    """A scenario by its name."""
    query = select(schema.scenarios).where(_SCENARIO.workspace == workspace, _SCENARIO.name == name)
    with database.read() as connection:
        row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"no scenario {name[:80]!r} is stored")
    return _scenario(dict(row))


def list_scenarios(database: Database, workspace: str | None, *, after: int | None, limit: int) -> list[StoredScenario]:
    """A page of scenarios, newest first."""
    query = select(schema.scenarios).order_by(_SCENARIO.seq.desc()).limit(limit)
    if workspace is not None:
        query = query.where(_SCENARIO.workspace == workspace)
    if after is not None:
        query = query.where(_SCENARIO.seq < after)
    with database.read() as connection:
        return [_scenario(dict(row)) for row in connection.execute(query).mappings()]


def _scenario(row: JsonObject) -> StoredScenario:
    return StoredScenario(scenario=Scenario.model_validate_json(row.pop("record")), **row)


def create_task(database: Database, workspace: str, frozen: FrozenTask, *, at: str) -> tuple[StoredTask, bool]:
    """Store a frozen task, and whether it is new; the same again changes nothing, another under its id is refused."""
    task_id = frozen.task.id
    row = {"workspace": workspace, "task_id": task_id, "sha256": frozen.sha256, "created_at": at}
    new = True
    try:
        with database.write(f"storing task {task_id}") as connection:
            known = {"sha256": frozen.sha256, "task_id": task_id, "snapshot": snapshot(frozen.task)}
            insert_new(connection, schema.tasks, [known])
            insert_new(connection, schema.workspaces, [{"id": workspace}])
            connection.execute(insert(schema.workspace_tasks).values(row))
    except RefusedError:
        new = False
    stored = read_task(database, workspace, task_id)
    if stored.sha256 != frozen.sha256:
        raise ConflictError(f"task {task_id} is there already and frozen otherwise; give the new one another id")
    return stored, new


def read_task(database: Database, workspace: str, task_id: str) -> StoredTask:
    """A frozen task by its id."""
    query = _tasks().where(_TASK.workspace == workspace, _TASK.task_id == task_id)
    with database.read() as connection:
        row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"no task {task_id[:80]!r} is stored")
    return _stored_task(dict(row))


def list_tasks(database: Database, workspace: str | None, *, after: int | None, limit: int) -> list[StoredTask]:
    """A page of frozen tasks, newest first."""
    query = _tasks().order_by(_TASK.seq.desc()).limit(limit)
    if workspace is not None:
        query = query.where(_TASK.workspace == workspace)
    if after is not None:
        query = query.where(_TASK.seq < after)
    with database.read() as connection:
        return [_stored_task(dict(row)) for row in connection.execute(query).mappings()]


def _tasks() -> "Select[Any]":
    return select(schema.workspace_tasks, schema.tasks.c.snapshot).join(
        schema.tasks, schema.tasks.c.sha256 == _TASK.sha256
    )


def _stored_task(row: JsonObject) -> StoredTask:
    return StoredTask(task=Task.model_validate_json(row.pop("snapshot")), **row)
