"""Compares the two sides of all changed test files: what was lost over all of them together."""

from collections import Counter
from collections.abc import Iterable

from steelyard.domain.diff import printable
from steelyard.domain.grade import Finding
from steelyard.scorers.integrity.analyse import Pair
from steelyard.scorers.integrity.model import Check, Mark

MAX_FINDINGS = 50


def added_skips(pairs: Iterable[Pair]) -> list[Finding]:
    """Every marker that stands in the new tree and not in the old one, moved ones left out."""
    pairs = list(pairs)
    gone = Counter(_key(mark) for pair in pairs for mark in pair.before.skips)
    findings = []
    for pair in pairs:
        for mark in pair.after.skips:
            if gone[_key(mark)] > 0:
                gone[_key(mark)] -= 1
                continue
            findings.append(
                Finding(
                    path=printable(pair.path),
                    line=mark.line,
                    rule="new_skip",
                    message=f"new skip marker{_of(mark.test)}: {_short(mark.text)}",
                    test=mark.test or None,
                    before=None,
                    after=_short(mark.text),
                )
            )
    return findings


def removed_checks(pairs: Iterable[Pair]) -> list[Finding]:
    """Every assertion that stands in the old tree and not in the new one, moved ones left out."""
    pairs = list(pairs)
    kept = Counter(_key(check) for pair in pairs for check in pair.after.checks)
    findings = []
    for pair in pairs:
        for check in pair.before.checks:
            if kept[_key(check)] > 0:
                kept[_key(check)] -= 1
                continue
            findings.append(
                Finding(
                    path=printable(pair.path),
                    line=check.line,
                    rule="assertion_removed",
                    message=f"assertion gone{_of(check.test)}: {_short(check.text)} (line {check.line} before)",
                    test=check.test or None,
                    before=_short(check.text),
                    after=None,
                )
            )
    return findings


def _key(item: Check | Mark) -> str:
    return "".join(item.text.split())


def _of(test: str) -> str:
    return f" in {test}" if test else ""


def _short(text: str, limit: int = 160) -> str:
    """One line of bounded length that can be shown and stored."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
