"""jsonl: events as lines of a file that grows to a limit and is then put aside."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from steelyard.events.base import Event, SinkError, encoded

LARGEST = 64 * 1024 * 1024
KEPT = 9  # files put aside, FILE.1 the newest
_LINE_MOST = 16 * 1024 * 1024  # how far back a torn line is looked for


class Jsonl:
    """Appends to a file and syncs it before an event counts as delivered."""

    batch = 100

    def __init__(self, path: Path, *, largest: int = LARGEST, kept: int = KEPT) -> None:
        self.path = path.absolute()
        self.name = f"jsonl:{self.path}"
        self._largest = largest
        self._kept = kept

    def send(self, events: Sequence[Event]) -> None:
        """Append the events; all of them or, when the disk is full, none."""
        data = b"".join(encoded(event) + b"\n" for event in events)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self._open()
            try:
                if os.fstat(file).st_size + len(data) > self._largest and os.fstat(file).st_size > 0:
                    self._put_aside()
                    os.close(file)
                    file = self._open()
                self._append(file, data)
            finally:
                os.close(file)  # and with it goes the lock
        except OSError as error:
            raise SinkError(f"{self.path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Nothing is kept open."""

    def _open(self) -> int:
        """The file, locked: not one that another process has just put aside."""
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                if os.path.samestat(os.fstat(file), self.path.stat()):
                    return file
            except FileNotFoundError:
                pass
            os.close(file)

    def _append(self, file: int, data: bytes) -> None:
        start = self._mend(file)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, start)
            raise

    def _mend(self, file: int) -> int:
        """Cut off a line that a killed process left torn (its event comes again); the size."""
        size = os.fstat(file).st_size
        if size == 0 or os.pread(file, 1, size - 1) == b"\n":
            return size
        begin = max(0, size - _LINE_MOST)
        whole = begin + os.pread(file, size - begin, begin).rfind(b"\n") + 1
        os.ftruncate(file, whole)
        return whole

    def _put_aside(self) -> None:
        for number in range(self._kept, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            newer = self.path.with_name(f"{self.path.name}.{number - 1}") if number > 1 else self.path
            if newer.exists():
                newer.replace(older)
