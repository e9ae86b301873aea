"""Who delivers to a sink, and how that goes: one row a sink, so that several servers never deliver everything twice."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, or_, select, update

from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.leases import is_gone, owner_name
from steelyard.store.outbox import queue_size
from steelyard.store.statements import insert_new

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

HOLD_S = 60.0  # how long a sink is held without a word from its owner
_LONGEST_ERROR = 500
_SINK = schema.sinks.c


@dataclass(frozen=True)
class SinkState:
    """How a sink does: `queue` is still to be delivered, `dropped` was never, `refused` was turned down by it."""

    name: str
    queue: int
    delivered: int
    dropped: int
    refused: int
    failures: int
    last_error: str | None
    last_delivered_at: str | None
    held: bool


def register_sink(database: Database, sink: str) -> None:
    """Make a sink known: from now on events wait for it."""
    row = {"name": sink, "expires_at": 0.0, "failures": 0, "delivered": 0, "dropped": 0, "refused": 0}
    with database.write(f"registering {sink}") as connection:
        insert_new(connection, schema.sinks, [row])


def take_sink(database: Database, sink: str, token: str, now: float) -> bool:
    """Take or keep a sink for a minute; False while another process that lives has it. `token` is the taker's own."""
    me = owner_name(token)
    with database.read() as connection:
        found = connection.execute(select(schema.sinks).where(_SINK.name == sink)).first()
    if found is None:
        register_sink(database, sink)
        owner = None
    else:
        owner = found.owner
        # A term that ends later than any could was set by a clock that has since been put right.
        if owner not in (None, me) and now < found.expires_at <= now + 2 * HOLD_S and not is_gone(owner):
            return False
    same: ColumnElement[bool] = _SINK.owner.is_(None) if owner is None else or_(_SINK.owner == owner, _SINK.owner == me)
    with database.write(f"taking {sink}") as connection:
        taken = update(schema.sinks).where(_SINK.name == sink, same).values(owner=me, expires_at=now + HOLD_S)
        return connection.execute(taken).rowcount == 1


def release_sink(database: Database, sink: str, token: str) -> None:
    """Let go of a sink, so that others need not wait."""
    mine = (_SINK.name == sink, _SINK.owner == owner_name(token))
    with database.write(f"releasing {sink}") as connection:
        connection.execute(update(schema.sinks).where(*mine).values(owner=None, expires_at=0.0))


def settle(database: Database, sink: str, seqs: list[int], *, at: str, refused: int = 0) -> None:
    """Note that events are dealt with: delivered, but for the `refused` ones among them, which the sink turned down."""
    rows = [{"sink": sink, "seq": seq} for seq in sorted(seqs)]
    counted = {
        "delivered": _SINK.delivered + len(seqs) - refused,
        "refused": _SINK.refused + refused,
        "failures": 0,
        "last_error": None,
        "last_delivered_at": at,
    }
    with database.write(f"noting what {sink} delivered") as connection:
        insert_new(connection, schema.deliveries, rows)
        connection.execute(update(schema.sinks).where(_SINK.name == sink).values(counted))


def note_failure(database: Database, sink: str, error: str) -> None:
    """Note that a sink did not take an event, for people to see."""
    told = {"failures": _SINK.failures + 1, "last_error": error.replace("\0", "␀")[:_LONGEST_ERROR]}
    with database.write(f"noting a failure of {sink}") as connection:
        connection.execute(update(schema.sinks).where(_SINK.name == sink).values(told))


def forget_sink(database: Database, sink: str) -> bool:
    """Stop waiting for a sink; whether there was one."""
    with database.write(f"forgetting {sink}") as connection:
        connection.execute(delete(schema.deliveries).where(schema.deliveries.c.sink == sink))
        return connection.execute(delete(schema.sinks).where(_SINK.name == sink)).rowcount == 1


def sink_states(database: Database, now: float) -> list[SinkState]:
    """Every sink that is known, with what it has still to deliver."""
    with database.read() as connection:
        rows = connection.execute(select(schema.sinks).order_by(_SINK.name)).all()
    return [
        SinkState(
            name=row.name,
            queue=queue_size(database, row.name),
            delivered=row.delivered,
            dropped=row.dropped,
            refused=row.refused,
            failures=row.failures,
            last_error=row.last_error,
            last_delivered_at=row.last_delivered_at,
            held=row.owner is not None and row.expires_at > now and not is_gone(row.owner),
        )
        for row in rows
    ]
