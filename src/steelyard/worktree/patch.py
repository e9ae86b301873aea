r"""Reads git's patches: fast, because a line of a file's content can never look like a header.

Each line of a hunk has ` `, `+`, `-` or `\` in front and a line of a binary patch holds no space, so `diff --git` at
a line's start always opens the next file. Names with odd characters are quoted by git and never break a line.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from steelyard.domain.diff import ChangeKind, FileChange
from steelyard.errors import InputError

_START = b"diff --git "
_BINARY = b"\nGIT binary patch\n"
_ESCAPE = re.compile(rb"\\([abtnvfr\"\\]|[0-3][0-7]{2})")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(slots=True)
class Section:
    """What a patch says about one file."""

    old_path: str
    new_path: str
    old_mode: int | None = None
    new_mode: int | None = None
    old_id: str = ""
    new_id: str = ""
    created: bool = False
    deleted: bool = False
    renamed: bool = False
    hunks: bytes = field(default=b"", repr=False)
    binary: bytes | None = field(default=None, repr=False)
    noted: bool = False
    """Binary, and the patch leaves the content out."""


def parse_patch(patch: bytes) -> tuple[FileChange, ...]:
    """Every file of a patch; a file that became something else (a symlink, say) is one change of kind `type`."""
    changes: list[FileChange] = []
    previous: Section | None = None
    for section in sections(patch):
        if previous is not None and _replaces(previous, section):
            changes[-1] = _type_change(previous, section)
        else:
            changes.append(_change(section))
        previous = section
    return tuple(changes)


def _replaces(first: Section, second: Section) -> bool:
    return first.deleted and second.created and first.old_path == second.new_path


def _octal(mode: int | None) -> str | None:
    return None if mode is None else f"{mode:06o}"


def _change(section: Section) -> FileChange:
    old, new = section.old_mode, section.new_mode
    kind: ChangeKind = "modified"
    if section.created or section.deleted:
        kind = "added" if section.created else "deleted"
    elif section.renamed:
        kind = "renamed"
    elif old is not None and new is not None and stat.S_IFMT(old) != stat.S_IFMT(new):
        kind = "type"
    elif old != new and not section.hunks and section.binary is None and not section.noted:
        kind = "mode"
    return FileChange.parsed(
        section.hunks,
        path=section.old_path if section.deleted else section.new_path,
        kind=kind,
        old_path=section.old_path if section.renamed else None,
        old_mode=_octal(old),
        new_mode=_octal(new),
        binary=section.binary is not None or section.noted,
    )


def _type_change(first: Section, second: Section) -> FileChange:
    return FileChange.parsed(
        b"\n".join(part for part in (first.hunks, second.hunks) if part),
        path=second.new_path,
        kind="type",
        old_mode=_octal(first.old_mode),
        new_mode=_octal(second.new_mode),
        binary=any(part.binary is not None or part.noted for part in (first, second)),
    )


def sections(patch: bytes) -> Iterator[Section]:
    """The files of a patch, one by one; raises `InputError` when it is not git's."""
    if not patch:
        return
    if not patch.startswith(_START):
        raise InputError("this is not a patch that git wrote: it does not start with 'diff --git'")
    at = 0
    while at >= 0:
        end = patch.find(b"\n" + _START, at)
        chunk = patch[at + len(_START) : end if end >= 0 else len(patch) - patch.endswith(b"\n")]
        try:
            yield _section(chunk)
        except (ValueError, IndexError) as error:
            raise InputError(f"the patch is damaged near byte {at}: {error}") from error
        at = end + 1 if end >= 0 else -1


def _section(chunk: bytes) -> Section:
    cut = chunk.find(b"\n@@ -")
    hunks = chunk[cut + 1 :] if cut >= 0 else b""
    binary: bytes | None = None
    if cut < 0 and (cut := chunk.find(_BINARY)) >= 0:
        binary = chunk[cut + len(_BINARY) :]
    first, *lines = (chunk if cut < 0 else chunk[:cut]).split(b"\n")
    section = Section("", "", hunks=hunks, binary=binary)
    for line in lines:
        _header(section, line)
    if not section.new_path and not section.old_path:
        section.old_path = section.new_path = _both_names(first)
    section.old_path = section.old_path or section.new_path
    section.new_path = section.new_path or section.old_path
    return section


def _header(section: Section, line: bytes) -> None:
    word, _, rest = line.partition(b" ")
    if word == b"---" and rest != b"/dev/null":
        section.old_path = _name(rest.removesuffix(b"\t"), b"a/")
    elif word == b"+++" and rest != b"/dev/null":
        section.new_path = _name(rest.removesuffix(b"\t"), b"b/")
    elif word == b"index":
        ids, _, mode = rest.partition(b" ")
        section.old_id, _, section.new_id = ids.decode("ascii").partition("..")
        if mode:
            section.old_mode = section.new_mode = int(mode, 8)
    elif line.startswith((b"old mode ", b"deleted file mode ")):
        section.old_mode = int(line.rpartition(b" ")[2], 8)
        section.deleted = word == b"deleted"
    elif line.startswith((b"new mode ", b"new file mode ")):
        section.new_mode = int(line.rpartition(b" ")[2], 8)
        section.created = line.startswith(b"new file")
    elif line.startswith(b"rename from "):
        section.old_path, section.renamed = _name(line[12:]), True
    elif line.startswith(b"rename to "):
        section.new_path = _name(line[10:])
    elif line.startswith(b"Binary files "):
        section.noted = True


def _both_names(line: bytes) -> str:
    """The one name in `a/NAME b/NAME`, which may hold spaces."""
    if line.startswith(b'"'):
        return _name(line[: len(line) // 2], b"a/")
    half = len(line) // 2
    if line[half : half + 1] != b" " or line[2:half] != line[half + 3 :]:
        raise ValueError("its file has no name")
    return _name(line[:half], b"a/")


def _name(quoted: bytes, prefix: bytes = b"") -> str:
    if quoted.startswith(b'"'):
        quoted = _ESCAPE.sub(_unescape, quoted.strip()[1:-1])
    if not quoted.startswith(prefix):
        raise ValueError(f"a file's name does not start with {prefix.decode()}")
    return os.fsdecode(quoted[len(prefix) :])


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if code.isdigit() else _ESCAPED.get(code, code)


def quoted_name(path: str, prefix: bytes) -> bytes:
    """A name as git writes it in a patch's header."""
    name = prefix + os.fsencode(path)
    if all(0x20 <= c < 0x7F and c not in b'"\\' for c in name):
        return name
    short = {c: b"\\" + k for k, v in _ESCAPED.items() for c in v} | {0x22: b'\\"', 0x5C: b"\\\\"}
    return b'"' + b"".join(short.get(c) or (bytes([c]) if 0x20 <= c < 0x7F else b"\\%03o" % c) for c in name) + b'"'
