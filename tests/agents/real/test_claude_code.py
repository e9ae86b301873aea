"""The real Claude Code against the scripted model."""

from collections.abc import Callable
from typing import Any

import pytest

from steelyard.agents.base import TurnResult
from steelyard.sandboxes.base import Sandbox
from steelyard.testing.scripted_model import ScriptedModel

pytestmark = [pytest.mark.node, pytest.mark.agents]
Take = Callable[..., TurnResult]
CLAUDE: dict[str, Any] = {"type": "claude-code", "model": "claude-haiku-4-5", "max_retries": 1}


def test_it_works_and_everything_is_told(take: Take, sandbox: Sandbox) -> None:
    """A file is written, a command fails, and usage, cost, steps and times are what the model said."""
    result = take(CLAUDE, "work")

    assert (result.error, result.exit_code, result.final_response) == (None, 0, "Done: created hello.txt.")
    assert sandbox.read("hello.txt") == b"hi\n"
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens) == (1200, 70)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (1800, 800)
    assert (usage.steps, usage.tool_calls, usage.cost_source) == (2, 2, "reported")
    assert usage.cost_usd == pytest.approx(0.00273)
    assert [step.source for step in result.steps] == ["user", "agent", "agent"]
    work = result.steps[1]
    assert work.timestamp is not None
    assert work.metrics is not None
    assert (work.metrics.prompt_tokens, work.metrics.completion_tokens) == (1800, 50)
    assert work.tool_calls is not None
    assert [call.function_name for call in work.tool_calls] == ["Write", "Bash"]
    assert work.observation is not None
    assert work.observation.results[1].content == "Exit code 3\nout"
    assert (result.version, result.model) == ("2.1.325", "claude-haiku-4-5")
    assert result.tools is not None
    assert "Bash" in result.tools


def test_a_session_goes_on(take: Take, model: ScriptedModel) -> None:
    """The second turn sees the first, and its usage and cost are its own."""
    first = take(CLAUDE, "work")
    second = take(CLAUDE, "work", before=first)

    assert (second.error, second.final_response) == (None, "It says hi.")
    assert second.session_id == first.session_id
    assert (second.usage.input_tokens, second.usage.tool_calls) == (30, 1)
    assert second.usage.cost_usd == pytest.approx(30e-6 + 20 * 5e-6)
    assert [request.turn for request in model.requests] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("script", "error_class", "remedy"),
    [
        ("401", "auth_failed", "check the arm's env"),
        ("429", "rate_limited", "--jobs 1"),
        ("404", "agent_unavailable", "check the arm's model"),
        ("drop", "network", "check the network"),
        ("cut", "network", "check the network"),
        ("overflow", "context_overflow", "outgrew"),
    ],
)
def test_failures_have_their_class_and_a_remedy(take: Take, script: str, error_class: str, remedy: str) -> None:
    """What the service does to it becomes the right class, with what to do."""
    result = take(CLAUDE, script)

    assert result.error is not None
    assert result.error.error_class == error_class
    assert remedy in str(result.error)
    assert result.exit_code == 1


def test_nobody_listens(take: Take, model: ScriptedModel) -> None:
    """A service that is not there is the network's fault."""
    model.stop()
    result = take(CLAUDE, "work")

    assert result.error is not None
    assert result.error.error_class == "network"


def test_a_stream_that_breaks_once_is_repeated(take: Take) -> None:
    """A broken stream that heals is a normal end."""
    result = take(CLAUDE, "cut-once")

    assert (result.error, result.final_response) == (None, "whole")


def test_a_timeout_keeps_what_was_done(take: Take, model: ScriptedModel) -> None:
    """The trajectory and the tokens up to the kill are kept."""
    for timeout_s in (6, 30, 90):  # a slow machine gets more time to reach the request that is never answered
        result = take(CLAUDE, "hang", timeout_s=timeout_s)
        if any(request.turn == 1 for request in model.requests):
            break

    assert result.timed_out
    assert result.error is not None
    assert result.error.error_class == "agent_timeout"
    assert [step.message for step in result.steps if step.source == "agent"][:1] == ["Looking again."]
    assert result.usage.tool_calls == 1
    assert result.session_id is not None


def test_a_timeout_in_the_first_request_is_not_free(take: Take) -> None:
    """It says that it used nothing, but what the service had begun to answer is not known."""
    result = take(CLAUDE, "hang-at-once", timeout_s=6)

    assert result.error is not None
    assert result.error.error_class == "agent_timeout"
    assert (result.usage.total_tokens, result.usage.cost_usd, result.usage.cost_source) == (None, None, "unknown")


def test_it_cannot_excuse_itself(take: Take) -> None:
    """Words of a rate limit and killing its own program are a crash, not infrastructure."""
    result = take(CLAUDE, "excuse")

    assert result.error is None or result.error.error_class == "agent_crashed"


def test_turns_that_are_used_up(take: Take) -> None:
    """`max_turns` ends the run with a class of its own and the usage so far."""
    result = take({**CLAUDE, "max_turns": 1}, "work")

    assert result.error is not None
    assert result.error.error_class == "budget_exceeded"
    assert result.usage.input_tokens == 1000


def test_a_guessed_price_is_not_believed(take: Take) -> None:
    """For a model it does not know, the cost is unknown; with a price in the arm it is computed."""
    unknown = take({**CLAUDE, "model": "made-up-1"}, "work")
    priced = take({**CLAUDE, "model": "made-up-1", "prices": {"made-up-1": {"input": 1.0, "output": 0.0}}}, "cut-once")

    assert (unknown.usage.cost_usd, unknown.usage.cost_source) == (None, "unknown")
    assert any("prices" in note for note in unknown.notes)
    assert priced.usage.cost_source == "computed"
    assert priced.usage.cost_usd == pytest.approx((priced.usage.input_tokens or 0) / 1e6)


def test_tokens_that_are_used_up_end_it_while_it_works(take: Take, model: ScriptedModel) -> None:
    """It is asked to end as soon as its stream tells of more than is left, and what it used is kept."""
    result = take(CLAUDE, "endless", budget_tokens=4500)

    assert result.error is not None
    assert result.error.error_class == "budget_exceeded"
    assert "of 4500 left of limits.max_tokens" in str(result.error)
    assert len(model.requests) < 100
    assert (result.usage.input_tokens or 0) >= 5000
