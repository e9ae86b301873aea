"""Removing a directory that an agent could write to: of any depth, with any rights, and no symlink is followed."""

import fcntl
import os
import secrets
import stat
import struct
from pathlib import Path

from steelyard.errors import InfraError
from steelyard.worktree.walk import open_directory

ORDINARY = 40  # directories within each other
# Linux: what `lsattr` shows and `chattr` sets; the numbers are those of 64-bit systems.
_GET_FLAGS, _SET_FLAGS, _IMMUTABLE, _APPEND_ONLY = 0x80086601, 0x40086602, 0x10, 0x20


def remove_tree(place: Path) -> None:
    """Remove a tree, whatever an agent made of it; what can't be removed stays, and it is no error."""
    try:
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
            return
        parent = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove_directory(parent, place.name)
        finally:
            os.close(parent)
    except (OSError, InfraError):
        return


def remove_directory(parent: int, name: str) -> None:
    """Remove a directory of any depth and any rights; where that is refused, once more with every lock taken off."""
    try:
        _remove_plain(parent, name, ORDINARY)
    except (OSError, RecursionError):
        try:
            _remove(parent, name, locked=False)
        except PermissionError:
            _remove(parent, name, locked=True)


def _remove_plain(parent: int, name: str, depth: int) -> None:
    """An ordinary tree, in the shortest way; anything odd is an error, and left to the others."""
    if not depth:
        raise RecursionError
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        with os.scandir(fd) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    _remove_plain(fd, entry.name, depth - 1)
                else:
                    os.unlink(entry.name, dir_fd=fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent)


def _remove(parent: int, name: str, *, locked: bool) -> None:
    """What is nested is first lifted to the top, level by level."""
    top = _own_directory(parent, name, locked=locked)
    if top is None:
        return
    unheard_of = f".lifted-{secrets.token_hex(8)}"  # a name that nobody could have taken before
    lifted = 0
    try:
        while folders := _remove_files(top, locked=locked):
            for folder in folders:
                below = _own_directory(top, folder, locked=locked)
                if below is None:
                    continue
                try:
                    for deeper in _remove_files(below, locked=locked):
                        held = _own_directory(below, deeper, locked=locked)
                        if held is not None:
                            os.close(held)
                        lifted += 1
                        os.rename(deeper, f"{unheard_of}-{lifted}", src_dir_fd=below, dst_dir_fd=top)
                finally:
                    os.close(below)
                os.rmdir(folder, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _own_directory(parent: int, name: str, *, locked: bool) -> int | None:
    fd = open_directory(parent, name)
    if fd is not None and locked:
        _unlock(fd)
    if fd is not None and os.fstat(fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(fd, stat.S_IRWXU)
    return fd


def _unlock(fd: int) -> None:
    """Take back what makes a file or directory unchangeable (`chattr +i`, `+a`), where this account may."""
    try:
        flags = struct.unpack("l", fcntl.ioctl(fd, _GET_FLAGS, struct.pack("l", 0)))[0]
        if flags & (_IMMUTABLE | _APPEND_ONLY):
            fcntl.ioctl(fd, _SET_FLAGS, struct.pack("l", flags & ~(_IMMUTABLE | _APPEND_ONLY)))
    except OSError:  # a file system without such flags, or an account without the right
        return


def _unlock_file(directory: int, name: str) -> None:
    if stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        try:
            _unlock(fd)
        finally:
            os.close(fd)


def _remove_files(directory: int, *, locked: bool) -> list[str]:
    """Remove what is no directory and name the rest."""
    folders = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                if locked:
                    _unlock_file(directory, entry.name)
                os.unlink(entry.name, dir_fd=directory)
    return folders
