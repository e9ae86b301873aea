"""What models cost, in USD per million tokens, for agents and judges that report no cost of their own.

Prices change: `PRICES_DATE` says when this table was written, and `prices` of an arm or a judge overrides it. A model
that is not listed, or a kind of token whose price is not known, makes the cost unknown: nothing is guessed from a
similar name.
"""

import re
from collections.abc import Mapping

from pydantic import NonNegativeFloat

from steelyard.domain.record import Record
from steelyard.domain.usage import Usage

PRICES_DATE = "2026-11-16"
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")


class Price(Record):
    """A model's prices in USD per million tokens; a cache price of None is not known or does not exist."""

    input: NonNegativeFloat
    output: NonNegativeFloat
    cache_read: NonNegativeFloat | None = None
    cache_write: NonNegativeFloat | None = None


# input, output, cache read, cache write
_TABLE: dict[str, tuple[float, float, float | None, float | None]] = {
    "claude-haiku-4-5": (1.0, 5.0, 0.1, 1.25),
    "claude-haiku-5-5": (0.1, 0.5, 0.01, 0.125),
    "claude-opus-4-5": (5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-6": (5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-7": (5.0, 25.0, 0.5, 6.25),
    "claude-opus-5": (5.0, 25.0, 0.5, 6.25),
    "claude-opus-5-5": (4.0, 20.0, 0.2, 5.0),
    "claude-sonnet-4-5": (3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-4-6": (3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-5": (2.0, 10.0, 0.2, 2.5),
    "claude-sonnet-5-5": (2.0, 10.0, 0.1, 2.5),
    "gpt-4.1": (2.0, 8.0, 0.5, None),
    "gpt-4.1-mini": (0.4, 1.6, 0.1, None),
    "gpt-4o": (2.5, 10.0, 1.25, None),
    "gpt-4o-mini": (0.15, 0.6, 0.075, None),
    "gpt-5": (1.25, 10.0, 0.125, None),
    "gpt-5-codex": (1.25, 10.0, 0.125, None),
    "gpt-5-mini": (0.25, 2.0, 0.025, None),
    "gpt-5-nano": (0.05, 0.4, 0.005, None),
    "gpt-5.1": (1.25, 10.0, 0.125, None),
    "gpt-5.1-codex": (1.25, 10.0, 0.125, None),
    "gpt-5.1-codex-max": (1.25, 10.0, 0.125, None),
    "gpt-5.1-codex-mini": (0.25, 2.0, 0.025, None),
    "gpt-5.2": (1.75, 14.0, 0.175, None),
    "gpt-5.2-codex": (1.75, 14.0, 0.175, None),
    "gpt-5.3-codex": (1.75, 14.0, 0.175, None),
    "gpt-5.4": (2.5, 15.0, 0.25, None),
    "gpt-5.4-mini": (0.75, 4.5, 0.075, None),
    "gpt-5.5": (5.0, 30.0, 0.5, None),
    "gpt-5.6": (4.0, 20.0, 0.4, 5.0),
    "gpt-6-sol": (2.0, 10.0, 0.2, 2.5),
    "o3": (2.0, 8.0, 0.5, None),
    "o4-mini": (1.1, 4.4, 0.275, None),
}


def price_of(model: str | None, override: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model by its exact name, with or without its provider and its date; None when not listed."""
    if model is None:
        return None
    bare = model.rpartition("/")[2]
    names = (model, bare, _DATED.sub("", bare))
    for name in names:
        if override is not None and name in override:
            return override[name]
    row = next((_TABLE[name] for name in names if name in _TABLE), None)
    if row is None:
        return None
    return Price(input=row[0], output=row[1], cache_read=row[2], cache_write=row[3])


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """What these tokens cost; None when a kind of token that was used is unknown or has no price."""
    if price is None:
        return None
    parts = (
        (usage.input_tokens, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_read_tokens, price.cache_read),
        (usage.cache_write_tokens, price.cache_write),
    )
    total = 0.0
    for tokens, each in parts:
        if tokens is None or (tokens > 0 and each is None):
            return None
        total += tokens * (each or 0.0)
    return total / 1_000_000
