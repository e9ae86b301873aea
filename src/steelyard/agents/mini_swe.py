"""mini-swe-agent: the `mini` program, whose trajectory file is its output."""

import json
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from steelyard.agents.base import Agent, Turn
from steelyard.agents.mini_trajectory import read_trajectory
from steelyard.agents.program import Heard, ProgramAgent, Reader
from steelyard.domain.usage import Usage
from steelyard.sandboxes.base import Command, ExecResult, Sandbox

TRAJECTORY_LIMIT = 64 * 1024 * 1024


class MiniSweAgent(ProgramAgent):
    """Runs mini-swe-agent on its own configuration `mini.yaml`; each turn is a new session.

    `model` is litellm's name, for example `anthropic/claude-sonnet-4-5` or `openai/gpt-5`; the arm's env must name the
    provider's key. `ANTHROPIC_BASE_URL` or `OPENAI_BASE_URL` points it to another service.
    """

    type: Literal["mini-swe-agent"] = "mini-swe-agent"
    max_turns: PositiveInt | None = Field(default=None, description="how many steps it may take")
    max_retries: int = Field(default=4, ge=0, le=20, description="how often it repeats a failed request")

    program_name: ClassVar[str] = "mini"
    install: ClassVar[str] = "pip install mini-swe-agent mcp"
    keys: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if not self.model:
            raise ValueError("model is needed, by litellm's name, for example anthropic/claude-sonnet-4-5")
        return self

    @property
    def provider(self) -> str:
        """Whose protocol it speaks."""
        return "anthropic" if (self.model or "").startswith(("anthropic/", "claude")) else "openai"

    def wanted_keys(self) -> tuple[str, ...]:
        """The provider's key; other providers of litellm have keys of their own names."""
        provider = (self.model or "").partition("/")[0]
        if self.provider == "anthropic" or provider in ("openai", self.model):
            return ("ANTHROPIC_API_KEY",) if self.provider == "anthropic" else ("OPENAI_API_KEY",)
        return (f"{provider.upper().replace('-', '_')}_API_KEY", "OPENAI_API_KEY")

    def command(self, turn: Turn, sandbox: Sandbox) -> Command:
        """The task and the settings go in by a file (JSON is YAML): a task may be long, and may begin with a dash."""
        where = f"{sandbox.tmp}/steelyard-mini.yaml"
        sandbox.write(where, json.dumps(self._config(turn)).encode())
        sandbox.write(trajectory(sandbox), b"")
        argv = [self.executable, "-m", self.model or "", "-y", "--exit-immediately", "-o", trajectory(sandbox)]
        return Command((*argv, "-c", "mini.yaml", "-c", where, *self.args), turn.timeout_s, env=self.quiet(sandbox))

    def quiet(self, sandbox: Sandbox) -> dict[str, str]:
        """No first-time questions, no price lists from the network, bounded retries."""
        return {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_GLOBAL_CONFIG_DIR": f"{sandbox.home}/.config/mini-swe-agent",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": str(self.max_retries + 1),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    def _config(self, turn: Turn) -> dict[str, Any]:
        name = "ANTHROPIC_BASE_URL" if self.provider == "anthropic" else "OPENAI_BASE_URL"
        agent: dict[str, Any] = {"cost_limit": turn.budget_usd or 0.0}
        if self.max_turns is not None:
            agent["step_limit"] = self.max_turns
        config: dict[str, Any] = {"run": {"task": turn.prompt.replace("\0", "")}, "agent": agent}
        if turn.env.get(name):
            config["model"] = {"model_kwargs": {"api_base": turn.env[name]}}
        return config

    def reader(self, turn: Turn, sandbox: Sandbox) -> Reader:
        """Reads the trajectory file once the program has ended."""
        return _Reader(turn, sandbox, self.model)

    def rehearsed(self, url: str) -> tuple[Agent, dict[str, str]]:
        """The same agent with a scripted model."""
        if self.provider == "anthropic":
            return self, {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "rehearsal"}
        return self, {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "rehearsal", self.wanted_keys()[0]: "rehearsal"}


def trajectory(sandbox: Sandbox) -> str:
    """Where the trajectory is written."""
    return f"{sandbox.tmp}/steelyard-mini.traj.json"


class _Reader:
    def __init__(self, turn: Turn, sandbox: Sandbox, model: str | None) -> None:
        self._turn, self._sandbox, self._model = turn, sandbox, model

    def feed(self, chunk: bytes) -> None:
        """What it prints is for people."""

    def so_far(self) -> Usage:
        """It keeps to a cost limit of its own, and tells nothing on the way."""
        return Usage()

    def heard(self, result: ExecResult) -> Heard:
        """What the trajectory file says."""
        data = self._sandbox.read(trajectory(self._sandbox), TRAJECTORY_LIMIT)
        heard = read_trajectory(data or b"", self._turn.prompt, self._model)
        # Without a trajectory its own words are all there is: it may have worked before it went away.
        heard.acted = heard.acted or result.stdout.total > 0
        return heard
