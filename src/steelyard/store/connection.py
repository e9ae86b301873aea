"""Opening the store: SQLite in WAL mode or PostgreSQL, by URL.

SQLite: every writing transaction begins with BEGIN IMMEDIATE and waits for its turn, readers never wait, so that
nobody sees "database is locked". `synchronous=NORMAL` in WAL mode keeps every committed run through `kill -9`; only a
power cut can take back the last moments, and then whole runs, never halves.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from steelyard.errors import InputError
from steelyard.store import schema
from steelyard.store.artifacts import Artifacts
from steelyard.store.errors import StoreError, storing

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import URL

WAIT_S = 120  # how long a writer waits for other writers before it gives up
CONNECT_S = "10"  # how long a PostgreSQL server may take to let us in, unless the URL says otherwise
_SCHEMA_LOCK = 0x57EE1  # PostgreSQL's advisory lock for whoever makes or changes the schema


class Database:
    """An engine and how to begin a transaction on it; threads may share it."""

    def __init__(self, url: "URL", artifacts: Path) -> None:
        self.url = url
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.engine = _sqlite_engine(url) if self.is_sqlite else _postgres_engine(url)
        self.artifacts = Artifacts(artifacts)
        self._writer = self.engine.execution_options(steelyard_writes=True)
        # SQLite has one writer at a time; waiting here is fair and quick, waiting in SQLite is a matter of luck.
        self._turn = threading.RLock() if self.is_sqlite else None

    @contextmanager
    def read(self) -> Iterator["Connection"]:
        """A transaction that sees one state of the database and changes nothing."""
        with storing("reading the store"), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, doing: str) -> Iterator["Connection"]:
        """A transaction that is stored as a whole or not at all."""
        if self._turn is None:
            with storing(doing), self._writer.begin() as connection:
                yield connection
            return
        with self._turn, storing(doing), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    def version(self) -> str | None:
        """The schema's revision as the database says it; None when there is no schema."""
        with storing("opening the store"), self.engine.connect() as connection:
            return _version(connection)


def open_database(url: str, artifacts: Path, *, must_exist: bool = False, upgrade: bool = True) -> Database:
    """Open the database behind a URL, making it when it is new; `must_exist` refuses to make one."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        _prepare_directory(parsed, must_exist=must_exist)
    database = Database(parsed, artifacts)
    try:
        if upgrade:
            ensure_schema(database)
    except BaseException:
        database.close()
        raise
    return database


def ensure_schema(database: Database, *, migrate: bool = False) -> None:
    """Make the schema in a new database; bring an old one up to date (PostgreSQL only when asked: `migrate`)."""
    found = database.version()
    if found == schema.VERSION:
        return
    if found is None:
        _create(database)
        found = database.version()
    if found is not None and found > schema.VERSION:
        raise InputError(
            f"the store has schema {found}, this Steelyard knows up to {schema.VERSION}; use the newer Steelyard"
        )
    if found != schema.VERSION:
        if not database.is_sqlite and not migrate:
            raise InputError(
                f"the store has schema {found}, this Steelyard needs {schema.VERSION}; run `steelyard db upgrade`"
            )
        from steelyard.store.migrate import upgrade

        upgrade(database)


def _create(database: Database) -> None:
    """A new database straight from the tables: quicker than running every migration, and tested to be the same."""
    with database.write("making the store") as connection:
        lock_schema(connection)
        if _version(connection) is not None:
            return  # another process was quicker
        if inspect(connection).has_table("runs"):
            raise StoreError("the database has tables but says no schema version; restore a backup")
        schema.metadata.create_all(connection, checkfirst=False)
        connection.execute(schema.versions.insert().values(version_num=schema.VERSION))


def lock_schema(connection: "Connection") -> None:
    """Let one process at a time look at and change the schema; SQLite's BEGIN IMMEDIATE does so already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})"))


def _version(connection: "Connection") -> str | None:
    if connection.dialect.name == "sqlite":
        known = text("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'")
    else:
        # Not to_regclass(): that may answer from a cache that does not know yet what another process just made.
        known = text("SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'alembic_version' AND pg_table_is_visible(oid)")
    if connection.execute(known).first() is None:
        return None
    return connection.execute(select(schema.versions.c.version_num)).scalar()


def _parse(url: str) -> "URL":
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise InputError(
            f"STEELYARD_STORE is not a URL: {url!r}; allowed: sqlite:///PATH, postgresql://HOST/NAME"
        ) from None
    name = parsed.get_backend_name()
    if name == "postgres":
        parsed, name = parsed.set(drivername="postgresql"), "postgresql"
    if name not in ("sqlite", "postgresql"):
        raise InputError(f"STEELYARD_STORE names a {name} database; allowed: sqlite:///PATH, postgresql://HOST/NAME")
    if name == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise InputError("STEELYARD_STORE names no file; write sqlite:///PATH")
    if name == "sqlite":
        return parsed.set(drivername="sqlite")
    patience = {} if "connect_timeout" in parsed.query else {"connect_timeout": CONNECT_S}
    return parsed.set(drivername="postgresql+psycopg").update_query_dict(patience)


def _prepare_directory(url: "URL", *, must_exist: bool) -> None:
    path = Path(str(url.database))
    if must_exist and not path.is_file():
        raise InputError(f"there is no store at {path} yet; `steelyard run` makes one (STEELYARD_HOME says where)")
    with storing(f"making the store's directory {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True)


def _sqlite_engine(url: "URL") -> "Engine":
    # isolation_level None: Python's sqlite3 begins no transactions of its own; `_begin` below does.
    engine = create_engine(url, connect_args={"isolation_level": None, "timeout": WAIT_S, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {WAIT_S * 1000}")
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: "Connection") -> None:
        writes = connection.get_execution_options().get("steelyard_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres_engine(url: "URL") -> "Engine":
    try:
        # psycopg reads its own time zone and encoding settings from the URL; a connection that died is replaced.
        return create_engine(url, pool_size=8, max_overflow=24, pool_timeout=WAIT_S, pool_pre_ping=True)
    except (ImportError, NoSuchModuleError):
        raise InputError("PostgreSQL needs the extra: pip install 'steelyard[postgres]'") from None
