"""The real mini-swe-agent against the scripted model."""

from collections.abc import Callable

import pytest

from steelyard.agents.base import TurnResult
from steelyard.sandboxes.base import Sandbox

pytestmark = [pytest.mark.agents]
Take = Callable[..., TurnResult]


def test_it_works_and_everything_is_told(take: Take, sandbox: Sandbox) -> None:
    """Its trajectory file tells usage, cost, steps and the submission."""
    result = take({"type": "mini-swe-agent", "model": "openai/gpt-4o"}, "work")

    assert (result.error, result.final_response) == (None, "Done: created hello.txt.")
    assert sandbox.read("hello.txt") == b"hi\n"
    assert (result.usage.input_tokens, result.usage.cache_read_tokens) == (2000, 1800)
    assert (result.usage.output_tokens, result.usage.steps, result.usage.tool_calls) == (70, 2, 3)
    assert result.usage.cost_usd == pytest.approx(0.00795)
    assert result.usage.cost_source == "reported"
    assert (result.version, result.tools) == ("2.4.6", ("bash",))
    assert [step.source for step in result.steps][-2:] == ["agent", "agent"]


def test_a_refused_key(take: Take) -> None:
    """It does not retry for minutes, and its own exception names the class."""
    result = take({"type": "mini-swe-agent", "model": "anthropic/claude-haiku-4-5", "max_retries": 0}, "401")

    assert result.error is not None
    assert result.error.error_class == "auth_failed"
