"""Writes into a tree by directory descriptors, so that no symlink in it can lead a write out of it."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from steelyard.errors import InputError
from steelyard.worktree.objects import write_all
from steelyard.worktree.remove import remove_directory

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def safe_parts(path: str) -> list[str]:
    """A relative path's parts; raises `InputError` for one that could lead out of a tree or into its `.git`."""
    parts = path.split("/")
    if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise InputError(f"{path!r} is no path inside a tree: it must be relative, without '..'")
    if ".git" in parts:
        raise InputError(f"{path!r} leads into .git, which is not part of a tree")
    return parts


class TreeWriter:
    """Puts files into one tree. With `replace`, whatever stands in the way of a file or directory is removed."""

    def __init__(self, root: Path, replace: bool = False) -> None:
        self._root = os.open(root, _DIR)
        self._replace = replace

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self._root)

    def directory(self, path: str) -> None:
        """Make a directory, with those above it."""
        os.close(self._open(safe_parts(path)))

    def file(self, path: str, chunks: Iterable[bytes], executable: bool = False) -> None:
        """Write a regular file in place of what was there."""
        *folders, name = safe_parts(path)
        parent = self._open(folders)
        try:
            self._clear(parent, name)
            fd = os.open(name, _NEW, 0o600, dir_fd=parent)
            try:
                for chunk in chunks:
                    write_all(fd, chunk)
                os.fchmod(fd, 0o755 if executable else 0o644)
            finally:
                os.close(fd)
        finally:
            os.close(parent)

    def link(self, path: str, target: bytes) -> None:
        """Make a symbolic link in place of what was there; where it leads is never looked at."""
        *folders, name = safe_parts(path)
        parent = self._open(folders)
        try:
            self._clear(parent, name)
            os.symlink(target, os.fsencode(name), dir_fd=parent)
        finally:
            os.close(parent)

    def remove(self, path: str) -> None:
        """Remove what stands there, and the directories above that it leaves empty."""
        parts = safe_parts(path)
        while parts:
            *folders, name = parts
            parent = self._find(folders)
            if parent is None:
                return
            try:
                if not self._take_away(parent, name):
                    return
            except OSError:
                return  # a directory that is not empty
            finally:
                os.close(parent)
            parts = folders

    def clear(self, path: str) -> None:
        """Remove what stands there; with `replace`, also a directory and all that it holds."""
        *folders, name = safe_parts(path)
        parent = self._find(folders)
        if parent is None:
            return
        try:
            if os.fstat(parent).st_mode & stat.S_IRWXU != stat.S_IRWXU:  # the agent took its own rights away
                os.fchmod(parent, stat.S_IRWXU)
            self._clear(parent, name)
        finally:
            os.close(parent)

    @staticmethod
    def _take_away(parent: int, name: str) -> bool:
        try:
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return True
        if stat.S_ISDIR(mode):
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)
        return True

    def _find(self, folders: list[str]) -> int | None:
        held = os.dup(self._root)
        for folder in folders:
            try:
                below = os.open(folder, _DIR, dir_fd=held)
            except OSError:
                return None
            finally:
                os.close(held)
            held = below
        return held

    def _open(self, folders: list[str]) -> int:
        held = os.dup(self._root)
        try:
            for folder in folders:
                below = self._enter(held, folder)
                os.close(held)
                held = below
        except BaseException:
            os.close(held)
            raise
        return held

    def _enter(self, parent: int, name: str) -> int:
        try:
            return os.open(name, _DIR, dir_fd=parent)
        except FileNotFoundError:
            pass
        except OSError:  # a file or a symlink stands where a directory has to be
            if not self._replace:
                raise InputError(f"{name!r} is no directory in the tree, so nothing can be put below it") from None
            self._clear(parent, name)
        os.mkdir(name, 0o755, dir_fd=parent)
        return os.open(name, _DIR, dir_fd=parent)

    def _clear(self, parent: int, name: str) -> None:
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except (IsADirectoryError, PermissionError):
            if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                raise
            if not self._replace:
                raise InputError(f"{name!r} is a directory in the tree, so no file can take its place") from None
            remove_directory(parent, name)
