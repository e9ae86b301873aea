"""The migrations, and that a new database made straight from the tables is the same as a migrated one."""

from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from steelyard.errors import InputError
from steelyard.store import schema
from steelyard.store.connection import Database, ensure_schema, open_database
from steelyard.store.database import open_store
from steelyard.store.migrate import MIGRATIONS, config, upgrade
from tests.store.support import AT, finished

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'steelyard.db'}"
    return str(request.getfixturevalue("postgres_url"))


def described(database: Database) -> dict[str, Any]:
    """Tables, columns, keys, indexes and triggers as the database itself tells them."""
    looked = inspect(database.engine)
    tables = {}
    for name in looked.get_table_names():
        tables[name] = (
            [(c["name"], str(c["type"]), c["nullable"]) for c in looked.get_columns(name)],
            looked.get_pk_constraint(name)["constrained_columns"],
            sorted(tuple(u["column_names"]) for u in looked.get_unique_constraints(name)),
            sorted((str(i["name"]), tuple(i["column_names"]), bool(i["unique"])) for i in looked.get_indexes(name)),
        )
    query = (
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        if database.is_sqlite
        else "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
    )
    with database.read() as connection:
        triggers = sorted(tuple(row) for row in connection.execute(text(query)))
        indexes = []
        if not database.is_sqlite:
            defined = text("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")
            indexes = sorted(connection.execute(defined).scalars())
    return {"tables": tables, "triggers": triggers, "indexes": indexes}


def other_url(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> str:
    """A second database of the same kind."""
    if url.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'other.db'}"
    from tests.postgres_server import new_database

    manager = new_database(request.getfixturevalue("postgres_server"), f"other_{tmp_path.name}"[:60].lower())
    other = manager.__enter__()
    request.addfinalizer(lambda: manager.__exit__(None, None, None))
    return other


def test_tables_and_migrations_make_the_same_schema(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> None:
    """Making a database from the tables and migrating an empty one end in the same place."""
    migrated = open_database(url, tmp_path, upgrade=False)
    upgrade(migrated)
    made = open_database(other_url(request, url, tmp_path), tmp_path)

    assert migrated.version() == made.version() == schema.VERSION
    assert described(migrated) == described(made)
    assert described(made)["triggers"] != []
    migrated.close()
    made.close()


def test_an_older_store_is_brought_up_to_date_with_its_runs(url: str, tmp_path: Path) -> None:
    """A store of the first revision keeps its runs; SQLite upgrades by itself, PostgreSQL when told to."""
    database = open_database(url, tmp_path / "artifacts", upgrade=False)
    upgrade(database, "0001")
    fill_as_then(database, tmp_path)
    assert database.version() == "0001"
    if not database.is_sqlite:
        with pytest.raises(InputError, match="run `steelyard db upgrade`"):
            open_store(url, tmp_path / "artifacts")
        ensure_schema(database, migrate=True)
    database.close()

    with open_store(url, tmp_path / "artifacts") as store:
        assert store.database.version() == schema.VERSION
        assert store.run("latest").run.run_id == "run_00001"
        assert described(store.database)["triggers"] != []
        assert [event.payload["run_id"] for event in store.pending_events("sink")] == ["run_00000", "run_00001"]
        (day,) = store.trend("payments", until="2026-01-01", days=1)["days"]
        assert (day["runs"], day["mean"], day["tiers"]["Gold"]) == (2, 70.0, 2)
        assert store.trust("payments")["arms"] == {"plain": {"streak": 2, "trusted": False}}
        assert [row["composite"] for row in store.runs()] == [1.0, 1.0]


_LATER = {"composite"}  # columns that the first Steelyard did not have


def fill_as_then(database: Database, tmp_path: Path) -> None:
    """Two runs, written as the first Steelyard wrote them: into the tables that it had."""
    with open_store(f"sqlite:///{tmp_path / 'new.db'}", tmp_path / "artifacts") as new:
        for number in range(2):
            new.save(finished(number), scored_at=AT)
        tables = (schema.runs, schema.agent_run_scores, schema.outbox, schema.artifacts, schema.run_artifacts)
        with new.database.read() as source, database.write("filling") as target:
            for table in tables:
                rows = [dict(row) for row in source.execute(table.select()).mappings()]
                target.execute(table.insert(), [{n: row[n] for n in row if n not in _LATER} for row in rows])


def test_a_newer_store_is_refused(url: str, tmp_path: Path) -> None:
    """An old Steelyard never touches a database that a newer one has changed."""
    with open_store(url, tmp_path) as store, store.database.write("ageing") as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(InputError, match="schema 9999, this Steelyard knows up to"):
        open_store(url, tmp_path)


def test_the_version_in_the_code_is_the_last_migration(tmp_path: Path) -> None:
    """Whoever adds a migration also says so in the schema."""
    with open_store(f"sqlite:///{tmp_path / 'x.db'}", tmp_path) as store, store.database.read() as connection:
        scripts = ScriptDirectory.from_config(config(connection))
        assert scripts.get_current_head() == schema.VERSION
    assert all(len(revision.revision) == 4 for revision in scripts.walk_revisions())
    assert (MIGRATIONS / "env.py").is_file()
