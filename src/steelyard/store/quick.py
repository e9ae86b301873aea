"""The reads that nearly every request makes, by key and without ceremony.

On SQLite they take tens of microseconds on a connection of their own (readers never wait in WAL mode), so they may be
made where everything else waits for nobody. On PostgreSQL they go through the pool and belong in a thread.
"""

import sqlite3
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.dialects import sqlite

from steelyard.domain.record import canonical_json
from steelyard.formulas.scorecard import FORMULA_VERSION
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import StoreError
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


class QuickReads:
    """One row at a time, by key; `inline` says that asking costs no more than a thread would."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.inline = database.is_sqlite
        self._connection: Any = None
        self._sql: dict[str, str] = {}
        if self.inline:
            dialect = sqlite.dialect(paramstyle="named")
            self._sql = {name: str(statement.compile(dialect=dialect)) for name, statement in _STATEMENTS.items()}

    def one(self, name: str, key: str = "") -> Any | None:
        """A row of `token`, `any` or `score`; None when there is none."""
        if not self.inline:
            with self.database.read() as connection:
                return connection.execute(_STATEMENTS[name], {"id": key}).first()
        try:
            if self._connection is None:
                self._connection = self.database.engine.raw_connection()
                self._connection.driver_connection.row_factory = _Row
            return self._connection.driver_connection.execute(self._sql[name], {"id": key}).fetchone()
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StoreError(f"reading the store: {error}") from error

    def close(self) -> None:
        """Give the connection up; the next read takes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()  # its rows look different from what the pool's other users expect


class _Row:
    """A row with its columns as attributes."""

    def __init__(self, cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> None:
        for column, value in zip(cursor.description, values, strict=True):
            setattr(self, column[0], value)


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
