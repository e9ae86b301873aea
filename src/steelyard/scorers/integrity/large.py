"""What differs between the two sides of a file that is too large for a diff: lines that stand on one side only."""

from collections import Counter

from steelyard.domain.diff import Lines

LARGEST = 32 * 1024 * 1024
"""Over this a file has no lines in the diff, and nobody writes such a test."""
READ = 2 * LARGEST
MOST_LINES = 1_000_000
MOST_KEPT = 400_000


def differing(before: bytes, after: bytes) -> tuple[Lines, Lines] | None:
    """The lines that only the old side has, and those that only the new one has, the first of very many.

    None where the sides have too many lines to compare.
    """
    start = shared_start(before, after, min(len(before), len(after)))
    start = before.rfind(b"\n", 0, start) + 1
    first = before.count(b"\n", 0, start) + 1
    sides = before[start:], after[start:]
    if max(side.count(b"\n") for side in sides) > MOST_LINES:
        return None
    old, new = (side.split(b"\n") for side in sides)
    gone, come = Counter(old), Counter(new)
    both = gone & come
    return _only(old, both.copy(), first), _only(new, both, first)


def _only(lines: list[bytes], both: Counter[bytes], first: int) -> Lines:
    found: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first):
        if both[line] > 0:
            both[line] -= 1
        elif len(found) < MOST_KEPT:
            found.append((number, line.decode("utf-8", "replace")))
    return tuple(found)


def shared_start(old: bytes | list[str], new: bytes | list[str], limit: int) -> int:
    """How many bytes or lines both sides begin with, as far as the limit."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
