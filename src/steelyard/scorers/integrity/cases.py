"""Whether a test goes through fewer cases than it did: rows that are gone, loops that end sooner."""

import re
from collections import Counter
from itertools import takewhile

from steelyard.scorers.integrity.model import TestCase

MOST = 20
_CUT = re.compile(
    r"\.\s*(?:slice|take|first|filter|limit|head|subList|Take|Where|drop|skip|Skip|splice|sample|select|reject|GetRange"
    r"|takeLast|last|take_while|step_by|find_all|min|at)\b|\[[^\[\]]{0,40}(?::|(?<!\.)\.\.(?!\.))[^\[\]]{0,40}\]|\bbreak$"
)
_NUMBER = re.compile(r"\d{1,15}")


def cut_short(old: TestCase, new: TestCase) -> tuple[str, str] | None:
    """What the cases were and are, where they are fewer by their rows or by the head of their loop."""
    if old.rows == new.rows and old.heads == new.heads:
        return None
    were, are = Counter(old.rows), Counter(new.rows)
    if are and were - are and not are - were:
        return f"{were.total()} cases", f"{are.total()} cases"
    lost = list((Counter(old.heads) - Counter(new.heads)).elements())
    gained = list((Counter(new.heads) - Counter(old.heads)).elements())
    shortened = next((head for head in gained if head.startswith("[…]")), None)
    if shortened is not None and not any(head.startswith("[…]") for head in lost):
        return "[…]", shortened
    pairs = ((before, after) for before in lost[:MOST] for after in gained[:MOST])
    return next((pair for pair in pairs if _is_shorter(*pair)), None)


def _shared(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _is_shorter(before: str, after: str) -> bool:
    """Whether the head of a loop is the old one with something that cuts it short, or with a smaller bound."""
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    put_in = start + end == len(before)
    while start and (before[start - 1].isalnum() or before[start - 1] in "_."):
        start -= 1
    while end and (before[-end].isalnum() or before[-end] == "_"):
        end -= 1
    was, now = before[start : len(before) - end].strip(), after[start : len(after) - end].strip()
    if put_in:
        return _CUT.search(now) is not None and _CUT.search(was) is None
    if not _NUMBER.fullmatch(now) or start == 0:
        return False
    return int(now) < int(was) if _NUMBER.fullmatch(was) else int(now) <= 1 and bool(was)
