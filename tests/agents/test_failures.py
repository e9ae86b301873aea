"""Whose fault it was, and that an agent can't choose."""

import pytest

from steelyard.agents.failures import api_failure, decide, silent
from steelyard.errors import AgentError, InfraError, RunError
from steelyard.sandboxes.base import Captured, ExecResult

BUSY = InfraError("rate_limited", "429")
OVERFLOW = AgentError("context_overflow", "too long")


@pytest.mark.parametrize(
    ("result", "stated", "acted", "error_class"),
    [
        (ExecResult(0, 1.0), None, True, None),
        (ExecResult(1, 1.0), BUSY, True, "rate_limited"),
        (ExecResult(0, 1.0), BUSY, True, "bad_output"),
        (ExecResult(0, 1.0), OVERFLOW, True, "context_overflow"),
        (ExecResult(137, 1.0), BUSY, True, "agent_crashed"),
        (ExecResult(137, 1.0, out_of_memory=True), BUSY, True, "out_of_memory"),
        (ExecResult(153, 1.0, over_disk=True), BUSY, True, "budget_exceeded"),
        (ExecResult(124, 1.0, timed_out=True), BUSY, True, "agent_timeout"),
        (ExecResult(130, 1.0, interrupted=True), None, True, "interrupted"),
        (ExecResult(127, 1.0), None, False, "agent_unavailable"),
        (ExecResult(127, 1.0), None, True, "agent_crashed"),
        (ExecResult(2, 1.0), None, False, "agent_unavailable"),
        (ExecResult(2, 1.0), None, True, "agent_crashed"),
    ],
)
def test_how_it_ended(result: ExecResult, stated: RunError | None, acted: bool, error_class: str | None) -> None:
    """Infrastructure needs the program's own word and its exit code; a kill is a crash whatever was printed."""
    error = decide(result, stated, 9.0, acted, "claude")

    assert (error.error_class if error is not None else None) == error_class


def test_the_last_words_are_told() -> None:
    """The last line of stderr says why."""
    result = ExecResult(2, 1.0, stderr=Captured(head=b"usage: x\nerror: unknown option '--x'\n\n", total=38))

    assert "error: unknown option '--x'" in str(decide(result, None, 9.0, acted=False, program="codex"))


@pytest.mark.parametrize(
    ("printed", "finished", "did", "error_class"),
    [
        (0, False, False, "agent_no_output"),
        (9, False, True, "bad_output"),
        (9, True, False, "agent_no_output"),
        (9, True, True, None),
        (0, True, True, None),
    ],
)
def test_exit_0_is_not_enough(printed: int, finished: bool, did: bool, error_class: str | None) -> None:
    """A program that says nothing, breaks off, or does nothing has failed."""
    error = silent(ExecResult(0, 1.0, stdout=Captured(total=printed)), finished, did)

    assert (error.error_class if error is not None else None) == error_class


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503, 529])
def test_every_service_failure_says_what_to_do(status: int) -> None:
    """What is not the agent's fault comes with a remedy."""
    message = str(api_failure("codex", "no", status, "gpt-5"))

    assert any(word in message for word in ("check the arm's", "try later", "try again"))
    assert "\n" not in message


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Credit balance is too low", None),
        ('{"error": {"message": "Your credit balance is too low to access the API."}}', 400),
        ("Payment Required", 402),
    ],
)
def test_an_empty_account_is_not_the_agents_fault(message: str, status: int | None) -> None:
    """No arm pays for a key without credit, and the remedy is said."""
    error = api_failure("claude-code", message, status)

    assert error.error_class == "auth_failed"
    assert "check the key's account" in str(error)
