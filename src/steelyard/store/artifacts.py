"""Content-addressed files: `ab/cdef….zst` holds, zstd-compressed, the bytes whose sha256 is `abcdef…`.

A file appears whole or not at all (written beside, synced, renamed). Writing comes before the database learns of it:
a crash in between leaves a file that nobody refers to, which `steelyard prune` removes.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from steelyard.domain.record import sha256
from steelyard.store.errors import NotFoundError, StoreError

_NAME = re.compile(r"[0-9a-f]{64}")
_LEVEL = 3


class Artifacts:
    """The directory of artifacts; threads and processes may share it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Where the artifact of that sha256 is kept."""
        if _NAME.fullmatch(name) is None:
            raise NotFoundError(f"'{name[:80]}' is not the sha256 of an artifact")
        return self.root / name[:2] / f"{name[2:]}.zst"

    def put(self, data: bytes) -> tuple[str, int]:
        """Keep some bytes; their sha256 and the size of the file. What is there already is only marked as used."""
        name = sha256(data)
        path = self.path(name)
        try:
            os.utime(path)  # tells `prune`, which spares what was used lately, that somebody is about to refer to it
            return name, path.stat().st_size
        except FileNotFoundError:
            return name, _write(path, data)

    def has(self, name: str) -> bool:
        """Whether the file is there."""
        return self.path(name).is_file()

    def get(self, name: str) -> bytes:
        """The bytes of that sha256, checked against it."""
        import zstandard

        path = self.path(name)
        try:
            packed = path.read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"artifact {name} is not at {path}; it was pruned or never copied here") from None
        try:
            data = zstandard.ZstdDecompressor().decompress(packed)
        except zstandard.ZstdError as error:
            raise StoreError(f"artifact {path} is damaged: {error}; restore it from a backup") from error
        if sha256(data) != name:
            raise StoreError(f"artifact {path} is damaged: its content has another sha256; restore it from a backup")
        return data

    def put_packed(self, name: str, packed: bytes) -> None:
        """Keep a compressed file as a backup holds it, after checking that it is what its name says."""
        import zstandard

        try:
            data = zstandard.ZstdDecompressor().decompress(packed)
        except zstandard.ZstdError as error:
            raise StoreError(f"artifact {name} in the backup is damaged: {error}") from error
        if sha256(data) != name:
            raise StoreError(f"artifact {name} in the backup is damaged: its content has another sha256")
        if not self.has(name):
            _write(self.path(name), data)

    def names(self) -> Iterator[str]:
        """The sha256 of every artifact file."""
        for path in self.root.glob("??/*.zst"):
            name = path.parent.name + path.name.removesuffix(".zst")
            if _NAME.fullmatch(name):
                yield name

    def leftovers(self) -> Iterator[Path]:
        """Half-written files of processes that were killed."""
        yield from self.root.glob("??/*.part")


def _write(path: Path, data: bytes) -> int:
    import zstandard

    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=f"{path.stem[:16]}-", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(packed)
            file.flush()
            os.fsync(file.fileno())
        Path(part).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(part).unlink()
        raise
    _sync_directory(path.parent)
    return len(packed)


def _sync_directory(path: Path) -> None:
    """Make a rename last through a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
