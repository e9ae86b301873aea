"""What a run consumed. None means unknown, which is never the same as zero."""

from typing import Any, Literal

from pydantic import NonNegativeFloat, NonNegativeInt

from steelyard.domain.record import Record

CostSource = Literal["billed", "reported", "computed", "unknown"]


class Usage(Record):
    """Tokens, money and effort of an agent; `input_tokens` leaves out what came from or went into a cache."""

    input_tokens: NonNegativeInt | None = None
    output_tokens: NonNegativeInt | None = None
    cache_read_tokens: NonNegativeInt | None = None
    cache_write_tokens: NonNegativeInt | None = None
    cost_usd: NonNegativeFloat | None = None
    cost_source: CostSource = "unknown"
    steps: NonNegativeInt | None = None
    tool_calls: NonNegativeInt | None = None

    @property
    def total_tokens(self) -> int | None:
        """All tokens, or None when any kind is unknown."""
        parts = (self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def known_tokens(self) -> int:
        """The tokens that are known, at the least what was used: what a budget counts."""
        parts = (self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)
        return sum(part for part in parts if part is not None)

    def plus(self, other: "Usage") -> "Usage":
        """The sum of two turns; a part that one side does not know is unknown in the sum."""

        def add(a: Any, b: Any) -> Any:
            return None if a is None or b is None else a + b

        weakest = max(self.cost_source, other.cost_source, key=["billed", "reported", "computed", "unknown"].index)
        return Usage(
            input_tokens=add(self.input_tokens, other.input_tokens),
            output_tokens=add(self.output_tokens, other.output_tokens),
            cache_read_tokens=add(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=add(self.cache_write_tokens, other.cache_write_tokens),
            cost_usd=add(self.cost_usd, other.cost_usd),
            cost_source=weakest,
            steps=add(self.steps, other.steps),
            tool_calls=add(self.tool_calls, other.tool_calls),
        )


class Resources(Record):
    """What the sandbox measured while the agent and its stages ran."""

    peak_memory_mb: NonNegativeFloat | None = None
    memory_limit_mb: NonNegativeFloat | None = None
    cpu_time_s: NonNegativeFloat | None = None
    cpu_periods: NonNegativeInt | None = None
    cpu_throttled_periods: NonNegativeInt | None = None
    oom_kills: NonNegativeInt | None = None
    source: Literal["cgroup2", "cgroup1", "docker", "processes", "unknown"] = "unknown"
