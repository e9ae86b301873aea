"""Cuts both sides of a file down to the tests that differ: what stands the same on both sides can't have changed.

Whole units (a test, a group, a class) are kept. A cut is taken only where both pieces parse by themselves; a piece
that opens a string or a bracket which the rest would have to close does not, and then more is kept, in the end all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from steelyard.scorers.integrity.large import shared_start

SMALL = 600
MOST = 6  # parts that are tried before the whole
_UNIT = {
    "python": re.compile(r"(?:async[ \t]+def|def|class)\b"),
    "script": re.compile(
        r"(?:export[ \t]+)?(?:[fx]?(?:it|test|describe|context|suite|specify)\b(?![ \t]*=)|(?:async[ \t]+)?function\b)"
    ),
    "go": re.compile(r"func\b"),
    "rust": re.compile(r"(?:pub(?:\([^)]*\))?[ \t]+)?(?:async[ \t]+)?(?:fn|mod)\b"),
    "ruby": re.compile(
        r"(?:[fx]?(?:it|specify|example|scenario|describe|context|feature)|test|def|class|module|RSpec)\b(?![ \t]*=)"
    ),
    # A declaration has a type or a modifier before its name; a block or a call over several lines is no unit.
    "jvm": re.compile(
        r"(?!(?:try|if|for|foreach|while|switch|catch|synchronized|else|do|using|lock|return|throw|new|await|case)\b)"
        r"(?:[\w<>\[\], .@?]*\b(?:fun|class)\b.*|[\w<>\[\],.@?][\w<>\[\], .@?]*[ \t]\w+[ \t]*\([^;]*)\{?[ \t]*$"
    ),
}
_FAMILY = {
    "javascript": "script",
    "typescript": "script",
    "tsx": "script",
    "java": "jvm",
    "kotlin": "jvm",
    "csharp": "jvm",
}
_WORN = re.compile(r"@|\[|#\[|\)|\}\)|\]|\"")
_ATTRIBUTE = re.compile(r"@|\[|#\[")
_CLOSES = re.compile(r"[)\]}]|end\b")


@dataclass(frozen=True, slots=True)
class Piece:
    """The same part of both sides; of the lines before it only the ends are there, so that lines keep their numbers.

    `lines`: of each side the lines where something was left out that stands on both.
    """

    before: str
    after: str
    lines: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def pieces(family: str, before: str, after: str) -> Iterator[Piece]:
    """Ever larger parts that hold every difference; the last one is the whole."""
    whole = Piece(before, after)
    if min(len(before), len(after)) > SMALL and before != after:
        old, new = before.split("\n"), after.split("\n")
        first, last = _common(old, new)
        # Go's build tags stand above the package and belong together.
        tagged = family == "go" and not any(line.startswith("package ") for line in old[:first])
        if not tagged and not _in_quotes(family, old, first):
            unit = _UNIT[_FAMILY.get(family, family)]
            for start, end in islice(_units(family, unit, old, new, first, last), MOST):
                parts = ["\n" * start + "\n".join(side[start : len(side) - end]) for side in (old, new)]
                yield Piece(parts[0], parts[1])
    yield whole


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines both sides share at the beginning and at the end."""
    limit = min(len(old), len(new))
    first = shared_start(old, new, limit)
    last = shared_start(old[::-1], new[::-1], limit - first)
    return first, last


def _in_quotes(family: str, lines: list[str], first: int) -> bool:
    """Whether the differences may stand inside a long string or comment that began before them."""
    head = "\n".join(lines[:first])
    if family in {"python", "kotlin", "java", "csharp"} and head.count('"""') % 2:
        return True
    if family == "python":
        return head.count("'''") % 2 == 1
    if family == "ruby":
        return "<<" in head or "=begin" in head
    if head.rfind("/*") > head.rfind("*/"):
        return True
    if family == "rust":
        return head.count('r#"') != head.count('"#')
    return family != "java" and head.count("`") % 2 == 1


def _units(
    family: str, unit: re.Pattern[str], old: list[str], new: list[str], first: int, last: int
) -> Iterator[tuple[int, int]]:
    """(lines before, lines after) of each unit around the differences, inner ones first."""
    changed = [line for line in (*old[first : len(old) - last], *new[first : len(new) - last]) if line.strip()]
    level = min((_indent(line) for line in changed), default=10**6)
    tail = old[len(old) - last :] if last else []
    ends = (
        next((line for line in reversed(side[first : len(side) - last]) if line.strip()), "") for side in (old, new)
    )
    # What is worn belongs to the line below it.
    worn = int(bool(tail) and any(_ATTRIBUTE.match(line.lstrip()) for line in ends))
    while worn and worn < len(tail) and _ATTRIBUTE.match(tail[worn - 1].lstrip()):
        worn += 1
    start = first
    if level == 0 or (family != "python" and changed):
        side = next((index for index in range(first, -1, -1) if _opens(unit, old, new, index, level)), -1)
        if side >= 0:
            # A mark above a heading that changed still says whether this is a test.
            marked = side < first or family in {"java", "kotlin", "csharp", "rust"}
            yield _with_worn(old, side) if marked else side, last - worn - _closing(family, tail[worn:], level)
    while start >= 0 and level > 0:
        start, level = _opening(unit, old, start, level)
        if start < 0:
            return
        after = _closing(family, tail, level)
        yield _with_worn(old, start), last - after
        if level == 0:
            return


def _opens(unit: re.Pattern[str], old: list[str], new: list[str], index: int, level: int) -> bool:
    """Whether both sides have a line here that begins a unit of exactly this indentation."""
    for lines in (old, new):
        line = lines[index] if index < len(lines) else ""
        indent = _indent(line)
        if (
            not line.strip()
            or indent != level
            or not (unit.match(line, indent) or (level == 0 and line[0] not in ")]}"))
        ):
            return False
    return True


def _opening(unit: re.Pattern[str], lines: list[str], start: int, level: int) -> tuple[int, int]:
    """The nearest line above that opens a unit less indented than `level`."""
    for index in range(start - 1, -1, -1):
        line = lines[index]
        if line and not line.isspace():
            indent = _indent(line)
            if indent < level and unit.match(line, len(line) - len(line.lstrip())):
                return index, indent
    return -1, 0


def _closing(family: str, tail: list[str], level: int) -> int:
    """How many lines of the common end still belong to a unit of this indentation."""
    for index, line in enumerate(tail):
        if line and not line.isspace() and _indent(line) <= level:
            return index + 1 if family != "python" and _CLOSES.match(line.lstrip()) else index
    return len(tail)


def _with_worn(lines: list[str], start: int) -> int:
    """Decorators, annotations and attributes right above belong to the unit."""
    indent = _indent(lines[start])
    while start > 0:
        above = lines[start - 1]
        if not above.strip() or (_indent(above) <= indent and not _WORN.match(above.lstrip())):
            break
        start -= 1
    return start


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
