"""The run record (seed 004): one run in one line of JSON, from Steelyard or from anywhere else."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from steelyard.domain.record import Finite, Record

Identifier = Annotated[str, Field(min_length=1, max_length=500)]
Count = Annotated[int, Field(ge=0, le=2**53)]  # past 2**53 a float no longer holds every whole number
Amount = Annotated[Finite, Field(ge=0)]


class RunRecord(Record):
    """Required: who, what, whether it succeeded, time, money, tokens. Null is unknown. Unknown fields are kept.

    `objective_passed`, `objective_total` and `judge01` let a comparison compute the composite anew against the
    baseline; where they are missing, `composite` is taken as it stands.
    """

    model_config = ConfigDict(extra="allow", title="run-record")

    run_id: Identifier
    task_id: Identifier
    arm: Identifier
    repeat: Annotated[int, Field(ge=1, le=2**31 - 1)]
    success: bool
    duration_seconds: Amount
    total_cost_usd: Amount | None
    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_write_tokens: Count | None
    step_count: Count | None = None
    tool_call_count: Count | None = None
    acceptance_cmd_count: Count | None = None
    objective_passed: Count | None = None
    objective_total: Count | None = None
    judge01: Annotated[Finite, Field(ge=0, le=1)] | None = None
    composite: float | None = None
    score: Annotated[int, Field(ge=0, le=100)] | None = None
    tier: str | None = None
    error_class: str | None = None
    started_at: str | None = None

    @property
    def total_tokens(self) -> int | None:
        """All four kinds together; None when one of them is unknown."""
        parts = (self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def non_cache_tokens(self) -> int | None:
        """Input and output tokens; None when one of them is unknown."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens

    def document(self) -> dict[str, Any]:
        """The record as JSON with the fields it was given, and no others: what was read is what is written."""
        return self.model_dump(mode="json", exclude_unset=True)


def run_record_schema() -> dict[str, Any]:
    """The JSON Schema of a run record, as `steelyard schema run-record` prints it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunRecord.model_json_schema()}
