"""webhook: each event as a signed POST, in the form of Standard Webhooks (standardwebhooks.com).

The signature is HMAC-SHA256 over `id.timestamp.body`, so a receiver knows who sent it, that it is fresh, and, by the
id, whether it has seen it before. Libraries that check it exist for most languages.
"""

import base64
import binascii
import hashlib
import hmac
import http.client
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from steelyard import __version__
from steelyard.domain.record import sha256
from steelyard.errors import InputError
from steelyard.events.base import Clock, Event, SinkError, encoded

TIMEOUT_S = 10.0
_ANSWER_MOST = 64 * 1024
_LONGEST_WAIT_S = 3600.0
_REFUSED = frozenset({400, 409, 413, 415, 422})  # about this event; anything else may pass


class Webhook:
    """Posts to an address over a connection that stays open; an answer other than 2xx is a failure."""

    batch = 1

    def __init__(self, url: str, secret: str, clock: Clock, *, timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise InputError("STEELYARD_EVENTS: the webhook's port is not a number from 0 to 65535") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("STEELYARD_EVENTS: a webhook needs an address such as webhook:https://HOST/PATH")
        self._host, self._port, self._is_tls = parts.hostname, port, parts.scheme == "https"
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._login = f"{parts.username}:{parts.password or ''}" if parts.username else None
        # A path or query often is the receiver's secret: the name people see has the host and a fingerprint only.
        self.name = f"webhook:{parts.hostname}#{sha256(url)[:8]}"
        self._key = signing_key(secret)
        self._clock = clock
        self._timeout_s = timeout_s
        self._connection: http.client.HTTPConnection | None = None

    def send(self, events: Sequence[Event]) -> None:
        """Post them one by one."""
        for event in events:
            self._post(event)

    def close(self) -> None:
        """Drop the connection, also under a request that hangs."""
        self._hang_up(self._connection)
        self._drop()

    def _post(self, event: Event) -> None:
        body = encoded(event)
        connection = self._connection or self._connect()
        self._connection = connection
        # A time-out of the socket starts anew with every byte that comes; this one ends the whole exchange.
        ended = threading.Event()
        alarm = threading.Timer(self._timeout_s, self._give_up, (ended, connection))
        alarm.daemon = True
        alarm.start()
        try:
            connection.request("POST", self._target, body, self._headers(event, body))
            answer = connection.getresponse()
            answer.read(_ANSWER_MOST)
            if not answer.isclosed() or answer.will_close:
                self._drop()
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            self._drop()
            reason = f"no answer within {self._timeout_s:g} s" if ended.is_set() else _reason(error)
            raise SinkError(f"{self._host}: {reason}") from error
        finally:
            alarm.cancel()
        if not 200 <= answer.status < 300:
            wait_s = _asked_to_wait(answer.getheader("Retry-After"))
            message = f"{self._host} answered {answer.status}"
            raise SinkError(message, wait_s=wait_s, is_refusal=answer.status in _REFUSED)

    def _connect(self) -> http.client.HTTPConnection:
        if self._is_tls:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)

    def _headers(self, event: Event, body: bytes) -> dict[str, str]:
        timestamp = str(int(self._clock.now().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"steelyard/{__version__}",
            "webhook-id": event.event_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": signature(self._key, event.event_id, timestamp, body),
        }
        if self._login is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(self._login.encode()).decode()
        return headers

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                connection.close()

    def _give_up(self, ended: threading.Event, connection: http.client.HTTPConnection) -> None:
        ended.set()
        self._hang_up(connection)

    @staticmethod
    def _hang_up(connection: http.client.HTTPConnection | None) -> None:
        """End what another thread waits for; that thread then drops the connection itself."""
        sock = connection.sock if connection is not None else None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(2)


def signing_key(secret: str) -> bytes:
    """The bytes of a secret: base64 after `whsec_`, or the text itself."""
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise InputError("STEELYARD_WEBHOOK_SECRET: what follows whsec_ is not base64") from None


def signature(key: bytes, event_id: str, timestamp: str, body: bytes) -> str:
    """The `webhook-signature` header of a message."""
    signed = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(signed).decode()


def _asked_to_wait(header: str | None) -> float | None:
    if header is None or not header.strip().isdecimal():
        return None
    return min(float(header.strip()[:9]), _LONGEST_WAIT_S)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__
