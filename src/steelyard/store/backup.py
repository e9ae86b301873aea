"""Backup and restore: one tar file with every table as JSON lines and every artifact, the same for both databases.

So a backup of SQLite can be restored into PostgreSQL and the other way round. It is taken from one state of the
database while others go on writing, and appears under its name only when it is complete.
"""

import io
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sqlalchemy import func, insert, select, text

from steelyard.domain.record import JsonObject
from steelyard.errors import InputError
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import storing

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

FORMAT = 1
_HEAD = "steelyard-backup.json"
_BLOB = re.compile(r"artifacts/([0-9a-f]{64})\.zst")
_BATCH = 500
_TABLES = [table for table in schema.metadata.sorted_tables if table.name not in ("alembic_version", "leases")]


def backup(database: Database, target: Path, *, created_at: str) -> JsonObject:
    """Write a backup file; its head, which says how many rows of each table it holds."""
    if target.exists():
        raise InputError(f"{target} is there already; a backup never overwrites a file")
    with storing(f"writing the backup {target}"):
        handle, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                head = _write(database, file, target.parent, created_at)
                file.flush()
                os.fsync(file.fileno())
            Path(name).rename(target)
        finally:
            with suppress(OSError):
                Path(name).unlink()
    return head


def _write(database: Database, file: IO[bytes], scratch: Path, created_at: str) -> JsonObject:
    head: JsonObject = {"format": FORMAT, "schema": schema.VERSION, "created_at": created_at, "rows": {}}
    # The head comes last because only then the rows are counted; without it a file is no backup.
    with tarfile.open(fileobj=file, mode="w") as tar, database.read() as connection:
        if not database.is_sqlite:
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        for table in _TABLES:
            with tempfile.TemporaryFile(dir=scratch) as rows:
                head["rows"][table.name] = _dump(connection, table, rows)
                _add(tar, f"tables/{table.name}.jsonl", rows)
        for sha in connection.execute(select(schema.artifacts.c.sha256)).scalars():
            with database.artifacts.path(sha).open("rb") as packed:
                _add(tar, f"artifacts/{sha}.zst", packed)
        _add(tar, _HEAD, io.BytesIO(json.dumps(head).encode()))
    return head


def _dump(connection: "Connection", table: "Table", rows: IO[bytes]) -> int:
    count = 0
    streamed = connection.execution_options(yield_per=_BATCH).execute(
        select(table).order_by(*table.primary_key.columns)
    )
    for row in streamed.mappings():
        rows.write(json.dumps(dict(row), ensure_ascii=False).encode() + b"\n")
        count += 1
    return count


def _add(tar: tarfile.TarFile, name: str, data: IO[bytes]) -> None:
    info = tarfile.TarInfo(name)
    info.size = data.seek(0, os.SEEK_END)
    data.seek(0)
    tar.addfile(info, data)


def restore(database: Database, source: Path) -> JsonObject:
    """Put a backup into an empty store, all of it or nothing."""
    try:
        with tarfile.open(source, mode="r:") as tar:
            head = _head(tar, source)
            _restore_artifacts(database, tar)
            with database.write(f"restoring {source}") as connection:
                if connection.execute(select(schema.runs.c.seq).limit(1)).first() is not None:
                    raise InputError("the store holds runs already; restore into an empty one (STEELYARD_HOME)")
                for table in _TABLES:
                    count = _load(connection, table, tar)
                    if count != head["rows"].get(table.name):
                        raise InputError(f"{source} is damaged: {table.name} has {count} rows, not as many as it says")
    except (tarfile.TarError, EOFError) as error:
        raise InputError(f"{source} is not a whole backup: {error}") from None
    except FileNotFoundError:
        raise InputError(f"there is no backup {source}") from None
    return head


def _head(tar: tarfile.TarFile, source: Path) -> JsonObject:
    try:
        member = tar.extractfile(_HEAD)
        head: JsonObject = json.loads(member.read(1_000_000) if member else b"")
        known = head["format"] == FORMAT and isinstance(head["rows"], dict)
    except (KeyError, ValueError, TypeError):
        raise InputError(f"{source} is not a backup made by `steelyard db backup`, or not a whole one") from None
    if not known or head["schema"] != schema.VERSION:
        raise InputError(
            f"{source} was made with schema {head.get('schema')}, this Steelyard has {schema.VERSION}; "
            "restore it with the Steelyard that made it, then run `steelyard db upgrade`"
        )
    return head


def _restore_artifacts(database: Database, tar: tarfile.TarFile) -> None:
    """Artifacts first: what stops here leaves files that nobody refers to, and an empty database."""
    with storing("restoring artifacts"):
        for member in tar:
            name = _BLOB.fullmatch(member.name)
            file = tar.extractfile(member) if name and member.isreg() else None
            if name and file:
                database.artifacts.put_packed(name[1], file.read())


def _load(connection: "Connection", table: "Table", tar: tarfile.TarFile) -> int:
    count = 0
    if table.name == "workspaces":
        connection.execute(table.delete())
    try:
        file = tar.extractfile(f"tables/{table.name}.jsonl")
    except KeyError:
        return 0
    for batch in _batches(file) if file else ():
        connection.execute(insert(table), batch)
        count += len(batch)
    if connection.dialect.name == "postgresql" and "seq" in table.columns and table.name != "deliveries":
        latest = select(func.coalesce(func.max(table.c.seq), 0) + 1).scalar_subquery()
        connection.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "seq"), latest, False)))
    return count


def _batches(file: IO[bytes]) -> Iterator[list[JsonObject]]:
    batch: list[JsonObject] = []
    for line in file:
        batch.append(json.loads(line))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
