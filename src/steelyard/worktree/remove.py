"""Removing a directory that an agent could write to."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path


def remove_tree(place: Path) -> None:
    """Remove a directory, also where an agent took away the right to."""

    def unlock(function: Callable[[str], object], path: str, _error: object) -> None:
        os.chmod(Path(path).parent, 0o700)  # noqa: PTH101  # rmtree hands over strings
        if not Path(path).is_symlink() and Path(path).is_dir():
            os.chmod(path, 0o700)  # noqa: PTH101
        try:
            function(path)
        except OSError:
            return

    shutil.rmtree(place, onerror=unlock)
    shutil.rmtree(place, ignore_errors=True)
