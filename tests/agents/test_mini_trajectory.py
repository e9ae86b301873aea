"""mini-swe-agent's trajectory file."""

import json
from typing import Any

import pytest

from steelyard.agents.mini_trajectory import read_trajectory


def trajectory(status: str | None = "Submitted", cost: float = 0.5, last: str = "bye") -> bytes:
    """A file with one step."""
    usage = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 40}}
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    agent = {"role": "assistant", "content": "I will.", "tool_calls": [call]}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are"},
        {**agent, "extra": {"response": {"model": "gpt-4o", "usage": usage}, "cost": cost, "timestamp": 1794855228.5}},
        {"role": "tool", "tool_call_id": "c1", "content": "{}", "extra": {"raw_output": "a\n", "returncode": 0}},
        {"role": "exit", "content": last},
    ]
    info = {"model_stats": {"instance_cost": cost}, "submission": "Done.\n", "mini_version": "2.4.6"}
    return json.dumps({"info": info | {"exit_status": status}, "messages": messages}).encode()


def test_a_whole_file() -> None:
    """Cached tokens leave the input; cost, version and submission are told."""
    heard = read_trajectory(trajectory(), "go", "openai/gpt-4o")

    assert (heard.response, heard.version, heard.error, heard.finished) == ("Done.", "2.4.6", None, True)
    assert (heard.usage.input_tokens, heard.usage.cache_read_tokens, heard.usage.output_tokens) == (60, 40, 9)
    assert (heard.usage.cost_usd, heard.usage.cost_source, heard.usage.tool_calls) == (0.5, "reported", 1)
    step = heard.steps[2]
    assert (step.source, step.timestamp) == ("agent", "2026-11-16T18:53:48.500Z")
    assert step.tool_calls is not None
    assert step.tool_calls[0].arguments == {"command": "ls"}
    assert step.observation is not None
    assert step.observation.results[0].content == "a\n"


def test_a_cost_of_nothing_is_unknown() -> None:
    """For a model without a price it says 0, which is not believed."""
    assert read_trajectory(trajectory(cost=0.0), "go", "x/y").usage.cost_usd is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"info": 1, "messages": [1, {"role": "assistant"}]}'])
def test_broken_files(data: bytes) -> None:
    """A file that is cut, empty or of another shape is never a crash of ours."""
    assert not read_trajectory(data, "go", None).finished


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        ("AuthenticationError", "auth_failed"),
        ("RateLimitError", "rate_limited"),
        ("APIConnectionError", "network"),
        ("NotFoundError", "agent_unavailable"),
        ("ContextWindowExceededError", "context_overflow"),
        ("LimitsExceeded", "budget_exceeded"),
        ("RuntimeError", "agent_crashed"),
    ],
)
def test_exit_statuses_and_their_classes(status: str, error_class: str) -> None:
    """Its exit status decides, and nothing that the agent said."""
    error = read_trajectory(trajectory(status, last="Connection error"), "go", "m").error

    assert error is not None
    assert error.error_class == error_class
