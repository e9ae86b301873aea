"""Parsed artifacts, kept for the next page of the same run within a bound of bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Parsed = TypeVar("Parsed")


class Kept(Generic[Parsed]):
    """The last used artifacts by their sha256, as `parse` makes them; the oldest go when the bytes are too many."""

    def __init__(self, read: Callable[[str], bytes], parse: Callable[[bytes], Parsed], most: int = 100_000_000) -> None:
        self.read = read
        self.parse = parse
        self.most = most
        self._kept: OrderedDict[str, tuple[int, Parsed]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, sha256: str) -> Parsed:
        """The parsed artifact."""
        with self._lock:
            if sha256 in self._kept:
                self._kept.move_to_end(sha256)
                return self._kept[sha256][1]
        data = self.read(sha256)
        parsed = self.parse(data)
        with self._lock:
            self._kept[sha256] = (len(data), parsed)
            while len(self._kept) > 1 and sum(size for size, _ in self._kept.values()) > self.most:
                self._kept.popitem(last=False)
        return parsed
