"""What every agent does: take a turn in a sandbox, and say truthfully what came of it."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from steelyard.domain.record import JsonObject, Record
from steelyard.domain.trajectory import Step
from steelyard.domain.usage import Usage
from steelyard.errors import RunError
from steelyard.sandboxes.base import Captured, Sandbox


@dataclass(frozen=True, slots=True)
class Turn:
    """One message to the agent. `env` holds the values of the variables that the arm names, and nothing else.

    `session_id` is what the turn before gave back (None at first): an agent that can, continues that session; one that
    can't gets a prompt that already carries the context. `spent` is what the turns before have used; `budget_usd` and
    `budget_tokens` what is left for this one (None: no limit).
    """

    prompt: str
    task_id: str
    arm: str
    repeat: int
    index: int = 0
    timeout_s: float = 900.0
    session_id: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    spent: Usage = Usage()
    budget_usd: float | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What came of a turn. `error` is set when it did not end normally; a bad turn is data, not an exception.

    `raw` are events of the agent's own output that did not fit into `steps`; they are kept beside them.
    """

    exit_code: int | None
    duration_s: float
    usage: Usage = Usage()
    final_response: str = ""
    session_id: str | None = None
    steps: tuple[Step, ...] = ()
    raw: tuple[JsonObject, ...] = ()
    tools: tuple[str, ...] | None = None
    version: str | None = None
    model: str | None = None
    error: RunError | None = None
    timed_out: bool = False
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    notes: tuple[str, ...] = ()


class Agent(Record):
    """An agent is its own configuration: its fields are what an arm may set, and freezing it is `model_dump`.

    One that `continues` takes up the session of the turn before. One that does not gets what was said before in every
    prompt, unless it takes `plain_turns`, each word for word, because it may have a memory of its own.
    """

    type: str
    continues: ClassVar[bool] = False
    plain_turns: ClassVar[bool] = False

    @abstractmethod
    def run(self, turn: Turn, sandbox: Sandbox) -> TurnResult:
        """Take one turn in the sandbox's tree."""

    def check(self, env: Mapping[str, str]) -> str | None:
        """Why this agent can't run on this machine and what to do, or None. Starts nothing slow."""
        return None

    def resolved(self, root: Path) -> "Agent":
        """This agent with the files that it names (relative to the suite) read in, ready to freeze."""
        del root
        return self

    def rehearsed(self, url: str) -> tuple["Agent", dict[str, str]] | None:
        """This agent talking to a scripted model at `url`, with the environment it needs; None: it uses no model."""
        return None
