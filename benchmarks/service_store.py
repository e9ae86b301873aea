"""Stores with very many scored runs, for the service's benchmarks: real rows, written straight into the tables."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import insert, text
from tests.store.support import run_of

from steelyard.domain.record import canonical_json
from steelyard.formulas.scorecard import facts_of, score_run
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.database import Store
from steelyard.store.rows import run_row, score_row

WORKSPACE = "many"
ARMS = ("plain", "with_skill", "other", "rare")
VERDICTS = ("PASS", "FAIL", "NOT_RUN")
_BATCH = 5_000
_AT = "2026-01-01T00:00:00.000000Z"


def name_of(number: int) -> str:
    """The id of a run."""
    return f"many-{number:08d}"


def fill(store: Store, count: int) -> None:
    """`count` scored runs; indexes are made afterwards, which ends in the same place sooner."""
    database = store.database
    indexes = [index for index in schema.runs.indexes if not index.unique]
    with database.write("leaving indexes out") as connection:
        connection.execute(insert(schema.workspaces).values(id=WORKSPACE))
        for index in indexes:
            index.drop(connection)
    for runs, scores in _batches(count):
        with database.write("adding many runs") as connection:
            _copy(connection, schema.runs, runs)
            _copy(connection, schema.agent_run_scores, scores)
    with database.write("making indexes") as connection:
        for index in indexes:
            index.create(connection)
    _tidy(database)


def _batches(count: int) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    run = run_of(0, workspace=WORKSPACE, experiment="")
    card = score_run(facts_of(run, [10.0] * 20))
    row, score = run_row(run, "", ()), score_row(card, 1, _AT)
    record = canonical_json(run.model_dump(mode="json"))
    for start in range(0, count, _BATCH):
        numbers = range(start, min(count, start + _BATCH))
        scores = [{**score, "run_id": name_of(number)} for number in numbers]
        yield [_run(row, record, number, count) for number in numbers], scores


def _run(row: dict[str, Any], record: str, number: int, count: int) -> dict[str, Any]:
    """Values that differ in all that is filtered; the `rare` arm ran only in the first hundredth of all time."""
    mixed = (number * 7919) % 100_003
    name = name_of(number)
    return row | {
        "run_id": name,
        "task_id": f"task-{mixed % 40}",
        "arm": "rare" if number < count // 100 else ARMS[mixed % 3],
        "repeat": number + 1,
        "judge": VERDICTS[mixed // 3 % 3],
        "tier": ("Bronze", "Silver", "Gold", "Elite")[mixed // 9 % 4],
        "score": 80,
        "replaced": 0,
        "wall_s": 1 + mixed / 100,
        "finished_at": f"2026-01-{1 + number * 27 // count:02d}T00:00:00.000000Z",
        "record": record.replace("run_00000", name),
    }


def _copy(connection: Any, table: Any, rows: list[dict[str, Any]]) -> None:
    if connection.dialect.name != "postgresql":
        connection.execute(insert(table), rows)
        return
    names = list(rows[0])
    cursor = connection.connection.cursor()
    with cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row([row[name] for name in names])


def _tidy(database: Database) -> None:
    """What a database does by itself when it has time: statistics, and the log back in the file."""
    with database.engine.connect() as connection:
        if database.is_sqlite:
            connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
            return
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM ANALYZE"))
