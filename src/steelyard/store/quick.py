"""The reads that nearly every request makes, by key and without ceremony.

On SQLite they take tens of microseconds on a connection of their own (readers never wait in WAL mode), so they may be
made where everything else waits for nobody. On PostgreSQL they are made in a few threads that do nothing else (slow
requests never keep others from being let in), each in one round trip on connections of their own, which are replaced
when the server was restarted.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import bindparam, select
from sqlalchemy.dialects import sqlite

from steelyard.domain.record import canonical_json
from steelyard.formulas.scorecard import FORMULA_VERSION
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import StoreError, storing
from steelyard.store.scenarios import FIND_TASK, FIND_TASKS
from steelyard.store.tokens import ANY_TOKEN, FIND_TOKEN

_RUNS = schema.runs.c
_SCORES = schema.agent_run_scores
NEWEST_SCORE = (
    select(_RUNS.workspace, *_SCORES.columns)
    .outerjoin_from(schema.runs, _SCORES, _SCORES.c.run_id == _RUNS.run_id)
    .where(_RUNS.run_id == bindparam("id"))
    .order_by(_SCORES.c.version.desc())
)
_STATEMENTS = {"token": FIND_TOKEN, "any": ANY_TOKEN, "score": NEWEST_SCORE}
_THREADS = 8  # and so many connections are kept for the next read
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class QuickReads:
    """One row at a time, by key. Threads may share it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._reader: _Sqlite | _Postgres = _Sqlite(database) if database.is_sqlite else _Postgres(database)
        self._threads = None if database.is_sqlite else ThreadPoolExecutor(_THREADS, "quick-reads")

    async def ask(self, do: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs) -> _Found:
        """Do what makes such reads: here where that waits for nobody, else in one of the threads for it."""
        if self._threads is None:
            return do(*given, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: do(*given, **named))

    def one(self, name: str, key: str = "", **more: str) -> Any | None:
        """A row of `token`, `any` or `score`; None when there is none."""
        return self._reader.one(name, {"id": key, **more})

    def tasks(self, workspace: str, task_ids: set[str]) -> dict[str, str]:
        """The sha256 of each of a workspace's tasks; an id that it has none of is left out."""
        return self._reader.tasks(workspace, sorted(task_ids))

    def close(self) -> None:
        """Give the connections and the threads up."""
        self._reader.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False)


class _Sqlite:
    """One connection, which threads take in turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        dialect = sqlite.dialect(paramstyle="named")
        statements = {**_STATEMENTS, "task": FIND_TASK}
        self._sql = {name: str(statement.compile(dialect=dialect)) for name, statement in statements.items()}
        self._connection: Any = None
        self._lock = threading.Lock()

    def one(self, name: str, keys: dict[str, str]) -> Any | None:
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = self._database.engine.raw_connection()
                    self._connection.driver_connection.row_factory = _Row
                return self._connection.driver_connection.execute(self._sql[name], keys).fetchone()
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StoreError(f"reading the store: {error}") from error

    def tasks(self, workspace: str, task_ids: list[str]) -> dict[str, str]:
        found = {name: self.one("task", {"id": name, "workspace": workspace}) for name in task_ids}
        return {name: str(row.sha256) for name, row in found.items() if row is not None}

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()  # its rows look different from what the pool's other users expect


class _Row:
    """A row with its columns as attributes."""

    def __init__(self, cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> None:
        for column, value in zip(cursor.description, values, strict=True):
            setattr(self, column[0], value)


class _Postgres:
    """Connections that begin no transaction: a read is one round trip, and the driver prepares its statement."""

    def __init__(self, database: Database) -> None:
        self._database = database
        dialect = database.engine.dialect
        statements = {**_STATEMENTS, "tasks": FIND_TASKS}
        self._sql = {name: str(statement.compile(dialect=dialect)) for name, statement in statements.items()}
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    def one(self, name: str, keys: dict[str, str]) -> Any | None:
        return next(iter(self._rows(name, keys, most=1)), None)

    def tasks(self, workspace: str, task_ids: list[str]) -> dict[str, str]:
        rows = self._rows("tasks", {"workspace": workspace, "ids": task_ids}, most=len(task_ids))
        return {row.task_id: row.sha256 for row in rows}

    def _rows(self, name: str, keys: dict[str, Any], most: int) -> list[Any]:
        import psycopg

        with storing("reading the store"):
            try:
                return self._read(name, keys, most)
            except psycopg.OperationalError:
                self.close()  # the server went away: what is idle is as dead
            try:
                return self._read(name, keys, most)
            except psycopg.Error as error:
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
                raise StoreError(f"reading the store: {reason}") from error

    def _read(self, name: str, keys: dict[str, Any], most: int) -> list[Any]:
        with self._connection() as connection:
            found: list[Any] = connection.execute(self._sql[name], keys).fetchmany(most)
            return found

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if len(self._idle) < _THREADS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Any:
        from psycopg import connect
        from psycopg.rows import namedtuple_row

        words, options = self._database.engine.dialect.create_connect_args(self._database.url)
        return connect(*words, **options, autocommit=True, row_factory=namedtuple_row)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def score_json(row: Any, run_id: str) -> str:
    """The seed's document of a `score` row, with what we add at its end; no score is Unranked."""
    if row.version is None:
        return (
            f'{{"run_id":{canonical_json(run_id)},"score":null,"tier":"Unranked","formula_version":"{FORMULA_VERSION}",'
            '"axes":null,"weights":null,"defaulted_axes":[],"version":null,"scored_at":null}'
        )
    # The texts below are canonical JSON already, as they were stored.
    return (
        f'{{"run_id":{canonical_json(run_id)},"score":{row.score},"tier":"{row.tier}",'
        f'"formula_version":"{row.formula_version}","axes":{{"completion":{row.completion},'
        f'"error_rate":{row.error_rate},"latency":{row.latency},"resource_efficiency":{row.resource_efficiency}}},'
        f'"weights":{row.weights},"defaulted_axes":{row.defaulted_axes},"version":{row.version},'
        f'"scored_at":"{row.scored_at}"}}'
    )
