"""Looking a store over: its schema, the database's own check, and whether every artifact is there and whole."""

from dataclasses import dataclass

from sqlalchemy import func, select, text

from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import NotFoundError, StoreError


@dataclass(frozen=True)
class Health:
    """What a check found; `problems` is empty when all is well."""

    schema_version: str | None
    needed_version: str
    runs: int
    artifacts: int
    problems: tuple[str, ...]


def check(database: Database, *, deep: bool = False) -> Health:
    """Check a store without changing it; `deep` reads every artifact and compares it with its sha256."""
    found = database.version()
    if found is None:
        return Health(None, schema.VERSION, 0, 0, ("there is no schema; `steelyard db upgrade` makes it",))
    if found != schema.VERSION:
        remedy = "`steelyard db upgrade`" if found < schema.VERSION else "use the newer Steelyard"
        return Health(
            found, schema.VERSION, 0, 0, (f"schema {found}, this Steelyard needs {schema.VERSION}: {remedy}",)
        )
    problems: list[str] = []
    with database.read() as connection:
        if database.is_sqlite:
            said = list(connection.execute(text("PRAGMA integrity_check(20)")).scalars())
            problems += [f"SQLite says: {line}" for line in said if line != "ok"]
        runs = connection.execute(select(func.count()).select_from(schema.runs)).scalar_one()
        names = list(connection.execute(select(schema.artifacts.c.sha256)).scalars())
        scores = schema.agent_run_scores.c
        lone = select(func.count()).where(scores.run_id.not_in(select(schema.runs.c.run_id)))
        orphans = connection.execute(lone).scalar_one()
    if orphans:
        problems.append(f"{orphans} score rows belong to no run")
    problems += [problem for name in names if (problem := _artifact_problem(database, name, deep=deep))]
    return Health(found, schema.VERSION, runs, len(names), tuple(problems))


def _artifact_problem(database: Database, name: str, *, deep: bool) -> str | None:
    try:
        if deep:
            database.artifacts.get(name)
        elif not database.artifacts.has(name):
            return f"artifact {name} is missing"
    except (NotFoundError, StoreError) as error:
        return str(error)
    return None
