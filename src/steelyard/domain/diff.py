r"""The change an agent made, parsed once and shared by all scorers.

Paths are `os.fsdecode`d: bytes that are not UTF-8 are lone surrogates. What is stored or shown goes through
`printable`, which writes such bytes as `\xNN`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

ChangeKind = Literal["added", "deleted", "modified", "renamed", "mode", "type"]
Lines = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    r"""One changed file. `added` and `removed` are (line number, text) pairs, numbered from 1 on their own side.

    A line ends at `\n` and nowhere else, as git counts; bytes that are not UTF-8 become U+FFFD. A change that was
    parsed from a patch reads its lines out of `hunks` when they are first asked for.
    """

    path: str
    kind: ChangeKind
    old_path: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    binary: bool = False
    added: Lines = ()
    removed: Lines = ()
    hunks: bytes = field(default=b"", repr=False, compare=False)

    @classmethod
    def parsed(cls, hunks: bytes, **fields: Any) -> "FileChange":
        """A change whose lines still stand in the hunks of its patch."""
        change = cls(**fields, hunks=hunks)
        if hunks:
            object.__delattr__(change, "added")
            object.__delattr__(change, "removed")
        return change

    def __getattr__(self, name: str) -> Any:
        if name not in ("added", "removed"):
            raise AttributeError(name)
        added, removed = read_lines(self.hunks)
        object.__setattr__(self, "added", added)
        object.__setattr__(self, "removed", removed)
        return added if name == "added" else removed

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


def read_lines(hunks: bytes) -> tuple[Lines, Lines]:
    """The added and the removed lines of a file's hunks."""
    added: list[tuple[int, str]] = []
    removed: list[tuple[int, str]] = []
    # No line of a hunk's body can start with `@`: each has its own ` `, `+`, `-` or `\` in front.
    for hunk in ("\n" + hunks.decode("utf-8", "replace")).split("\n@@ -")[1:]:
        head, *body = hunk.split("\n")
        old, new = (int(part.lstrip("+").split(",")[0]) for part in head.split(" ", 2)[:2])
        for line in body:
            mark = line[:1]
            if mark == "+":
                added.append((new, line[1:]))
                new += 1
            elif mark == "-":
                removed.append((old, line[1:]))
                old += 1
            elif mark == " ":
                old += 1
                new += 1
    return tuple(added), tuple(removed)


def printable(path: str) -> str:
    r"""A path as it is stored and shown: valid UTF-8 text, with undecodable bytes written as `\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
