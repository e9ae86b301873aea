"""A private place for trees, gone when its harness ends; those of killed harnesses are found by their free locks."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from steelyard.worktree.remove import remove_tree

PREFIX = "steelyard-"
LOCK = ".steelyard-scratch"
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
    """A new directory in a folder, held by a lock that the kernel lets go however this process ends."""
    place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    held = _locked(place)
    try:
        yield place
    finally:
        remove_tree(place)
        os.close(held)


def _locked(place: Path) -> int:
    """The lock, taken before it has the name by which others look for it."""
    fresh = place / f"{LOCK}.new"
    held = os.open(fresh, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    with suppress(OSError):  # a file system without locks: nobody else can take it there either
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fresh.rename(place / LOCK)
    return held


def sweep(folder: Path) -> int:
    """Remove the places in a folder whose harness is gone; say how many."""
    try:
        places = list(folder.glob(f"{PREFIX}*"))
    except OSError:  # a folder that this user may not look into
        return 0
    return sum(map(_removed, places))


def _removed(place: Path) -> bool:
    try:
        held = os.open(place / LOCK, _FLAGS)
    except OSError:
        return False  # no place of ours, or another user's
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # somebody works there
    else:
        remove_tree(place)
        return not place.exists()
    finally:
        os.close(held)
