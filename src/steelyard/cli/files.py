"""Writing a file whole or not at all."""

import os
import tempfile
from pathlib import Path

from steelyard.errors import InputError


def write_whole(path: Path, text: str) -> None:
    """Write a text file in one step: a reader sees the old file or the new one, never half of it."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory; a file is expected")
    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        path.write_text(text, "utf-8", errors="backslashreplace")
        return
    try:
        handle, scratch = tempfile.mkstemp(prefix=f".{path.name[:50]}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.write(text)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(scratch, mode)  # noqa: PTH101  # a name, not a path
        os.replace(scratch, path.resolve())  # noqa: PTH105  # a link stays a link
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror}") from None
    finally:
        Path(scratch).unlink(missing_ok=True)


def _umask() -> int:
    """The mask of new files, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
