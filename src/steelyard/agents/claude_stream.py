"""Reads Claude Code's stream-json: what it said and did, what it used, and how it ended.

Its `subtype` says success after a failed request: `is_error` decides. Tokens are never added up over its messages, one
line a block with a placeholder for the output; totals are in its `result`, and after a kill in its session file.
"""

from collections.abc import Iterable
from typing import Any

from steelyard.agents.failures import api_failure
from steelyard.agents.program import Heard, with_cost, with_tokens
from steelyard.agents.streams import JsonLines, count, money, obj, objects, text, total
from steelyard.agents.transcript import Draft, Transcript
from steelyard.domain.trajectory import Metrics
from steelyard.domain.usage import Usage
from steelyard.errors import AgentError, RunError
from steelyard.formulas.prices import Price, cost_of, price_of

IGNORED = frozenset({"system", "stream_event", "rate_limit_event", "tool_progress", "auth_status", "control_response"})
SYNTHETIC = "<synthetic>"
MOST_RESULTS = 1000
Parts = list[tuple[str, dict[str, Any]]]


class ClaudeStream:
    """What was heard so far from one invocation."""

    def __init__(self, prompt: str, model: str | None, prices: dict[str, Price] | None) -> None:
        self._lines = JsonLines(self._event)
        self._transcript = Transcript(prompt)
        self._prices = prices
        self._model = model
        self._result: dict[str, Any] | None = None
        self._results = 0
        self._since: list[dict[str, Any]] = []
        self._foreign = 0
        self._last_text = ""
        self._taken_in = [0, 0, 0]  # input, cache read, cache write
        self._last_key: str | None = None
        self._by_message: dict[str, dict[str, Any]] = {}
        self.session_id: str | None = None
        self.cwd: str | None = None
        self._version: str | None = None
        self._tools: tuple[str, ...] | None = None
        self.feed = self._lines.feed

    def close(self) -> None:
        """The stream is over."""
        self._lines.close()

    def so_far(self) -> Usage:
        """What its requests took in until now; what they gave out stands in its last line only."""
        return with_tokens(Usage(), [self._taken_in[0], None, *self._taken_in[1:]])

    def measured(self, session: Iterable[dict[str, Any]]) -> None:
        """Per-message usage, from the session file; only messages that the stream showed count."""
        shown = self._transcript.keys()
        for entry in session:
            message = obj(entry.get("message"))
            if message.get("id") in shown:
                self._by_message[message["id"]] = obj(message.get("usage"))
        self._transcript.measure({key: _metrics(usage) for key, usage in self._by_message.items()})

    def heard(self, resumed: bool, spent: Usage) -> Heard:
        """Everything, once the program has ended."""
        usage, notes = self._usage(resumed, spent)
        result = self._result or {}
        response = text(result.get("result")) if result.get("is_error") is False else None
        denied = len(objects(result.get("permission_denials")))
        notes += [f"{denied} tool calls were refused for lack of permission"] if denied else []
        if self._results > 1:
            notes.append(f"its output has {self._results} result lines; the last one counts")
        if self._foreign:
            notes.append(f"{self._foreign} result lines of another session were printed; they do not count")
        return Heard(
            usage=usage,
            response=response or self._last_text,
            session_id=self.session_id,
            steps=self._transcript.steps(),
            raw=tuple(self._lines.raw),
            tools=self._tools,
            version=self._version,
            model=self._model,
            error=self._error(),
            finished=self._result is not None,
            acted=self._lines.events > 0,
            notes=[*notes, *self._lines.notes(), *self._transcript.notes()],
        )

    def _event(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "assistant":
            self._assistant(event)
        elif kind == "user":
            self._user(event)
        elif kind == "result":
            self._end(event)
        elif kind == "system" and event.get("subtype") == "init":
            self._init(event)
        elif kind not in IGNORED:
            self._lines.unknown(event)

    def _init(self, event: dict[str, Any]) -> None:
        if self.session_id is not None:
            return
        self.session_id = text(event.get("session_id"))
        self.cwd = text(event.get("cwd"))
        self._version = text(event.get("claude_code_version"))
        self._model = text(event.get("model")) or self._model
        tools = event.get("tools")
        self._tools = tuple(sorted(str(tool) for tool in tools)) if isinstance(tools, list) else None

    def _assistant(self, event: dict[str, Any]) -> None:
        message = obj(event.get("message"))
        key = text(message.get("id"))
        ours = message.get("model") == SYNTHETIC
        draft = self._transcript.add("system" if ours else "agent", key, text(event.get("timestamp")))
        draft.model = None if ours else text(message.get("model"))
        if event.get("parent_tool_use_id"):
            draft.extra["parent_tool_use_id"] = event["parent_tool_use_id"]
        if draft.metrics is None and not ours:
            used = {**obj(message.get("usage")), "output_tokens": None}
            draft.metrics = _metrics(used)
            self._take_in(key, _counts(used))
        for block in objects(message.get("content")):
            self._block(draft, block, ours or bool(draft.extra))

    def _take_in(self, key: str | None, counts: list[int | None]) -> None:
        """Count a request once, also where the transcript no longer keeps its steps apart."""
        if key is None or key != self._last_key:
            fresh, _, read, written = counts
            self._taken_in = [a + (b or 0) for a, b in zip(self._taken_in, (fresh, read, written), strict=True)]
        self._last_key = key

    def _block(self, draft: Draft, block: dict[str, Any], aside: bool) -> None:
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            draft.texts.append(self._transcript.clipped(block["text"]))
            self._last_text = self._last_text if aside else draft.texts[-1]
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            draft.thoughts.append(self._transcript.clipped(block["thinking"]))
        elif "name" in block and "id" in block:
            self._transcript.call(draft, str(block["id"]), str(block["name"]), block.get("input"))
        elif "tool_use_id" in block:
            self._transcript.result(text(block["tool_use_id"]), block.get("content"))

    def _user(self, event: dict[str, Any]) -> None:
        content = obj(event.get("message")).get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in objects(content):
            if block.get("type") == "tool_result":
                extra = {"is_error": True} if block.get("is_error") is True else None
                self._transcript.result(text(block.get("tool_use_id")), _content(block.get("content")), extra)
            elif isinstance(block.get("text"), str):
                draft = self._transcript.add("user", None, text(event.get("timestamp")))
                draft.texts.append(self._transcript.clipped(block["text"]))

    def _end(self, event: dict[str, Any]) -> None:
        if self.session_id is not None and event.get("session_id") != self.session_id:
            self._foreign += 1
            return
        self._results += 1
        self._result = event
        since = event.get("model_usage_since_last_result")
        if isinstance(since, dict) and len(self._since) < MOST_RESULTS:
            self._since.append(since)

    def _error(self) -> RunError | None:
        result = self._result
        if result is None or result.get("is_error") is not True:
            return None
        kind, reason = result.get("subtype"), result.get("terminal_reason")
        said = "; ".join(str(part) for part in (result.get("errors") or [])) or text(result.get("result")) or str(kind)
        if kind == "error_max_budget_usd":
            return AgentError("budget_exceeded", f"it used up its budget: {said}")
        if kind == "error_max_turns":
            return AgentError("budget_exceeded", f"it used up its turns: {said}; raise max_turns to give it more")
        if reason == "prompt_too_long":
            return AgentError("context_overflow", f"the conversation outgrew the model's context: {said[:300]}")
        if kind == "success":
            return api_failure("claude-code", said, count(result.get("api_error_status")), self._model)
        return AgentError("agent_crashed", f"it ended with {kind} ({reason}): {said[:300]}")

    def _usage(self, resumed: bool, spent: Usage) -> tuple[Usage, list[str]]:
        effort = Usage(steps=self._transcript.agent_steps, tool_calls=self._transcript.tool_calls)
        if self._result is None:
            return self._after_a_kill(effort)
        # Every result tells what came since the one before, so a line slipped in can only make a run dearer.
        parts = [(name, obj(part)) for since in self._since for name, part in since.items()]
        if not parts and not resumed:
            parts = [(name, obj(part)) for name, part in obj(self._result.get("modelUsage")).items()]
        each = [_model_counts(part) for _, part in parts]
        counts = [total([found[place] for found in each]) for place in range(4)]
        usage = with_tokens(effort, counts if parts else _counts(obj(self._result.get("usage"))))
        cost = self._cost(parts, resumed, spent)
        return (usage if cost is None else with_cost(usage, *cost)), []

    def _cost(self, parts: Parts, resumed: bool, spent: Usage) -> tuple[float, str] | None:
        """Its own sum where it knows the prices; its guesses for models it does not know are not believed."""
        if any(part.get("costBasis") == "unknown" for _, part in parts):
            return self._computed(parts)
        if parts:
            costs = [money(part.get("costUSD")) for _, part in parts]
            known = [cost for cost in costs if cost is not None]
            return (sum(known), "reported") if len(known) == len(costs) else None
        whole = money((self._result or {}).get("total_cost_usd"))
        if whole is None or not resumed:
            return None if whole is None else (whole, "reported")
        if spent.cost_usd is None or spent.cost_source != "reported" or whole < spent.cost_usd:
            return None
        return whole - spent.cost_usd, "reported"

    def _computed(self, parts: Parts) -> tuple[float, str] | None:
        costs = [
            cost_of(with_tokens(Usage(), _model_counts(part)), price_of(name, self._prices)) for name, part in parts
        ]
        known = [cost for cost in costs if cost is not None]
        return (sum(known), "computed") if known and len(known) == len(costs) else None

    def _after_a_kill(self, effort: Usage) -> tuple[Usage, list[str]]:
        """Totals from the session file, when it has every message that the stream showed."""
        if not self._by_message or len(self._by_message) < self._transcript.agent_steps:
            return effort, []
        each = [_counts(usage) for usage in self._by_message.values()]
        counts = [total([counts[place] for counts in each]) for place in range(4)]
        return with_tokens(effort, counts), ["it did not tell its totals; tokens are added up from its session file"]


def _counts(usage: dict[str, Any]) -> list[int | None]:
    """Input, output, cache read, cache write."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return [count(usage.get(name)) for name in names]


def _model_counts(part: dict[str, Any]) -> list[int | None]:
    """The same of one model's totals."""
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    return [count(part.get(name)) for name in names]


def _metrics(usage: dict[str, Any]) -> Metrics:
    fresh, output, read, written = _counts(usage)
    return Metrics(
        prompt_tokens=total([fresh, read, written]),
        completion_tokens=output,
        cached_tokens=read,
        extra={"cache_write_tokens": written} if written is not None else None,
    )


def _content(value: Any) -> Any:
    """A tool's result: plain text where it is only that."""
    parts = objects(value)
    if parts and all(part.get("type") == "text" for part in parts):
        return "\n".join(str(part.get("text", "")) for part in parts)
    return value
