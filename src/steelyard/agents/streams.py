"""Reads an agent's stream of JSON lines as it arrives: in any cuts, of any quality, in bounded memory."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

LONGEST_LINE = 32 * 1024 * 1024
LONGEST_TEXT = 64 * 1024
LONGEST_RAW = 4 * 1024
MOST_RAW = 100
DEEPEST = 64
LARGEST_COUNT = 2**53


class Lines:
    """Cuts chunks into lines. A line past the limit is dropped as it arrives and only its length is told."""

    def __init__(
        self, on_line: Callable[[bytes], None], on_cut: Callable[[int], None], limit: int = LONGEST_LINE
    ) -> None:
        self._on_line, self._on_cut, self._limit = on_line, on_cut, limit
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        first, *rest = chunk.split(b"\n")
        self._add(first)
        for part in rest:
            self._end()
            self._add(part)

    def close(self) -> bool:
        """The stream is over; whether it broke off inside a line. What stood there is still handed on."""
        broken = self._length > 0
        if broken:
            self._end()
        return broken

    def _add(self, part: bytes) -> None:
        self._length += len(part)
        if self._length <= self._limit:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _end(self) -> None:
        if self._length > self._limit:
            self._on_cut(self._length)
        elif self._length:
            self._on_line(b"".join(self._parts))
        self._parts.clear()
        self._length = 0


class JsonLines:
    """Hands every JSON object of a stream to `on_event`; counts what was something else, and never fails."""

    def __init__(self, on_event: Callable[[dict[str, Any]], None], limit: int = LONGEST_LINE) -> None:
        self._on_event = on_event
        self._lines = Lines(self._line, self._cut, limit)
        self.events = 0
        self.bytes = 0
        self.broken_off = False
        self.oddities: Counter[str] = Counter()
        self.raw: list[dict[str, Any]] = []

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.bytes += len(chunk)
        self._lines.feed(chunk)

    def close(self) -> None:
        """The stream is over."""
        before = self.oddities["invalid"]
        self.broken_off = self._lines.close() and self.oddities["invalid"] > before

    def odd(self, what: str) -> None:
        """Count something that this version does not know; a stream can't name more than a few kinds of it."""
        self.oddities[what if what in self.oddities or len(self.oddities) < 50 else "more kinds of unknown lines"] += 1

    def unknown(self, event: dict[str, Any]) -> None:
        """Count an event of a type that this version does not know; the first ones are kept as they are."""
        self.odd(f"of the unknown type '{str(event.get('type'))[:60]}'")
        if len(self.raw) < MOST_RAW:
            self.raw.append(clip_value(event, LONGEST_RAW))

    def notes(self) -> list[str]:
        """What was odd about the stream, for people."""
        words = {"invalid": "not JSON objects", "cut": f"longer than {LONGEST_LINE} bytes and left out"}
        notes = [
            f"{count} line{'s' if count > 1 else ''} of its output: {words.get(what, what)}"
            for what, count in self.oddities.items()
            if count
        ]
        return [*notes, "its output broke off inside a line"] if self.broken_off else notes

    def _cut(self, length: int) -> None:
        self.oddities["cut"] += 1

    def _line(self, line: bytes) -> None:
        if line.isspace():
            return
        event = parse_object(line)
        if event is None:
            self.oddities["invalid"] += 1
            return
        self.events += 1
        try:
            self._on_event(event)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # The shape of a known event was not what it should be: a stream is never a reason to fail.
            self.odd("known events of an unknown shape")


def parse_object(line: bytes) -> dict[str, Any] | None:
    """A line as a JSON object with text that can be stored; None when it is no such thing."""
    try:
        try:
            value = json.loads(line)
        except UnicodeDecodeError:
            value = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line or b"\\uD" in line:
            value = _storable(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _storable(value: Any) -> Any:
    """The same value without half characters, which no file and no database takes."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_storable(part) for part in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(part) for key, part in value.items()}
    return value


def clip(text: str, limit: int = LONGEST_TEXT) -> str:
    """A text of at most about `limit` characters: its head and its tail, and how much stood between."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit} characters left out …\n{text[-tail:]}"


def clip_value(value: Any, limit: int = LONGEST_TEXT, depth: int = 0) -> Any:
    """JSON with every text clipped, and what is nested too deep left out."""
    if isinstance(value, str):
        return clip(value, limit)
    if depth >= DEEPEST and isinstance(value, (dict, list)):
        return "…"
    if isinstance(value, dict):
        return {clip(str(key), 1000): clip_value(part, limit, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [clip_value(part, limit, depth + 1) for part in value]
    return value


def obj(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; nothing when it is none."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """The value if it is a text that says something."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """The value if it is a believable number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < LARGEST_COUNT else None


def money(value: Any) -> float | None:
    """The value if it is a believable number of dollars."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e9 else None  # neither is so for what is not a number


def total(parts: list[int | None]) -> int | None:
    """The sum, unknown as soon as one part is; nothing to add is unknown too."""
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None
