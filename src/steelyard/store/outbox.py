"""Events on their way out: written in the transaction of what they tell of, delivered by others at least once.

Each sink marks what it has delivered, so that a dead sink holds up no other. `trim_events` bounds the table.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, exists, func, select, update

from steelyard.domain.record import JsonObject, canonical_json, sha256
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.rows import instant
from steelyard.store.statements import ADD_EVENT, insert_new

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

_OUTBOX = schema.outbox.c
_DONE = schema.deliveries.c
_BATCH = 500


@dataclass(frozen=True)
class StoredEvent:
    """An event with its place in line; `event_id` is the same whenever it is sent again."""

    seq: int
    event_id: str
    kind: str
    workspace: str
    run_id: str | None
    created_at: str
    payload: JsonObject


def event_row(kind: str, payload: JsonObject, created_at: str) -> JsonObject:
    """An event as a row of the outbox; its id follows from its content."""
    text = canonical_json(payload)
    return {
        "event_id": sha256(f"{kind}\n{text}")[:32],
        "kind": kind,
        "workspace": payload["workspace"],
        "run_id": payload.get("run_id"),
        "created_at": instant(created_at, "created_at"),
        "payload": text,
    }


def add_events(connection: "Connection", rows: list[JsonObject]) -> None:
    """Put events in line, inside the transaction of what they tell of."""
    if rows:
        connection.execute(ADD_EVENT, rows)


def pending_events(database: Database, sink: str, limit: int = 100, after: int = 0) -> list[StoredEvent]:
    """The oldest events that a sink has not delivered; those up to the place `after` are not looked at."""
    done = exists().where(_DONE.sink == sink, _DONE.seq == _OUTBOX.seq)
    waiting = select(schema.outbox).where(_OUTBOX.seq > after, ~done)
    with database.read() as connection:
        rows = connection.execute(waiting.order_by(_OUTBOX.seq).limit(limit)).mappings()
        return [StoredEvent(**{**row, "payload": json.loads(row["payload"])}) for row in rows]


def mark_delivered(database: Database, sink: str, seqs: list[int]) -> None:
    """Note that a sink has delivered these; noting it twice does no harm."""
    with database.write(f"noting what {sink} delivered") as connection:
        if seqs:
            insert_new(connection, schema.deliveries, [{"sink": sink, "seq": seq} for seq in sorted(seqs)])


def queue_size(database: Database, sink: str | None = None) -> int:
    """How many events a sink has still to deliver; without a sink, how many are kept."""
    counted = select(func.count()).select_from(schema.outbox)
    if sink is not None:
        counted = counted.where(~exists().where(_DONE.sink == sink, _DONE.seq == _OUTBOX.seq))
    with database.read() as connection:
        return int(connection.execute(counted).scalar_one())


def trim_events(database: Database, *, sinks: tuple[str, ...], keep: int) -> int:
    """Drop what every sink has delivered and, past `keep` events, the oldest; how many undelivered ones were lost.

    Every sink that ever delivered from this store counts, also one that another process delivers to; what it loses is
    added to its `dropped`. In small transactions, and none when there is nothing to drop: scoring hardly notices.
    """
    with database.read() as connection:
        known = set(sinks) | set(connection.execute(select(schema.sinks.c.name)).scalars())
        edge = connection.execute(select(_OUTBOX.seq).order_by(_OUTBOX.seq.desc()).offset(keep).limit(1)).scalar()
    if known:
        done = select(_DONE.seq).where(_DONE.sink.in_(known)).group_by(_DONE.seq)
        done = done.having(func.count() == len(known))
        _drop_all(database, select(_OUTBOX.seq).where(_OUTBOX.seq.in_(done)), set())
    lost = 0
    if edge is not None:
        lost = _drop_all(database, select(_OUTBOX.seq).where(_OUTBOX.seq <= edge), known)
    orphans = select(_DONE.seq).where(_DONE.seq.not_in(select(_OUTBOX.seq)))  # their runs were pruned
    with database.read() as connection:
        found = connection.execute(orphans.limit(1)).first()
    if found is not None:
        with database.write("trimming the outbox") as connection:
            connection.execute(delete(schema.deliveries).where(_DONE.seq.not_in(select(_OUTBOX.seq))))
    return lost


def _drop_all(database: Database, wanted: "Select[int]", missed_by: set[str]) -> int:
    """Drop the events of a query, a batch at a time; how many."""
    dropped = 0
    while True:
        with database.read() as connection:
            batch = list(connection.execute(wanted.order_by(_OUTBOX.seq).limit(_BATCH)).scalars())
        if not batch:
            return dropped
        with database.write("trimming the outbox") as connection:
            for sink in sorted(missed_by):
                _count_missed(connection, sink, batch)
            dropped += connection.execute(delete(schema.outbox).where(_OUTBOX.seq.in_(batch))).rowcount
            connection.execute(delete(schema.deliveries).where(_DONE.seq.in_(batch)))


def _count_missed(connection: "Connection", sink: str, batch: list[int]) -> None:
    table = schema.sinks
    # One at a time, or two processes would count the same ones.
    connection.execute(select(table.c.name).where(table.c.name == sink).with_for_update())
    done = exists().where(_DONE.sink == sink, _DONE.seq == _OUTBOX.seq)
    missed = select(func.count()).select_from(schema.outbox).where(_OUTBOX.seq.in_(batch), ~done).scalar_subquery()
    connection.execute(update(table).where(table.c.name == sink).values(dropped=table.c.dropped + missed))
