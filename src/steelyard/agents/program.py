"""What all agents that are command-line programs share: keys, versions, the turn itself, an honest account of it."""

import shutil
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol

from pydantic import Field

from steelyard.agents.base import Agent, Turn, TurnResult
from steelyard.agents.failures import decide, missing_key, one_line, silent
from steelyard.domain.record import JsonObject
from steelyard.domain.trajectory import Step
from steelyard.domain.usage import Usage
from steelyard.errors import AgentError, InfraError, RunError
from steelyard.formulas.prices import Price, cost_of, price_of
from steelyard.sandboxes.base import Command, ExecResult, Sandbox

VERSION_TIMEOUT_S = 60.0
LONGEST_RESPONSE = 1_000_000


@dataclass(slots=True)
class Heard:
    """What a program's own output says. `finished`: it says so itself; `acted`: it had started to work.

    `raw` are its first events of a type that nobody here knows, as they came.
    """

    usage: Usage = Usage()
    response: str = ""
    session_id: str | None = None
    steps: tuple[Step, ...] = ()
    raw: tuple[JsonObject, ...] = ()
    tools: tuple[str, ...] | None = None
    version: str | None = None
    model: str | None = None
    error: RunError | None = None
    finished: bool = False
    acted: bool = False
    notes: list[str] = field(default_factory=list)


class Reader(Protocol):
    """Takes a program's stdout as it comes, and tells what it heard once the program has ended."""

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""

    def so_far(self) -> Usage:
        """The tokens that its output has told of until now, at the least what it used; nothing where it tells none."""

    def heard(self, result: ExecResult) -> Heard:
        """Everything that was learned, also from files the program left behind."""


class ProgramAgent(Agent):
    """An agent that is a program: started once a turn, with a private HOME, talking JSON on stdout."""

    model: str | None = Field(default=None, description="the model, by the name that the program knows")
    args: tuple[str, ...] = Field(default=(), description="more arguments for the program, before the prompt")
    version: str | None = Field(default=None, description="the version that must be installed, or how it begins")
    program: str | None = Field(default=None, description="the program's path, when it is not on the PATH")
    prices: dict[str, Price] | None = Field(default=None, description="USD per million tokens, by model")

    program_name: ClassVar[str]
    install: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]

    @abstractmethod
    def command(self, turn: Turn, sandbox: Sandbox) -> Command:
        """How the program is started for a turn."""

    @abstractmethod
    def reader(self, turn: Turn, sandbox: Sandbox) -> Reader:
        """What reads its output."""

    @property
    def executable(self) -> str:
        """What is started."""
        return self.program or self.program_name

    def wanted_keys(self) -> tuple[str, ...]:
        """The variables of which the arm must name one."""
        return self.keys

    def check(self, env: Mapping[str, str]) -> str | None:
        """Whether the program is on this machine; a missing key is told by the run, which has a class for it."""
        del env
        if shutil.which(self.executable) is None:
            return (
                f"'{self.executable}' is not on the PATH; install it with `{self.install}`, or set `program` in the arm"
            )
        return None

    def run(self, turn: Turn, sandbox: Sandbox) -> TurnResult:
        """Start the program, read along, and tell what came of it."""
        if not any(turn.env.get(name) for name in self.wanted_keys()):
            return TurnResult(None, 0.0, model=self.model, error=missing_key(self.type, self.wanted_keys()))
        version, refusal = self._version(turn, sandbox)
        if refusal is not None:
            return TurnResult(None, 0.0, version=version, model=self.model, error=refusal)
        reader = self.reader(turn, sandbox)
        command = self.command(turn, sandbox)
        # `env` tells a missing program by exit code 127 in every kind of sandbox.
        argv = ("/usr/bin/env", "--", *command.argv)
        environment = {name: value.replace("\0", "") for name, value in {**command.env, **turn.env}.items()}
        result = sandbox.exec(
            Command(
                argv,
                turn.timeout_s,
                env=environment,
                stdin=command.stdin,
                on_stdout=reader.feed,
                enough=lambda: self.over_budget(turn, reader.so_far()) is not None,
                polite=True,
            )
        )
        so_far = reader.so_far()
        heard = reader.heard(result)
        return self._result(turn, result, heard, so_far, version)

    def _result(self, turn: Turn, result: ExecResult, heard: Heard, so_far: Usage, version: str | None) -> TurnResult:
        did = bool(heard.response.strip()) or bool(heard.usage.tool_calls)
        error = decide(result, heard.error, turn.timeout_s, heard.acted, self.executable)
        if result.enough:
            error = AgentError("budget_exceeded", f"ended while it worked: {self.over_budget(turn, so_far)}")
        if error is None:
            error = silent(result, heard.finished, did)
        used = heard.usage
        if result.timed_out and used.total_tokens == 0:  # the request it was killed in is in nobody's totals
            used = Usage(steps=used.steps, tool_calls=used.tool_calls)
        usage, more = self.priced(used, heard.model or self.model)
        response = heard.response.replace("\0", "�")
        return TurnResult(
            exit_code=result.exit_code,
            duration_s=result.duration_s,
            usage=usage,
            final_response=response[:LONGEST_RESPONSE],
            session_id=heard.session_id or turn.session_id,
            steps=heard.steps,
            raw=heard.raw,
            tools=heard.tools,
            version=heard.version or version,
            model=heard.model or self.model,
            error=error,
            timed_out=result.timed_out,
            stdout=result.stdout,
            stderr=result.stderr,
            notes=(*heard.notes, *more),
        )

    def over_budget(self, turn: Turn, used: Usage) -> str | None:
        """Which part of the turn's budget is used up by what is known to be used; None while nothing is."""
        if turn.budget_tokens is not None and used.known_tokens > turn.budget_tokens:
            return f"it has used at least {used.known_tokens} tokens, of {turn.budget_tokens} left of limits.max_tokens"
        if turn.budget_usd is None:
            return None
        cost = self.priced(used, self.model)[0].cost_usd
        if cost is None or cost <= turn.budget_usd:
            return None
        return f"it has used at least ${cost:.4f}, of ${turn.budget_usd:.4f} left of limits.max_cost_usd"

    def priced(self, usage: Usage, model: str | None) -> tuple[Usage, list[str]]:
        """The usage with a cost from the price table, where the program told none."""
        if usage.cost_usd is not None:
            return usage, []
        cost = cost_of(usage, price_of(model, self.prices))
        if cost is not None:
            return with_cost(usage, cost, "computed"), []
        if usage.total_tokens:
            return usage, [f"the cost is unknown: not every price is known for '{model}'; give one in the arm's prices"]
        return usage, []

    def _version(self, turn: Turn, sandbox: Sandbox) -> tuple[str | None, RunError | None]:
        """The installed version, asked for at the first turn; and why it will not do."""
        if turn.index > 0 or (self.version is None and not self.asks_version()):
            return None, None
        asked = Command(
            ("/usr/bin/env", "--", self.executable, "--version"), VERSION_TIMEOUT_S, env=self.quiet(sandbox)
        )
        result = sandbox.exec(asked)
        if result.exit_code in (126, 127):
            return None, decide(result, None, VERSION_TIMEOUT_S, acted=False, program=self.executable)
        words = [word.lstrip("v") for word in result.stdout.text().split()]
        found = next((word for word in words if word[:1].isdigit()), None)
        if self.version is None or (found is not None and is_version(found, self.version)):
            return found, None
        installed = found or f"unknown ({one_line(result.tail(200)) or 'no answer'})"
        message = f"{self.type} {self.version} is wanted, but {installed} is installed; install it, or change `version`"
        return found, InfraError("agent_unavailable", message)

    def asks_version(self) -> bool:
        """Whether the program has to be asked, because its output does not tell."""
        return False

    def quiet(self, sandbox: Sandbox) -> dict[str, str]:
        """The variables that keep the program to itself."""
        del sandbox
        return {}


def is_version(found: str, wanted: str) -> bool:
    """Whether a version is the wanted one, or begins with it at a dot: 2.1 takes 2.1.9, not 2.10."""
    return found == wanted or found.startswith(wanted.rstrip(".") + ".")


def with_tokens(usage: Usage, counts: Sequence[int | None]) -> Usage:
    """The same usage with tokens: input without cached ones, output, cache read, cache write."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return usage.model_copy(update=dict(zip(names, counts, strict=True)))


def with_cost(usage: Usage, cost: float, source: str) -> Usage:
    """The same usage with a cost."""
    return usage.model_copy(update={"cost_usd": cost, "cost_source": source})


def now() -> str:
    """The time, for events that carry none."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_ms(value: Any) -> str | None:
    """Milliseconds since 1970 as ISO 8601."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 4e12:
        return None
    return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
