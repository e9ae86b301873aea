"""Which lines of a text that does not parse can't fail a test, and which functions in it are tests: by indentation."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from steelyard.scorers.integrity.model import TestCase
from steelyard.scorers.integrity.tree_flow import CATCH, NEVER, silent
from steelyard.scorers.integrity.tree_tests import COLLECTED

LONGEST, MOST = 400, 500
_RETURN = re.compile(r"^[ \t]*return[ \t]*;?[ \t]*$", re.MULTILINE)
_OTHERWISE = re.compile(r"[)\]}]|(?:end|case|default|else|elsif|when|rescue|ensure)\b")
_WORN = re.compile(r"[ \t]*(?:@\w|\[|#\[)")
_DECLARED = re.compile(
    r"^[ \t]*(?:@\w[\w.]*(?:\([^()\n]*\))?[ \t]*)*(?:(?:public|private|protected|internal|static|final|async|suspend"
    r"|override|virtual|open|unsafe|pub(?:\([^)\n]*\))?)[ \t]+)*(?:func(?:[ \t]*\([^)\n]*\))?|fn|fun|def|void|Task)"
    r"[ \t]+`?(\w+)"
)
_NAMED = {"go": re.compile(r"(?:Test|Fuzz|Example)(?![a-z])"), "ruby": re.compile("test_")}


def dead_lines(family: str, code: str) -> dict[int, str]:
    """Lines (from 0) that are never reached or whose failures nobody hears of, and why."""
    found: dict[int, str] = {}
    lines = code.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for pattern, spread in ((NEVER, _never), (_RETURN, _left), (CATCH, _caught)):
        why = "swallowed" if spread is _caught else "unreachable"
        for at in sorted({bisect_right(starts, match.start()) - 1 for match in pattern.finditer(code)})[:MOST]:
            if at not in found:
                found.update((line, why) for line in spread(family, lines, at))
    return found


def _never(family: str, lines: list[str], at: int) -> Iterator[int]:
    yield at
    yield from _deeper(lines, at, 1)


def _left(family: str, lines: list[str], at: int) -> Iterator[int]:
    """What follows a `return` at its own level."""
    level = _indent(lines[at])
    after = next((line for line in lines[at + 1 : at + LONGEST] if line.strip()), "")
    if after and _indent(after) == level and not _OTHERWISE.match(after.lstrip()):
        for index in range(at + 1, min(at + LONGEST, len(lines))):
            if lines[index].strip() and _indent(lines[index]) < level:
                return
            yield index


def _caught(family: str, lines: list[str], at: int) -> Iterator[int]:
    """The lines above a `catch` that takes a failed assertion and says nothing."""
    word = CATCH.search(lines[at])
    if family in {"go", "rust"} or word is None or (word.group() == "rescue") is not (family == "ruby"):
        return
    handler = "\n".join([lines[at][word.start() :], *(lines[index] for index in _deeper(lines, at, 1))])
    if silent(family, handler):
        yield at
        yield from _deeper(lines, at, -1)


def _deeper(lines: list[str], at: int, step: int) -> Iterator[int]:
    """The lines next to one that are indented more than it."""
    level = _indent(lines[at])
    for index in range(at + step, max(-1, min(at + step * LONGEST, len(lines))), step):
        if lines[index].strip() and _indent(lines[index]) <= level:
            return
        yield index


def declared(family: str, code: str, dead: dict[int, str]) -> tuple[TestCase, ...]:
    """The functions a text declares, each with whether a runner collects it, and the text itself as one test."""
    found: list[TestCase] = []
    worn = ""
    named, marked = _NAMED.get(family), COLLECTED.get(family)
    for number, line in enumerate(code.split("\n") if named or marked else ()):
        name = _DECLARED.match(line)
        if name is not None and len(found) < MOST:
            seen = named.match(name[1]) if named else marked and marked.search(worn + line[: name.start(1)])
            found.append(TestCase(name[1], number + 1, collected=bool(seen), body=f"{name[1]} {bool(seen)}"))
        if line.strip():
            worn = (worn + line)[-LONGEST:] if _WORN.match(line) and name is None else ""
    cut = min((line for line, why in dead.items() if why == "unreachable"), default=None)
    found.append(TestCase("<lines>", 1, body=str(cut), cut=None if cut is None else cut + 1))
    return tuple(found)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
