"""What the grader writes down about one file of a tree."""

import hashlib
import stat
from dataclasses import dataclass
from typing import Literal

Algorithm = Literal["sha1", "sha256"]

FILE, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000

MIB = 1024 * 1024
IN_MEMORY = 32 * MIB
"""A larger file is streamed, and the patch carries a note with its hash in place of its content."""
READ_WHOLE = 1024 * MIB
"""Of a file that became larger than this, only its size and its head are recorded: a sparse terabyte costs nothing."""
HEAD = 64 * MIB
"""How much of a large file `before` and `after` return."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Git's mode, git's object id by the baseline's algorithm, and the size; a fifo, socket or device has no id."""

    mode: int
    oid: str
    size: int

    @property
    def is_file(self) -> bool:
        """A regular file, executable or not."""
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        """A symbolic link; its content is its target."""
        return stat.S_ISLNK(self.mode)

    @property
    def in_patch(self) -> bool:
        """Whether git can write this down with its content."""
        return self.is_link or (self.is_file and self.size <= IN_MEMORY)

    @property
    def is_whole(self) -> bool:
        """Whether the whole content was read."""
        return not self.oid.startswith("head:")


_HASHES = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}  # found sooner than by name


def git_mode(mode: int) -> int:
    """A file's mode as git knows it: only type and the owner's x bit count."""
    if stat.S_ISREG(mode):
        return EXECUTABLE if mode & stat.S_IXUSR else FILE
    return LINK if stat.S_ISLNK(mode) else stat.S_IFMT(mode)


def object_id(data: bytes, algorithm: Algorithm, kind: bytes = b"blob") -> str:
    """Git's id of an object."""
    return _HASHES[algorithm](b"%s %d\0%s" % (kind, len(data), data), usedforsecurity=False).hexdigest()
