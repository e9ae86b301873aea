"""Cursors of keyset pages: opaque to callers, good only for the list and the filters they came from."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

from steelyard.domain.record import JsonObject, canonical_json, sha256
from steelyard.web.problems import ProblemError


def make_cursor(place: int | str, about: Any) -> str:
    """A cursor behind the item with that `seq` or name; `about` is the list and its filters."""
    return base64.urlsafe_b64encode(f"{place}.{_seal(place, about)}".encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, about: Any) -> int | None:
    """The `seq` of a cursor; None without one. A cursor of another list, or a made-up one, is refused."""
    if cursor is None:
        return None
    number, seal = _parts(cursor)
    seq = int(number) if number.isdigit() and number.isascii() and len(number) < 19 else -1
    if seq < 0 or seal != _seal(seq, about):
        raise _refused()
    return seq


def read_name_cursor(cursor: str | None, about: Any) -> str | None:
    """The same for a list that is in the order of names."""
    if cursor is None:
        return None
    name, seal = _parts(cursor)
    if seal != _seal(name, about):
        raise _refused()
    return name


def _parts(cursor: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return "", ""
    place, _, seal = text.rpartition(".")
    return place, seal


def _refused() -> ProblemError:
    return ProblemError(
        "invalid-request", "cursor: not a next_cursor of this list with these filters; start without one"
    )


def page(rows: Sequence[Any], limit: int, about: Any, show: Callable[[Any], JsonObject], seq: Any) -> JsonObject:
    """A page of at most `limit` items out of rows that were asked for one more."""
    more, rows = len(rows) > limit, rows[:limit]
    return {
        "data": [show(row) for row in rows],
        "has_more": more,
        "next_cursor": make_cursor(seq(rows[-1]), about) if more else None,
    }


def _seal(place: int | str, about: Any) -> str:
    return sha256(canonical_json([place, about]))[:12]
