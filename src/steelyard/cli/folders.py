"""A folder that a command writes again and again, and never at the cost of what others put there."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from steelyard import __version__
from steelyard.errors import InputError

MARK = ".steelyard-view.json"
LARGEST_MARK = 50_000_000


def check_folder(folder: Path, *, force: bool) -> None:
    """`InputError` when the folder is something that we did not write, unless forced."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"-o {folder}: is there and no folder; choose another name")
    try:
        if force or not folder.exists() or (folder / MARK).is_file() or not any(folder.iterdir()):
            return
    except OSError as error:
        raise InputError(f"-o {folder}: can't be read: {error.strerror}") from None
    raise InputError(f"-o {folder}: has files in it that were not written by this command; choose another, or --force")


@contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """An empty folder on the same disk, gone afterwards: half of a job is never seen under the folder's name."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=".steelyard-view-", dir=folder.parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise InputError(f"-o {folder}: can't be written: {error.strerror}") from None
    with scratch as name:
        yield Path(name)


def put_in_place(made: Path, folder: Path, files: list[str], experiment: str) -> None:
    """Move what was made into the folder; files of the last time that are not made any more are removed."""
    try:
        folder.mkdir(exist_ok=True)
        for name in _before(folder):
            (folder / name).unlink(missing_ok=True)
        for name in files:
            target = folder / name
            _refuse_links(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made / name, target)
        mark = {"written_by": f"steelyard view {__version__}", "experiment": experiment, "files": files}
        (folder / MARK).write_text(json.dumps(mark, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"-o {folder}: can't be written: {error.strerror or error}") from None


def _before(folder: Path) -> list[str]:
    """The files of the last time, as far as they are plain files inside the folder."""
    mark = folder / MARK
    try:
        found = json.loads(mark.read_text()) if mark.stat().st_size < LARGEST_MARK else {}
    except (OSError, ValueError):
        return []
    listed = found.get("files") if isinstance(found, dict) else None
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    inside = [name for name in names if not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts]
    return [name for name in inside if (folder / name).is_file() and not _linked(folder, name)]


def _linked(folder: Path, name: str) -> bool:
    """Whether a way inside the folder leads over a symbolic link."""
    at = folder
    for part in PurePosixPath(name).parts:
        at /= part
        if at.is_symlink():
            return True
    return False


def _refuse_links(folder: Path, name: str) -> None:
    if _linked(folder, name):
        raise InputError(f"-o {folder}: {name} leads over a symbolic link; remove it, or choose another folder")
