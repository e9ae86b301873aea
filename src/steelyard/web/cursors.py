"""Cursors of keyset pages: opaque to callers, good only for the list and the filters they came from."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

from steelyard.domain.record import JsonObject, canonical_json, sha256
from steelyard.web.problems import ProblemError


def make_cursor(seq: int, about: Any) -> str:
    """A cursor behind the item with that `seq`; `about` is the list and its filters."""
    return base64.urlsafe_b64encode(f"{seq}.{_seal(seq, about)}".encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, about: Any) -> int | None:
    """The `seq` of a cursor; None without one. A cursor of another list, or a made-up one, is refused."""
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        number, _, seal = text.partition(".")
        seq = int(number) if number.isdigit() and len(number) < 19 else -1
    except (binascii.Error, ValueError):
        seq, seal = -1, ""
    if seq < 0 or seal != _seal(seq, about):
        raise ProblemError(
            "invalid-request", "cursor: not a next_cursor of this list with these filters; start without one"
        )
    return seq


def page(rows: Sequence[Any], limit: int, about: Any, show: Callable[[Any], JsonObject], seq: Any) -> JsonObject:
    """A page of at most `limit` items out of rows that were asked for one more."""
    more, rows = len(rows) > limit, rows[:limit]
    return {
        "data": [show(row) for row in rows],
        "has_more": more,
        "next_cursor": make_cursor(seq(rows[-1]), about) if more else None,
    }


def _seal(seq: int, about: Any) -> str:
    return sha256(canonical_json([seq, about]))[:12]
