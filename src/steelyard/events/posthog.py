"""posthog: events through PostHog's own SDK."""

import uuid
from collections.abc import Sequence
from typing import Any

from steelyard.errors import InputError
from steelyard.events.base import Event, SinkError

HOST = "https://us.i.posthog.com"
TIMEOUT_S = 10.0
_REFUSED = frozenset({400, 413})


class PostHog:
    """Sends each event by itself and waits for the answer; the same event has the same uuid, which PostHog merges."""

    batch = 1

    def __init__(self, api_key: str, host: str | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        try:
            from posthog import Posthog
        except ImportError:
            raise InputError("PostHog needs the extra: pip install 'steelyard[posthog]'") from None
        from urllib.parse import urlsplit

        host = host or HOST
        self.name = f"posthog:{urlsplit(host).hostname or host}"
        self._client: Any = Posthog(api_key, host=host, sync_mode=True, timeout=timeout_s, max_retries=0)
        # In sync mode the SDK swallows what went wrong unless it debugs; its logger stays at its level.
        self._client.debug = True

    def send(self, events: Sequence[Event]) -> None:
        """Capture them one by one."""
        for event in events:
            try:
                self._client.capture(
                    event.kind,
                    distinct_id=event.workspace,
                    properties={**event.payload, "$process_person_profile": False, "sequence": event.seq},
                    timestamp=event.created_at,
                    uuid=str(uuid.UUID(event.event_id)),
                )
            except Exception as error:  # whatever the SDK raises, the event stays in line
                status = getattr(error, "status", None)
                reason = " ".join(str(error).split())[:200] or type(error).__name__
                raise SinkError(f"PostHog: {reason}", is_refusal=status in _REFUSED) from error

    def close(self) -> None:
        """End the SDK's threads."""
        self._client.shutdown()
