"""Both sides of every changed test file as text, within bounds, and what was left out."""

import codecs
import json
import re
from dataclasses import dataclass, replace

from steelyard.domain.diff import FileChange, Lines
from steelyard.domain.evidence import Evidence
from steelyard.scorers.encodings import UNREAD, declared, decoded
from steelyard.scorers.integrity.large import LARGEST, READ, differing
from steelyard.scorers.integrity.paths import family_of, is_test_path, may_hold_inline_tests

MAX_CHARS, LONGEST = 2_000_000, 8_000_000
_ESCAPED = frozenset({"unicode-escape", "raw-unicode-escape", "unicode_escape", "raw_unicode_escape", "utf-7"})
_HEADING = re.compile(r"\b(?:def|class|func|fn|fun|void|it|test|describe)\b|^[ \t]*(?:[@\[]|#\[)")
_COMMENT = re.compile(r"[ \t]*(?:#(?!\[)|//(?!go:build|[ ]?\+build))")
_INLINE_RUST = re.compile(rb"#\[\s*(?:cfg\s*\(\s*test\b|(?:\w+::)?test\b)")


@dataclass(frozen=True, slots=True)
class Source:
    """One changed test file: None is a side on which the file is not there.

    `unread`: the change made it larger than any test, so that nobody can say what is in it.
    """

    path: str
    old_path: str
    before: str | None
    after: str | None
    note: str = ""
    unread: bool = False


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
        seen = _cut(change, old, (was, is_now), (change.removed, change.added), "changed lines only")
        return replace(seen, unread=False)
    if max(len(before or b""), len(after or b"")) > MAX_CHARS:
        return _large(change, old, (was, is_now), before or b"", after or b"")
    sides = (old, before if was else None), (change.path, after if is_now else None)
    note = UNREAD if any(raw is not None and _unreadable(path, raw) for path, raw in sides) else ""
    text = [None if raw is None else decode(path, raw) for path, raw in sides]
    return Source(change.path, old, text[0], text[1], note)


def _large(change: FileChange, old: str, there: tuple[bool, bool], before: bytes, after: bytes) -> Source:
    """A file of which only changed lines are read; where the diff has none, they are looked for here."""
    lines: tuple[Lines, Lines] | None = (change.removed, change.added)
    if not change.removed and not change.added and before != after:
        lines = differing(before, after)
    unread = there[1] and len(after) > LARGEST >= len(before)
    full = max(len(before), len(after)) < READ
    if lines is None or unread or not full:
        note = "too large to be read"
    else:
        note = f"larger than {MAX_CHARS // 1_000_000} MB, changed lines only"
    source = _cut(change, old, there, lines or ((), ()), note, declared(after) if _is_python(change.path) else "")
    padded = change.kind != "added" and len(before) <= MAX_CHARS and source.unread
    return replace(source, unread=unread or padded or lines is None)


def _cut(
    change: FileChange, old: str, there: tuple[bool, bool], lines: tuple[Lines, Lines], note: str, coded: str = ""
) -> Source:
    (first, _), (second, whole) = (_hunk_side(*side) for side in zip((old, change.path), lines, strict=True))
    sides = [first, second]
    if coded in _ESCAPED:
        sides = [decoded(side.encode("utf-8", "replace"), coded) or side for side in sides]
    text = [side if here else None for side, here in zip(sides, there, strict=True)]
    return Source(change.path, old, text[0], text[1], note, there[1] and not whole)


def _hunk_side(path: str, lines: Lines) -> tuple[str, bool]:
    """The changed lines of one side, and whether none that may matter is left out; lines far apart are kept apart.

    Of very many lines, those count that a rule may match or that begin a test.
    """
    if sum(len(text) + 1 for _, text in lines) > MAX_CHARS:
        lines = tuple(line for line in lines if not _COMMENT.match(line[1]) and _matters(path, line[1]))
    parts: list[str] = []
    size, last, whole = 0, 0, True
    for number, text in lines:
        if size + len(text) + 1 > MAX_CHARS:
            whole = False
            continue
        size += len(text) + 1
        if last and number > last + 1:
            parts.append("")
        parts.append(text.rstrip("\r\n"))
        last = number
    return "\n".join(parts), whole


def _matters(path: str, text: str) -> bool:
    """Whether a line may hold a check or a skip, or begin a test; a line too long to be kept: whether it does."""
    from steelyard.scorers.integrity.lines import RULES

    rules = RULES[family_of(path) or "javascript"]
    if len(text) <= MAX_CHARS:
        return any(word.search(text) for word in (rules.check.words, rules.skip.words, _HEADING))
    return len(text) > LONGEST or any(next(rule.matches(text), None) for rule in (rules.check, rules.skip))


def _is_python(path: str) -> bool:
    return family_of(path) == "python" and not path.endswith(".ipynb")


def _unreadable(path: str, raw: bytes) -> bool:
    name = declared(raw) if _is_python(path) else ""
    return bool(name) and decoded(raw, name) is None


def decode(path: str, raw: bytes) -> str:
    """The text of a file in whatever encoding it declares; never fails, and a notebook gives its code cells."""
    name = declared(raw) if _is_python(path) else ""
    text = (decoded(raw, name) if name else None) or _decode(raw)
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
