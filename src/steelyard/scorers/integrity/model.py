"""What an analyser sees in one side of a test file."""

from dataclasses import dataclass
from typing import Literal, Protocol

Mode = Literal["syntax", "lines", "none"]

TOO_LARGE, TOO_SLOW, TOO_DEEP = "too large to parse", "took too long to parse", "nested too deep to parse"
TOO_MUCH = "the change is very large"
# How strong a check is: what it pins down of the value under test.
NOTHING, PRESENCE, PARTIAL, EXACT = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Mark:
    """One marker that keeps a test from running (or from counting): a skip, an expected failure, a focus marker."""

    line: int
    text: str
    test: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One assertion. `dead` says why it can never fail; `subjects` are the values it looks at, where that is clear.

    `parts` are values of which it looks at a part only: their length, their type. `under`: what must hold for it to
    be made at all.
    """

    line: int
    text: str
    test: str = ""
    strength: int = EXACT
    dead: str = ""
    subjects: tuple[str, ...] = ()
    tolerance: float | None = None
    parts: tuple[str, ...] = ()
    under: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether this check can fail a test."""
        return not self.dead and self.strength > NOTHING


@dataclass(frozen=True, slots=True)
class Loop:
    """What a test goes through: the values as they are written, and before anything was cut off; how many, if written.

    `cuts` is how often something is left out of them.
    """

    line: int
    target: str
    text: str = ""
    whole: str = ""
    cuts: int = 0
    size: int | None = None


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test with the checks of its body and of the helpers it calls; `cases` is how often it runs, if written.

    `cut` is the line of a statement that leaves the test for good while more of it follows; `guards` is how many
    conditions leave it without a word, or turn a failure into a pass. `loops`: what it goes through; `rows`,
    `heads`: the rows of the tables that its loops go over, and how these loops begin; `idle`: why no runner runs it to
    its end; `patched`: the names for which it puts something else.
    """

    __test__ = False

    name: str
    line: int
    checks: tuple[Check, ...] = ()
    collected: bool = True
    cases: int | None = None
    body: str = ""
    cut: int | None = None
    guards: int = 0
    loops: tuple[Loop, ...] = ()
    idle: str = ""
    patched: frozenset[str] = frozenset()
    rows: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """One side of a file: every check and marker in it, and the tests they stand in.

    `around`: what stands around some lines that were asked for. `overrides`: places where a name that assertions go
    through is given another meaning; `lists`: the lists that are written out outside of tests; `replaced`: names
    outside of tests that are given a stand-in.
    """

    mode: Mode = "none"
    checks: tuple[Check, ...] = ()
    skips: tuple[Mark, ...] = ()
    tests: tuple[TestCase, ...] = ()
    note: str = ""
    around: tuple[str, ...] = ()
    overrides: tuple[Mark, ...] = ()
    lists: tuple[Loop, ...] = ()
    replaced: tuple[tuple[str, Mark], ...] = ()


EMPTY = View()


class Analyser(Protocol):
    """Reads one side of a file; never raises on bad text."""

    @property
    def family(self) -> str:
        """The language family it reads."""

    def syntax(self, text: str, context: str = "", lines: tuple[int, ...] = ()) -> View:
        """What stands in the text by its syntax; where it can't be parsed, mode "none" and a note that says why.

        `context` tells what the rest of its file defines; `View.around` what stands around these lines (from 0).
        """

    def completed(self, text: str, context: str = "") -> View:
        """The same for a text that was cut out of a larger one; mode "none" where that can't be told."""

    def context(self, text: str) -> str:
        """What a part of this text has to know of the rest."""

    def lines(self, text: str, note: str = "") -> View:
        """What stands in the text, by line rules alone; the note says why."""
