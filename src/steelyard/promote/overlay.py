"""The files that an arm adds, read so that nothing leads out of the repository they are meant for."""

import os
import posixpath
import stat
from pathlib import Path

from steelyard.errors import InputError
from steelyard.promote.repo import NewFile
from steelyard.worktree.walk import open_file, walk

LARGEST = 32 * 1024 * 1024


def read_overlay(folder: Path, into: str) -> list[NewFile]:
    """Every file of an overlay, with its place in the repository; a symlink that leads out is refused."""
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"the overlay {folder} is no directory; it was one when the suite ran")
    found: list[NewFile] = []

    def visit(parent: int, name: str, path: str) -> None:
        place = f"{into}/{path}" if into else path
        if any(part.lower() == ".git" for part in path.split("/")):
            raise InputError(f"the overlay {folder} holds {path}; git's own files are never promoted")
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            found.append(NewFile(place, "120000", _target(os.readlink(name, dir_fd=parent), place, folder)))
        elif stat.S_ISREG(status.st_mode):
            found.append(NewFile(place, "100755" if status.st_mode & 0o100 else "100644", _read(parent, name, folder)))
        else:
            raise InputError(f"the overlay {folder} holds {path}, which is no file; take it out")

    walk(folder, lambda path: path != ".steelyard", visit)
    return sorted(found, key=lambda file: file.path)


def _target(target: str, place: str, folder: Path) -> bytes:
    """Where a link leads, if that is inside the repository."""
    end = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
    if target.startswith("/") or end == ".." or end.startswith("../") or ".git" in end.lower().split("/"):
        raise InputError(f"the overlay {folder} holds the link {place} → {target}, which leads out of the repository")
    return os.fsencode(target)


def _read(parent: int, name: str, folder: Path) -> bytes:
    descriptor = open_file(parent, name)
    if descriptor is None:
        raise InputError(f"the overlay {folder} changed while it was read; try again")
    with open(descriptor, "rb") as stream:  # noqa: PTH123  # a descriptor
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"the overlay {folder} holds {name}, larger than {LARGEST // 1024 // 1024} MiB; take it out")
    return data
