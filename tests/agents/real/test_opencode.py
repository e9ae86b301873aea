"""The real OpenCode against the scripted model."""

from collections.abc import Callable

import pytest

from steelyard.agents.base import TurnResult
from steelyard.sandboxes.base import Sandbox
from steelyard.testing.scripted_model import ScriptedModel

pytestmark = [pytest.mark.node, pytest.mark.agents]
Take = Callable[..., TurnResult]
OPENCODE = {"type": "opencode", "model": "anthropic/claude-haiku-4-5"}


def test_two_turns_in_one_session(take: Take, sandbox: Sandbox, model: ScriptedModel) -> None:
    """Work, usage added up from its steps, a cost from the table, and a second turn that sees the first."""
    first = take(OPENCODE, "work")
    second = take(OPENCODE, "work", before=first)

    assert (first.error, first.final_response) == (None, "Done: created hello.txt.")
    assert sandbox.read("hello.txt") == b"hi\n"
    assert (first.usage.input_tokens, first.usage.output_tokens) == (1200, 70)
    assert (first.usage.cache_read_tokens, first.usage.cache_write_tokens) == (1800, 800)
    assert first.usage.cost_usd == pytest.approx(0.00273)
    assert first.usage.cost_source == "computed"
    assert (first.usage.steps, first.usage.tool_calls, first.version) == (2, 2, "1.18.33")
    assert (second.error, second.final_response) == (None, "It says hi.")
    assert second.session_id == first.session_id
    assert second.usage.input_tokens == 30
    assert [request.turn for request in model.requests] == [0, 1, 2, 3]


def test_a_refused_key(take: Take) -> None:
    """A 401 of another protocol has its class too."""
    result = take({"type": "opencode", "model": "openai/gpt-5"}, "401")

    assert result.error is not None
    assert result.error.error_class == "auth_failed"


def test_money_that_is_used_up_ends_it_while_it_works(take: Take, model: ScriptedModel) -> None:
    """Its finished steps have a price from the table: past the budget it is asked to end."""
    result = take(OPENCODE, "endless", budget_usd=0.0045)

    assert result.error is not None
    assert result.error.error_class == "budget_exceeded"
    assert len(model.requests) < 100
