"""The shape of a tree: whether it is too deep to be read, and what stands around a line."""

from itertools import accumulate
from operator import sub
from typing import Any

MAX_NESTING = 400
MAX_DEPTH, SAMPLES = 150, 32
LONGEST = 400
_STEP = dict.fromkeys(b"([{", 1) | dict.fromkeys(b")]}", -1)
_OTHERS = bytes(set(range(256)) - set(b"()[]{}"))


def leans(root: Any, size: int) -> bool:
    """Whether a tree is a long chain: a node far down is found only by going all the way, each time."""
    cursor = root.walk()
    for at in range(0, size, 1 + size // SAMPLES):
        cursor.reset(root)
        while cursor.goto_first_child_for_byte(at) is not None:
            if cursor.depth > MAX_DEPTH:
                return True
    return False


def nests(raw: bytes) -> bool:
    """Whether brackets nest deeper than a parser should be given."""
    if raw.count(b"<") > MAX_NESTING and any(
        line.count(b"<") > line.count(b">") + MAX_NESTING // 2 for line in raw.split(b"\n")
    ):
        return True  # generics that never close take a parser very long, and it does not look at the clock meanwhile
    if max(raw.count(b"("), raw.count(b"["), raw.count(b"{")) <= MAX_NESTING:
        return False
    depths = list(accumulate(map(_STEP.__getitem__, raw.translate(None, _OTHERS))))
    return any(depth > MAX_NESTING for depth in map(sub, depths, accumulate(depths, min, initial=0)))


def what_surrounds(root: Any, raw: bytes, lines: tuple[int, ...]) -> tuple[str, ...]:
    """The kinds and first lines of all that reaches over each of these lines."""
    found = []
    for line in lines:
        node = root.descendant_for_point_range((line, 0), (line, 0))
        chain = []
        while node is not None and node.parent is not None:
            start = node.start_byte
            end = raw.find(b"\n", start, node.end_byte)
            chain.append(f"{node.type} {raw[start : end if end >= 0 else node.end_byte][:LONGEST]!r}")
            node = node.parent
        found.append("; ".join(chain))
    return tuple(found)
