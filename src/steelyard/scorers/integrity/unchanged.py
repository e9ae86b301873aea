"""Empties what stands the same on both sides of a file: a test, helper or class that did not change needs no reading.

A unit goes only where both sides have it, letter for letter, in the same place (under the same headings, between the
same lines), and where it leaves no string, comment or bracket open or closed that was not. Line ends stay, so that
every other line keeps its number.

What is left may still decide what became of a unit: a changed test above it may open a comment, a string or a block
that a changed test below it closes. `Emptied.lines` tells where units went, so that a reader can compare what stands
around those places on both sides.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate

SMALL = 2_000
DEEPEST = 6
_STARTS = {
    "python": r"(?:async[ \t]+def|def|class)\b",
    "script": r"(?:export[ \t]+)?(?:(?:[fx]?(?:it|test|describe|context|suite|specify))\b[^\n;]*$"
    r"|(?:async[ \t]+)?function\b)",
    "go": r"func\b",
    "rust": r"(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:async[ \t]+)?(?:fn|mod)\b",
    "ruby": r"(?:[fx]?(?:it|specify|example|scenario|describe|context|feature)|test|def|class|module|RSpec)\b",
    "jvm": r"(?:[\w<>\[\],.?@]+[ \t]+){1,12}(?:\w+[ \t]*\([^;\n]*|class\b[^\n;]*|`[^`\n]+`[ \t]*\([^;\n]*)$",
}
_FAMILY = {"javascript": "script", "typescript": "script", "tsx": "script"} | dict.fromkeys(
    ("java", "kotlin", "csharp"), "jvm"
)
_GROUP = {
    "python": r"class\b",
    "script": r"(?:export[ \t]+)?[fx]?(?:describe|context|suite)\b",
    "go": r"(?!)",
    "rust": r"(?:pub[^\n]*[ \t])?mod\b",
    "ruby": r"(?:[fx]?(?:describe|context|feature)|class|module|RSpec)\b",
    "jvm": r"[^\n(]*\bclass\b",
}
_WORN = {"python": "@", "jvm": "[@[]", "rust": r"#\["}
# Lines that change nothing about the tests around them. What a test framework is called here does.
_PLAIN = re.compile(
    r"[ \t]*(?:$|(?:#(?!\[)|//)(?!.*\*/)"
    r"|(?:import|from|using|use)\b(?!.*(?:pytest|unittest|nose|skip|mark|ignore|test\b|[=(`]|;.|\*/|\"\"\"|''')).*$"
    r"|(?:[\w.]+[ \t]+)?\"[\w./-]+\"$)"
)
_LONG = {"python": ('"""', "'''"), "script": ("`",), "go": ("`",), "jvm": ('"""',), "rust": ('"',)}


@dataclass(frozen=True, slots=True)
class _Unit:
    """A part of one side: where it begins (with what it wears), where its heading ends, where it ends."""

    start: int
    inner: int
    end: int
    text: str
    heading: str
    indent: str
    group: bool


@dataclass(frozen=True, slots=True)
class Emptied:
    """Both sides without their common units, and of each side the lines (from 0) where such a unit began.

    Of units that stand next to each other on both sides the first is named for all.
    """

    before: str
    after: str
    lines: tuple[tuple[int, ...], tuple[int, ...]]


@lru_cache(maxsize=2)  # what could not be parsed is asked for again by the line rules
def without_unchanged(family: str, before: str, after: str) -> Emptied | None:
    """Both sides with their common units emptied; None where there is nothing to empty, or little to gain."""
    if min(len(before), len(after)) <= SMALL or before == after:
        return None
    kind = _FAMILY.get(family, family)
    gone: tuple[list[_Unit], list[_Unit]] = ([], [])
    _match(kind, (before, after), ((0, len(before)), (0, len(after))), gone, 0)
    if not gone[0]:
        return None
    lines = _places(before, after, sorted(zip(*gone, strict=True), key=lambda pair: pair[0].start))
    return Emptied(_emptied(kind, before, gone[0]), _emptied(kind, after, gone[1]), lines)


def _places(before: str, after: str, pairs: list[tuple[_Unit, _Unit]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The line where each run of neighbouring units begins, on both sides."""
    starts = [list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0)) for text in (before, after)]
    found: list[tuple[int, int]] = []
    ends = (0, 0)
    for old, new in pairs:
        near = found and old.start >= ends[0] and new.start >= ends[1]
        if not near or before[ends[0] : old.start].strip() or after[ends[1] : new.start].strip():
            found.append((bisect_left(starts[0], old.start), bisect_left(starts[1], new.start)))
        ends = (old.end, new.end)
    return tuple(old for old, _ in found), tuple(new for _, new in found)


def _match(
    kind: str,
    texts: tuple[str, str],
    spans: tuple[tuple[int, int], tuple[int, int]],
    gone: tuple[list[_Unit], list[_Unit]],
    depth: int,
) -> None:
    """Find the common units of two parts; where groups of the same heading differ, look inside."""
    old, new = (_units(kind, text, *span) for text, span in zip(texts, spans, strict=True))
    if _between(texts[0], spans[0], old) != _between(texts[1], spans[1], new):
        return  # what stands between the units may decide what becomes of them
    there: dict[str, list[_Unit]] = defaultdict(list)
    for unit in new:
        there[unit.text].append(unit)
    left = []
    for unit in old:
        if there[unit.text] and _closed(kind, unit.text):
            gone[0].append(unit)
            gone[1].append(there[unit.text].pop(0))
        elif unit.group:
            left.append(unit)
    groups: dict[str, list[_Unit]] = defaultdict(list)
    for unit in (unit for units in there.values() for unit in units if unit.group):
        groups[unit.heading].append(unit)
    for unit in left if depth < DEEPEST else ():
        same = groups[unit.heading]
        if len(same) == 1:
            other = same.pop()
            _match(kind, texts, ((unit.inner, unit.end), (other.inner, other.end)), gone, depth + 1)


def _between(text: str, span: tuple[int, int], units: list[_Unit]) -> list[str]:
    """The lines of a part outside its units, but for those that change nothing."""
    found, at = [], span[0]
    for unit in units:
        found.append(text[at : unit.start])
        at = unit.end
    found.append(text[at : span[1]])
    return [line for line in "".join(found).split("\n") if not _PLAIN.match(line)]


def _units(kind: str, text: str, start: int, end: int) -> list[_Unit]:
    """The outermost units of a part, one after the other."""
    found: list[_Unit] = []
    begins, groups = _start(kind), _group(kind)
    at = start
    while (match := begins.search(text, at, end)) is not None:
        indent, begin = match.group(1), match.start()
        worn = _worn(kind, indent).search(text, at, begin) if kind in _WORN else None
        first = begin if worn is None else worn.start()
        inner = text.find("\n", match.end(), end) + 1 or end
        last = _end(kind, text, first, inner, end, len(indent))
        group = groups.match(text, begin + len(indent)) is not None
        found.append(_Unit(first, inner, last, text[first:last], text[first:inner], indent, group))
        at = last
    return found


def _end(kind: str, text: str, first: int, inner: int, end: int, level: int) -> int:
    """Where a unit ends: at the next line that is indented no deeper, or behind it where that closes the unit."""
    shallow, at, ends = _shallow(level), inner, -1
    for _ in range(4):  # lines of a long string may stand further left
        while (match := shallow.search(text, at, end)) is not None:
            sign = match.group(1)
            if sign != "{" and (kind != "python" or sign not in ")]}"):
                break
            at = match.end()
        if match is None:
            return end
        closes = kind != "python" and sign in (")", "]", "}", "end")
        here = (text.find("\n", match.end(), end) + 1 or end) if closes else match.start()
        ends = here if ends < 0 else ends
        if _even(kind, text[first:here]):
            return here
        at = match.end()
    return ends


def _closed(kind: str, text: str) -> bool:
    """Whether a part leaves every bracket, long string and comment as it found them."""
    if text.count("(") != text.count(")") or text.count("[") != text.count("]") or text.count("{") != text.count("}"):
        return False
    if not _even(kind, text):
        return False
    if kind == "ruby":
        return "<<" not in text and "=begin" not in text
    return kind == "python" or text.count("/*") == text.count("*/")


def _even(kind: str, text: str) -> bool:
    """Whether every long string that begins in a part ends there too."""
    return all(text.count(sign) % 2 == 0 for sign in _LONG.get(kind, ()))


def _emptied(kind: str, text: str, units: list[_Unit]) -> str:
    """The text with only the line ends of these units; a Python block is never left without a statement."""
    parts, at = [], 0
    for unit in sorted(units, key=lambda unit: unit.start):
        parts.append(text[at : unit.start])
        parts.append(f"{unit.indent}pass" if kind == "python" and unit.indent else "")
        parts.append("\n" * unit.text.count("\n"))
        at = unit.end
    return "".join([*parts, text[at:]])


@cache
def _start(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?m)^([ \t]*)(?:{_STARTS[kind]})")


@cache
def _group(kind: str) -> re.Pattern[str]:
    return re.compile(_GROUP[kind])


@cache
def _worn(kind: str, indent: str) -> re.Pattern[str]:
    return re.compile(rf"(?m)^{indent}(?:{_WORN[kind]})")


@cache
def _shallow(level: int) -> re.Pattern[str]:
    return re.compile(rf"(?m)^[ \t]{{0,{level}}}(end\b|\S)")
