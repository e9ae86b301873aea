"""Mistakes in a file, all of them at once, each at its line and column."""

import json
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from steelyard.errors import PlacedError

SHOWN = 50
MOST = 1000


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake: where it stands (line and column count from 1; 0: the file as a whole), its field, what is wrong."""

    line: int
    column: int
    field: str
    message: str

    def text(self, file: str) -> str:
        """The mistake in one line that editors can jump to."""
        about = f"{self.field}: " if self.field else ""
        place = f":{self.line}:{self.column}" if self.line else ""
        return f"{visible(file)}{place}: {about}{self.message}"


class SuiteError(PlacedError):
    """A suite file (or a scorers file) with every mistake that was found in it."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(problems))
        if len(self.problems) >= MOST:
            self.problems += (Problem(0, 0, "", f"{MOST} mistakes so far; the rest is not listed"),)
        super().__init__("\n".join(problem.text(file) for problem in self.problems))


@dataclass(slots=True)
class Problems:
    """Collects the mistakes of one file; the first one about a field at a place stands for it."""

    file: str
    found: dict[tuple[int, int, str], Problem] = field(default_factory=dict)

    def add(self, at: tuple[int, int], about: str, message: str) -> None:
        """Note a mistake at a (line, column) that count from 1."""
        problem = Problem(at[0], at[1], visible(about), message)
        self.found.setdefault((problem.line, problem.column, problem.field), problem)
        if len(self.found) >= MOST:
            self.stop()

    def stop(self) -> None:
        """Raise what was found, if anything."""
        if self.found:
            raise SuiteError(self.file, self.found.values())


def kind_of(path: Path) -> Literal["file", "directory", "other"] | None:
    """What stands at a path, links followed; None when nothing does, or when no such path can be."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    return "directory" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def visible(text: str) -> str:
    """Text on one line: control characters, and what terminals act on, are written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def shown(value: object) -> str:
    """A value as the file's author knows it, cut to a readable length."""
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if value is None:
        return "nothing (null)"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return visible(json.dumps(value))[:SHOWN]


def quoted(text: str) -> str:
    """Text in quotes, cut to a readable length."""
    return f"'{visible(text if len(text) <= SHOWN else text[:SHOWN] + '…')}'"


def near(word: str, allowed: Iterable[str]) -> str:
    """`; did you mean 'x'?` when one of the allowed words is close, else nothing."""
    from difflib import get_close_matches

    words = list(allowed)
    by_folded = {w.lower().replace("-", "_"): w for w in words}
    found = get_close_matches(word.lower().replace("-", "_")[:100], by_folded, 1, 0.6)
    return f"; did you mean '{visible(by_folded[found[0]])}'?" if found else ""


def listed(words: Iterable[str]) -> str:
    """`; allowed: a, b, c`, cut when there are very many."""
    every = [visible(word) for word in words] or ["nothing, because none is defined"]
    more = f" and {len(every) - 40} more" if len(every) > 40 else ""
    return f"; allowed: {', '.join(every[:40])}{more}"
