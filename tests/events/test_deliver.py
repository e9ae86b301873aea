"""Delivery: at least once, in order, to each sink by itself, and never in the way of scoring."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from steelyard.events.base import Event, SinkError
from steelyard.events.deliver import Deliverer, Pace, deliver_once, start
from steelyard.events.jsonl import Jsonl
from steelyard.events.webhook import Webhook
from steelyard.store.database import Store
from tests.events.support import FAST, SECRET, Clock, Mood, Receiver, until
from tests.store.support import AT, finished


def fill(store: Store, count: int, first: int = 0) -> None:
    """Store and score runs: an event each (and trust, when it is earned)."""
    for number in range(first, first + count):
        store.save(finished(number, blobs={}), scored_at=AT)


def hook(receiver: Receiver, timeout_s: float = 30.0) -> Webhook:
    """A webhook to a receiver."""
    return Webhook(receiver.url, SECRET, Clock(), timeout_s=timeout_s)


def delivered(store: Store, sink: str) -> bool:
    """Whether nothing waits."""
    return store.queue_size(sink) == 0


def test_every_sink_gets_every_event_in_order(store: Store, receiver: Receiver, tmp_path: Path) -> None:
    """A webhook and a file are given the same events, in the order in which they happened, once each."""
    fill(store, 130)
    expected = [event.event_id for event in store.pending_events("nobody", 1000)]
    web, file = hook(receiver), Jsonl(tmp_path / "events.jsonl")

    tallies = deliver_once(store, [web, file], Clock())

    assert receiver.ids() == expected
    assert [line["id"] for line in map(_json, (tmp_path / "events.jsonl").read_text().splitlines())] == expected
    assert [tally.delivered for tally in tallies.values()] == [len(expected)] * 2
    assert store.queue_size() == 0, "what all sinks have is dropped"


def _json(line: str) -> dict[str, object]:
    import json

    found: dict[str, object] = json.loads(line)
    return found


@pytest.mark.parametrize("mood", ["error", "reset", "hang", "drip"])
def test_a_dead_sink_holds_up_nobody_and_loses_nothing(
    store: Store, receiver: Receiver, tmp_path: Path, mood: Mood
) -> None:
    """While a webhook fails in any way scoring goes on and the file gets all; when it recovers it gets all too."""
    receiver.mood = mood
    web, file = hook(receiver, timeout_s=0.3), Jsonl(tmp_path / "events.jsonl")
    deliverer = start(store, [web, file], Clock(), FAST)
    try:
        fill(store, 12)
        until(lambda: delivered(store, file.name), "delivery to the file")
        until(lambda: any(s.failures > 0 for s in store.sink_states(0.0) if s.name == web.name), "a failure")
        (state,) = [s for s in store.sink_states(Clock().now().timestamp()) if s.name == web.name]
        assert state.queue == store.queue_size() >= 12
        assert state.held
        assert state.last_error
        assert state.last_error.startswith("127.0.0.1")
        assert "hidden" not in state.last_error + state.name
        receiver.mood = "fine"
        receiver.ended.set()
        until(lambda: delivered(store, web.name), "delivery to the webhook")
    finally:
        deliverer.stop()
    sent = receiver.ids()
    assert list(dict.fromkeys(sent)) == [line["id"] for line in map(_json, _lines(tmp_path / "events.jsonl"))]
    (state,) = [s for s in store.sink_states(0.0) if s.name == web.name]
    assert (state.failures, state.last_error, state.held) == (0, None, False)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_stopping_cuts_off_a_request_that_hangs(store: Store, receiver: Receiver) -> None:
    """A server that ends does not wait for a sink that never answers, and the event stays in line."""
    receiver.mood = "hang"
    fill(store, 1)
    web = hook(receiver, timeout_s=1000.0)
    deliverer = start(store, [web], Clock(), FAST)
    until(lambda: receiver.asked > 0, "the request")

    deliverer.stop(timeout_s=2.0)

    assert threads_of(deliverer) == []
    assert store.queue_size(web.name) == 1


def threads_of(deliverer: Deliverer) -> list[threading.Thread]:
    """The deliverer's threads that still run."""
    return [thread for thread in deliverer._threads if thread.is_alive()]


def test_an_event_that_is_refused_is_set_aside(store: Store, receiver: Receiver) -> None:
    """One event that the receiver will never take does not hold up those behind it; it is counted."""
    fill(store, 3)
    receiver.moods = {b"run_00001": "refuse"}
    web = hook(receiver)
    deliverer = start(store, [web], Clock(), FAST)
    until(lambda: delivered(store, web.name), "delivery")
    deliverer.stop()

    assert [request.document["run_id"] for request in receiver.taken] == ["run_00000", "run_00002"]
    (state,) = store.sink_states(0.0)
    assert (state.delivered, state.refused) == (2, 1)
    assert receiver.asked == 2 + Pace().tries_when_refused


def test_a_receiver_that_asks_for_time_gets_it(store: Store, receiver: Receiver) -> None:
    """Retry-After is carried to whoever waits."""
    fill(store, 1)
    receiver.mood = "busy"
    (event,) = store.pending_events("x")

    with closing(hook(receiver)) as web, pytest.raises(SinkError, match="answered 429") as failed:
        web.send([event])

    assert failed.value.wait_s == 7.0
    assert not failed.value.is_refusal


def test_the_queue_of_a_dead_sink_is_bounded_and_says_what_it_dropped(store: Store, receiver: Receiver) -> None:
    """Beyond the limit the oldest go, counted for the sink that never got them; the newest still arrive."""
    receiver.mood = "error"
    web = hook(receiver)
    pace = Pace(poll_s=0.02, first_wait_s=0.01, longest_wait_s=0.02, trim_every_s=0.02, keep=5)
    deliverer = start(store, [web], Clock(), pace)
    until(lambda: bool(store.sink_states(0.0)), "the sink")
    fill(store, 20)
    total = 21  # trust is earned once
    until(lambda: store.queue_size() <= 5, "trimming")
    receiver.mood = "fine"
    until(lambda: delivered(store, web.name), "delivery")
    deliverer.stop()

    (state,) = store.sink_states(0.0)
    assert state.dropped + state.delivered == total
    assert 0 < len(receiver.taken) <= 5
    assert receiver.taken[-1].document["run_id"] == "run_00019"


def test_two_deliverers_do_not_deliver_everything_twice(store: Store, receiver: Receiver) -> None:
    """Of two that run at once one has the sink; when it lets go the other goes on, and nothing came twice."""
    first, second = (start(store, [hook(receiver)], Clock(), FAST) for _ in range(2))
    fill(store, 20)
    until(lambda: delivered(store, hook(receiver).name), "delivery")
    first.stop()
    fill(store, 20, first=20)
    until(lambda: delivered(store, hook(receiver).name), "the rest")
    second.stop()

    assert len(receiver.ids()) == len(set(receiver.ids())) == 41


class Forgetful:
    """A sink that takes an event and then fails, as a receiver does whose answer is lost."""

    name, batch = "forgetful", 1

    def __init__(self) -> None:
        self.seen: list[str] = []

    def send(self, events: Sequence[Event]) -> None:
        """Take it, and fail at the first time of each."""
        (event,) = events
        self.seen.append(event.event_id)
        if self.seen.count(event.event_id) == 1:
            raise SinkError("the answer was lost")

    def close(self) -> None:
        """Nothing to close."""


def test_what_comes_twice_has_the_same_id(store: Store) -> None:
    """A receiver that failed after it took an event can tell that it has it already; order is kept."""
    sink = Forgetful()
    deliverer = start(store, [sink], Clock(), FAST)
    fill(store, 3)
    until(lambda: len(sink.seen) == 6, "both rounds")
    deliverer.stop()

    assert sink.seen == [name for name in dict.fromkeys(sink.seen) for _ in range(2)]


CHILD = """
import sys
from pathlib import Path
from steelyard.events.deliver import Pace, start
from steelyard.events.webhook import Webhook
from steelyard.store.database import open_store
from tests.events.support import Clock, SECRET
url, home, address = sys.argv[1:]
store = open_store(url, Path(home))
start(store, [Webhook(address, SECRET, Clock())], Clock(), Pace(poll_s=0.02))
sys.stdin.read()
"""


def test_a_killed_deliverer_loses_nothing(store: Store, url: str, receiver: Receiver, tmp_path: Path) -> None:
    """`kill -9` in the middle of delivering: another goes on at once; duplicates have the id they had."""
    fill(store, 120)
    expected = [event.event_id for event in store.pending_events("nobody", 1000)]
    command = [sys.executable, "-c", CHILD, url, str(tmp_path / "artifacts"), receiver.url]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        until(lambda: len(receiver.taken) >= 25, "some deliveries")
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.communicate(timeout=60)
    deliverer = start(store, [hook(receiver)], Clock(), FAST)
    until(lambda: delivered(store, hook(receiver).name), "the rest")
    deliverer.stop()

    assert list(dict.fromkeys(receiver.ids())) == expected
    assert len(receiver.ids()) - len(expected) <= 21, "no more than what was not noted yet came twice"


def test_waiting_grows_and_never_beyond_the_longest() -> None:
    """Back-off doubles, is spread by the random source, and has an end."""
    low, high = Pace(random=lambda: 0.0), Pace(random=lambda: 1.0)

    assert [high.wait_s(n) for n in (1, 2, 3, 4)] == [1.0, 2.0, 4.0, 8.0]
    assert [low.wait_s(n) for n in (1, 2)] == [0.5, 1.0]
    assert high.wait_s(10_000) == 300.0


def test_a_place_in_line_is_never_given_twice(store: Store) -> None:
    """An event that comes after others were removed is new to every sink, also to one that was slow to note."""
    fill(store, 3)
    places = [event.seq for event in store.pending_events("sink")]
    store.mark_delivered("sink", places)
    store.prune("2030-01-01T00:00:00Z", dry_run=False)
    assert store.queue_size() == 0
    store.mark_delivered("sink", places)
    fill(store, 1, first=50)

    (event,) = store.pending_events("sink")
    assert event.seq > max(places)


def test_a_sink_of_another_process_is_not_forgotten_when_trimming(store: Store, tmp_path: Path) -> None:
    """What one sink has stays for the other that was ever delivered to, until people forget that one."""
    assert store.take_sink("webhook:elsewhere", "token", 0.0)
    fill(store, 2)

    deliver_once(store, [Jsonl(tmp_path / "x.jsonl")], Clock())
    assert store.queue_size("webhook:elsewhere") == store.queue_size() == 2
    assert store.forget_sink("webhook:elsewhere")
    store.trim_events(100)
    assert store.queue_size() == 0


def test_a_clock_that_was_ahead_does_not_hold_a_sink(store: Store) -> None:
    """A hold that would last for years was set by a wrong clock and is not believed."""
    assert store.take_sink("sink", "a", 4_000_000_000.0)
    assert store.take_sink("sink", "b", 1_700_000_000.0)
    assert not store.take_sink("sink", "a", 1_700_000_000.0)
    assert store.take_sink("sink", "a", 1_700_000_061.0)
