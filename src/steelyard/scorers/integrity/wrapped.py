"""Checks that look at a value through something: at its text, its length, its distance, or at both sides made alike."""

import re
from functools import lru_cache

from steelyard.scorers.integrity.model import PARTIAL, Check
from steelyard.scorers.integrity.strength import compared

MOST, LONGEST = 12, 600


def seen_through(was: Check, gained: list[Check]) -> tuple[Check, int] | None:
    """The new check that has the old one's value somewhere within, and how much it still pins down."""
    for check in gained[:MOST] if "raises" not in was.subjects else ():
        said = _plain(check.text)
        for subject in was.subjects[:4]:
            if _within(_plain(subject), said):
                measured = any(_within(_plain(subject), _plain(part)) for part in check.parts)
                alike = _made_alike(was.text, check.text)
                return check, min(check.strength, PARTIAL) if measured or alike else check.strength
    return None


def _made_alike(was: str, now: str) -> bool:
    """Whether both sides of a comparison now go through the same thing: `a == b`, then `f(a) == f(b)`."""
    old, new = compared(was), compared(now)
    if old is None or new is None:
        return False
    a, b = map(_plain, old)
    for c, d in (map(_plain, new), map(_plain, new[::-1])):
        if c != a and d != b and a in c and b in d and c.replace(a, "•", 1) == d.replace(b, "•", 1):
            return True
    return False


@lru_cache(maxsize=512)
def _plain(text: str) -> str:
    return "".join(text[:LONGEST].split())


@lru_cache(maxsize=2048)
def _within(inner: str, outer: str) -> bool:
    """Whether a text stands in another one, not as a part of a longer name."""
    if not inner or inner not in outer:
        return False
    return re.search(rf"(?<![\w$])(?<![\w)\]]\.){re.escape(inner)}(?!\w)", outer) is not None
