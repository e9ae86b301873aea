"""Places of a sorted order without sorting: always what sorting gives."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from steelyard.compare.ranks import FEW, at_ranks, percentiles

MANY = FEW + 1_001
SHAPES: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "even": lambda luck: luck.random(MANY),
    "skewed": lambda luck: luck.lognormal(0, 3, MANY),
    "whole numbers": lambda luck: luck.integers(0, 5, MANY).astype(float),
    "all alike": lambda luck: np.full(MANY, 7.5),
    "two far apart": lambda luck: np.where(luck.random(MANY) < 0.5, -1e300, 1e300),
    "one far away": lambda luck: np.append(luck.random(MANY - 1), 1e12),
    "sorted": lambda luck: np.arange(MANY, dtype=float),
    "negative": lambda luck: -luck.random(MANY) - 3,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_places_are_those_of_the_sorted_values(shape: str) -> None:
    """However the values fall, each place holds exactly what sorting would put there."""
    values = SHAPES[shape](np.random.default_rng(3))
    ranks = np.concatenate(([0, 1, MANY // 2, MANY - 2, MANY - 1], np.random.default_rng(4).integers(0, MANY, 300)))

    assert at_ranks(values, ranks).tolist() == np.sort(values)[ranks].tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 6.0), st.integers(1, 3 * FEW))
def test_percentiles_are_those_of_numpy(seed: int, spread: float, count: int) -> None:
    """Few values and many, whatever their spread: linear interpolation as NumPy does it."""
    values = np.random.default_rng(seed).lognormal(0, spread, count)
    shares = np.array([0.0, 2.5, 25, 50, 75, 97.5, 100])

    assert percentiles(values, shares) == pytest.approx(np.percentile(values, shares), rel=1e-12)
