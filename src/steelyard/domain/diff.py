r"""The change an agent made, parsed once and shared by all scorers.

Paths are `os.fsdecode`d: bytes that are not UTF-8 are lone surrogates. What is stored or shown goes through
`printable`, which writes such bytes as `\xNN`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

ChangeKind = Literal["added", "deleted", "modified", "renamed", "mode", "type"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file. `added` and `removed` are (line number, text) pairs, numbered from 1 on their own side."""

    path: str
    kind: ChangeKind
    old_path: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    binary: bool = False
    added: tuple[tuple[int, str], ...] = ()
    removed: tuple[tuple[int, str], ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path this change touches: a rename touches both its old and its new one."""
        return (self.path,) if self.old_path in (None, self.path) else (str(self.old_path), self.path)


@dataclass(frozen=True)
class Diff:
    """The whole change against the baseline; `patch` is git's own text, binary changes as `--binary` writes them."""

    patch: bytes = b""
    files: tuple[FileChange, ...] = field(default=())

    @cached_property
    def changed_files(self) -> tuple[str, ...]:
        """Every touched path, sorted, each once."""
        return tuple(sorted({path for change in self.files for path in change.paths}))


def printable(path: str) -> str:
    r"""A path as it is stored and shown: valid UTF-8 text, with undecodable bytes written as `\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
