"""Keep what a command prints in flat memory: its head and tail, the middle counted."""

from steelyard.sandboxes.base import HEAD, TAIL, Captured

EDGE = 8 * 1024
"""A line that reaches into the gap is left out too; of a longer one, so much."""


class Capture:
    """Keeps a stream's head and tail, and counts."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._total += len(chunk)
        space = HEAD - len(self._head)
        if space > 0:
            self._head += chunk[:space]
            chunk = chunk[space:]
        if chunk:
            self._tail += chunk
            if len(self._tail) > 4 * TAIL:
                del self._tail[:-TAIL]

    def done(self) -> Captured:
        """What was kept. Where something was left out, whole lines are: half a word may be half a secret."""
        head, tail = bytes(self._head), bytes(self._tail[-TAIL:])
        if len(head) + len(tail) < self._total:
            head = head[: max(head.rfind(b"\n", -EDGE) + 1, len(head) - EDGE)]
            start = tail.find(b"\n", 0, EDGE)
            tail = tail[start + 1 if start >= 0 else EDGE :]
        return Captured(head, tail, self._total)
