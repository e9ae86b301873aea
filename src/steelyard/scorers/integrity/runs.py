"""Compares how often a test runs, what it runs, and through what its assertions go, before and after."""

import re
from collections import Counter
from collections.abc import Iterator

from steelyard.scorers.integrity.analyse import Pair
from steelyard.scorers.integrity.compare import key
from steelyard.scorers.integrity.model import EMPTY, Loop, Mark, TestCase, View
from steelyard.scorers.integrity.python_cases import EXAMPLES, fewer

MOST_PLACES, NEAR = 50, 120
_CALLED = re.compile(r"(?<![\w.])((?:\w++\.)*+)(\w++)\(")
_GONE_THROUGH = re.compile(
    r"\bfor\s[^\n]*\sin\s++(?:[\w.]++\()*+$|\b(?:parametrize|expand|data|params)\b[^\n]*+\n?[^\n]*+$"
)
_TELLING = re.compile(r"(?i)case|param|example|scenario|sample|vector|input|valid")


def unrun(old: TestCase, new: TestCase) -> Iterator[tuple[str, tuple[str, str, str], int]]:
    """Why less of a test is run than before: the rule, how it is said (what, before, after), the line."""
    if not old.collected:
        return
    if new.idle and not old.idle and any(check.counts for check in old.checks):
        yield "unreachable", ("is in a test that is not run to its end", "a plain test", new.idle), new.line
    more = sum(check.counts for check in new.checks) > sum(check.counts for check in old.checks)
    for was, now in fewer(old.loops, new.loops):
        if more and not now.target:
            continue  # what were cases is written out
        said = f"{EXAMPLES} examples" if was is None else was.text or f"{was.size} cases"
        yield "fewer_cases", ("goes through less", said, now.text or f"{now.size} cases"), now.line
    for name in sorted((new.patched - old.patched) & _called(new) & _called(old)):
        yield "mocked", ("replaces what its assertions call", f"{name}(…)", f"a stand-in for {name}"), new.line


def _called(test: TestCase) -> set[str]:
    """The functions that the checks of a test call, and the objects whose methods they are."""
    found = [part for check in test.checks for one in check.subjects for part in _CALLED.findall(one)]
    return {name for owner, name in found} | {owner.rstrip(".") for owner, _ in found}


def new_overrides(pair: Pair, gone: Counter[str]) -> Iterator[Mark]:
    """Overrides that stand in the new tree and not in the old one; a new file may define what it likes for itself."""
    for mark in pair.after.overrides:
        if gone[key(mark)] > 0:
            gone[key(mark)] -= 1
        elif (pair.before != EMPTY or "TestCase." in mark.text) and _matters(mark, pair.after_text):
            yield mark
    was = {mark.text for _, mark in pair.before.replaced}
    for name, mark in pair.after.replaced if pair.before != EMPTY else ():
        known = (
            not name
            or (name[0] == "*" and _goes_through(name[1:], pair.after_text))
            or _defines(name, pair.after_text)
            or (name[:4] != "test" and _imports(name, pair))
        )
        if known and mark.text not in was:
            yield mark


def _matters(mark: Mark, text: str) -> bool:
    """A function that is merely named like a check has to take the place of one."""
    name = mark.text[4:].partition("(")[0] if mark.text.startswith("def ") else ""
    return not name or name.startswith(("assert", "fail", "_", "run")) or text.count(f"def {name}(") > 1


def _defines(name: str, text: str) -> bool:
    return f"def {name}(" in text


def _imports(name: str, pair: Pair) -> bool:
    """Whether a file imports a name that it calls."""
    said = rf"(?m)^[ \t]*+(?:from[ \t][^\n]*|[ \t\w,]*|import[ \t][^\n]*)\b{re.escape(name)}\b[^\n=(]*$"
    return f"{name}(" in pair.after_text and re.search(said, pair.after_text) is not None


def shorter_lists(before: View, after: View, text: str) -> Iterator[tuple[Loop, Loop]]:
    """Lists outside of tests that tests go through, with less in them than before."""
    now = {one.target: one for one in after.lists}
    for was in before.lists:
        one = now.get(was.target)
        if one is not None and (one.size or 0) < (was.size or 0) and _goes_through(was.target, text):
            yield was, one


def _goes_through(name: str, text: str) -> bool:
    if _TELLING.search(name):
        return True
    places = list(re.finditer(rf"\b{re.escape(name)}\b", text))[:MOST_PLACES]
    return any(_GONE_THROUGH.search(text[max(0, at.start() - NEAR) : at.start()]) for at in places)
