"""The real Codex against the scripted model."""

from collections.abc import Callable
from typing import Any

import pytest

from steelyard.agents.base import TurnResult
from steelyard.sandboxes.base import Sandbox
from steelyard.testing.scripted_model import ScriptedModel

pytestmark = [pytest.mark.node, pytest.mark.agents]
Take = Callable[..., TurnResult]
CODEX: dict[str, Any] = {"type": "codex", "model": "gpt-5.5", "max_retries": 1}


def test_it_works_and_everything_is_told(take: Take, sandbox: Sandbox) -> None:
    """Input tokens leave cached ones out; a cost with a part that has no price is unknown."""
    result = take(CODEX, "work")

    assert (result.error, result.exit_code, result.final_response) == (None, 0, "Done: created hello.txt.")
    assert sandbox.read("hello.txt") == b"hi\n"
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens) == (1200, 70)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (1800, 800)
    assert (usage.steps, usage.tool_calls, usage.cost_source) == (2, 2, "unknown")
    work = result.steps[1]
    assert work.tool_calls is not None
    assert [call.function_name for call in work.tool_calls] == ["apply_patch", "shell"]
    assert work.observation is not None
    assert work.observation.results[1].extra == {"exit_code": 3, "status": "failed"}
    assert work.metrics is not None
    assert work.metrics.completion_tokens == 50
    assert (result.version, result.model) == ("0.166.0", "gpt-5.5")


def test_a_session_goes_on(take: Take, model: ScriptedModel) -> None:
    """The second turn sees the first; its totals, which are the thread's, become its own."""
    first = take(CODEX, "work")
    second = take(CODEX, "work", before=first)

    assert (second.error, second.final_response) == (None, "It says hi.")
    assert second.session_id == first.session_id
    assert (second.usage.input_tokens, second.usage.output_tokens) == (30, 20)
    assert second.usage.cost_usd == pytest.approx(30 * 5e-6 + 20 * 30e-6)
    assert second.usage.cost_source == "computed"
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
    result = take(CODEX, script)

    assert result.error is not None
    assert result.error.error_class == error_class
    assert remedy in str(result.error)
    assert result.exit_code == 1


def test_a_timeout_keeps_what_was_done(take: Take, model: ScriptedModel) -> None:
    """The trajectory and the tokens up to the kill are kept."""
    for timeout_s in (6, 30, 90):  # a slow machine gets more time to reach the request that is never answered
        result = take(CODEX, "hang", timeout_s=timeout_s)
        if any(request.turn == 1 for request in model.requests):
            break

    assert result.timed_out
    assert result.error is not None
    assert result.error.error_class == "agent_timeout"
    assert [step.message for step in result.steps if step.source == "agent"][:1] == ["Looking again."]
    assert result.usage.input_tokens == 10


def test_a_model_that_codes_its_calls(take: Take, sandbox: Sandbox) -> None:
    """With a newer model Codex offers one tool that takes JavaScript; the same script drives it."""
    result = take({**CODEX, "model": "gpt-6-sol"}, "work")

    assert (result.error, result.final_response) == (None, "Done: created hello.txt.")
    assert sandbox.read("hello.txt") == b"hi\n"
    assert result.usage.tool_calls == 2


def test_nobody_listens(take: Take, model: ScriptedModel) -> None:
    """A service that is not there is the network's fault, and is not waited for without end."""
    model.stop()
    result = take(CODEX, "work")

    assert result.error is not None
    assert result.error.error_class == "network"


def test_another_version_is_refused(take: Take, model: ScriptedModel) -> None:
    """A wanted version that is not there stops the turn before the model is asked."""
    result = take({**CODEX, "version": "0.165"}, "work")

    assert result.error is not None
    assert result.error.error_class == "agent_unavailable"
    assert "codex 0.165 is wanted, but 0.166.0 is installed" in str(result.error)
    assert model.requests == ()
    assert take({**CODEX, "version": "0.166"}, "work").error is None


def test_wrong_arguments_are_not_the_agents_fault(take: Take) -> None:
    """An argument that the program refuses is told as such, with its own words."""
    result = take({**CODEX, "args": ["--no-such-option"]}, "work")

    assert result.error is not None
    assert result.error.error_class == "agent_unavailable"
    assert "check version and args" in str(result.error)
