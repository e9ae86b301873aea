"""What every request passes: its id, who is asking, time and size limits, headers, compression, metrics."""

import gzip
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import zstandard
from starlette.concurrency import run_in_threadpool

from steelyard.errors import SteelyardError
from steelyard.events.logs import request_id
from steelyard.store.clean import storable
from steelyard.web.auth import PUBLIC
from steelyard.web.pages.session import admitted
from steelyard.web.problems import ProblemError, problem_of, respond

if TYPE_CHECKING:
    from steelyard.web.service import Service

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("steelyard.web")
_SCORE = re.compile(r"/v1/runs/([^/]+)/score")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_SMALLEST = 1000  # bytes: below it compressing costs more than it saves
_LARGE = 100_000  # bytes: above it compressing is work for a thread
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"private, no-cache"),
)
_TEXTS = (b"application/json", b"application/problem+json", b"application/x-ndjson", b"text/")


class Front:
    """The outermost application: nothing that happens inside leaves without an answer, a request id and headers."""

    def __init__(self, app: App, service: "Service") -> None:
        self.app = app
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        name = given if _ID.fullmatch(given) else secrets.token_hex(8).encode()
        scope.setdefault("state", {})["request_id"] = name.decode()
        request_id.set(name.decode())
        answer = _Answer(send, name, headers.get(b"accept-encoding", b""), is_head=scope["method"] == "HEAD")
        try:
            await self._admit(scope, headers)
            await self.app(scope, receive, answer)
        except Exception as error:  # noqa: BLE001  # the one place where anything becomes an answer
            await self._fail(error, scope, receive, answer)
        route = scope.get("route")
        pattern = getattr(route, "path", None) or "unknown"
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        seconds = time.perf_counter() - started
        self.service.metrics.observe(pattern, method, answer.status, seconds)
        if self.service.options.log_json:
            told = {"method": method, "path": scope["path"], "route": pattern, "status": answer.status}
            LOG.info("request", extra={**told, "seconds": round(seconds, 6)})

    async def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if scope["path"] in PUBLIC:
            return
        client = scope.get("client")
        await self.service.reads.ask(self._let_in, scope, headers, client[0] if client else "unknown")

    def _let_in(self, scope: Scope, headers: dict[bytes, bytes], address: str) -> None:
        """Say who is asking; and, since a thread may have been needed for that, read here what most ask for."""
        scope["state"]["caller"] = admitted(self.service.guard, scope, headers, address)
        score = _SCORE.fullmatch(scope["path"])
        if score:
            scope["state"]["score"] = self.service.reads.one("score", storable(score[1]))

    async def _fail(self, error: Exception, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        if answer.finished:
            return  # it was answered and logged inside
        if answer.started:
            raise error  # too late for another answer: the connection is cut, so that nobody takes half for the whole
        await respond(as_problem(error, scope), scope)(scope, receive, answer)


_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])


def as_problem(error: Exception, scope: Scope) -> ProblemError:
    """Whatever went wrong as a problem; what is not the caller's doing is logged."""
    if isinstance(error, ProblemError):
        return error
    name = scope.get("state", {}).get("request_id")
    if isinstance(error, SteelyardError):
        problem = problem_of(error)
        if problem.status >= 500:
            LOG.error("request %s: %s", name, error)
        return problem
    LOG.error("request %s: %r", name, error, exc_info=error)
    return ProblemError("internal-error", "an error of ours; it was logged under the request id")


class _Answer:
    """`send`, with our headers on it, and the body compressed when it comes in one piece."""

    def __init__(self, send: Send, request_id: bytes, accepts: bytes, *, is_head: bool) -> None:
        self.send = send
        self.request_id = request_id
        self.accepts = accepts
        self.is_head = is_head
        self.status = 500
        self.started = False
        self.finished = False
        self._head: Message | None = None

    async def __call__(self, message: Message) -> None:
        """Pass one message on; the head waits for the first piece of the body."""
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            self._head = message
            return
        if self._head is not None and message["type"] == "http.response.body":
            head, self._head = self._head, None
            message = await self._compressed(head, message)
            await self.send(self._dressed(head))
        await self.send(message)
        self.finished = message["type"] == "http.response.body" and not message.get("more_body", False)

    def _dressed(self, head: Message) -> Message:
        headers = list(head["headers"])
        there = {name for name, _ in headers}
        headers.extend(header for header in _HEADERS if header[0] not in there)
        headers.append((b"x-request-id", self.request_id))
        return {**head, "headers": headers}

    async def _compressed(self, head: Message, message: Message) -> Message:
        body: bytes = message.get("body", b"")
        if message.get("more_body") or len(body) < _SMALLEST or self.is_head:
            return message
        headers = dict(head["headers"])
        if b"content-encoding" in headers or not headers.get(b"content-type", b"").startswith(_TEXTS):
            return message
        encoding = _encoding(self.accepts)
        kept = [(name, value) for name, value in head["headers"] if name not in (b"content-length", b"vary")]
        if encoding is not None:
            pack = _PACK[encoding]
            body = await run_in_threadpool(pack, body) if len(body) > _LARGE else pack(body)
            kept.append((b"content-encoding", encoding))
        kept += [(b"vary", b"Accept-Encoding"), (b"content-length", str(len(body)).encode())]
        head["headers"] = kept
        return {**message, "body": body}


def _encoding(accepts: bytes) -> bytes | None:
    """The best of what a client takes: zstd, then gzip; a quality of 0 is a no."""
    taken = set()
    for part in accepts.lower().split(b","):
        name, _, rest = part.strip().partition(b";")
        if not re.fullmatch(rb"\s*q=0(\.0*)?\s*", rest):
            taken.add(name.strip())
    return b"zstd" if b"zstd" in taken else b"gzip" if b"gzip" in taken else None


_PACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"zstd": lambda data: zstandard.ZstdCompressor(level=3).compress(data),
    b"gzip": lambda data: gzip.compress(data, 5, mtime=0),
}
