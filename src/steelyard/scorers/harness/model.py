"""Signs: what a rule sees in one side of a file. What the after side has and the before side had not is a finding."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.paths import is_test, is_vendored
from steelyard.scorers.integrity.paths import family_of

EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that a rule knows to bend a runner. `name` is what it is about, `text` how it reads.

    `wanted` turns it round: a good thing, such as a command that runs the tests, whose loss is a finding.
    """

    rule: str
    name: str
    text: str
    line: int = 1
    message: str = ""
    wanted: bool = False


@dataclass(frozen=True, slots=True)
class Bend:
    """A sign that is new, or a wanted one that is gone."""

    rule: str
    line: int
    message: str
    before: str | None
    after: str | None


def _nothing(path: str) -> bytes | None:
    del path
    return None


@dataclass(frozen=True)
class Context:
    """What a rule may know beside the text: the path, and what the baseline held."""

    path: str
    baseline_files: frozenset[str] = frozenset()
    before: Callable[[str], bytes | None] = _nothing

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The directory with a closing slash, or nothing for the tree itself."""
        head, slash, _ = self.path.rpartition("/")
        return head + slash

    @cached_property
    def tests(self) -> tuple[str, ...]:
        """The baseline's test files below this file's directory, relative to it."""
        found = (path[len(self.folder) :] for path in self.baseline_files if path.startswith(self.folder))
        return tuple(sorted(path for path in found if is_test(path) and not is_vendored(path)))

    @cached_property
    def test_folders(self) -> frozenset[str]:
        """Every directory that holds one of those tests."""
        return frozenset(test[:at] for test in self.tests for at, char in enumerate(test) if char == "/")

    @cached_property
    def script_tests(self) -> tuple[str, ...]:
        """Those of these tests that are JavaScript or TypeScript."""
        return tuple(test for test in self.tests if family_of(test) in ("javascript", "typescript", "tsx"))

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """The baseline's files by the last part of their paths."""
        found: dict[str, list[str]] = {}
        for path in self.baseline_files:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    @cached_property
    def modules(self) -> frozenset[str]:
        """The top-level names that the baseline's own Python code can be imported by."""
        parts = (path.removeprefix("src/").removeprefix("lib/") for path in self.baseline_files if path.endswith(".py"))
        names = {part.partition("/")[0].removesuffix(".py") for part in parts}
        return frozenset(names - {"tests", "test", "conftest", "setup"})


def names_test(word: str, context: Context) -> bool:
    """Whether a literal in the code is the path of a test file of the baseline, or the end of one."""
    word = word.lstrip("./")
    near = context.by_name.get(word.rpartition("/")[2], ())
    spend(1 + len(near))
    held = [file for file in near if file == word or file.endswith(f"/{word}")]
    return bool(held) and is_test(word) and any(map(is_test, held))


def excerpt(text: str) -> str:
    """A text in one short line, valid UTF-8."""
    one = " ".join(text[: 4 * EXCERPT].split())
    one = one if len(one) <= EXCERPT else one[:EXCERPT] + "…"
    return one.encode("utf-8", "backslashreplace").decode()


def bends(before: Sequence[Sign], after: Sequence[Sign]) -> list[Bend]:
    """What is new or lost between two sides of a file, each with what stood there before."""
    found: list[Bend] = []
    left = Counter((sign.rule, sign.name, sign.text) for sign in before)
    old = {(sign.rule, sign.name): sign for sign in before}
    for sign in after:
        key = (sign.rule, sign.name, sign.text)
        if left[key] > 0:
            left[key] -= 1
        elif not sign.wanted:
            was = old.get((sign.rule, sign.name))
            shown = None if was is None else excerpt(was.text)
            found.append(Bend(sign.rule, sign.line, sign.message, shown, excerpt(sign.text)))
    return found + lost(before, after)


def lost(before: Iterable[Sign], after: Iterable[Sign]) -> list[Bend]:
    """Wanted things that are there no more."""
    there = {(sign.rule, sign.name) for sign in after if sign.wanted}
    gone = {(sign.rule, sign.name): sign for sign in before if sign.wanted and (sign.rule, sign.name) not in there}
    return [Bend(sign.rule, 1, sign.message, excerpt(sign.text), None) for sign in gone.values()]


def line_of(text: str, needle: str) -> int:
    """The first line that holds a text, or 1."""
    spend(len(text) // 20_000)
    at = text.find(needle)
    return 1 if at < 0 or not needle else text.count("\n", 0, at) + 1
