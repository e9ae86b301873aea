"""JSON answers with an ETag of their content, and request bodies that are read within bounds."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from steelyard.domain.record import Record, sha256
from steelyard.web.auth import caller_of
from steelyard.web.problems import ProblemError, invalid

if TYPE_CHECKING:
    from steelyard.web.service import Service

Body = TypeVar("Body", bound=Record)
JSON = "application/json"
NDJSON = "application/x-ndjson"
PIECE_S = 30.0  # how long the next piece of a body may take
SLOWEST = 1000  # bytes a second that a body must reach once it has taken PIECE_S


def to_bytes(document: Any) -> bytes:
    """A document as JSON."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


def answer(request: Request, document: Any, status: int = 200) -> Response:
    """A document as JSON; 304 when the caller has just this one."""
    return answer_bytes(request, to_bytes(document), status)


def answer_bytes(request: Request, body: bytes, status: int = 200, media: str = JSON) -> Response:
    """Bytes of a media type, with an ETag for those who ask again."""
    if request.method not in ("GET", "HEAD"):
        return Response(body, status, media_type=media)
    tag = f'W/"{sha256(body)[:32]}"'
    if has_tag(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, status, headers={"ETag": tag}, media_type=media)


def has_tag(given: str, tag: str) -> bool:
    """Whether an If-None-Match header names a tag, compared weakly."""
    plain = tag.removeprefix("W/")
    return any(part.strip().removeprefix("W/") in (plain, "*") for part in given.split(","))


def media_of(request: Request) -> str:
    """The media type of a request's body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def pieces(request: Request, limit: int | None) -> AsyncIterator[bytes]:
    """The body as it arrives; past `limit`, or too slowly, the request ends."""
    size = 0
    began = time.monotonic()
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(PIECE_S):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise _too_slow() from None
        except ClientDisconnect:
            raise ProblemError("invalid-request", "the connection ended before the body did") from None
        size += len(piece)
        if limit is not None and size > limit:
            raise too_large(limit)
        taken = time.monotonic() - began
        if taken > PIECE_S and size < SLOWEST * taken:
            raise _too_slow()
        yield piece


async def read_body(request: Request, service: "Service") -> bytes:
    """A whole JSON body within the server's limit, from a caller whose token still counts when all of it is there."""
    limit = service.options.max_body
    if media_of(request) != JSON:
        raise ProblemError("unsupported-media-type", f"send the body as Content-Type: {JSON}")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        raise too_large(limit)
    found = [piece async for piece in pieces(request, limit) if piece]
    if len(found) > 1:  # it was still coming when its sender had been let in
        await service.reads.ask(service.guard.confirm, caller_of(request.scope))
    return b"".join(found)


def parse(data: bytes, record: type[Body]) -> Body:
    """A body as a record, or a problem that names every wrong field."""
    try:
        from_json(data, allow_inf_nan=False)  # JSON has no NaN; the record's own reader would let it pass
        return record.model_validate_json(data)
    except ValidationError as error:
        raise invalid(error, record) from None
    except ValueError as error:
        raise ProblemError("invalid-request", f"not valid JSON: {error}") from None


def too_large(limit: int) -> ProblemError:
    """The refusal of a body past its limit; the rest of it is not read."""
    detail = f"the body is larger than {limit:,} bytes; send less, or runs as NDJSON lines"
    return ProblemError("body-too-large", detail, headers={"Connection": "close"})


def _too_slow() -> ProblemError:
    return ProblemError(
        "too-slow", f"the body came too slowly (under {SLOWEST} bytes/s)", headers={"Connection": "close"}
    )
