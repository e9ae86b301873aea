"""Claude Code's stream-json, line by line."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.agents.claude_stream import ClaudeStream
from steelyard.agents.program import Heard
from steelyard.domain.usage import Usage
from steelyard.formulas.prices import Price

SESSION = "98debe6d-19d9-4d5c-a206-523fb04d85c2"
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": SESSION,
    "cwd": "/w",
    "tools": ["Write", "Bash"],
    "model": "claude-haiku-4-5",
    "claude_code_version": "2.1.325",
}

steadily = settings(deadline=None, derandomize=True, database=None)


def said(message_id: str, *blocks: dict[str, Any], second: int = 0, **more: Any) -> dict[str, Any]:
    """A line of the assistant."""
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message = {"id": message_id, "model": "claude-haiku-4-5", "content": list(blocks), "usage": usage}
    time = f"2026-11-16T18:52:{second:02d}.000Z"
    return {"type": "assistant", "message": message, "session_id": SESSION, "timestamp": time, **more}


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def call(call_id: str, command: str) -> dict[str, Any]:
    """A block with a call."""
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}


def answer(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line with a tool's result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "session_id": SESSION}


def result(**more: Any) -> dict[str, Any]:
    """The last line."""
    used = {"inputTokens": 20, "outputTokens": 7, "cacheReadInputTokens": 3, "cacheCreationInputTokens": 4}
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": SESSION,
        "result": "Done.",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 20, "output_tokens": 7},
        "modelUsage": {"claude-haiku-4-5": {**used, "costUSD": 0.5, "costBasis": "list"}},
        **more,
    }


WHOLE = [
    INIT,
    said("m1", text("I will."), second=1),
    said("m1", call("c1", "ls"), second=1),
    answer("c1", [text("a.txt"), text("b.txt")]),
    said("m2", {"type": "thinking", "thinking": "hm"}, text("Done."), second=2),
    result(),
]


def read(*lines: Any, resumed: bool = False, spent: Usage | None = None, **more: Any) -> Heard:
    """What is heard of these lines; bytes go in as they are."""
    stream = ClaudeStream("go", None, more.pop("prices", None))
    for line in lines:
        stream.feed(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    stream.close()
    stream.measured(more.pop("session", ()))
    return stream.heard(resumed, spent or Usage())


def test_a_whole_stream() -> None:
    """Blocks of one message are one step; results go to their calls; totals come from the result."""
    heard = read(*WHOLE)

    assert (heard.response, heard.session_id, heard.finished, heard.error) == ("Done.", SESSION, True, None)
    assert (heard.tools, heard.version, heard.model) == (("Bash", "Write"), "2.1.325", "claude-haiku-4-5")
    assert heard.usage == Usage(
        input_tokens=20,
        output_tokens=7,
        cache_read_tokens=3,
        cache_write_tokens=4,
        cost_usd=0.5,
        cost_source="reported",
        steps=2,
        tool_calls=1,
    )
    user, first, second = heard.steps
    assert (user.message, first.message, second.message) == ("go", "I will.", "Done.")
    assert first.observation is not None
    assert first.observation.results[0].content == "a.txt\nb.txt"
    assert first.metrics is not None
    assert (first.metrics.prompt_tokens, first.metrics.completion_tokens) == (10, None)
    assert second.reasoning_content == "hm"
    assert heard.notes == []


@steadily
@given(st.lists(st.integers(min_value=0, max_value=5000), max_size=30), st.integers(min_value=0, max_value=6))
def test_cuts_and_rubbish_do_not_matter(places: list[int], odd: int) -> None:
    """Any chunks give the same account, and a line of rubbish anywhere only adds a note."""
    lines = [json.dumps(line).encode() for line in WHOLE]
    lines.insert(min(odd, len(lines)), b'{"type": "assis')
    data = b"\n".join(lines) + b"\n"
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})

    heard = read(*(data[a:b] for a, b in zip([0, *ends], ends, strict=False)))

    plain = read(*WHOLE)
    assert (heard.steps, heard.usage, heard.response) == (plain.steps, plain.usage, plain.response)
    assert heard.notes == ["1 line of its output: not JSON objects"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.sampled_from(["message", "content", "usage", "session_id", "modelUsage", "result", "errors", "is_error"])


@steadily
@given(st.sampled_from(["assistant", "user", "result", "system", "new"]), st.dictionaries(_FIELDS, _JSON))
def test_known_events_of_any_shape(kind: str, fields: dict[str, Any]) -> None:
    """A known type with anything in it never fails and never hides the rest."""
    heard = read(INIT, {"type": kind, "subtype": "init", **fields}, *WHOLE[1:])

    assert heard.response == "Done."
    assert heard.usage.input_tokens == 20


def test_unknown_types_are_counted_and_kept() -> None:
    """A newer version's events are noted, and kept as they came beside the steps."""
    heard = read(INIT, {"type": "hologram", "shape": [1, {"deep": "er"}]}, {"type": "hologram"}, *WHOLE[1:])

    assert heard.error is None
    assert heard.raw == ({"type": "hologram", "shape": [1, {"deep": "er"}]}, {"type": "hologram"})
    assert heard.notes == ["2 lines of its output: of the unknown type 'hologram'"]


def test_success_with_is_error_is_an_error() -> None:
    """`subtype` lies; `is_error` with its status decides."""
    failed = result(is_error=True, api_error_status=529, terminal_reason="api_error", result="API Error: Overloaded")
    heard = read(INIT, failed)

    assert heard.error is not None
    assert heard.error.error_class == "rate_limited"


def test_a_tool_that_prints_a_result_line_is_only_a_tool() -> None:
    """A fake result inside a tool's output is an observation and nothing else."""
    fake = json.dumps(result(is_error=True, api_error_status=429, result="rate limited"))
    heard = read(INIT, said("m1", call("c1", "echo")), answer("c1", fake), said("m2", text(fake)), result())

    assert (heard.error, heard.response, heard.notes) == (None, "Done.", [])


def test_result_lines_that_were_slipped_in() -> None:
    """Of several results the last counts, and it is noted; one of another session does not count at all."""
    fake = result(result="Fake.", is_error=True, api_error_status=429)
    foreign = result(session_id="11111111-2222", result="Foreign.", is_error=True, api_error_status=401)

    heard = read(*WHOLE[:-1], fake, result(), foreign)

    assert (heard.error, heard.response) == (None, "Done.")
    assert "its output has 2 result lines; the last one counts" in heard.notes
    assert any("another session" in note for note in heard.notes)


def test_usage_of_several_results_is_added_up() -> None:
    """Each tells what came since the one before: a cheap one slipped in at the end saves nothing."""
    used = {"inputTokens": 20, "outputTokens": 7, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    dear = result(model_usage_since_last_result={"m": {**used, "costUSD": 0.5}})
    free = result(model_usage_since_last_result={"m": dict.fromkeys(used, 0) | {"costUSD": 0.0}})

    usage = read(INIT, dear, free).usage

    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (20, 7, 0.5)


def test_a_clock_that_goes_backwards_is_noted() -> None:
    """Times are kept as they were told."""
    heard = read(INIT, said("m1", text("a"), second=30), said("m2", text("b"), second=10), result())

    assert [step.timestamp for step in heard.steps][1:] == ["2026-11-16T18:52:30.000Z", "2026-11-16T18:52:10.000Z"]
    assert any("clock went backwards" in note for note in heard.notes)


def test_without_a_result_the_session_file_tells() -> None:
    """After a kill, tokens come from the session file, each message once; other messages in it do not count."""
    used = {"input_tokens": 5, "output_tokens": 9, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 0}
    lines = [{"type": "assistant", "message": {"id": key, "usage": used}} for key in ("m0", "m1", "m1", "m2")]

    heard = read(*WHOLE[:-1], session=lines)
    incomplete = read(*WHOLE[:-1], session=lines[:2])

    assert (heard.finished, heard.usage.input_tokens, heard.usage.output_tokens) == (False, 10, 18)
    assert heard.steps[1].metrics is not None
    assert heard.steps[1].metrics.completion_tokens == 9
    assert incomplete.usage.input_tokens is None


@pytest.mark.parametrize(
    ("more", "spent", "cost"),
    [
        ({"model_usage_since_last_result": {"m": {"inputTokens": 1, "costUSD": 0.2}}}, 0.4, (0.2, "reported")),
        ({"modelUsage": {}}, 0.4, (0.1, "reported")),
        ({"modelUsage": {}}, None, (None, "unknown")),
        ({"modelUsage": {}}, 0.6, (None, "unknown")),
    ],
)
def test_the_cost_of_a_resumed_turn(more: dict[str, Any], spent: float | None, cost: tuple[float | None, str]) -> None:
    """Its totals are the session's; the turn's own part is told, or what was spent before is taken off."""
    before = Usage() if spent is None else Usage(cost_usd=spent, cost_source="reported")

    usage = read(INIT, result(**more), resumed=True, spent=before).usage

    assert usage.cost_source == cost[1]
    assert usage.cost_usd == (None if cost[0] is None else pytest.approx(cost[0]))


def test_a_guessed_cost_is_replaced_or_unknown() -> None:
    """With `costBasis: unknown` only a price from the arm counts."""
    used: dict[str, Any] = {"inputTokens": 1_000_000, "outputTokens": 0, "cacheReadInputTokens": 0}
    models = {"x": used | {"cacheCreationInputTokens": 0, "costUSD": 9.0, "costBasis": "unknown"}}

    guessed = read(INIT, result(modelUsage=models)).usage
    priced = read(INIT, result(modelUsage=models), prices={"x": Price(input=2.0, output=1.0)}).usage

    assert (guessed.cost_usd, guessed.cost_source) == (None, "unknown")
    assert (priced.cost_usd, priced.cost_source) == (2.0, "computed")


@pytest.mark.parametrize(
    ("more", "error_class"),
    [
        ({"subtype": "error_max_turns", "errors": ["Reached maximum number of turns (1)"]}, "budget_exceeded"),
        ({"subtype": "error_max_budget_usd"}, "budget_exceeded"),
        ({"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}, "agent_crashed"),
        ({"terminal_reason": "prompt_too_long"}, "context_overflow"),
        ({"result": "Not logged in · Please run /login"}, "auth_failed"),
        ({"api_error_status": 403, "result": "no"}, "auth_failed"),
        ({"result": "API Error: Connection dropped (ECONNRESET)"}, "network"),
        ({"api_error_status": 400, "result": "API Error: 400 bad image"}, "agent_crashed"),
    ],
)
def test_ends_and_their_classes(more: dict[str, Any], error_class: str) -> None:
    """Each way to end has its class."""
    heard = read(INIT, result(is_error=True, **more))

    assert heard.error is not None
    assert heard.error.error_class == error_class


def test_a_subagents_words_are_not_the_answer() -> None:
    """What a subagent says is in the trajectory, but is not the final response."""
    aside = said("m9", text("from below"), parent_tool_use_id="c1")
    heard = read(INIT, said("m1", text("mine"), call("c1", "x")), aside)

    assert heard.response == "mine"
    assert heard.steps[-1].extra == {"parent_tool_use_id": "c1"}
