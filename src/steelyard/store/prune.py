"""Retention: runs that finished long ago go, with all that was said of them, then the files nobody refers to."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import storing
from steelyard.store.rows import instant

if TYPE_CHECKING:
    from sqlalchemy import Connection

GRACE_S = 3600.0  # a file younger than this may belong to a run that is being stored right now
_BATCH = 500
_OF_A_RUN = (schema.agent_run_scores, schema.judgements, schema.gradings, schema.run_artifacts, schema.outbox)


@dataclass(frozen=True)
class Pruned:
    """What went, or would go."""

    runs: int
    experiments: int
    artifacts: int
    artifact_bytes: int


def prune(database: Database, older_than: str, *, dry_run: bool, now: float | None = None) -> Pruned:
    """Remove runs that finished before an instant; `dry_run` only counts them."""
    cutoff = instant(older_than, "older_than")
    grace = (time.time() if now is None else now) - GRACE_S
    if dry_run:
        return _count(database, cutoff, grace)
    runs = 0
    while True:
        with database.write("pruning runs") as connection:
            gone = _drop_batch(connection, cutoff)
        runs += gone
        if gone < _BATCH:
            break
    with database.write("pruning experiments") as connection:
        experiments = connection.execute(delete(schema.experiments).where(*_empty(cutoff))).rowcount
    files, size = _drop_files(database, grace)
    return Pruned(runs, experiments, files, size)


def _count(database: Database, cutoff: str, grace: float) -> Pruned:
    old = schema.runs.c.finished_at < cutoff
    with database.read() as connection:
        runs = connection.execute(select(func.count()).select_from(schema.runs).where(old)).scalar_one()
        planned = select(func.count()).select_from(schema.experiments)
        experiments = connection.execute(planned.where(*_empty(cutoff, going=True))).scalar_one()
        kept_runs = select(schema.runs.c.run_id).where(~old)
        kept = select(schema.run_artifacts.c.sha256).where(schema.run_artifacts.c.run_id.in_(kept_runs))
        used = set(connection.execute(kept.distinct()).scalars())
    sizes = [size for name, size, changed in _files(database) if name not in used and changed < grace]
    return Pruned(runs, experiments, len(sizes), sum(sizes))


def _empty(cutoff: str, *, going: bool = False) -> tuple:  # type: ignore[type-arg]
    """Old experiments of which no run is left (`going`: will be left)."""
    left = select(schema.runs.c.experiment)
    if going:
        left = left.where(schema.runs.c.finished_at >= cutoff)
    return (schema.experiments.c.created_at < cutoff, schema.experiments.c.id.not_in(left))


def _drop_batch(connection: "Connection", cutoff: str) -> int:
    old = select(schema.runs.c.run_id).where(schema.runs.c.finished_at < cutoff).limit(_BATCH)
    names = list(connection.execute(old).scalars())
    if names:
        for table in (*_OF_A_RUN, schema.runs):
            connection.execute(delete(table).where(table.c.run_id.in_(names)))
    return len(names)


def _drop_files(database: Database, grace: float) -> tuple[int, int]:
    """Remove files that no run refers to, in small transactions that keep others from referring to them meanwhile."""
    count = total = 0
    with storing("pruning artifacts"):
        for part in database.artifacts.leftovers():
            with suppress(FileNotFoundError):
                if part.stat().st_mtime < grace:
                    part.unlink()
        files = _files(database)
        while batch := list(islice(files, _BATCH)):
            with database.write("pruning artifacts") as connection:
                names = [name for name, _, _ in batch]
                uses = schema.run_artifacts.c.sha256
                used = set(connection.execute(select(uses).where(uses.in_(names)).distinct()).scalars())
                unused = [(name, size) for name, size, changed in batch if name not in used and changed < grace]
                gone = [name for name, _ in unused]
                if gone:
                    connection.execute(delete(schema.artifacts).where(schema.artifacts.c.sha256.in_(gone)))
                for name in gone:
                    database.artifacts.path(name).unlink(missing_ok=True)
            count, total = count + len(unused), total + sum(size for _, size in unused)
    return count, total


def _files(database: Database) -> Iterator[tuple[str, int, float]]:
    """Name, size and time of last use of every artifact file."""
    for name in database.artifacts.names():
        path: Path = database.artifacts.path(name)
        with suppress(FileNotFoundError):
            found = path.stat()
            yield name, found.st_size, found.st_mtime
