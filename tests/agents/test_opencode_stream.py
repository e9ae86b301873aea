"""The JSON lines of `opencode run`."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.agents.opencode_stream import OpenCodeStream
from steelyard.agents.program import Heard

steadily = settings(deadline=None, derandomize=True, database=None)
SESSION = "ses_e1a4b16a1ffeaDs4HFubR8HS9l"


def event(kind: str, message: str = "m1", session: str = SESSION, **part: Any) -> dict[str, Any]:
    """A line."""
    return {"type": kind, "timestamp": 1794855203613, "sessionID": session, "part": {"messageID": message, **part}}


def finish(message: str, reason: str, output: int, total: int) -> dict[str, Any]:
    """A finished step."""
    tokens = {"total": total, "input": 1000, "output": output, "reasoning": 0, "cache": {"write": 800, "read": 5}}
    return event("step_finish", message, reason=reason, tokens=tokens, cost=0)


STATE = {"status": "completed", "input": {"command": "ls"}, "output": "a\n", "metadata": {"exit": 3}}
WHOLE = [
    event("step_start"),
    event("text", text="I will."),
    event("tool_use", tool="bash", callID="c1", state={**STATE, "time": {"start": 1794855203583}}),
    finish("m1", "tool-calls", 50, 1855),
    event("step_start", "m2"),
    event("reasoning", "m2", text="hm"),
    event("text", "m2", text="Done."),
    finish("m2", "stop", 20, 1855),
]


def read(*lines: Any) -> Heard:
    """What is heard of these lines; bytes go in as they are."""
    stream = OpenCodeStream("go", "anthropic/claude-haiku-4-5")
    for line in lines:
        stream.feed(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    stream.close()
    return stream.heard()


def test_a_whole_stream() -> None:
    """Finished steps are added up; output that its total implies, as with reasoning, is counted."""
    heard = read(*WHOLE)

    assert (heard.response, heard.session_id, heard.finished, heard.error) == ("Done.", SESSION, True, None)
    usage = heard.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (2000, 10, 1600)
    assert (usage.output_tokens, usage.steps, usage.tool_calls) == (100, 2, 1)
    assert heard.steps[1].observation is not None
    assert heard.steps[1].observation.results[0].extra == {
        "status": "completed",
        "exit_code": 3,
        "started_at": "2026-11-16T18:53:23.583Z",
    }
    assert heard.steps[2].reasoning_content == "hm"


@steadily
@given(st.lists(st.integers(min_value=0, max_value=5000), max_size=30))
def test_cuts_do_not_matter(places: list[int]) -> None:
    """Any chunks give the same account."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in WHOLE)
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})

    assert read(*(data[a:b] for a, b in zip([0, *ends], ends, strict=False))) == read(*WHOLE)


def test_a_step_that_was_cut_has_unknown_tokens() -> None:
    """What a killed step used is unknown, not zero, and so is the sum."""
    heard = read(*WHOLE[:-1])

    assert (heard.finished, heard.usage.input_tokens, heard.usage.steps) == (False, None, 2)
    assert any("unknown" in note for note in heard.notes)


def test_lines_of_another_session_do_not_count() -> None:
    """A line that was slipped in under another session is noted and left out."""
    fake = {"type": "error", "sessionID": "ses_other", "error": {"name": "APIError", "data": {"statusCode": 429}}}
    heard = read(*WHOLE, fake)

    assert heard.error is None
    assert heard.notes == ["1 lines of another session were printed; they do not count"]


@pytest.mark.parametrize(
    ("name", "data", "error_class"),
    [
        ("APIError", {"message": "invalid x-api-key", "statusCode": 401}, "auth_failed"),
        ("APIError", {"message": "slow down", "statusCode": 429}, "rate_limited"),
        ("APIError", {"message": "Unable to connect"}, "network"),
        ("ContextOverflowError", {"message": "prompt is too long"}, "context_overflow"),
        ("ProviderAuthError", {"message": "no key"}, "auth_failed"),
        ("ProviderModelNotFoundError", {}, "agent_unavailable"),
        ("UnknownError", {"message": "boom"}, "agent_crashed"),
    ],
)
def test_failures_and_their_classes(name: str, data: dict[str, Any], error_class: str) -> None:
    """Its error event decides."""
    error = read({"type": "error", "sessionID": SESSION, "error": {"name": name, "data": data}}).error

    assert error is not None
    assert error.error_class == error_class
