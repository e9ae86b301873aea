"""What PostgreSQL answers in one round trip: statements sent together, past SQLAlchemy's one at a time.

Each statement still sees what was committed when its own turn came, so a lock that is sent first holds for the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

from steelyard.domain.record import JsonObject, canonical_json

if TYPE_CHECKING:
    from sqlalchemy import ClauseElement, Connection, TableClause

Asked = tuple["ClauseElement", JsonObject]


def is_postgres(connection: "Connection") -> bool:
    """Whether the functions here may be used."""
    return connection.dialect.name == "postgresql"


def find_all(connection: "Connection", asked: Sequence[Asked]) -> list[list[Any]]:
    """The rows that each of several statements finds, executed one after the other."""
    if not asked:
        return []
    with _driver(connection) as driver:
        with driver.pipeline():
            cursors = [driver.execute(*_raw(statement, given)) for statement, given in asked]
        return [cursor.fetchall() for cursor in cursors]


def add_all(connection: "Connection", tables: Sequence[tuple["TableClause[Any]", list[JsonObject]]]) -> None:
    """Add rows to tables, those of a table in one statement, in their order."""
    if not tables:
        return
    with _driver(connection) as driver, driver.pipeline():
        for table, rows in tables:
            driver.execute(_adding(table.name, tuple(rows[0])), {"rows": canonical_json(rows)})


@cache
def _adding(table: str, columns: tuple[str, ...]) -> str:
    """One parameter however many rows there are: the columns' types are the table's own."""
    names = ", ".join(f'"{name}"' for name in columns)
    given = f"json_populate_recordset(NULL::{table}, %(rows)s::json) WITH ORDINALITY AS given"
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM {given} ORDER BY ordinality"  # noqa: S608  # our names


@contextmanager
def _driver(connection: "Connection") -> Iterator[Any]:
    """The driver's own connection, whose errors become SQLAlchemy's as they do elsewhere."""
    import psycopg

    try:
        yield connection.connection.driver_connection
    except psycopg.Error as raised:
        error: Any = raised
        if connection.dialect.is_disconnect(error, connection.connection, None):
            connection.invalidate(error)
        raise DBAPIError.instance(None, None, error, psycopg.Error, dialect=connection.dialect) from raised


def _raw(statement: "ClauseElement", given: JsonObject) -> tuple[str, JsonObject]:
    sql, constants = _compiled(statement)
    return sql, {**constants, **given}


@cache
def _compiled(statement: "ClauseElement") -> tuple[str, Mapping[str, Any]]:
    """The driver's text of a statement (one of a few that live as long as the process), and the constants in it."""
    from sqlalchemy.dialects.postgresql.psycopg import dialect

    compiled = statement.compile(dialect=dialect())  # type: ignore[no-untyped-call]
    return str(compiled), {name: value for name, value in compiled.params.items() if value is not None}
