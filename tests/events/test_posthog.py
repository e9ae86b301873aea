"""posthog: the SDK itself, against a receiver on loopback."""

from contextlib import closing

import pytest

from steelyard.events.base import SinkError
from steelyard.events.posthog import PostHog
from steelyard.store.outbox import StoredEvent
from tests.events.support import Receiver

EVENT = StoredEvent(7, "ab" * 16, "agent.run.scored", "payments", "run_1", "2026-01-01T00:00:00Z", {"score": 84})


def sink(receiver: Receiver) -> PostHog:
    """PostHog's SDK, sending to a receiver."""
    return PostHog("phc_test", receiver.url.partition("/hook")[0], timeout_s=30.0)


def test_an_event_arrives_with_its_own_uuid(receiver: Receiver) -> None:
    """Name, properties, time and uuid are those of the event, however often it is sent."""
    with closing(sink(receiver)) as posthog:
        posthog.send([EVENT])
        posthog.send([EVENT])

    first, second = (request.document["batch"][0] for request in receiver.taken)
    assert first["uuid"] == second["uuid"] == "abababab-abab-abab-abab-abababababab"
    assert first["event"] == "agent.run.scored"
    assert first["distinct_id"] == "payments"
    assert first["properties"]["score"] == 84
    assert first["timestamp"].startswith("2026-01-01T00:00:00")
    assert receiver.taken[0].document["api_key"] == "phc_test"


@pytest.mark.parametrize("mood", ["error", "reset"])
def test_a_failure_is_told_and_the_event_stays_in_line(receiver: Receiver, mood: str) -> None:
    """The SDK does not swallow it."""
    receiver.mood = mood  # type: ignore[assignment]
    with closing(sink(receiver)) as posthog:
        with pytest.raises(SinkError, match="PostHog: ") as failed:
            posthog.send([EVENT])
        receiver.mood = "fine"
        posthog.send([EVENT])

    assert "phc_test" not in str(failed.value)
    assert len(receiver.taken) == 1
