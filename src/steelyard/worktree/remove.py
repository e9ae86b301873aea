"""Removing a directory that an agent could write to: of any depth, with any rights, and no symlink is followed."""

import os
import secrets
import stat
from pathlib import Path

from steelyard.errors import InfraError
from steelyard.worktree.walk import open_directory


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
    """Remove a directory of any depth and any rights: what is nested is first lifted to the top, level by level."""
    top = _own_directory(parent, name)
    if top is None:
        return
    unheard_of = f".lifted-{secrets.token_hex(8)}"  # a name that nobody could have taken before
    lifted = 0
    try:
        while folders := _remove_files(top):
            for folder in folders:
                below = _own_directory(top, folder)
                if below is None:
                    continue
                try:
                    for deeper in _remove_files(below):
                        held = _own_directory(below, deeper)
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


def _own_directory(parent: int, name: str) -> int | None:
    fd = open_directory(parent, name)
    if fd is not None and os.fstat(fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(fd, stat.S_IRWXU)
    return fd


def _remove_files(directory: int) -> list[str]:
    """Remove what is no directory and name the rest."""
    folders = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=directory)
    return folders
