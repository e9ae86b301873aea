"""Many runs in one request: lines are stored as they arrive, and each result is sent as soon as it is known.

Reading and answering go on side by side, and what the client has not read yet waits in a file: one that sends all of it
before it reads anything holds up neither itself nor the server's memory.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.record import JsonObject
from steelyard.web.answers import NDJSON, pieces, to_bytes, too_large
from steelyard.web.ingest import Answered, Sent, ingest_many
from steelyard.web.problems import ProblemError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from steelyard.web.auth import Caller
    from steelyard.web.service import Service

BATCH = 50  # lines that go to a thread together
_IN_MEMORY = 1_000_000
_PIECE = 65_536
Line = tuple[int, bytes]


class BulkAnswer(Response):
    """Reads a request's lines and answers them; what is wrong before the first result is an answer of its own."""

    def __init__(self, service: "Service", request: Request, caller: "Caller") -> None:
        super().__init__(media_type=NDJSON)
        self._service, self._request, self._caller = service, request, caller
        self._line = 0

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer the request."""
        results = _Results()
        head = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", NDJSON.encode())]}
        reading = asyncio.create_task(self._read(results))
        try:
            async for piece in results:
                if head:
                    await send(head)
                    head = {}
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await reading
            if head:
                await send(head)
            await send({"type": "http.response.body", "body": b""})
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError, ProblemError):
                await reading
            results.close()

    async def _read(self, results: "_Results") -> None:
        try:
            async for batch in self._batches():
                results.write(await run_in_threadpool(self._store, batch))
        except ProblemError as problem:
            if not results.size:
                raise
            results.write(
                _line(_result(self._line, Answered(None, problem.status, problem=problem)))
            )  # too late for another status: it ends with this
        finally:
            results.end()

    async def _batches(self) -> AsyncIterator[list[Line]]:
        """The lines that each piece of the body completes, none longer than the limit of one run."""
        limit = self._service.options.max_body
        rest = bytearray()
        async for piece in pieces(self._request, None):
            *whole, last = piece.split(b"\n")
            for start in range(0, len(whole), BATCH):
                some = whole[start : start + BATCH]
                some[0] = bytes(rest) + some[0]
                rest.clear()
                yield self._numbered(some)
            rest += last
            if len(rest) > limit:
                self._line += 1
                raise too_large(limit)
        yield self._numbered([bytes(rest)])

    def _numbered(self, lines: list[bytes]) -> list[Line]:
        first = self._line + 1
        self._line += len(lines)
        return [(number, line) for number, line in enumerate(lines, first) if line.strip()]

    def _store(self, batch: list[Line]) -> bytes:
        if not batch:
            return b""
        self._service.guard.confirm(self._caller)  # a token that is revoked ends the bulk here
        answered = ingest_many(self._service, [Sent(line, self._caller) for _, line in batch])
        return b"".join(_line(_result(number, told)) for (number, _), told in zip(batch, answered, strict=True))


def _result(number: int, told: Answered) -> JsonObject:
    problem = None if told.problem is None else told.problem.document()
    return {"line": number, "status": told.status, "run_id": told.run_id, "score": told.score, "problem": problem}


def _line(document: JsonObject) -> bytes:
    return to_bytes(document) + b"\n"


class _Results:
    """Bytes that are written here and read there, in a file once they are many."""

    def __init__(self) -> None:
        self.size = 0
        self._read = 0
        self._ended = False
        self._news = asyncio.Event()
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # `close` closes it

    def write(self, data: bytes) -> None:
        """Add to the end."""
        self._file.seek(self.size)
        self._file.write(data)
        self.size += len(data)
        self._news.set()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self._news.set()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self._news.clear()
            while self._read < self.size:
                self._file.seek(self._read)
                piece = self._file.read(_PIECE)
                self._read += len(piece)
                yield piece
            if self._ended:
                return
            await self._news.wait()
