"""command: any program as an agent, by a shell command in the tree."""

import json
import shutil
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from steelyard.agents.base import Agent, Turn, TurnResult
from steelyard.agents.streams import count, money
from steelyard.domain.suite import ShellCommand
from steelyard.domain.trajectory import Step
from steelyard.domain.usage import Usage
from steelyard.errors import AgentError, InfraError, RunError
from steelyard.sandboxes.base import Command, ExecResult, Sandbox

LONGEST_VARIABLE = 100_000  # Linux refuses to start a program with a longer one
SHELL_SYNTAX = set("$`\"'\\|&;<>()*?[]{}~=#!\n")
SHELL_WORDS = frozenset(
    [
        "!",
        ".",
        ":",
        "alias",
        "bg",
        "break",
        "case",
        "cd",
        "command",
        "continue",
        "do",
        "done",
        "echo",
        "elif",
        "else",
        "esac",
        "eval",
        "exec",
        "exit",
        "export",
        "false",
        "fc",
        "fg",
        "fi",
        "for",
        "getopts",
        "hash",
        "if",
        "in",
        "jobs",
        "kill",
        "printf",
        "pwd",
        "read",
        "readonly",
        "return",
        "set",
        "shift",
        "test",
        "then",
        "times",
        "trap",
        "true",
        "type",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "until",
        "wait",
        "while",
    ]
)

_STATED = tuple(name for name in Usage.model_fields if name != "cost_source")


class CommandAgent(Agent):
    """Runs `command` with the shell in the tree.

    The prompt comes on stdin, in `$STEELYARD_PROMPT` (left out above 100,000 bytes) and in the file
    `$STEELYARD_PROMPT_FILE`. What the command prints on stdout is its final response. It may write its usage as a JSON
    object to `$STEELYARD_USAGE_FILE`; what it leaves out is unknown. `$STEELYARD_TURN` counts from 1, and
    `$STEELYARD_SESSION` is the same for all turns of a run.
    """

    type: Literal["command"] = "command"
    plain_turns: ClassVar[bool] = True
    command: ShellCommand = Field(description="shell command that works on the tree")
    model: str | None = Field(default=None, description="handed to the command as $STEELYARD_MODEL")

    def check(self, env: Mapping[str, str]) -> str | None:
        """Whether the program that a plain command starts with is on the PATH."""
        del env
        word = self.command.split(maxsplit=1)[0] if self.command.strip() else ""
        if not word or "/" in word or set(word) & SHELL_SYNTAX or word in SHELL_WORDS or shutil.which(word):
            return None
        return f"'{word}' is not on the PATH; install it, or give the command its full path"

    def run(self, turn: Turn, sandbox: Sandbox) -> TurnResult:
        """Start the command, and read its usage file when it has ended."""
        prompt_file, usage_file = f"{sandbox.tmp}/steelyard-prompt.txt", f"{sandbox.tmp}/steelyard-usage.json"
        prompt = turn.prompt.replace("\0", "").encode("utf-8", "replace")
        sandbox.write(prompt_file, prompt)
        sandbox.write(usage_file, b"")
        session = turn.session_id or f"{turn.task_id}-{turn.arm}-{turn.repeat}"
        env = dict(turn.env) | {
            "STEELYARD_PROMPT_FILE": prompt_file,
            "STEELYARD_USAGE_FILE": usage_file,
            "STEELYARD_TURN": str(turn.index + 1),
            "STEELYARD_SESSION": session,
        }
        if len(prompt) <= LONGEST_VARIABLE:
            env["STEELYARD_PROMPT"] = prompt.decode()
        if self.model is not None:
            env["STEELYARD_MODEL"] = self.model
        command = Command(("/bin/sh", "-c", self.command), turn.timeout_s, env=env, stdin=prompt, polite=True)
        result = sandbox.exec(command)
        usage, notes = read_usage(sandbox.read(usage_file, 1_000_000))
        response = result.stdout.text()
        return TurnResult(
            exit_code=result.exit_code,
            duration_s=result.duration_s,
            usage=usage,
            final_response=response,
            session_id=session,
            steps=(Step(step_id=1, source="agent", message=response),) if response else (),
            model=self.model,
            error=failure(result, turn.timeout_s),
            timed_out=result.timed_out,
            stdout=result.stdout,
            stderr=result.stderr,
            notes=notes,
        )


def failure(result: ExecResult, timeout_s: float) -> RunError | None:
    """Whose fault it was that a command did not end with 0."""
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
        return AgentError(
            "agent_timeout", f"still running after {timeout_s:.4g} s; raise limits.timeout_s to give it more"
        )
    if result.exit_code != 0:
        return AgentError("agent_crashed", f"exit code {result.exit_code}; its last output is in the run's stderr")
    return None


def read_usage(data: bytes | None) -> tuple[Usage, tuple[str, ...]]:
    """What an agent says it used; whatever is no believable number is unknown, and noted."""
    if not data:
        return Usage(), ()
    try:
        stated = json.loads(data)
        if not isinstance(stated, dict):
            raise TypeError("not a JSON object")
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        return Usage(), (f"the usage file was not understood, so usage is unknown: {reason}",)
    known = {name: money(stated.get(name)) if name == "cost_usd" else count(stated.get(name)) for name in _STATED}
    wrong = [name for name, value in known.items() if value is None and stated.get(name) is not None]
    notes = (f"the usage file has no believable number for {', '.join(wrong)}: unknown",) if wrong else ()
    source = "unknown" if known["cost_usd"] is None else "reported"
    return Usage.model_validate({**known, "cost_source": source}), notes
