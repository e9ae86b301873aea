"""Costs from the price table."""

import pytest

from steelyard.domain.usage import Usage
from steelyard.formulas.prices import Price, cost_of, price_of

HAIKU = Price(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)


@pytest.mark.parametrize(
    "name", ["claude-haiku-4-5", "claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5", "a/b/claude-haiku-4-5"]
)
def test_provider_and_date_do_not_matter(name: str) -> None:
    """The same model under its longer names."""
    assert price_of(name) == HAIKU


@pytest.mark.parametrize("name", [None, "", "claude-haiku", "claude-haiku-4-55", "claude-haiku-4-5-fast", "gpt"])
def test_nothing_is_guessed(name: str | None) -> None:
    """A similar name has no price."""
    assert price_of(name) is None


def test_an_arm_may_know_better() -> None:
    """The arm's price wins."""
    mine = Price(input=9.0, output=9.0)

    assert price_of("anthropic/claude-haiku-4-5", {"claude-haiku-4-5": mine}) == mine


def test_the_sum_by_hand() -> None:
    """1,200 × 1 + 70 × 5 + 1,800 × 0.1 + 800 × 1.25 = 2,730 millionths."""
    usage = Usage(input_tokens=1200, output_tokens=70, cache_read_tokens=1800, cache_write_tokens=800)

    assert cost_of(usage, HAIKU) == pytest.approx(0.00273)


def test_unknown_parts_make_it_unknown() -> None:
    """Unknown tokens, or used tokens without a price, are never counted as free."""
    bare = Price(input=1.0, output=1.0)

    assert cost_of(Usage(input_tokens=1, output_tokens=1, cache_read_tokens=None, cache_write_tokens=0), HAIKU) is None
    assert cost_of(Usage(input_tokens=1, output_tokens=1, cache_read_tokens=1, cache_write_tokens=0), bare) is None
    assert cost_of(Usage(input_tokens=1, output_tokens=1, cache_read_tokens=0, cache_write_tokens=0), bare) == 2e-6
