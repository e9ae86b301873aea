"""Compares how often a test runs, what it runs, and through what its assertions go, before and after."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from steelyard.scorers.integrity.analyse import Pair
from steelyard.scorers.integrity.compare import key
from steelyard.scorers.integrity.model import EMPTY, EXACT, Check, Loop, Mark, TestCase, View
from steelyard.scorers.integrity.paths import family_of
from steelyard.scorers.integrity.python_cases import EXAMPLES, fewer

_CALLED = re.compile(r"(?<![\w.])((?:\w++\.)*+)(\w++)\(")
_WORD, _CALL, _DEFINED = re.compile(r"\w++"), re.compile(r"(\w++)\("), re.compile(r"\bdef (\w++)\(")
_IMPORT = re.compile(r"(?m)^[ \t]*+(?:from[ \t]++\S++[ \t]++)?+import[ \t]++(\([^)]*+|[^\n]*+)")
_GONE_THROUGH = re.compile(r"\bfor [^\n:]{0,80}? in ([^\n:]*+)|\b(?:parametrize|expand|params)\b(?:[^\n]*+\n){1,2}+")
_TELLING = re.compile(r"(?i)case|param|example|scenario|sample|vector|input|valid")


@dataclass(frozen=True, slots=True)
class Less:
    """What became less: the rule, how it is said, and where; `name`: of what, if it is no test."""

    rule: str
    what: str
    before: str
    after: str
    line: int
    name: str = ""


def narrowed(was: list[Check], now: list[Check]) -> Iterator[Less]:
    """Checks that say what they said, under more conditions than before or of values that were made to fit."""
    if not any(check.under or check.strength < EXACT for check in now):
        return
    still: dict[str, list[Check]] = defaultdict(list)
    for check in sorted(now, key=lambda check: -len(check.under)):
        still[key(check)].append(check)
    for old in sorted(was, key=lambda check: len(check.under)):
        same = still[key(old)].pop() if still[key(old)] else None
        if same is not None and len(same.under) > len(old.under):
            yield guarded(old, same)
        elif same is not None and same.strength < old.strength:
            yield Less("loosened", "pins down less", old.text, same.text, same.line)


def guarded(was: Check, now: Check) -> Less:
    """A check that is made under more conditions than before."""
    said = [text for text in now.under if text not in was.under] or list(now.under)
    after = f"{now.text} [{'; '.join(said)}]"
    return Less("conditional", "makes an assertion under more conditions than before", was.text, after, now.line)


def outside(pairs: list[Pair]) -> Iterator[tuple[Pair, Less]]:
    """What became less outside of tests: names that assertions go through, lists of cases."""
    gone = Counter(key(mark) for pair in pairs for mark in pair.before.overrides)
    meant = "gives a name that assertions go through another meaning"
    for pair in pairs:
        for mark in _overridden(pair, gone) if pair.after.overrides or pair.after.replaced else ():
            yield pair, Less("overridden", meant, "", mark.text, mark.line)
        for was, now in shorter_lists(pair.before, pair.after, pair.after_text) if pair.before.lists else ():
            yield pair, Less("fewer_cases", "has fewer cases", f"{was.size}", f"{now.size}", now.line, was.target)


def unrun(old: TestCase, new: TestCase) -> Iterator[Less]:
    """Why less of a test is run than before."""
    if not old.collected:
        return
    if new.idle and not old.idle and any(check.counts for check in old.checks):
        yield Less("unreachable", "is in a test that is not run to its end", "a plain test", new.idle, new.line)
    more = sum(check.counts for check in new.checks) > sum(check.counts for check in old.checks)
    for was, now in fewer(old.loops, new.loops):
        if more and not now.target:
            continue  # what were cases is written out
        said = f"{EXAMPLES} examples" if was is None else was.text or f"{was.size} cases"
        yield Less("fewer_cases", "goes through less", said, now.text or f"{now.size} cases", now.line)
    for name in sorted((new.patched - old.patched) & _called(new) & _called(old)):
        yield Less("mocked", "replaces what its assertions call", f"{name}(…)", f"a stand-in for {name}", new.line)


def _called(test: TestCase) -> set[str]:
    """The functions that the checks of a test call, and the objects whose methods they are."""
    found = [part for check in test.checks for one in check.subjects for part in _CALLED.findall(one)]
    return {name for owner, name in found} | {owner.rstrip(".") for owner, _ in found}


def _overridden(pair: Pair, gone: Counter[str]) -> Iterator[Mark]:
    if family_of(pair.path) == "python":
        yield from new_overrides(pair, gone)
    elif pair.before.mode != "none":
        known = {key(mark) for mark in pair.before.overrides}
        yield from (mark for mark in pair.after.overrides if key(mark) not in known)


def new_overrides(pair: Pair, gone: Counter[str]) -> Iterator[Mark]:
    """Overrides that stand in the new tree and not in the old one; a new file may define what it likes for itself."""
    for mark in pair.after.overrides:
        if gone[key(mark)] > 0:
            gone[key(mark)] -= 1
        elif (pair.before != EMPTY or "TestCase." in mark.text) and _matters(mark, pair.after_text):
            yield mark
    was = {mark.text for _, mark in pair.before.replaced}
    for name, mark in pair.after.replaced if pair.before != EMPTY else ():
        if mark.text not in was and _had_a_meaning(name, pair.after_text):
            yield mark


def _had_a_meaning(name: str, text: str) -> bool:
    """Whether a name that is given to a stand-in, or cut, is a test, a list of cases, or what tests call."""
    if not name or name[0] == "*":
        return not name or _goes_through(name[1:], text)
    words = _words(text)
    return name in words.defined or (name[:4] != "test" and name in words.imported and name in words.called)


def _matters(mark: Mark, text: str) -> bool:
    """A function that is merely named like a check has to take the place of one."""
    name = mark.text[4:].partition("(")[0] if mark.text.startswith("def ") else ""
    return not name or name.startswith(("assert", "fail", "_", "run")) or _words(text).defined[name] > 1


@dataclass(frozen=True, slots=True)
class _Words:
    """The names that a text defines, calls, imports, goes through in a loop or gives to a test as its cases."""

    defined: Counter[str]
    called: frozenset[str]
    imported: frozenset[str]
    looped: frozenset[str]


@lru_cache(maxsize=2)
def _words(text: str) -> _Words:
    imported = {word for said in _IMPORT.findall(text) for word in _WORD.findall(said)}
    looped = {word for said in _GONE_THROUGH.finditer(text) for word in _WORD.findall(said[1] or said[0])}
    return _Words(
        Counter(_DEFINED.findall(text)), frozenset(_CALL.findall(text)), frozenset(imported), frozenset(looped)
    )


def shorter_lists(before: View, after: View, text: str) -> Iterator[tuple[Loop, Loop]]:
    """Lists outside of tests that tests go through, with less in them than before."""
    now = {one.target: one for one in after.lists}
    for was in before.lists:
        one = now.get(was.target)
        if one is not None and (one.size or 0) < (was.size or 0) and _goes_through(was.target, text):
            yield was, one


def _goes_through(name: str, text: str) -> bool:
    return _TELLING.search(name) is not None or name in _words(text).looped
