"""Reads the JSON lines of `opencode run`: parts of messages; with no summary, its finished steps are added up."""

from typing import Any

from steelyard.agents.failures import api_failure
from steelyard.agents.program import Heard, from_ms, with_tokens
from steelyard.agents.streams import JsonLines, count, obj, text, total
from steelyard.agents.transcript import Transcript
from steelyard.domain.trajectory import Metrics
from steelyard.domain.usage import Usage
from steelyard.errors import AgentError, RunError


class OpenCodeStream:
    """What was heard so far from one invocation."""

    def __init__(self, prompt: str, model: str | None) -> None:
        self._lines = JsonLines(self._event)
        self._transcript = Transcript(prompt)
        self._model = model
        self._session: str | None = None
        self._foreign = 0
        self._started = 0
        self._sums: list[int | None] = [0, 0, 0, 0]
        self._finishes = 0
        self._reason: str | None = None
        self._last_text = ""
        self._failure: dict[str, Any] | None = None
        self.feed = self._lines.feed

    def close(self) -> None:
        """The stream is over."""
        self._lines.close()

    def so_far(self) -> Usage:
        """The tokens of the steps that are finished."""
        return with_tokens(Usage(), self._sums)

    def heard(self) -> Heard:
        """Everything, once the program has ended."""
        known = self._finishes > 0 and self._finishes >= self._started
        effort = Usage(steps=self._transcript.agent_steps, tool_calls=self._transcript.tool_calls)
        usage = with_tokens(effort, self._sums) if known else effort
        notes = [] if known or not self._started else ["it was stopped inside a step, so its tokens are unknown"]
        if self._foreign:
            notes.append(f"{self._foreign} lines of another session were printed; they do not count")
        return Heard(
            usage=usage,
            response=self._last_text,
            session_id=self._session,
            steps=self._transcript.steps(),
            raw=tuple(self._lines.raw),
            model=self._model,
            error=self._error(),
            finished=self._reason is not None and self._reason != "tool-calls",
            acted=self._lines.events > 0,
            notes=[*notes, *self._lines.notes(), *self._transcript.notes()],
        )

    def _event(self, event: dict[str, Any]) -> None:
        session = text(event.get("sessionID"))
        self._session = self._session or session
        if session != self._session:
            self._foreign += 1
            return
        kind, part, when = event.get("type"), obj(event.get("part")), from_ms(event.get("timestamp"))
        if kind == "error":
            self._failure = obj(event.get("error"))
            return
        if kind not in ("step_start", "text", "reasoning", "tool_use", "step_finish"):
            self._lines.unknown(event)
            return
        draft = self._transcript.add("agent", text(part.get("messageID")), when)
        draft.model = self._model
        if kind == "step_start":
            self._started += 1
            self._reason = None
        elif kind == "text":
            self._last_text = self._transcript.clipped(text(part.get("text")) or "")
            draft.texts.append(self._last_text)
        elif kind == "reasoning":
            draft.thoughts.append(self._transcript.clipped(text(part.get("text")) or ""))
        elif kind == "tool_use":
            state, call_id = obj(part.get("state")), text(part.get("callID")) or "call"
            self._transcript.call(draft, call_id, str(part.get("tool")), obj(state.get("input")))
            self._transcript.result(call_id, state.get("output") or state.get("error"), _extra(state))
        else:
            self._finish(part)
            draft.metrics = _metrics(_counts(obj(part.get("tokens"))))

    def _finish(self, part: dict[str, Any]) -> None:
        self._finishes += 1
        self._reason = text(part.get("reason")) or "unknown"
        self._failure = None
        counts = _counts(obj(part.get("tokens")))
        self._sums = [total([before, now]) for before, now in zip(self._sums, counts, strict=True)]

    def _error(self) -> RunError | None:
        if self._failure is None:
            return None
        name, data = str(self._failure.get("name")), obj(self._failure.get("data"))
        said = text(data.get("message")) or name
        if name == "ContextOverflowError":
            return AgentError("context_overflow", f"the conversation outgrew the model's context: {said[:300]}")
        if name == "ProviderAuthError":
            return api_failure("opencode", said, 401, self._model)
        if name == "ProviderModelNotFoundError":
            return api_failure("opencode", said, 404, self._model)
        return api_failure("opencode", said, count(data.get("statusCode")), self._model)


def _extra(state: dict[str, Any]) -> dict[str, Any]:
    time, metadata = obj(state.get("time")), obj(state.get("metadata"))
    found = {
        "status": text(state.get("status")),
        "exit_code": metadata.get("exit") if isinstance(metadata.get("exit"), int) else None,
        "started_at": from_ms(time.get("start")),
        "ended_at": from_ms(time.get("end")),
    }
    return {key: value for key, value in found.items() if value is not None}


def _counts(tokens: dict[str, Any]) -> list[int | None]:
    """Input, output with its reasoning, cache read, cache write."""
    cache = obj(tokens.get("cache"))
    fresh, output = count(tokens.get("input")), count(tokens.get("output"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    whole = count(tokens.get("total"))
    if whole is not None and fresh is not None and output is not None:
        output = max(output, whole - fresh - (read or 0) - (written or 0))
    return [fresh, output, read, written]


def _metrics(counts: list[int | None]) -> Metrics:
    fresh, output, read, written = counts
    return Metrics(prompt_tokens=total([fresh, read, written]), completion_tokens=output, cached_tokens=read)
