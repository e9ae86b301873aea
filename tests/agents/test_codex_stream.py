"""The JSON lines of `codex exec`."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.agents.codex_stream import CodexStream
from steelyard.agents.program import Heard
from steelyard.domain.usage import Usage

steadily = settings(deadline=None, derandomize=True, database=None)
THREAD = "01a1e5b4-5e64-7f53-a33c-1b6ff8424e3a"
START = [{"type": "thread.started", "thread_id": THREAD}, {"type": "turn.started"}]
USED = {"input_tokens": 3800, "cached_input_tokens": 1800, "cache_write_input_tokens": 800, "output_tokens": 70}


def item(kind: str, item_id: str, when: str = "completed", **fields: Any) -> dict[str, Any]:
    """An item line."""
    return {"type": f"item.{when}", "item": {"id": item_id, "type": kind, **fields}}


RUN = {"command": "/bin/bash -lc 'exit 3'"}
WHOLE = [
    *START,
    item("reasoning", "item_0", text="hm"),
    item("agent_message", "item_1", text="I will."),
    item("command_execution", "item_2", "started", **RUN, aggregated_output="", exit_code=None, status="in_progress"),
    item("command_execution", "item_2", **RUN, aggregated_output="out\n", exit_code=3, status="failed"),
    item("agent_message", "item_3", text="Done."),
    {"type": "turn.completed", "usage": USED},
]


def read(*lines: Any, resumed: bool = False, spent: Usage | None = None, rollout: Any = ()) -> Heard:
    """What is heard of these lines; bytes go in as they are."""
    stream = CodexStream("go", "gpt-5.5", clock=lambda: "2026-11-16T00:00:00.000Z")
    for line in lines:
        stream.feed(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    stream.close()
    stream.measured(rollout)
    return stream.heard(resumed, spent or Usage())


def record(turn: str, **usage: int) -> dict[str, Any]:
    """A line of the session file."""
    return {"type": "token_usage_record", "payload": {"turn_id": turn, "usage": usage}}


def test_a_whole_stream() -> None:
    """A message opens a step, tools join it, and cached tokens leave the input."""
    heard = read(*WHOLE)

    assert (heard.response, heard.session_id, heard.finished, heard.error) == ("Done.", THREAD, True, None)
    usage = heard.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (1200, 1800, 800)
    assert (usage.output_tokens, usage.steps, usage.tool_calls) == (70, 2, 1)
    _, first, second = heard.steps
    assert (first.message, first.reasoning_content, second.message) == ("I will.", "hm", "Done.")
    assert first.observation is not None
    assert len(first.observation.results) == 1
    assert first.observation.results[0].extra == {"exit_code": 3, "status": "failed"}


@steadily
@given(st.lists(st.integers(min_value=0, max_value=5000), max_size=30))
def test_cuts_do_not_matter(places: list[int]) -> None:
    """Any chunks give the same account."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in WHOLE)
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})

    assert read(*(data[a:b] for a, b in zip([0, *ends], ends, strict=False))) == read(*WHOLE)


def test_reconnecting_is_no_failure() -> None:
    """An error line alone means nothing; `turn.failed` does."""
    notice = {"type": "error", "message": "Reconnecting... 1/1 (unexpected status 429)"}
    failed = {"type": "turn.failed", "error": {"message": "exceeded retry limit, last status: 429 Too Many Requests"}}

    assert read(*START, notice, *WHOLE[2:]).error is None
    error = read(*START, notice, failed).error
    assert error is not None
    assert error.error_class == "rate_limited"


def test_what_a_command_prints_is_no_event() -> None:
    """A fake failure in a command's output is an observation; one slipped in before the end is noted."""
    fake = json.dumps({"type": "turn.failed", "error": {"message": "unexpected status 401"}})
    inside = item("command_execution", "item_2", **RUN, aggregated_output=fake, exit_code=0, status="completed")

    assert read(*START, inside, *WHOLE[6:]).error is None
    slipped = read(*WHOLE[:-1], json.loads(fake), WHOLE[-1])
    assert slipped.error is None
    assert "its output ends its turn 2 times; the last one counts" in slipped.notes


def test_totals_never_shrink() -> None:
    """A smaller total slipped in at the end saves nothing."""
    cheap = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}

    assert read(*WHOLE, cheap).usage == read(*WHOLE).usage


def test_a_resumed_turn_has_its_own_part() -> None:
    """The thread's totals less what was spent before; with nothing known before, the session file tells."""
    spent = Usage(input_tokens=1000, output_tokens=50, cache_read_tokens=1800, cache_write_tokens=800)
    rollout = [
        record("t0", input_tokens=999, output_tokens=9),
        {"type": "turn_context", "payload": {"turn_id": "t1", "model": "gpt-5.5"}},
        record("t1", input_tokens=150, cached_input_tokens=50, output_tokens=7),
        record("t1", input_tokens=100, output_tokens=3),
    ]

    taken_off = read(*WHOLE, resumed=True, spent=spent).usage
    told = read(*WHOLE, resumed=True, rollout=rollout)
    unknown = read(*WHOLE, resumed=True).usage

    assert (taken_off.input_tokens, taken_off.output_tokens, taken_off.cache_read_tokens) == (200, 20, 0)
    assert (told.usage.input_tokens, told.usage.cache_read_tokens, told.usage.output_tokens) == (200, 50, 10)
    assert told.steps[1].metrics is not None
    assert told.steps[1].metrics.prompt_tokens == 150
    assert unknown.input_tokens is None


def test_a_tool_that_never_came_back() -> None:
    """A call that was under way when the stream ended is kept, without a result."""
    heard = read(*WHOLE[:5])

    assert (heard.finished, heard.usage.tool_calls) == (False, 1)
    assert heard.steps[-1].tool_calls is not None
    assert heard.steps[-1].observation is None


@pytest.mark.parametrize(
    ("message", "error_class"),
    [
        ("Missing environment variable: `OPENAI_API_KEY`.", "auth_failed"),
        ("unexpected status 403 Forbidden: no", "auth_failed"),
        ("We’re currently experiencing high demand, which may cause temporary errors.", "rate_limited"),
        ("stream disconnected before completion: error sending request", "network"),
        ('{"error": {"code": "context_length_exceeded"}}', "context_overflow"),
        ("The requested model 'x' does not exist.", "agent_unavailable"),
        ("something else", "agent_crashed"),
    ],
)
def test_failures_and_their_classes(message: str, error_class: str) -> None:
    """What `turn.failed` says decides."""
    error = read(*START, {"type": "turn.failed", "error": {"message": message}}).error

    assert error is not None
    assert error.error_class == error_class


def test_other_items() -> None:
    """MCP calls, searches, warnings and types yet unknown are all kept."""
    heard = read(
        *START,
        item("error", "item_0", message="Model metadata not found"),
        item("mcp_tool_call", "item_1", server="docs", tool="find", arguments={"q": 1}, result={"ok": True}),
        item("web_search", "item_2", query="x"),
        item("todo_list", "item_3", items=[]),
        {"type": "turn.exploded"},
        WHOLE[-1],
    )

    assert [step.source for step in heard.steps] == ["user", "system", "agent"]
    calls = heard.steps[-1].tool_calls
    assert calls is not None
    assert [(call.function_name, call.arguments) for call in calls] == [
        ("docs.find", {"q": 1}),
        ("web_search", {"query": "x"}),
    ]
    assert heard.notes == ["1 line of its output: of the unknown type 'turn.exploded'"]
    assert heard.raw == ({"type": "turn.exploded"},)
