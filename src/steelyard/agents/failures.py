"""Whose fault it was that an agent's program did not end well, and what to do about it.

An agent must not be able to excuse itself. Infrastructure is blamed only for what the program's own structured events
say, and only when its exit code says failure too; a program that was killed has crashed, whatever was printed before.
"""

import re

from steelyard.errors import INFRASTRUCTURE, AgentError, InfraError, RunError
from steelyard.sandboxes.base import ExecResult

NOT_FOUND = (126, 127)
FIRST_SIGNAL = 128
_OVERFLOW = re.compile(
    r"(?i)prompt is too long|context[_ ](length|window)|maximum context|too many tokens|ContextWindowExceeded"
)
_NO_KEY = re.compile(r"(?i)missing environment variable|not logged in|please run /login|no api key|invalid api key")
_UNPAID = re.compile(r"(?i)credit balance is too low|insufficient (credit|balance|funds)|billing")
_BUSY = re.compile(r"(?i)rate.?limit|too many requests|overloaded|high demand|quota")
_LINK = re.compile(
    r"(?i)connection|connect|disconnected|ECONNRE|ENOTFOUND|network|socket|timed? ?out|error sending request|dns"
)
_MODEL = re.compile(r"(?i)model\b.{0,80}(does not exist|not found|no access|may not exist)|model_not_found|^model: ")
_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


def api_failure(agent: str, message: str, status: int | None = None, model: str | None = None) -> RunError:
    """What a failed request to the model's service means, from the program's own report of it."""
    said = one_line(message)
    found = _STATUS.search(message)
    status = status if status is not None else int(found.group(1)) if found else None
    if _OVERFLOW.search(message) or status == 413:
        return AgentError("context_overflow", f"the conversation outgrew the model's context: {said}")
    if status in (401, 403) or (status is None and _NO_KEY.search(message)):
        return InfraError("auth_failed", f"the model's service refused the key: {said}; check the arm's env of {agent}")
    if status == 402 or (status in (None, 400) and _UNPAID.search(message)):
        return InfraError("auth_failed", f"the model's service wants to be paid first: {said}; check the key's account")
    if status in (429, 503, 529) or (status is None and _BUSY.search(message)):
        return InfraError(
            "rate_limited", f"the model's service is limiting requests: {said}; try later or use --jobs 1"
        )
    if status == 404 or (status in (None, 400) and _MODEL.search(message)):
        name = f"'{model}'" if model else "the model"
        return InfraError(
            "agent_unavailable", f"{name} is not served there: {said}; check the arm's model and base URL"
        )
    if status is not None and status >= 500:
        return InfraError("network", f"the model's service failed with {status}: {said}; try again later")
    if status is None and _LINK.search(message):
        return InfraError(
            "network", f"the model's service can't be reached: {said}; check the network and the base URL"
        )
    return AgentError("agent_crashed", f"a request to the model's service failed: {said}")


def missing_key(agent: str, names: tuple[str, ...]) -> InfraError:
    """No key was handed to the agent."""
    wanted = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    return InfraError("auth_failed", f"{agent} has no API key: set {wanted} and name it in the arm's env")


def decide(result: ExecResult, stated: RunError | None, timeout_s: float, acted: bool, program: str) -> RunError | None:
    """Why the program did not end normally, or None; `acted`: its stream shows that it had started to work."""
    code = result.exit_code
    if result.interrupted:
        return InfraError("interrupted", "stopped before the agent had ended")
    if result.out_of_memory:
        return AgentError(
            "out_of_memory",
            "killed for using more memory than limits.memory_mb allows; a tree in memory counts (STEELYARD_SCRATCH)",
        )
    if result.over_disk:
        return AgentError("budget_exceeded", "ended for filling more disk than limits.disk_mb allows")
    if result.timed_out:
        reason = f"still running after {timeout_s:.4g} s; raise limits.timeout_s to give it more"
        return AgentError("agent_timeout", reason)
    if not acted and code in NOT_FOUND:
        return InfraError("agent_unavailable", f"'{program}' can't be started in the sandbox; {_how(program)}")
    if code > FIRST_SIGNAL:
        return AgentError("agent_crashed", f"killed by signal {code - FIRST_SIGNAL}{_last_words(result)}")
    if stated is not None and code == 0 and stated.error_class in INFRASTRUCTURE:
        return AgentError("bad_output", f"its output tells of a failure, but it exited with 0: {stated}")
    if stated is not None:
        return stated
    if code != 0 and not acted:
        reason = f"'{program}' ended with exit code {code} before it began{_last_words(result)}; check version and args"
        return InfraError("agent_unavailable", reason)
    if code != 0:
        return AgentError("agent_crashed", f"exit code {code}{_last_words(result)}")
    return None


def silent(result: ExecResult, finished: bool, said_or_did: bool) -> RunError | None:
    """Why a program that exited with 0 still did not do its part, or None."""
    if result.stdout.total == 0 and not said_or_did:
        return AgentError("agent_no_output", "exited with 0 without a word of output")
    if not finished:
        return AgentError("bad_output", "exited with 0, but its output has no end: it may have been cut")
    if not said_or_did:
        return AgentError("agent_no_output", "exited with 0 without an answer and without using a tool")
    return None


def one_line(message: str, limit: int = 300) -> str:
    """A message for people, in one line."""
    line = " ".join(message.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _how(program: str) -> str:
    return f"install it there, or give the arm `program: /path/to/{program.rpartition('/')[2]}`"


def _last_words(result: ExecResult) -> str:
    lines = [line for line in result.stderr.text().splitlines() if line.strip()]
    return f": {one_line(lines[-1])}" if lines else ""
