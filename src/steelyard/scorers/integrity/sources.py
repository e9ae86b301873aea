"""Both sides of every changed test file as text, within bounds, and what was left out."""

import codecs
import json
import re
from dataclasses import dataclass

from steelyard.domain.diff import FileChange
from steelyard.domain.evidence import Evidence
from steelyard.scorers.integrity.paths import is_test_path, may_hold_inline_tests

MAX_CHARS = 2_000_000
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_INLINE_RUST = re.compile(rb"#\[\s*(?:cfg\s*\(\s*test\b|(?:\w+::)?test\b)")


@dataclass(frozen=True, slots=True)
class Source:
    """One changed test file: None is a side on which the file is not there."""

    path: str
    old_path: str
    before: str | None
    after: str | None
    note: str = ""


def concerns_tests(evidence: Evidence, globs: tuple[str, ...]) -> bool:
    """Whether a changed file may hold tests, by its path alone; most changes load nothing more of this folder."""
    for change in evidence.diff.files:
        if any(is_test_path(path, globs) for path in change.paths):
            return True
        if not globs and may_hold_inline_tests(change.path):
            return True
    return False


def sources(evidence: Evidence, globs: tuple[str, ...]) -> list[Source]:
    """Every changed test file; a file that stops being a test by its new path counts as gone."""
    found = []
    for change in evidence.diff.files:
        source = _source(evidence, change, globs)
        if source is not None:
            found.append(source)
    return found


def _source(evidence: Evidence, change: FileChange, globs: tuple[str, ...]) -> Source | None:
    old = change.old_path or change.path
    was, is_now = is_test_path(old, globs), is_test_path(change.path, globs)
    inline = not (was or is_now or globs) and may_hold_inline_tests(change.path)
    if not (was or is_now or inline):
        return None
    before = evidence.before(old) if change.kind != "added" else None
    after = evidence.after(change.path) if change.kind != "deleted" else None
    if inline:
        # Both sides are read if either holds tests: a lost mark is what there is to see.
        holds = any(_INLINE_RUST.search(side) is not None for side in (before, after) if side is not None)
        was, is_now = holds and before is not None, holds and after is not None
    if not (was or is_now):
        return None
    if change.kind == "added" and not was:
        old = change.path
    if before is None and after is None:
        text = (_hunk_side(change.removed), _hunk_side(change.added))
        return Source(change.path, old, text[0] if was else None, text[1] if is_now else None, "changed lines only")
    too_big = max(len(before or b""), len(after or b"")) > MAX_CHARS
    if too_big:
        text = (_hunk_side(change.removed), _hunk_side(change.added))
        note = f"larger than {MAX_CHARS // 1_000_000} MB, changed lines only"
        return Source(change.path, old, text[0] if was else None, text[1] if is_now else None, note)
    return Source(
        change.path,
        old,
        decode(old, before) if was and before is not None else None,
        decode(change.path, after) if is_now and after is not None else None,
    )


def _hunk_side(lines: tuple[tuple[int, str], ...]) -> str:
    """The changed lines of one side; lines far apart are kept apart."""
    parts: list[str] = []
    size, last = 0, 0
    for number, text in lines:
        size += len(text) + 1
        if size > MAX_CHARS:
            break
        if last and number > last + 1:
            parts.append("")
        parts.append(text.rstrip("\r\n"))
        last = number
    return "\n".join(parts)


def decode(path: str, raw: bytes) -> str:
    """The text of a file in whatever encoding it declares; never fails, and a notebook gives its code cells."""
    text = _decode(raw)
    if path.endswith(".ipynb"):
        text = _cells(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", " ")


def _decode(raw: bytes) -> str:
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if raw.startswith(mark):
            return raw[len(mark) :].decode(name, "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    for line in raw[:500].split(b"\n")[:2]:
        cookie = _COOKIE.match(line)
        if cookie is not None:
            try:
                return raw.decode(cookie.group(1).decode("ascii"), "replace")
            except (LookupError, UnicodeError, TypeError, ValueError):
                break
    return raw.decode("latin-1")


def _cells(text: str) -> str:
    """The code cells of a notebook one after the other; shell and magic lines become comments."""
    try:
        document = json.loads(text)
        cells = document["cells"] if "cells" in document else document["worksheets"][0]["cells"]
        found = []
        for cell in cells:
            if cell.get("cell_type") == "code":
                source = cell.get("source", cell.get("input", ""))
                found.append(source if isinstance(source, str) else "".join(map(str, source)))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return text
    return re.sub(r"(?m)^(\s*)[%!]", r"\1# ", "\n\n".join(found))
