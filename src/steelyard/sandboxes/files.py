"""A sandbox's own directories: read and write in them without ever following a symlink, measure and remove them."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from steelyard.errors import InfraError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Places:
    """The directories of a sandbox: inside path to host directory. Relative paths start at the first, the tree."""

    def __init__(self, places: Mapping[str, Path]) -> None:
        self.places = dict(places)
        self.tree = next(iter(places))
        self._deepest = sorted(
            ((_names(inside), host) for inside, host in places.items()), key=lambda one: -len(one[0])
        )

    def locate(self, path: str) -> tuple[Path, tuple[str, ...]] | None:
        """The host directory a path belongs to, and the names below it; None when it leads elsewhere."""
        names = _names(path if path.startswith("/") else f"{self.tree}/{path}")
        if ".." in names or "\0" in path:
            return None
        for inside, host in self._deepest:
            if names[: len(inside)] == inside:
                return host, names[len(inside) :]
        return None

    def read(self, path: str, limit: int) -> bytes | None:
        """A regular file's first bytes, or None."""
        found = self.locate(path)
        if found is None or not found[1]:
            return None
        try:
            directory = _open_below(found[0], found[1][:-1])
        except OSError:
            return None
        try:
            fd = os.open(found[1][-1], _FILE, dir_fd=directory)
        except OSError:
            return None
        finally:
            os.close(directory)
        try:
            return _read_up_to(fd, limit) if stat.S_ISREG(os.fstat(fd).st_mode) else None
        finally:
            os.close(fd)

    def write(self, path: str, data: bytes) -> None:
        """Write a file whole, or leave what was there; a link or file in the way of a directory is replaced."""
        found = self.locate(path)
        if found is None or not found[1]:
            raise InfraError("sandbox_error", f"cannot write {path!r}: it is not in the sandbox's own directories")
        part = f".{secrets.token_hex(8)}"
        try:
            directory = _open_below(found[0], found[1][:-1], make=True)
            try:
                fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=directory)
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                os.rename(part, found[1][-1], src_dir_fd=directory, dst_dir_fd=directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise InfraError("sandbox_error", f"cannot write {path!r}: {error.strerror}") from error

    def used_mb(self) -> float:
        """What all files in here take on the disk."""
        return sum(_blocks(directory) for directory in self.places.values()) / 2048


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def _open_below(root: Path, names: tuple[str, ...], make: bool = False) -> int:
    """A directory below a root, opened name by name, so that no symlink on the way is followed."""
    here = os.open(root, _DIRECTORY)
    for name in names:
        try:
            try:
                below = os.open(name, _DIRECTORY, dir_fd=here)
            except OSError:
                if not make:
                    raise
                _make_directory(name, here)
                below = os.open(name, _DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _make_directory(name: str, parent: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
    os.mkdir(name, 0o755, dir_fd=parent)


def _read_up_to(fd: int, limit: int) -> bytes:
    parts, left = [], limit
    while left > 0 and (part := os.read(fd, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _blocks(root: Path) -> int:
    """How many blocks of 512 bytes the files below take; a file with several names counts once."""
    total, waiting, seen = 0, [os.fspath(root)], set[tuple[int, int]]()
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(info.st_mode):
                    waiting.append(entry.path)
                elif info.st_nlink > 1:
                    if (info.st_dev, info.st_ino) in seen:
                        continue
                    seen.add((info.st_dev, info.st_ino))
                total += info.st_blocks
    return total


def ensure_directory(path: Path) -> None:
    """Make sure that a real directory stands there: an agent may have removed it or put something else there."""
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            return
        path.unlink()
    except FileNotFoundError:
        pass
    path.mkdir(parents=True, exist_ok=True)


def remove(paths: Iterable[Path]) -> None:
    """Remove directories with all they hold, also what an agent made unreadable. Nothing may run in them any more."""
    for path in paths:
        try:
            path.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            _remove_full(path)


def _remove_full(path: Path) -> None:
    import shutil

    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for directory, _, _ in os.walk(path, onerror=lambda error: None):
        if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            Path(directory).chmod(0o700)
        for entry in os.scandir(directory):
            if entry.is_dir(follow_symlinks=False) and not os.access(entry.path, os.R_OK | os.W_OK | os.X_OK):
                Path(entry.path).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
