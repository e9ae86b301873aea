"""The grader's own git directory: it holds what was captured, and git writes down the difference from it."""

import os
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path

from steelyard.errors import AgentError, InfraError, boundary
from steelyard.worktree.entry import object_id
from steelyard.worktree.git import GitError
from steelyard.worktree.patches import Patches, make_bare, one_patch

Side = Mapping[str, tuple[int, str]]
"""Path to git mode and blob id."""


class Objects:
    """A bare git directory, made at its first use, whose objects are written without a git process."""

    def __init__(self, directory: Path, patches: Patches | None = None) -> None:
        self.directory = directory
        self._patches = patches
        self._folders: set[str] = set()
        self._known: set[str] = set()

    def _make(self) -> None:
        make_bare(self.directory)
        (self.directory / "objects").mkdir(mode=0o700, exist_ok=True)
        self._folders.add("")

    def put(self, data: bytes, kind: bytes = b"blob") -> str:
        """Keep an object and return its id; another object of the same id is an error, never a silent swap."""
        oid = object_id(data, "sha1", kind)
        if oid in self._known:
            if kind == b"blob" and self.read(oid) != data:
                raise AgentError("bad_output", f"two files of the tree collide in SHA-1 ({oid})")
            return oid
        with boundary("sandbox_error", "keeping what was captured"):
            if not self._folders:
                self._make()
            folder = f"{self.directory}/objects/{oid[:2]}"
            if oid[:2] not in self._folders:
                os.mkdir(folder, 0o700)  # noqa: PTH102  # a hot path
                self._folders.add(oid[:2])
            # Level 0: speed counts here, the store compresses what stays.
            packed = zlib.compress(b"%s %d\0%s" % (kind, len(data), data), 0)
            fd = os.open(f"{folder}/{oid[2:]}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
            try:
                write_all(fd, packed)
            finally:
                os.close(fd)
        self._known.add(oid)
        return oid

    def read(self, oid: str) -> bytes:
        """The content of a kept blob, checked against its id."""
        with boundary("sandbox_error", "reading what was captured"):
            raw = zlib.decompress((self.directory / "objects" / oid[:2] / oid[2:]).read_bytes())
            data = raw[raw.index(b"\0") + 1 :]
        if object_id(data, "sha1") != oid:
            raise InfraError("sandbox_error", "what was captured was changed afterwards")
        return data

    def put_tree(self, side: Side) -> str:
        """Keep the trees that hold these files and return the root's id."""
        folders: dict[str, dict[bytes, tuple[int, str]]] = {"": {}}
        for path, item in side.items():
            parent, _, name = path.rpartition("/")
            folders.setdefault(parent, {})[os.fsencode(name)] = item
            while parent and parent.rpartition("/")[0] not in folders:
                parent = parent.rpartition("/")[0]
                folders[parent] = {}
        for path in sorted(folders, key=lambda p: (p.count("/"), p), reverse=True):
            oid = self._put_one_tree(folders[path])
            if path:
                parent, _, name = path.rpartition("/")
                folders[parent][os.fsencode(name)] = (0o40000, oid)
            else:
                root = oid
        return root

    def _put_one_tree(self, items: dict[bytes, tuple[int, str]]) -> str:
        def order(item: tuple[bytes, tuple[int, str]]) -> bytes:
            return item[0] + b"/" if item[1][0] == 0o40000 else item[0]

        rows = sorted(items.items(), key=order)
        return self.put(
            b"".join(b"%o %s\0%s" % (mode, name, bytes.fromhex(oid)) for name, (mode, oid) in rows), b"tree"
        )

    def patch(self, before: Side, after: Side, as_text: bool = False) -> bytes:
        """What git writes down as the difference between two sets of files."""
        if before == after:
            return b""
        trees = self.put_tree(before), self.put_tree(after)
        try:
            if as_text or self._patches is None:
                return one_patch(self.directory, trees, as_text)
            return self._patches.write(self.directory, trees)
        except subprocess.TimeoutExpired as error:
            raise AgentError("bad_output", "the change is too tangled to be written down by git") from error
        except GitError as error:
            raise InfraError("sandbox_error", f"git could not write down the change: {error}") from error


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however often the system has to be asked."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
