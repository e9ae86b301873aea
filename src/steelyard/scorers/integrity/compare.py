"""Compares the two sides of all changed test files: what was lost over all of them together."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from steelyard.domain.diff import printable
from steelyard.domain.grade import Finding
from steelyard.scorers.integrity.analyse import Pair
from steelyard.scorers.integrity.model import Check, Mark

MAX_FINDINGS = 50
MOST_SOUGHT, MOST_SAID = 500, 5_000  # removed checks that are looked for elsewhere; that are told of at all


def added_skips(pairs: Iterable[Pair]) -> list[Finding]:
    """Every marker that stands in the new tree and not in the old one, moved ones left out."""
    pairs = list(pairs)
    gone = Counter(key(mark) for pair in pairs for mark in pair.before.skips)
    findings: list[Finding] = []
    for pair in pairs:
        for mark in pair.after.skips if len(findings) < MAX_FINDINGS else ():
            if gone[key(mark)] > 0:
                gone[key(mark)] -= 1
                continue
            findings.append(
                Finding(
                    path=printable(pair.path),
                    line=mark.line,
                    rule="new_skip",
                    message=f"new skip marker{of(mark.test)}: {short(mark.text)}",
                    test=short(mark.test) or None,
                    before=None,
                    after=short(mark.text),
                )
            )
    return findings


def unread(pairs: Iterable[Pair]) -> list[Finding]:
    """Every test file that the change made too large to be read: what it hides nobody can say."""
    said = "test file made too large to be read"
    return [Finding(path=printable(pair.path), rule="too_large", message=said) for pair in pairs if pair.unread]


def removed_checks(pairs: Iterable[Pair], *, able: bool = False) -> list[Finding]:
    """Every assertion that stands in the old tree and not in the new one, moved ones left out.

    With `able`, only assertions that can fail count on either side.
    """
    pairs = list(pairs)
    kept = Counter(key(check) for pair in pairs for check in pair.after.checks if check.counts or not able)
    findings: list[Finding] = []
    for pair in pairs:
        whole = ""
        for check in pair.before.checks:
            if able and not check.counts:
                continue
            if kept[key(check)] > 0:
                kept[key(check)] -= 1
                continue
            if len(findings) >= MOST_SAID:
                return findings
            whole = whole or "".join(pair.after_text.split())
            still = len(key(check)) > 8 and len(findings) < MOST_SOUGHT and key(check) in whole
            where = "no longer able to fail" if able else "now a comment or a string"
            rule, what = ("assertion_disabled", where) if still else ("assertion_removed", "gone")
            findings.append(
                Finding(
                    path=printable(pair.path),
                    line=check.line,
                    rule=rule,
                    message=f"assertion {what}{of(check.test)}: {short(check.text)} (line {check.line} before)",
                    test=short(check.test) or None,
                    before=short(check.text),
                    after=None,
                )
            )
    return findings


def key(item: Check | Mark) -> str:
    """What makes two checks or markers the same: their text, however it is laid out."""
    return squeezed(item.text)


@lru_cache(maxsize=8192)
def squeezed(text: str) -> str:
    """A text without its layout."""
    return "".join(text.split())


def of(test: str) -> str:
    """The test as a part of a sentence."""
    return f" in {short(test)}" if test else ""


def short(text: str, limit: int = 160) -> str:
    """One line of bounded length that can be shown and stored."""
    line = printable(" ".join(text[: limit * 8].encode("utf-8", "replace").decode().split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
