"""command: a shell command must succeed in the tree."""

from typing import ClassVar, Literal

from pydantic import Field

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, failed, passed
from steelyard.domain.suite import ShellCommand
from steelyard.errors import InfraError
from steelyard.sandboxes.base import TIMED_OUT, ExecResult, Sandbox, shell
from steelyard.scorers.base import Scorer


class Command(Scorer):
    """FAIL when the shell command exits non-zero or times out; the exit code is the one the harness saw."""

    type: Literal["command"] = "command"
    command: ShellCommand
    timeout_s: int = Field(default=900, ge=1, le=3600)

    uses_sandbox: ClassVar[bool] = True

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Run it with /bin/sh in the tree, and leave nothing of it running."""
        if sandbox is None:
            raise InfraError("sandbox_error", "a command scorer needs a sandbox")
        result = sandbox.exec(shell(self.command, self.timeout_s))
        if result.interrupted:
            raise InfraError("interrupted", "the command was stopped from outside")
        tail = result.tail()
        if result.timed_out:
            said = f"timed out after {self.timeout_s} s, exit code {TIMED_OUT}; its whole process tree was killed"
            return failed(said, output_tail=tail)
        if result.over_disk:
            return failed(f"stopped, exit code {result.exit_code}: it outgrew the disk limit", output_tail=tail)
        if result.exit_code == 0:
            return passed("exit code 0", output_tail=tail)
        return failed(f"exit code {result.exit_code}{_meaning(result)}", output_tail=tail)


def _meaning(result: ExecResult) -> str:
    """What a shell means by its special exit codes."""
    code = result.exit_code
    if result.out_of_memory:
        return ": it ran out of memory"
    if code == 127:
        return ": a command was not found"
    if code == 126:
        return ": a command could not be executed"
    if 128 < code < 128 + 65:
        return f": killed by signal {code - 128}"
    return ""
