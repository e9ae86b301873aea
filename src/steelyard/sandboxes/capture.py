"""Keep what a command prints in flat memory: its head and tail, the middle counted."""

from steelyard.sandboxes.base import HEAD, TAIL, Captured


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
        """What was kept."""
        return Captured(bytes(self._head), bytes(self._tail[-TAIL:]), self._total)
