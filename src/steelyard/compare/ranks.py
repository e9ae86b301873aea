"""The values at some places of a sorted order, and percentiles, without sorting a million numbers for them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.compare.table import Floats, Ints

FEW = 10_000  # so many are sorted sooner than they are dealt out
SLOTS = 1 << 16


def percentiles(values: "Floats", shares: "Floats | Ints") -> "Floats":
    """Percentiles by linear interpolation, as NumPy has them, of at least one value; all are known."""
    import numpy as np

    places = shares / 100 * (len(values) - 1)
    below = places.astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    found = at_ranks(values, np.concatenate((below, above)))
    low, high = found[: len(shares)], found[len(shares) :]
    result: Floats = low + (high - low) * (places - below)
    return result


def at_ranks(values: "Floats", ranks: "Ints") -> "Floats":
    """The values that would stand at these places, were all sorted; exactly those.

    Many values are dealt out to slots of equal width first, which keeps their order, and only the slots that hold a
    wanted place are sorted. How evenly they fall decides how long it takes, not what comes out.
    """
    import numpy as np

    if len(values) <= FEW:
        return np.sort(values)[ranks]
    sample = np.sort(values[:: len(values) // 1024])
    low, width = sample[8], sample[-9] - sample[8]  # a few far ones must not crowd all others into one slot
    if not 0 < width < float("inf"):
        return np.sort(values)[ranks]
    slots = np.clip((values - low) * ((SLOTS - 2) / width) + 1, 0, SLOTS - 1).astype(np.uint16)
    counts = np.bincount(slots, minlength=SLOTS)
    slot_of = np.searchsorted(np.cumsum(counts), ranks, side="right")
    needed = np.zeros(SLOTS, dtype=np.bool_)
    needed[slot_of] = True
    left_out = np.cumsum(np.where(needed, 0, counts))
    result: Floats = np.sort(values[needed[slots]])[ranks - left_out[slot_of]]
    return result
