"""The scorecard of a run (seed 001): four axes, a weighted sum, a tier."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard.domain.record import Finite, JsonObject, Record

Tier = Literal["Unranked", "Bronze", "Silver", "Gold", "Elite"]
Axis = Literal["completion", "error_rate", "latency", "resource_efficiency"]


class Axes(Record):
    """Integers 0..100."""

    completion: int = Field(ge=0, le=100)
    error_rate: int = Field(ge=0, le=100)
    latency: int = Field(ge=0, le=100)
    resource_efficiency: int = Field(ge=0, le=100)


NotNegative = Annotated[Finite, Field(ge=0)]
WEIGHTS_TOLERANCE = 1e-4


class Weights(Record):
    """How much each axis counts; each at least 0, together 1 (± 0.0001)."""

    completion: Finite = Field(default=0.4, ge=0)
    error_rate: Finite = Field(default=0.3, ge=0)
    latency: Finite = Field(default=0.2, ge=0)
    resource_efficiency: Finite = Field(default=0.1, ge=0)

    @model_validator(mode="after")
    def _together_one(self) -> Self:
        total = self.completion + self.error_rate + self.latency + self.resource_efficiency
        # The slack of 1e-12 lets a sum that is exactly 1.0001 or 0.9999 on paper through its float noise.
        if abs(total - 1) > WEIGHTS_TOLERANCE + 1e-12:
            raise ValueError(f"the four weights must add up to 1 (± 0.0001), these add up to {total:.6g}")
        return self


class Scorecard(Record):
    """The seed's document first, then what it was made of."""

    run_id: str
    score: int = Field(ge=0, le=100)
    tier: Tier
    formula_version: str
    axes: Axes
    weights: Weights = Weights()
    defaulted_axes: tuple[Axis, ...] = ()
    inputs: JsonObject = {}


class StageDescription(Record):
    """A stage of a finished run; it passed at the first attempt when it passed and took one attempt."""

    name: str
    attempts: int = Field(default=1, ge=0, le=1_000_000)
    passed: bool

    @model_validator(mode="after")
    def _tried(self) -> Self:
        if self.passed and self.attempts == 0:
            raise ValueError("a stage that passed took at least one attempt")
        return self


class ResourceDescription(Record):
    """What a sandbox measured; all of it may be unknown."""

    peak_memory_mb: Finite | None = Field(default=None, ge=0)
    memory_limit_mb: Finite | None = Field(default=None, ge=0)
    cpu_periods: int | None = Field(default=None, ge=0)
    cpu_throttled_periods: int | None = Field(default=None, ge=0)


class RunDescription(Record):
    """A finished run as `steelyard score` reads it: everything but `run_id` and `outcome` may be left out or null.

    `history_wall_s` are the COMPLETED runs of the workspace before this one, oldest first; `baseline_p50_s`, where it
    is given, is used in their place; one of 0 says nothing of how long a run takes, so that latency is defaulted.
    """

    run_id: str = Field(min_length=1, max_length=500)
    outcome: Literal["COMPLETED", "BLOCKED", "FAILED"]
    stages: tuple[StageDescription, ...] | None = ()
    wall_s: Finite | None = Field(default=None, ge=0)
    history_wall_s: tuple[NotNegative, ...] | None = ()
    baseline_p50_s: Finite | None = Field(default=None, ge=0)
    resources: ResourceDescription | None = None
    weights: Weights | None = None
