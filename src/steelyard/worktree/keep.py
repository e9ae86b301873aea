"""Where contents stay readable after the tree is gone, each checked against its hash whenever it is read."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from steelyard.errors import InfraError, boundary
from steelyard.worktree.entry import HEAD, IN_MEMORY, MIB, Algorithm, Entry, object_id
from steelyard.worktree.objects import Objects
from steelyard.worktree.patches import Patches
from steelyard.worktree.walk import open_below

_NOT_TEXT = bytes(set(range(256)) - set(range(0x20, 0x7F)) - set(b"\t\n\r\f"))


class Contents(Protocol):
    """Something that can give back the contents of a tree's files."""

    def chunks(self, path: str, entry: Entry) -> Iterator[bytes]:
        """The content in pieces; raises `InfraError` when it is not what was recorded."""

    def prepare(self, wanted: Iterable[tuple[str, Entry]]) -> None:
        """Get ready to give these back, all at once."""


def read(contents: Contents, path: str, entry: Entry) -> bytes:
    """A content in one piece; of a large file its head."""
    out: list[bytes] = []
    size = 0
    for chunk in contents.chunks(path, entry):
        if size < HEAD:
            out.append(chunk[: HEAD - size])
        size += len(chunk)
    return b"".join(out)


class TreeContents:
    """Contents that still stand in a directory that only the grader writes: a template's tree."""

    def __init__(self, root: Path, algorithm: Algorithm) -> None:
        self._root = root
        self._algorithm: Algorithm = algorithm

    def prepare(self, wanted: Iterable[tuple[str, Entry]]) -> None:
        """Nothing to do: they are there."""

    def chunks(self, path: str, entry: Entry) -> Iterator[bytes]:
        """The content in pieces."""
        with boundary("sandbox_error", f"reading the baseline's {path!r}"):
            if entry.is_link:
                yield _checked(os.fsencode((self._root / path).readlink()), entry, self._algorithm)
                return
            fd = open_below(self._root, path)
            if fd is None:
                raise InfraError("sandbox_error", f"the baseline's {path!r} is gone")
            try:
                yield from _stream(fd, entry, self._algorithm)
            finally:
                os.close(fd)


class Keep:
    """Contents in a directory of the grader's own: git objects for what fits into memory, plain files for the rest."""

    def __init__(self, directory: Path, algorithm: Algorithm, patches: Patches | None = None) -> None:
        self.objects = Objects(directory / "git", patches)
        self.algorithm: Algorithm = algorithm
        self.blobs: dict[str, str] = {}
        self.texts: set[str] = set()
        """Ids of contents that git takes for binary, because of a NUL byte, but that are text all the same."""
        self._large = directory / "large"

    def __contains__(self, oid: str) -> bool:
        return oid in self.blobs or (self._large / oid).exists()

    def put(self, oid: str, data: bytes) -> str:
        """Keep a content that is in memory; returns its id in the grader's git."""
        blob = self.blobs.get(oid)
        if blob is None:
            blob = self.blobs[oid] = self.objects.put(data)
            if _hides_text(data):
                self.texts.add(blob)
        return blob

    def put_large(self, entry_of: Callable[[int], Entry]) -> Entry:
        """Keep a large content: `entry_of` writes it to a descriptor and says what it was."""
        with boundary("sandbox_error", "keeping a large file"):
            self._large.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = self._large / "incoming"
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                entry = entry_of(fd)
            finally:
                os.close(fd)
            fresh.rename(self._large / entry.oid)
            return entry

    def prepare(self, wanted: Iterable[tuple[str, Entry]]) -> None:
        """Nothing to do: they are there."""

    def chunks(self, path: str, entry: Entry) -> Iterator[bytes]:
        """The content in pieces."""
        if entry.oid in self.blobs:
            yield _checked(self.objects.read(self.blobs[entry.oid]), entry, self.algorithm)
            return
        with boundary("sandbox_error", f"reading the captured {path!r}"):
            fd = os.open(self._large / entry.oid, os.O_RDONLY | os.O_CLOEXEC)
            try:
                yield from _stream(fd, entry, self.algorithm)
            finally:
                os.close(fd)


class Layered:
    """Contents of which some were kept by themselves and the rest stands in another place."""

    def __init__(self, kept: Keep, below: Contents) -> None:
        self._kept = kept
        self._below = below

    def prepare(self, wanted: Iterable[tuple[str, Entry]]) -> None:
        """Get ready what was not kept."""
        self._below.prepare([(path, entry) for path, entry in wanted if entry.oid not in self._kept])

    def chunks(self, path: str, entry: Entry) -> Iterator[bytes]:
        """The content in pieces."""
        return (self._kept if entry.oid in self._kept else self._below).chunks(path, entry)


def _hides_text(data: bytes) -> bool:
    """Whether a NUL byte alone makes git call this binary, which would hide its lines from every reader."""
    if b"\0" not in data[:8000]:
        return False
    if len(data.translate(None, _NOT_TEXT)) >= 0.7 * len(data):
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return data.count(b"\0") <= 0.3 * len(data)


def _checked(data: bytes, entry: Entry, algorithm: Algorithm) -> bytes:
    if object_id(data, algorithm) != entry.oid:
        raise InfraError("sandbox_error", "a recorded file was changed afterwards")
    return data


def _stream(fd: int, entry: Entry, algorithm: Algorithm) -> Iterator[bytes]:
    if entry.size <= IN_MEMORY:
        yield _checked(read_fd(fd, entry.size), entry, algorithm)
        return
    hasher = hashlib.new(algorithm, b"blob %d\0" % entry.size, usedforsecurity=False)
    while chunk := os.read(fd, MIB):
        hasher.update(chunk)
        yield chunk
    if entry.is_whole and hasher.hexdigest() != entry.oid:
        raise InfraError("sandbox_error", "a recorded file was changed afterwards")


def read_fd(fd: int, expected: int, limit: int | None = None) -> bytes:
    """Everything a descriptor gives, up to `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    while limit is None or size < limit:
        want = max(expected - size, 0) + 1
        chunk = os.read(fd, want if limit is None else min(want, limit - size))
        if not chunk:
            break
        parts.append(chunk)
        size += len(chunk)
        if size == expected:  # one byte more was asked for, and there was none
            break
        if want <= len(chunk):  # it grew: go on in larger steps
            expected = size + MIB
    return parts[0] if len(parts) == 1 else b"".join(parts)
