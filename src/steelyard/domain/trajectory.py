"""What the agent said and did, in the shape of ATIF v1.7 (any v1.x is read)."""

from typing import Any, Literal

from pydantic import ConfigDict

from steelyard.domain.record import JsonObject, Record

ATIF = "ATIF-v1.7"


class _Open(Record):
    """ATIF grows: fields that this version does not know are kept."""

    model_config = ConfigDict(extra="allow", strict=False)


class ToolCall(_Open):
    """A call of a tool by the agent."""

    tool_call_id: str
    function_name: str
    arguments: JsonObject = {}
    extra: JsonObject | None = None


class ObservationResult(_Open):
    """What came back from a call."""

    source_call_id: str | None = None
    content: Any = None
    extra: JsonObject | None = None


class Observation(_Open):
    """What came back after a step."""

    results: tuple[ObservationResult, ...] = ()


class Metrics(_Open):
    """Tokens and money of one step; `prompt_tokens` includes cached ones, as ATIF has it."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    extra: JsonObject | None = None


class Step(_Open):
    """One message with its tool calls and what they returned."""

    step_id: int
    source: Literal["system", "user", "agent"]
    message: Any = ""
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    extra: JsonObject | None = None


class AgentInfo(_Open):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[JsonObject, ...] | None = None
    extra: JsonObject | None = None


class FinalMetrics(_Open):
    """Totals."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: JsonObject | None = None


class Trajectory(_Open):
    """A whole session."""

    schema_version: str = ATIF
    session_id: str | None = None
    agent: AgentInfo
    steps: tuple[Step, ...] = ()
    final_metrics: FinalMetrics | None = None
    extra: JsonObject | None = None
