"""Asking one judge about one run: with retries, one repair try, and an answer in every case."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard.domain.grade import JudgeResult
from steelyard.domain.record import sha256
from steelyard.domain.usage import Usage
from steelyard.errors import SteelyardError, boundary
from steelyard.formulas.secrets import redact_text
from steelyard.judge.base import Judge, JudgeError, JudgeRequest, Line, Reply
from steelyard.judge.fence import visible
from steelyard.judge.verdict import Opinion, Unreadable, read_opinion

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 30.0
LONGEST_RAW = 20_000
NO_VERDICT = "no verdict: "  # how the reason begins when nothing came that could be read or not


@dataclass(frozen=True)
class Surroundings:
    """Clocks and waiting, from the edge. `wait` sleeps; True when the program is to stop instead."""

    now: Callable[[], str]
    monotonic: Callable[[], float]
    wait: Callable[[float], bool]


@dataclass
class _Heard:
    """What came back so far."""

    replies: list[Reply]
    opinion: Opinion | None = None
    reason: str = ""
    raw: str | None = None

    @property
    def usage(self) -> Usage:
        total = self.replies[0].usage if self.replies else Usage()
        for reply in self.replies[1:]:
            total = total.plus(reply.usage)
        return total


def consult(judge: Judge, line: Line, request: JudgeRequest, around: Surroundings) -> JudgeResult:
    """The judge's result. Whatever goes wrong is told in it: UNPARSEABLE with the reason, never an exception."""
    started = around.monotonic()
    heard = _Heard([])
    try:
        with boundary("internal_error", "the judge broke"):
            _hear(heard, judge, line, request, around)
    except SteelyardError as error:
        heard.reason = f"{NO_VERDICT}{' '.join(str(error).split())}"
        heard.raw = (error.raw if isinstance(error, JudgeError) else None) or heard.raw
    model = next((reply.model for reply in reversed(heard.replies) if reply.model), None)
    usage = judge.priced(heard.usage, model)
    return JudgeResult(
        **_said(heard),
        backend=judge.type,
        model=model or judge.model_name,
        prompt_version=request.prompt_version,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_usd=usage.cost_usd,
        duration_s=max(0.0, around.monotonic() - started),
        scored_at=around.now(),
        cached=bool(heard.replies) and all(reply.cached for reply in heard.replies),
    )


def _hear(heard: _Heard, judge: Judge, line: Line, request: JudgeRequest, around: Surroundings) -> None:
    """Ask, and once more when the reply can't be read."""
    for last in (False, True):
        reply = ask(judge, line, request, around)
        heard.replies.append(reply)
        said = reply.text or ("" if reply.value is None else json.dumps(reply.value, ensure_ascii=False))
        heard.raw = said if heard.raw is None else f"{heard.raw}\n\n[asked again, it answered:]\n{said}"
        try:
            heard.opinion = read_opinion(reply, request)
            return
        except Unreadable as error:
            heard.reason = f"the reply can't be read: {error}"
            request = request if last else request.again(said, str(error))


def _said(heard: _Heard) -> dict[str, Any]:
    opinion = heard.opinion
    if opinion is None:
        raw = None if heard.raw is None else visible(redact_text(heard.raw))
        if raw is not None and len(raw) > LONGEST_RAW:
            raw = f"{raw[:LONGEST_RAW]}… ({len(raw) - LONGEST_RAW:,} characters more)"
        return {"verdict": "UNPARSEABLE", "reasoning": visible(redact_text(heard.reason)), "raw": raw}
    return {
        "verdict": opinion.verdict,
        "task_completion": opinion.task_completion,
        "instruction_adherence": opinion.instruction_adherence,
        "efficiency": opinion.efficiency,
        "failure_mode": opinion.failure_mode,
        "fact_checks": opinion.fact_checks,
        "reasoning": opinion.reasoning,
    }


def ask(judge: Judge, line: Line, request: JudgeRequest, around: Surroundings) -> Reply:
    """One reply, asked for again while the trouble is one that passes and the judge's time is not used up."""
    until = around.monotonic() + judge.timeout_s
    for attempt in range(judge.max_retries + 1):
        try:
            return line.ask(request)
        except JudgeError as error:
            delay = wait_s(attempt, request.case, error.retry_after_s)
            late = around.monotonic() + delay > until
            if not error.passes or attempt == judge.max_retries or late:
                raise
            if around.wait(delay):
                raise JudgeError("interrupted", "stopped while waiting for the judge") from error
    raise AssertionError("unreachable")


def wait_s(attempt: int, seed: str, retry_after_s: float | None = None) -> float:
    """How long to wait before asking again: what the service says, else 1, 2, 4 … s, half of it by (seeded) chance."""
    if retry_after_s is not None:
        return min(max(retry_after_s, 0.0), LONGEST_WAIT_S)
    full = min(FIRST_WAIT_S * 2.0**attempt, LONGEST_WAIT_S)
    return full * (0.5 + 0.5 * random.Random(sha256(f"{seed} {attempt}")).random())
