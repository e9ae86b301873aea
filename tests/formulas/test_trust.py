"""Trust: runs in a row that were Gold or better."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.formulas.trust import TRUSTED_FROM, next_streak, streak_of, trust_change

TIERS = st.lists(st.sampled_from(["Unranked", "Bronze", "Silver", "Gold", "Elite"]), max_size=40)


@pytest.mark.parametrize(
    ("tiers", "streak"),
    [
        ([], 0),
        (["Gold", "Elite"], 2),
        (["Gold", "Silver"], 0),
        (["Bronze", "Gold"], 1),
        (["Gold", "Unranked", "Gold"], 2),
        (["Silver", "Unranked"], 0),
    ],
)
def test_a_streak_counts_good_runs_and_skips_failures_of_ours(tiers: list[str], streak: int) -> None:
    """Silver or less ends a streak; an infrastructure failure, which is unranked, does not."""
    assert streak_of(tiers) == streak


@given(TIERS)
def test_infrastructure_failures_never_matter(tiers: list[str]) -> None:
    """Leaving them out gives the same streak."""
    assert streak_of(tiers) == streak_of(tier for tier in tiers if tier != "Unranked")


@given(TIERS)
def test_trust_is_earned_and_lost_in_turn(tiers: list[str]) -> None:
    """Changes alternate, begin with earned, and agree with the streak at any time."""
    streak, trusted = 0, False
    for tier in tiers:
        after = next_streak(streak, tier)
        change = trust_change(streak, after)
        if change is not None:
            assert (change == "earned") is not trusted
            trusted = change == "earned"
        streak = after
        assert trusted is (streak >= TRUSTED_FROM)
