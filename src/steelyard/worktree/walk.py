"""Walks a hostile tree by directory descriptors: no symlink is followed, no path is too long, no level is skipped."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import AgentError, InfraError

OPEN_LEVELS = 32
MAX_DEPTH = 1000
MAX_ENTRIES = 2_000_000
_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Enter = Callable[[str], bool]
Visit = Callable[[int, str, str], None]
"""Called with the directory's descriptor, the name in it, and the path in the tree, for all that is no directory."""


@dataclass(slots=True)
class _Level:
    """A directory that is being walked; a deep one's descriptor is closed for a while and found again by `..`."""

    fd: int
    prefix: str
    identity: tuple[int, int]
    todo: list[str] = field(default_factory=list)


def open_root(tree: Path) -> int | None:
    """A descriptor of the tree, or None when it is gone or was replaced by something that is no directory."""
    try:
        return _enterable(os.open(tree, _DIR))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        parent = os.open(tree.parent, _DIR)
        try:
            return _open_after_chmod(parent, tree.name, _DIR, stat.S_IRWXU)
        finally:
            os.close(parent)
    except OSError as error:
        if tree.is_symlink():
            return None
        raise InfraError("sandbox_error", f"cannot read the tree: {error.strerror}") from error


def walk(tree: Path, enter: Enter, visit: Visit) -> None:
    """Visit everything in the tree that is no directory; directories are walked when `enter` says so, `.git` never."""
    root = open_root(tree)
    if root is None:
        return
    levels = [_Level(root, "", _identity(root))]
    count = 0
    try:
        count += _list(levels[-1], enter, visit)
        while levels:
            top = levels[-1]
            if not top.todo:
                _leave(levels)
                continue
            name = top.todo.pop()
            fd = open_directory(top.fd, name)
            if fd is None:  # it is no directory any more: whatever stands there now is looked at instead
                visit(top.fd, name, top.prefix + name)
                continue
            levels.append(_Level(fd, f"{top.prefix}{name}/", _identity(fd)))
            if len(levels) > MAX_DEPTH:
                raise AgentError("bad_output", f"the tree is nested deeper than {MAX_DEPTH} directories")
            if len(levels) > OPEN_LEVELS:
                far = levels[-OPEN_LEVELS - 1]
                os.close(far.fd)
                far.fd = -1
            count += _list(levels[-1], enter, visit)
            if count > MAX_ENTRIES:
                raise AgentError("bad_output", f"the tree has more than {MAX_ENTRIES} files")
    finally:
        for level in levels:
            if level.fd >= 0:
                os.close(level.fd)


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _leave(levels: list[_Level]) -> None:
    """Go up one level, opening the directory above again when its descriptor had been closed."""
    below = levels.pop()
    try:
        if levels and levels[-1].fd < 0:
            levels[-1].fd = os.open("..", _DIR, dir_fd=below.fd)
            if _identity(levels[-1].fd) != levels[-1].identity:
                raise InfraError("sandbox_error", "the tree was moved while it was read")
    finally:
        os.close(below.fd)


def _list(level: _Level, enter: Enter, visit: Visit) -> int:
    count = 0
    with os.scandir(level.fd) as entries:
        for entry in entries:
            name = entry.name
            count += 1
            if name == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                if enter(level.prefix + name):
                    level.todo.append(name)
            else:
                visit(level.fd, name, level.prefix + name)
    return count


def open_directory(parent: int, name: str) -> int | None:
    """A descriptor of a directory in another, or None when no directory stands there; symlinks are no directories."""
    try:
        return _enterable(os.open(name, _DIR, dir_fd=parent))
    except FileNotFoundError:
        return None
    except PermissionError:
        return _open_after_chmod(parent, name, _DIR, stat.S_IRWXU)
    except OSError as error:
        if stat.S_ISDIR(_mode(parent, name)):
            raise InfraError("sandbox_error", f"cannot read the directory {name!r}: {error.strerror}") from error
        return None


def open_file(parent: int, name: str) -> int | None:
    """A descriptor to read a regular file, or None when it is gone or is no regular file; nothing else is opened.

    The caller knows from the directory that a regular file stands there; what was swapped in since is closed again.
    """
    try:
        fd: int | None = os.open(name, _FILE, dir_fd=parent)
    except FileNotFoundError:
        return None
    except PermissionError:
        fd = _open_after_chmod(parent, name, _FILE, stat.S_IRUSR)
    except OSError as error:
        if stat.S_ISREG(_mode(parent, name)):
            raise InfraError("sandbox_error", f"cannot read {name!r}: {error.strerror}") from error
        return None
    if fd is not None and not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    return fd


def open_below(root: Path, path: str) -> int | None:
    """A descriptor to read a regular file of a tree, by its path, however long; None when there is none."""
    held = open_root(root)
    *folders, name = path.split("/")
    for folder in folders:
        if held is None:
            return None
        above, held = held, open_directory(held, folder)
        os.close(above)
    if held is None:
        return None
    try:
        return open_file(held, name) if stat.S_ISREG(_mode(held, name)) else None
    finally:
        os.close(held)


def _mode(parent: int, name: str) -> int:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _enterable(fd: int) -> int:
    """The same directory; one of ours that can be listed but not entered (the agent took that right away) is opened."""
    found = os.fstat(fd)
    if not found.st_mode & stat.S_IXUSR and found.st_uid == os.geteuid():
        os.fchmod(fd, stat.S_IMODE(found.st_mode) | stat.S_IRWXU)
    return fd


def _open_after_chmod(parent: int, name: str, flags: int, bits: int) -> int | None:
    """Open what its owner may not read: an agent that takes away its own rights hides nothing."""
    try:
        held = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except FileNotFoundError:
        return None
    try:
        mode = os.fstat(held).st_mode
        if stat.S_ISLNK(mode):
            return None
        handle = f"/proc/self/fd/{held}"  # the one way to chmod exactly what is held, and no symlink's target
        try:
            os.chmod(handle, stat.S_IMODE(mode) | bits)  # noqa: PTH101  # a descriptor, not a path
            return os.open(handle, flags & ~os.O_NOFOLLOW)
        finally:
            if stat.S_ISREG(mode):
                os.chmod(handle, stat.S_IMODE(mode))  # noqa: PTH101
    except OSError as error:
        raise InfraError("sandbox_error", f"cannot read {name!r}: {error.strerror}") from error
    finally:
        os.close(held)
