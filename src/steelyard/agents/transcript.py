"""Puts a trajectory together as events arrive: steps in ATIF's shape, in bounded memory."""

from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.agents.streams import clip, clip_value
from steelyard.domain.trajectory import Metrics, Observation, ObservationResult, Step, ToolCall

MOST_STEPS = 20_000
MOST_TEXT = 64 * 1024 * 1024
SHORT = 200


@dataclass(slots=True)
class Draft:
    """A step that is still growing."""

    source: Literal["system", "user", "agent"]
    timestamp: str | None = None
    model: str | None = None
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[ObservationResult] = field(default_factory=list)
    metrics: Metrics | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def step(self, number: int) -> Step:
        """The step as it is kept."""
        return Step(
            step_id=number,
            source=self.source,
            message="\n".join(self.texts),
            timestamp=self.timestamp,
            model_name=self.model,
            reasoning_content="\n".join(self.thoughts) or None,
            tool_calls=tuple(self.calls) or None,
            observation=Observation(results=tuple(self.results)) if self.results else None,
            metrics=self.metrics,
            extra=self.extra or None,
        )


class Transcript:
    """A growing trajectory. Steps past the limit are counted, not kept; texts are clipped, and shorter when many."""

    def __init__(self, prompt: str) -> None:
        self._drafts: list[Draft] = []
        self._by_key: dict[str, Draft] = {}
        self._by_call: dict[str, Draft] = {}
        self._room = MOST_TEXT
        self._last_time = ""
        self.agent_steps = 0
        self.tool_calls = 0
        self.left_out = 0
        self.backwards = 0
        self.add("user", None, None).texts.append(self.clipped(prompt))

    def add(self, source: Literal["system", "user", "agent"], key: str | None, timestamp: str | None) -> Draft:
        """The step of this key, new when there is none yet."""
        if key is not None and key in self._by_key:
            return self._by_key[key]
        draft = Draft(source, timestamp)
        self.agent_steps += source == "agent"
        if len(self._drafts) >= MOST_STEPS:
            self.left_out += 1
            return draft
        self._see(timestamp)
        self._drafts.append(draft)
        if key is not None:
            self._by_key[key] = draft
        return draft

    def agent(self) -> Draft:
        """The agent's step that is under way, new when there is none."""
        last = self._drafts[-1]
        return last if last.source == "agent" else self.add("agent", None, None)

    def call(self, draft: Draft, call_id: str, name: str, arguments: Any) -> None:
        """A tool call in a step; a call that was seen before is told anew."""
        clipped = self._value(arguments if isinstance(arguments, dict) else {"input": arguments})
        made = ToolCall(tool_call_id=call_id, function_name=clip(name, SHORT), arguments=clipped)
        known = self._by_call.get(call_id)
        if known is not None:
            known.calls[:] = [made if call.tool_call_id == call_id else call for call in known.calls]
            return
        self.tool_calls += 1
        if len(self._by_call) < MOST_STEPS:
            self._by_call[call_id] = draft
            draft.calls.append(made)

    def result(self, call_id: str | None, content: Any, extra: dict[str, Any] | None = None) -> None:
        """What came back from a call; from an unknown one, it goes to the step under way."""
        draft = self._by_call.get(call_id or "")
        if draft is None and len(self._by_call) >= MOST_STEPS:
            return
        found = ObservationResult(source_call_id=call_id, content=self._value(content), extra=extra or None)
        (draft or self.agent()).results.append(found)

    def measure(self, by_key: dict[str, Metrics]) -> None:
        """Per-step tokens that became known later."""
        for key, metrics in by_key.items():
            if key in self._by_key:
                self._by_key[key].metrics = metrics

    def measure_in_order(self, all_metrics: list[Metrics]) -> None:
        """Per-step tokens by position, only when there are as many as steps of the agent."""
        mine = [draft for draft in self._drafts if draft.source == "agent"]
        if len(mine) == len(all_metrics):
            for draft, metrics in zip(mine, all_metrics, strict=True):
                draft.metrics = metrics

    def keys(self) -> set[str]:
        """The keys of all steps."""
        return set(self._by_key)

    def clipped(self, text: str) -> str:
        """A text as it is kept."""
        kept = clip(text) if self._room > 0 else clip(text, SHORT)
        self._room -= len(kept)
        return kept

    def steps(self) -> tuple[Step, ...]:
        """The trajectory."""
        return tuple(draft.step(number) for number, draft in enumerate(self._drafts, 1))

    def notes(self) -> list[str]:
        """What is not in the trajectory, or odd in it."""
        notes = []
        if self.left_out:
            notes.append(f"{self.left_out} steps past the first {MOST_STEPS} are counted, but not in the trajectory")
        if self._room <= 0:
            notes.append("its trajectory is very long, so later texts in it are shortened")
        if self.backwards:
            notes.append(f"its clock went backwards {self.backwards} times; the times in the trajectory are its own")
        return notes

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.clipped(value)
        kept = clip_value(value) if self._room > 0 else clip_value(value, SHORT)
        self._room -= _size(kept)
        return kept

    def _see(self, timestamp: str | None) -> None:
        if timestamp is None:
            return
        self.backwards += timestamp < self._last_time
        self._last_time = max(self._last_time, timestamp)


def _size(value: Any) -> int:
    """How many characters a JSON value holds, roughly."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(_size(part) + len(key) for key, part in value.items())
    if isinstance(value, list):
        return 8 * len(value) + sum(_size(part) for part in value)
    return 8
