"""Looks at one file of a hostile tree: its content is always read and hashed, its times are never believed."""

import hashlib
import os
import stat

from steelyard.errors import InfraError
from steelyard.worktree.entry import HEAD, IN_MEMORY, LINK, MIB, READ_WHOLE, Algorithm, Entry, git_mode, object_id
from steelyard.worktree.keep import Keep, read_fd
from steelyard.worktree.objects import write_all
from steelyard.worktree.walk import open_file

_ATTEMPTS = 3


class Look:
    """Turns names into entries; the content of each entry that differs from what was known goes into `keep`."""

    def __init__(self, algorithm: Algorithm, keep: Keep | None) -> None:
        self._algorithm: Algorithm = algorithm
        self._keep = keep

    def at(self, parent: int, name: str, known: Entry | None) -> Entry | None:
        """What stands there now, or None when it is gone: `known` itself when nothing changed."""
        for _ in range(_ATTEMPTS):
            try:
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                return None
            if stat.S_ISDIR(status.st_mode):
                raise InfraError("sandbox_error", f"{name!r} became a directory while the tree was read")
            entry = self._entry(parent, name, status, known)
            if entry is not None:
                return known if entry == known else entry
        raise InfraError("sandbox_error", f"{name!r} changes faster than it can be read: something still runs")

    def _entry(self, parent: int, name: str, status: os.stat_result, known: Entry | None) -> Entry | None:
        if stat.S_ISREG(status.st_mode):
            fd = open_file(parent, name)
            if fd is None:
                return None
            try:
                return self._regular(fd, known)
            finally:
                os.close(fd)
        if stat.S_ISLNK(status.st_mode):
            try:
                target = os.fsencode(os.readlink(name, dir_fd=parent))
            except (FileNotFoundError, OSError):
                return None
            return self._content(LINK, target, known)
        return Entry(git_mode(status.st_mode), "", 0)  # a fifo, socket or device is named, never opened

    def _content(self, mode: int, data: bytes, known: Entry | None) -> Entry:
        entry = Entry(mode, object_id(data, self._algorithm), len(data))
        if self._keep is not None and (known is None or known.oid != entry.oid):
            self._keep.put(entry.oid, data)
        return entry

    def _regular(self, fd: int, known: Entry | None) -> Entry | None:
        status = os.fstat(fd)
        mode, size = git_mode(status.st_mode), status.st_size
        try:
            if size <= IN_MEMORY:
                data = read_fd(fd, size, IN_MEMORY + 1)
                return self._content(mode, data, known) if len(data) <= IN_MEMORY else None
            if known is not None and known.size == size:
                same = self._stream(fd, mode, size, None)
                if same is None or same.oid == known.oid:
                    return same
                os.lseek(fd, 0, os.SEEK_SET)
            if self._keep is None:
                return self._stream(fd, mode, size, None)
            return self._keep.put_large(lambda out: self._large(fd, mode, size, out))
        except OSError as error:
            raise InfraError("sandbox_error", f"cannot read a file of the tree: {error.strerror}") from error

    def _large(self, fd: int, mode: int, size: int, out: int) -> Entry:
        if size > READ_WHOLE:
            head = read_fd(fd, HEAD - 1, HEAD)
            write_all(out, head)
            return Entry(mode, f"head:{size}:{object_id(head, self._algorithm)}", size)
        entry = self._stream(fd, mode, size, out)
        if entry is None:
            raise InfraError("sandbox_error", "a large file changes while it is read: something still runs")
        return entry

    def _stream(self, fd: int, mode: int, size: int, out: int | None) -> Entry | None:
        hasher = hashlib.new(self._algorithm, b"blob %d\0" % size, usedforsecurity=False)
        total = 0
        while chunk := os.read(fd, MIB):
            hasher.update(chunk)
            total += len(chunk)
            if out is not None:
                write_all(out, chunk)
        return Entry(mode, hasher.hexdigest(), size) if total == size else None
