"""What a sink is, what an event looks like on its way out, and what the delivery asks of the store."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from steelyard.domain.record import JsonObject
from steelyard.errors import SteelyardError


class Event(Protocol):
    """An event with its place in line; `event_id` is the same whenever it is sent again."""

    @property
    def seq(self) -> int:
        """Its place in line."""
        ...

    @property
    def event_id(self) -> str:
        """32 hexadecimal digits."""
        ...

    @property
    def kind(self) -> str:
        """Such as agent.run.scored."""
        ...

    @property
    def workspace(self) -> str:
        """Whose it is."""
        ...

    @property
    def run_id(self) -> str | None:
        """The run it tells of."""
        ...

    @property
    def created_at(self) -> str:
        """When it was written, ISO 8601 in UTC."""
        ...

    @property
    def payload(self) -> JsonObject:
        """What it tells."""
        ...


class Queue(Protocol):
    """What delivery asks of the store; `steelyard.store.database.Store` is one."""

    def pending_events(self, sink: str, limit: int = 100, after: int = 0) -> Sequence[Event]:
        """The oldest events that a sink has not delivered, those after a place in line."""
        ...

    def take_sink(self, sink: str, token: str, now: float) -> bool:
        """Take or keep the right to deliver to a sink; False while another process has it."""
        ...

    def release_sink(self, sink: str, token: str) -> None:
        """Let go of a sink."""
        ...

    def settle(self, sink: str, seqs: list[int], *, at: str, refused: int = 0) -> None:
        """Note that a sink has dealt with these events."""
        ...

    def note_failure(self, sink: str, error: str) -> None:
        """Note that a sink did not take an event."""
        ...

    def trim_events(self, keep: int) -> int:
        """Drop what is delivered everywhere and the oldest beyond `keep`; how many undelivered ones were lost."""
        ...


class Clock(Protocol):
    """The machine's clocks."""

    def now(self) -> datetime:
        """The instant, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class SinkError(SteelyardError):
    """A sink did not take an event.

    `wait_s` is how long it asked to be left alone. `is_refusal` means that it looked at this very event and did not
    want it: trying on for ever would hold up all that follow.
    """

    def __init__(self, message: str, *, wait_s: float | None = None, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.is_refusal = is_refusal


class Sink(Protocol):
    """Somewhere events go. One thread at a time sends; `close` may be called while it does, and ends it."""

    @property
    def name(self) -> str:
        """Names the sink in the store, in metrics and for people; holds no secret."""
        ...

    @property
    def batch(self) -> int:
        """How many events it takes at a time."""
        ...

    def send(self, events: Sequence[Event]) -> None:
        """Deliver them all, in order, or raise `SinkError`: then any of them may come again."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...


def envelope(event: Event) -> JsonObject:
    """An event as every sink sends it. The same event has the same `id`, however often it comes."""
    return {
        "id": event.event_id,
        "type": event.kind,
        "created_at": event.created_at,
        "workspace": event.workspace,
        "run_id": event.run_id,
        "sequence": event.seq,
        "data": event.payload,
    }


def encoded(event: Event) -> bytes:
    """The envelope as one line of JSON."""
    return json.dumps(envelope(event), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
