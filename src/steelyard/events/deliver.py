"""Delivery: one thread a sink takes events from the outbox, in order, until the sink has them.

Scoring never waits for a sink: it writes a row and goes on. A sink that hangs, fails or is gone holds up nobody but
itself; its queue grows, is seen in `/metrics` and `steelyard events status`, and is cut at `keep` events. Of several
processes one delivers to a sink at a time; when it dies, another goes on after at most a minute, and what was on its
way then comes twice, under the same event id.
"""

import logging
import random
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from steelyard.errors import SteelyardError
from steelyard.events.base import Clock, Event, Queue, Sink, SinkError

log = logging.getLogger("steelyard.events")
_NOTED_TOGETHER = 20  # so many at most come twice after a kill
_PAGE = 100
_LATECOMERS = 2000


@dataclass(frozen=True)
class Pace:
    """How often to look, how long to wait after a failure, and how much to keep."""

    poll_s: float = 1.0
    first_wait_s: float = 1.0
    longest_wait_s: float = 300.0
    keep: int = 100_000
    trim_every_s: float = 60.0
    renew_s: float = 20.0
    walk_every_s: float = 60.0
    tries_when_refused: int = 5
    random: Callable[[], float] = random.random

    def wait_s(self, failures: int) -> float:
        """Twice as long with each failure, up to the longest, and never in step with others."""
        longest = min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(failures - 1, 60))
        return longest * (0.5 + self.random() / 2)


@dataclass
class Tally:
    """What a sink was given in this process."""

    delivered: int = 0
    refused: int = 0
    last_error: str | None = None


class Courier:
    """Delivers to one sink."""

    def __init__(self, queue: Queue, sink: Sink, clock: Clock, pace: Pace) -> None:
        self.sink = sink
        self.tally = Tally()
        self._queue, self._clock, self._pace = queue, clock, pace
        self._token = secrets.token_hex(8)
        self._taken_at: float | None = None
        self._refusals: dict[int, int] = {}
        self._walked_at: float | None = None
        self._last = 0

    def deliver(self, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Send everything that waits; False while another process delivers to this sink."""
        while not stopped():
            if not self._hold():
                return False
            events = self._queue.pending_events(self.sink.name, _PAGE, self._look_after())
            if not events:
                return True
            self._send(events, stopped)
        return True

    def _look_after(self) -> int:
        """Where in line to begin: now and then at its head, else a little before what was delivered last.

        A queue that is long because another sink is dead is not walked through each time. The little before is for
        transactions that took their places in line earlier and ended later.
        """
        now = self._clock.monotonic()
        if self._walked_at is None or now - self._walked_at >= self._pace.walk_every_s:
            self._walked_at = now
            return 0
        return max(0, self._last - _LATECOMERS)

    def release(self) -> None:
        """Let others deliver."""
        if self._taken_at is not None:
            self._taken_at = None
            self._queue.release_sink(self.sink.name, self._token)

    def failed(self, error: str) -> None:
        """Note a failure where people see it."""
        if self.tally.last_error != error:
            log.warning("%s: %s; trying again", self.sink.name, error)
        self.tally.last_error = error
        self._queue.note_failure(self.sink.name, error)

    def _hold(self) -> bool:
        now = self._clock.monotonic()
        if self._taken_at is None or now - self._taken_at >= self._pace.renew_s:
            taken = self._queue.take_sink(self.sink.name, self._token, self._clock.now().timestamp())
            self._taken_at = now if taken else None
        return self._taken_at is not None

    def _send(self, events: Sequence[Event], stopped: Callable[[], bool]) -> None:
        """Send a page of events; what was sent is noted every few events, also when one of them fails."""
        sent: list[int] = []
        noted_at = self._clock.monotonic()
        try:
            for start in range(0, len(events), self.sink.batch):
                if stopped() or not self._hold():
                    break
                some = events[start : start + self.sink.batch]
                try:
                    self.sink.send(some)
                except SinkError as error:
                    if not self._gives_up(some, error):
                        raise
                    self._settle([event.seq for event in some], refused=len(some))
                    continue
                sent += [event.seq for event in some]
                if len(sent) >= _NOTED_TOGETHER or self._clock.monotonic() - noted_at > 1.0:
                    self._settle(sent)
                    sent, noted_at = [], self._clock.monotonic()
        finally:
            if sent:
                self._settle(sent)

    def _settle(self, seqs: list[int], *, refused: int = 0) -> None:
        self._queue.settle(self.sink.name, seqs, at=self._clock.now().isoformat(), refused=refused)
        self._last = max(self._last, *seqs)
        self.tally.delivered += len(seqs) - refused
        self.tally.refused += refused
        self.tally.last_error = None

    def _gives_up(self, events: Sequence[Event], error: SinkError) -> bool:
        """Whether the sink has refused one event so often that the rest should not wait for it any longer."""
        if not error.is_refusal or len(events) != 1:
            return False
        (event,) = events
        self._refusals = {event.seq: self._refusals.get(event.seq, 0) + 1}
        if self._refusals[event.seq] < self._pace.tries_when_refused:
            return False
        log.error("%s refused event %s: %s; it is set aside", self.sink.name, event.event_id, error)
        return True


@dataclass
class Deliverer:
    """Runs a courier a sink in threads of their own, until it is stopped."""

    queue: Queue
    couriers: list[Courier]
    clock: Clock
    pace: Pace
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin."""
        for courier in self.couriers:
            self._threads.append(threading.Thread(target=self._work, args=(courier,), name=courier.sink.name))
        self._threads.append(threading.Thread(target=self._trim, name="trim events"))
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def stop(self, timeout_s: float = 15.0) -> None:
        """End the threads: what is on its way is finished or, after a while, cut off and sent again later."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout_s / 2)
        for courier in self.couriers:
            courier.sink.close()
        for thread in self._threads:
            thread.join(timeout_s / 2)

    def _work(self, courier: Courier) -> None:
        failures = 0
        while not self._stop.is_set():
            wait_s = self.pace.poll_s
            try:
                courier.deliver(self._stop.is_set)
                failures = 0
            except SinkError as error:
                failures += 1
                wait_s = max(self.pace.wait_s(failures), error.wait_s or 0.0)
                self._quietly(courier, partial(courier.failed, str(error)))
            except Exception as error:  # noqa: BLE001  # the database is away: this thread must outlive that
                failures += 1
                wait_s = self.pace.wait_s(failures)
                log.warning("events to %s wait: %s", courier.sink.name, error)
            self._stop.wait(wait_s)
        self._quietly(courier, courier.release)

    @staticmethod
    def _quietly(courier: Courier, do: Callable[[], None]) -> None:
        try:
            do()
        except SteelyardError as error:
            log.warning("events to %s: %s", courier.sink.name, error)

    def _trim(self) -> None:
        """Keep the outbox small, with or without sinks."""
        while not self._stop.is_set():
            try:
                trim(self.queue, self.pace.keep)
            except Exception as error:  # noqa: BLE001  # as above
                log.warning("the outbox could not be trimmed: %s", error)
            self._stop.wait(self.pace.trim_every_s)


def trim(queue: Queue, keep: int) -> int:
    """Drop what every sink has and the oldest beyond `keep`, and say so; how many were lost."""
    lost = queue.trim_events(keep)
    if lost:
        log.error("%d undelivered events were dropped: more than %d were waiting", lost, keep)
    return lost


def start(queue: Queue, sinks: Sequence[Sink], clock: Clock, pace: Pace = Pace()) -> Deliverer:  # noqa: B008  # frozen
    """Deliver in the background from now on; `stop()` ends it."""
    deliverer = Deliverer(queue, [Courier(queue, sink, clock, pace) for sink in sinks], clock, pace)
    deliverer.start()
    return deliverer


def deliver_once(queue: Queue, sinks: Sequence[Sink], clock: Clock, pace: Pace = Pace()) -> dict[str, Tally]:  # noqa: B008
    """Deliver what waits now, without trying twice; what each sink was given, and its error if it failed."""
    tallies: dict[str, Tally] = {}
    for sink in sinks:
        courier = Courier(queue, sink, clock, pace)
        tallies[sink.name] = courier.tally
        try:
            if not courier.deliver():
                courier.tally.last_error = "another process is delivering to it"
        except SinkError as error:
            courier.failed(str(error))
        finally:
            courier.release()
            sink.close()
    trim(queue, pace.keep)
    return tallies
