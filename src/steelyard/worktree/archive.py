"""Unpacks archives that nobody has checked: nothing lands outside the tree, and no bomb fills the disk."""

import bz2
import errno
import gzip
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from steelyard.errors import InfraError, InputError
from steelyard.worktree.entry import MIB
from steelyard.worktree.walk import open_below
from steelyard.worktree.write import TreeWriter, safe_parts

MAX_BYTES = 2048 * MIB
MAX_ENTRIES = 200_000
MAX_DEPTH = 400
MAX_RATIO = 200
"""How many times its own size an archive may unpack to, once it has unpacked to `FREE_BYTES`."""
FREE_BYTES = 64 * MIB

_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    ValueError,
)


def _opened(raw: BinaryIO, start: bytes) -> IO[bytes]:
    """The stream inside a compressed one, told by its first bytes and not by its name."""
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if start.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if start.startswith(b"\xfd7zXZ"):
        return lzma.open(raw)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard

        return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(raw))
    return raw


class _Budget:
    """Counts what comes out of an archive and stops at the bounds."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._size = archive.stat().st_size
        self._unpacked = self._written = self._entries = 0

    def spend(self, count: int) -> None:
        """Count bytes that were unpacked."""
        self._unpacked += count
        self._check(self._unpacked)

    def pieces(self, source: IO[bytes]) -> Iterator[bytes]:
        """A file to be written, counted too: a hole, or a second link to a file, is more than what was unpacked."""
        while chunk := source.read(MIB):
            self._written += len(chunk)
            self._check(self._written)
            yield chunk

    def _check(self, count: int) -> None:
        if count > MAX_BYTES:
            raise InputError(
                f"{self._archive}: unpacks to more than {MAX_BYTES // MIB} MiB; use a directory or git seed"
            )
        if count > FREE_BYTES and count > MAX_RATIO * self._size:
            raise InputError(f"{self._archive}: unpacks to more than {MAX_RATIO} times its size, as bombs do; refused")

    def entry(self) -> None:
        """Count a member."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise InputError(f"{self._archive}: has more than {MAX_ENTRIES} entries; use a directory or git seed")


class _Counted:
    """A stream whose every byte is counted, also those of headers."""

    def __init__(self, stream: IO[bytes], budget: _Budget) -> None:
        self._stream = stream
        self.budget = budget

    def read(self, size: int = -1) -> bytes:
        """Read in pieces, so that one huge request can't fill the memory before it is counted."""
        parts: list[bytes] = []
        left = size
        while left:
            chunk = self._stream.read(MIB if left < 0 else min(left, MIB))
            if not chunk:
                break
            self.budget.spend(len(chunk))
            parts.append(chunk)
            left -= len(chunk) if left > 0 else 0
        return b"".join(parts)


def unpack(archive: Path, tree: Path) -> None:
    """Unpack a tar (plain, gz, bz2, xz, zst) or zip into an empty directory; `.git` directories stay behind."""
    if not archive.is_file():
        raise InputError(f"{archive}: no such archive; give a tar (.tar, .gz, .bz2, .xz, .zst) or .zip file")
    budget = _Budget(archive)
    try:
        with archive.open("rb") as raw, TreeWriter(tree) as writer:
            start = raw.read(6)
            raw.seek(0)
            if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
                _unzip(raw, archive, writer, budget)
            else:
                _untar(_Counted(_opened(raw, start), budget), archive, writer, tree)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InfraError("sandbox_error", f"{archive}: no room to unpack it: {error.strerror}") from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{archive}: cannot be unpacked: {reason}; a tar (plain, gz, bz2, xz, zst) or a zip is expected"
        ) from error


def _wanted(archive: Path, name: str) -> str | None:
    """A member's path in the tree, or None for what stays behind."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or (".git" in (part.lower() for part in parts) and ".." not in parts):
        return None
    if len(parts) > MAX_DEPTH:
        raise InputError(f"{archive}: the entry {name[:80]!r}… is nested deeper than {MAX_DEPTH} directories; refused")
    path = name if name.startswith("/") else "/".join(parts)
    try:
        safe_parts(path)
    except InputError:
        raise InputError(
            f"{archive}: the entry {name!r} leads out of the tree; absolute names and '..' are refused"
        ) from None
    return path


def _check_link(archive: Path, path: str, target: str) -> None:
    inside = os.path.normpath(os.path.join(os.path.dirname(path), target))  # noqa: PTH118, PTH120  # pure text
    if target.startswith("/") or inside == ".." or inside.startswith("../"):
        raise InputError(f"{archive}: the link {path!r} leads out of the tree to {target!r}; refused")


def _untar(stream: _Counted, archive: Path, writer: TreeWriter, tree: Path) -> None:
    with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", errors="surrogateescape") as tar:
        for member in tar:
            stream.budget.entry()
            path = _wanted(archive, member.name)
            if path is None:
                continue
            if member.isdir():
                writer.directory(path)
            elif member.isreg():
                source = tar.extractfile(member)
                writer.file(path, stream.budget.pieces(source) if source else (), bool(member.mode & stat.S_IXUSR))
            elif member.issym():
                _check_link(archive, path, member.linkname)
                writer.link(path, os.fsencode(member.linkname))
            elif member.islnk():
                _copy_linked(archive, member, path, writer, tree, stream.budget)
            else:
                raise InputError(f"{archive}: the entry {member.name!r} is a device or pipe; refused")


def _copy_linked(
    archive: Path, member: tarfile.TarInfo, path: str, writer: TreeWriter, tree: Path, budget: _Budget
) -> None:
    """A hard link becomes a copy of the file it names, which must have come before it in the same archive."""
    target = _wanted(archive, member.linkname)
    fd = open_below(tree, target) if target else None
    if fd is None:
        raise InputError(
            f"{archive}: the hard link {path!r} names no file of the archive: {member.linkname!r}; refused"
        )
    with os.fdopen(fd, "rb") as source:
        executable = bool(os.fstat(fd).st_mode & stat.S_IXUSR)
        if target != path:
            writer.file(path, budget.pieces(source), executable)


def _unzip(raw: BinaryIO, archive: Path, writer: TreeWriter, budget: _Budget) -> None:
    with zipfile.ZipFile(raw) as bundle:
        for member in bundle.infolist():
            budget.entry()
            path = _wanted(archive, member.filename)
            mode = member.external_attr >> 16
            if path is None:
                continue
            if member.is_dir():
                writer.directory(path)
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFLNK):
                raise InputError(f"{archive}: the entry {member.filename!r} is a device or pipe; refused")
            if member.flag_bits & 0x1:
                raise InputError(
                    f"{archive}: the entry {member.filename!r} is encrypted; give an archive without a password"
                )
            with bundle.open(member) as stream:
                source = cast("IO[bytes]", _Counted(stream, budget))
                if stat.S_ISLNK(mode):
                    target = source.read(4096)
                    _check_link(archive, path, os.fsdecode(target))
                    writer.link(path, target)
                else:
                    writer.file(path, budget.pieces(source), bool(mode & stat.S_IXUSR))
