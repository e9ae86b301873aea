"""The server itself: loopback only, a thread a connection, every request in its log."""

import json
import socket
import threading
import zlib
from collections import Counter
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from steelyard.errors import InputError
from steelyard.testing.scripted_model import wire
from steelyard.testing.scripted_model.asks import Ask, Protocol, read_ask
from steelyard.testing.scripted_model.replies import compose
from steelyard.testing.scripted_model.script import Fault, Step, read_scripts

LARGEST_BODY = 64 * 1024 * 1024
PROTOCOLS: dict[str, Protocol] = {"messages": "anthropic", "completions": "chat", "responses": "responses"}


@dataclass(frozen=True, slots=True)
class Logged:
    """A request as the server saw it. `outcome` is reply, side, error, drop, cut, count, unknown or bad."""

    method: str
    path: str
    script: str | None
    outcome: str
    protocol: str | None = None
    model: str | None = None
    turn: int | None = None
    stream: bool | None = None
    tools: tuple[str, ...] = ()
    status: int = 200
    key: str | None = None
    unmet: tuple[str, ...] = ()
    prompt: str = ""


class ScriptedModel:
    """A scripted model on loopback, as a context manager.

    `script` is a list of steps, a `Script`, `Scripts`, or the same as JSON-like data. `url` is what clients take as
    base URL (OpenAI clients want `/v1` after it); `url_of(name)` is the base URL of a named script.
    """

    def __init__(self, script: Any, port: int = 0, log: Path | None = None) -> None:
        self.scripts = read_scripts(script)
        self.stopping = threading.Event()
        self._log = log
        self._lock = threading.Lock()
        self._requests: list[Logged] = []
        self._faults: Counter[tuple[str | None, int]] = Counter()
        try:
            self._http = _Http(("127.0.0.1", port), _Exchange)
        except OSError as error:
            raise InputError(f"port {port} on 127.0.0.1 cannot be opened: {error.strerror}") from error
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    def url_of(self, name: str) -> str:
        """The base URL of a named script."""
        return f"{self.url}/s/{name}"

    @property
    def requests(self) -> tuple[Logged, ...]:
        """Every request so far, in the order of arrival."""
        with self._lock:
            return tuple(self._requests)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop answering; streams that are under way are cut."""
        self.stopping.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def record(self, entry: Logged) -> None:
        """Add a request to the log."""
        with self._lock:
            self._requests.append(entry)
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(entry)) + "\n")

    def fault(self, name: str | None, turn: int, step: Step) -> Fault | None:
        """The step's fault, while there are times left."""
        if step.fault is None:
            return None
        with self._lock:
            self._faults[name, turn] += 1
            left = step.fault.times is None or self._faults[name, turn] <= step.fault.times
        return step.fault if left else None


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    model: ScriptedModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else head and body, written apart, cost a client 40 ms of waiting
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
        """Nothing goes to stderr: the log is `requests`."""

    def do_HEAD(self) -> None:  # the base class calls it so
        """Some clients ask whether the server is there."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """The request log, the list of models, or a sign of life."""
        tail = urlsplit(self.path).path.rstrip("/").rpartition("/")[2]
        if tail == "_requests":
            self._json(200, [asdict(entry) for entry in self.server.model.requests])
        elif tail == "models":
            model = {"id": "scripted", "object": "model", "type": "model", "display_name": "scripted", "created": 0}
            self._json(200, {"object": "list", "data": [model], "has_more": False, "models": []})
        else:
            self._json(200, {"ok": True})

    def do_POST(self) -> None:
        """A request for a reply, or for a count of tokens."""
        name, parts = _route(self.path)
        tail = parts[-1] if parts else ""
        counting = tail == "count_tokens"
        protocol = PROTOCOLS.get(parts[-2] if counting and len(parts) > 1 else tail)
        script = self.server.model.scripts.find(name)
        if protocol is None or script is None:
            self._read()
            what = "no such endpoint" if protocol is None else f"no script named {name}"
            return self._refuse(404, what, "unknown", name)
        body = self._read()
        if not isinstance(body, dict):
            return self._refuse(400, "the body is not a JSON object", "bad", name)
        ask = read_ask(protocol, body)
        if counting:
            self._record("count", name, ask)
            return self._json(200, {"input_tokens": max(1, len(ask.prompt) // 4)})
        return self._play(name, script.step(ask.replies), ask)

    def _play(self, name: str | None, step: Step, ask: Ask) -> None:
        """Log the request as it arrives, think as long as the script says, then answer or fail."""
        model = self.server.model
        fault = model.fault(name, ask.replies, step) or Fault()
        failing = fault.overflow or fault.status is not None
        reply = compose(step, ask)
        cut = fault.cut_after
        answered = "cut" if cut is not None else "side" if reply.side else "reply"
        outcome = "drop" if fault.drop else "error" if failing else answered
        self._record(outcome, name, ask, status=(fault.status or 400) if failing else 200, unmet=reply.unmet)
        if step.delay_s and model.stopping.wait(step.delay_s):
            return self._hang_up()
        if fault.drop:
            return self._hang_up()
        if failing:
            return self._fail(fault, ask)
        if ask.stream:
            return self._stream(wire.events(ask.protocol, reply), cut, fault.pause_s)
        if fault.pause_s and model.stopping.wait(fault.pause_s):
            return self._hang_up()
        return self._json(200, wire.whole(ask.protocol, reply), half=cut is not None)

    def _fail(self, fault: Fault, ask: Ask) -> None:
        status = fault.status or 400
        message, kind = fault.message or f"the script says {status}", fault.error_type
        if fault.overflow:
            message, kind = wire.OVERFLOW[ask.protocol]
        headers = {} if fault.retry_after_s is None else {"Retry-After": f"{fault.retry_after_s:g}"}
        self._json(status, wire.error(ask.protocol, status, message, kind), headers)

    def _stream(self, events: Any, cut: int | None, pause_s: float | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if cut is not None and number >= cut:
                return self._hang_up()
            if pause_s and number and self.server.model.stopping.wait(pause_s):
                return self._hang_up()
            data = wire.encode(event)
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        if cut is not None:
            return self._hang_up()
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _hang_up(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _refuse(self, status: int, message: str, outcome: str, name: str | None) -> None:
        self.server.model.record(Logged(self.command, self.path, name, outcome, status=status))
        self._json(status, {"type": "error", "error": {"type": "not_found_error", "message": message}})

    def _record(self, outcome: str, name: str | None, ask: Ask, status: int = 200, unmet: tuple[str, ...] = ()) -> None:
        bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        entry = Logged(
            method=self.command,
            path=self.path,
            script=name,
            outcome=outcome,
            protocol=ask.protocol,
            model=ask.model,
            turn=ask.replies,
            stream=ask.stream,
            tools=tuple(tool.name for tool in ask.tools),
            status=status,
            key=self.headers.get("x-api-key") or bearer or None,
            unmet=unmet,
            prompt=ask.prompt,
        )
        self.server.model.record(entry)

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None, half: bool = False) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if half else data)
        if half:
            self._hang_up()

    def _read(self) -> Any:
        """The body as JSON; None when it is none, or too large."""
        data = self._chunked() if "chunked" in (self.headers.get("Transfer-Encoding") or "") else self._sized()
        if data is None:
            self.close_connection = True
            return None
        try:
            if self.headers.get("Content-Encoding") == "gzip":
                data = zlib.decompressobj(wbits=31).decompress(data, LARGEST_BODY)
            return json.loads(data)
        except (ValueError, RecursionError, zlib.error):
            return None

    def _sized(self) -> bytes | None:
        length = self.headers.get("Content-Length") or "0"
        return self.rfile.read(int(length)) if length.isdigit() and int(length) <= LARGEST_BODY else None

    def _chunked(self) -> bytes | None:
        parts: list[bytes] = []
        total = 0
        while True:
            size = self.rfile.readline(64).split(b";")[0].strip()
            try:
                length = int(size, 16)
            except ValueError:
                return None
            total += length
            if length < 0 or total > LARGEST_BODY:
                return None
            parts.append(self.rfile.read(length))
            self.rfile.readline(64)
            if length == 0:
                return b"".join(parts)


def _route(path: str) -> tuple[str | None, list[str]]:
    """The named script of a path, and the rest of the path."""
    parts = [part for part in urlsplit(path).path.split("/") if part]
    if len(parts) > 1 and parts[0] == "s":
        return unquote(parts[1]), parts[2:]
    return None, parts
