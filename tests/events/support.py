"""A receiver on loopback that behaves as it is told, and a clock and stores for tests of delivery."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from steelyard.events.deliver import Pace

Mood = Literal["fine", "error", "hang", "reset", "drip", "refuse", "busy"]
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
FAST = Pace(poll_s=0.02, first_wait_s=0.01, longest_wait_s=0.05, trim_every_s=0.05, random=lambda: 0.5)


class Clock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The instant."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


@dataclass
class Received:
    """One request that came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Receiver:
    """What came in, and how to answer: `moods` maps a piece of a body to a mood, `mood` is for all others."""

    url: str = ""
    mood: Mood = "fine"
    moods: dict[bytes, Mood] = field(default_factory=dict)
    taken: list[Received] = field(default_factory=list)
    asked: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def mood_for(self, body: bytes) -> Mood:
        """How to answer this one."""
        return next((mood for piece, mood in self.moods.items() if piece in body), self.mood)

    def ids(self) -> list[str]:
        """The event ids of what was taken, in order."""
        return [request.headers["webhook-id"] for request in self.taken]


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            mood = receiver.mood_for(body)
            receiver.asked += 1
            if mood == "hang":
                receiver.ended.wait(120)
                self.close_connection = True
            elif mood == "reset":
                linger = struct.pack("ii", 1, 0)  # closing now sends a reset
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
            elif mood == "drip":
                self._drip()
            elif mood == "fine":
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.taken.append(Received(self.path, headers, body))
                self._answer(200)
            else:
                self._answer({"error": 500, "refuse": 422, "busy": 429}[mood])

        def _answer(self, status: int) -> None:
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "7")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def _drip(self) -> None:
            """A byte now and then, so that the socket never times out by itself."""
            self.close_connection = True
            try:
                while not receiver.ended.wait(0.02):
                    self.wfile.write(b"H")
                    self.wfile.flush()
            except OSError:
                return

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens until the block ends."""
    receiver = Receiver()

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that went away is what some tests are about."""

    server = Server(("127.0.0.1", 0), _handler(receiver))
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook?token=hidden"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.ended.set()
        server.shutdown()
        server.server_close()
        thread.join(60)


def until(condition: Callable[[], bool], what: str = "it") -> None:
    """Wait for a condition, generously; fail when it never comes."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.01)
