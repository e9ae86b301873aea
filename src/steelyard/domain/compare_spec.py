"""What a suite says about comparing: which arms, and when a difference counts. Records need no more of a suite."""

from typing import Literal

from pydantic import Field

from steelyard.domain.record import Finite, Record


class Thresholds(Record):
    """When a difference counts (seed 000)."""

    min_composite_gain: Finite = Field(default=0.01, ge=0)
    regression_composite_drop: Finite = Field(default=0.05, ge=0)
    objective_drop_is_regression: bool = True


class CompareSpec(Record):
    """Which arm is the baseline, which the candidate, and what counts as a regression."""

    baseline: str | None = None
    candidate: str | None = None
    thresholds: Thresholds = Thresholds()
    regressions: Literal["any", "significant"] = "any"
