"""Reads the JSON lines of `codex exec`: its items, its totals, and how its turn ended.

An `error` line alone is no failure (it also tells of reconnecting); `turn.failed` is. Its input tokens include cached
ones, and after a resume its totals are those of the whole thread: what the turns before used is taken off again.
"""

from collections.abc import Callable, Iterable
from typing import Any

from steelyard.agents.failures import api_failure
from steelyard.agents.program import Heard, now, with_tokens
from steelyard.agents.streams import JsonLines, count, obj, text, total
from steelyard.agents.transcript import Transcript
from steelyard.domain.trajectory import Metrics
from steelyard.domain.usage import Usage
from steelyard.errors import RunError

KINDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
IGNORED = frozenset({"turn.started", "error"})


class CodexStream:
    """What was heard so far from one invocation."""

    def __init__(self, prompt: str, model: str | None, clock: Callable[[], str] = now) -> None:
        self._lines = JsonLines(self._event)
        self._transcript = Transcript(prompt)
        self._model, self._clock = model, clock
        self._open = False
        self._last_text = ""
        self._ends = 0
        self._totals: dict[str, Any] | None = None
        self._failure: str | None = None
        self._responses: list[dict[str, Any]] = []
        self.thread_id: str | None = None
        self.feed = self._lines.feed

    def close(self) -> None:
        """The stream is over."""
        self._lines.close()

    def measured(self, rollout: Iterable[dict[str, Any]]) -> None:
        """Usage by response of the latest turn, from the session file."""
        latest: str | None = None
        for entry in rollout:
            payload = obj(entry.get("payload"))
            if entry.get("type") == "turn_context":
                latest = text(payload.get("turn_id"))
                self._responses = []
                self._model = text(payload.get("model")) or self._model
            elif entry.get("type") == "token_usage_record" and payload.get("turn_id") == latest:
                self._responses.append(obj(payload.get("usage")))
        self._transcript.measure_in_order([_metrics(usage) for usage in self._responses])

    def heard(self, resumed: bool, spent: Usage) -> Heard:
        """Everything, once the program has ended."""
        usage, notes = self._usage(resumed, spent)
        if self._ends > 1:
            notes.append(f"its output ends its turn {self._ends} times; the last one counts")
        return Heard(
            usage=usage,
            response=self._last_text,
            session_id=self.thread_id,
            steps=self._transcript.steps(),
            raw=tuple(self._lines.raw),
            model=self._model,
            error=self._error(),
            finished=self._totals is not None,
            acted=self._lines.events > 0,
            notes=[*notes, *self._lines.notes(), *self._transcript.notes()],
        )

    def _event(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind in ("item.started", "item.updated", "item.completed"):
            self._item(obj(event.get("item")), done=kind == "item.completed")
        elif kind == "thread.started":
            self.thread_id = self.thread_id or text(event.get("thread_id"))
        elif kind == "turn.completed":
            self._ends += 1
            told = obj(event.get("usage"))
            # They only ever grow: a smaller one was slipped in.
            if self._totals is None or _sum(told) >= _sum(self._totals):
                self._totals = told
            self._failure = None
        elif kind == "turn.failed":
            self._ends += 1
            self._failure = text(obj(event.get("error")).get("message")) or "no reason was given"
        elif kind not in IGNORED:
            self._lines.unknown(event)

    def _item(self, item: dict[str, Any], done: bool) -> None:
        kind = item.get("type")
        if kind in ("agent_message", "reasoning"):
            if done:
                self._say(str(kind), text(item.get("text")) or "")
        elif kind == "error":
            if done:
                draft = self._transcript.add("system", None, self._clock())
                draft.texts.append(self._transcript.clipped(text(item.get("message")) or ""))
                self._open = False
        elif kind != "todo_list":
            self._tool(item, done)

    def _say(self, kind: str, said: str) -> None:
        """A message opens a new step; the thought before it belongs to the same one."""
        draft = self._transcript.agent() if self._open else None
        if draft is None or draft.texts or draft.calls:
            draft = self._transcript.add("agent", None, self._clock())
            draft.model = self._model
        self._open = True
        kept = self._transcript.clipped(said)
        if kind == "reasoning":
            draft.thoughts.append(kept)
        else:
            draft.texts.append(kept)
            self._last_text = kept

    def _tool(self, item: dict[str, Any], done: bool) -> None:
        if not self._open:
            self._transcript.add("agent", None, self._clock()).model = self._model
            self._open = True
        call_id = text(item.get("id")) or f"call_{self._transcript.tool_calls}"
        name, arguments, content = _call(item)
        self._transcript.call(self._transcript.agent(), call_id, name, arguments)
        if done:
            extra = {key: item[key] for key in ("exit_code", "status") if item.get(key) is not None}
            self._transcript.result(call_id, content, extra)

    def _error(self) -> RunError | None:
        return None if self._failure is None else api_failure("codex", self._failure, model=self._model)

    def _usage(self, resumed: bool, spent: Usage) -> tuple[Usage, list[str]]:
        steps = len(self._responses) or self._transcript.agent_steps
        effort = Usage(steps=steps, tool_calls=self._transcript.tool_calls)
        notes: list[str] = []
        counts = _counts(self._totals) if self._totals is not None else None
        if counts is not None and resumed:
            before = [getattr(spent, kind) for kind in KINDS]
            counts = [None if a is None or b is None or a < b else a - b for a, b in zip(counts, before, strict=True)]
            counts = None if None in counts else counts
        if counts is None and self._responses:
            each = [_counts(usage) for usage in self._responses]
            counts = [total([part[place] for part in each]) for place in range(4)]
            notes.append("tokens are added up from its session file")
        return (effort if counts is None else with_tokens(effort, counts)), notes


def _call(item: dict[str, Any]) -> tuple[str, Any, Any]:
    """A tool item as name, arguments and result."""
    kind = str(item.get("type"))
    if kind == "command_execution":
        return "shell", {"command": item.get("command")}, item.get("aggregated_output")
    if kind == "file_change":
        return "apply_patch", {"changes": item.get("changes")}, item.get("status")
    if kind == "mcp_tool_call":
        name = f"{item.get('server')}.{item.get('tool')}"
        return name, obj(item.get("arguments")), item.get("result") or item.get("error")
    rest = {key: value for key, value in item.items() if key not in ("id", "type", "status", "result")}
    return kind, rest, item.get("result")


def _counts(usage: dict[str, Any]) -> list[int | None]:
    """Input without cached tokens, output, cache read, cache write."""
    whole, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    read = count(usage.get("cached_input_tokens", 0))
    written = count(usage.get("cache_write_input_tokens", 0))
    fresh = None if whole is None or read is None or written is None else max(0, whole - read - written)
    return [fresh, output, read, written]


def _sum(usage: dict[str, Any]) -> int:
    return (count(usage.get("input_tokens")) or 0) + (count(usage.get("output_tokens")) or 0)


def _metrics(usage: dict[str, Any]) -> Metrics:
    return Metrics(
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(usage.get("cached_input_tokens")),
    )
