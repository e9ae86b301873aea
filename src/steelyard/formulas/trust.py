"""Trust: how many runs in a row an arm has scored Gold or better.

Infrastructure failures have no score and are skipped by whoever counts: they neither earn nor cost trust.
"""

from collections.abc import Iterable
from typing import Literal

TRUSTED_FROM = 5  # runs in a row
GOOD = frozenset({"Gold", "Elite"})

TrustChange = Literal["earned", "lost"]


def is_good(tier: str) -> bool:
    """Whether a tier counts for trust."""
    return tier in GOOD


def next_streak(streak: int, tier: str) -> int:
    """The streak after one more scored run; an unranked one leaves it as it was."""
    if tier == "Unranked":
        return streak
    return streak + 1 if is_good(tier) else 0


def streak_of(tiers: Iterable[str]) -> int:
    """The streak at the end of runs, oldest first."""
    streak = 0
    for tier in tiers:
        streak = next_streak(streak, tier)
    return streak


def trust_change(before: int, after: int, needed: int = TRUSTED_FROM) -> TrustChange | None:
    """What one step of the streak means: trust is earned at `needed` runs and lost with the first that is not good."""
    if before < needed <= after:
        return "earned"
    if after < needed <= before:
        return "lost"
    return None
