"""opencode: OpenCode, by `opencode run --format json`."""

import json
import re
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from steelyard.agents.base import Agent, Turn
from steelyard.agents.opencode_stream import OpenCodeStream
from steelyard.agents.program import Heard, ProgramAgent, Reader
from steelyard.domain.usage import Usage
from steelyard.sandboxes.base import Command, ExecResult, Sandbox

ANTHROPIC = "https://api.anthropic.com"
OPENAI = "https://api.openai.com/v1"
_SESSION = re.compile(r"^ses_[0-9A-Za-z]{4,64}$")


class OpenCode(ProgramAgent):
    """Runs OpenCode; later turns continue its session.

    `model` is `provider/model`: `anthropic/…` speaks Anthropic Messages with `ANTHROPIC_API_KEY`, `openai/…` OpenAI
    Responses with `OPENAI_API_KEY`, and any other provider Chat Completions at `OPENAI_BASE_URL` with `OPENAI_API_KEY`.
    """

    type: Literal["opencode"] = "opencode"

    continues: ClassVar[bool] = True
    program_name: ClassVar[str] = "opencode"
    install: ClassVar[str] = "npm install -g opencode-ai"
    keys: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        provider, slash, name = (self.model or "").partition("/")
        if not (provider and slash and name):
            raise ValueError("model must be provider/model, for example anthropic/claude-sonnet-4-5")
        return self

    @property
    def provider(self) -> str:
        """The part of the model's name before the slash."""
        return (self.model or "").partition("/")[0]

    def wanted_keys(self) -> tuple[str, ...]:
        """The provider's key."""
        return ("ANTHROPIC_API_KEY",) if self.provider == "anthropic" else ("OPENAI_API_KEY",)

    def command(self, turn: Turn, sandbox: Sandbox) -> Command:
        """The prompt goes in by stdin: it may be long, and may begin with a dash."""
        argv = [self.executable, "run", "--format", "json", "--title", "run"]
        if turn.session_id is not None and _SESSION.match(turn.session_id):
            argv += ["--session", turn.session_id]
        env = self.quiet(sandbox) | {"OPENCODE_CONFIG_CONTENT": json.dumps(self._config(turn))}
        prompt = turn.prompt.replace("\0", "").encode("utf-8", "replace")
        return Command((*argv, *self.args), turn.timeout_s, env=env, stdin=prompt)

    def quiet(self, sandbox: Sandbox) -> dict[str, str]:
        """No updates, no lists of models, no plugins, no sharing."""
        return {
            "XDG_DATA_HOME": f"{sandbox.home}/.local/share",
            "XDG_CONFIG_HOME": f"{sandbox.home}/.config",
            "XDG_STATE_HOME": f"{sandbox.home}/.local/state",
            "XDG_CACHE_HOME": f"{sandbox.home}/.cache",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "npm_config_registry": "http://127.0.0.1:9",
        }

    def _config(self, turn: Turn) -> dict[str, Any]:
        """A provider of our own making; the key is named, not written down."""
        name = (self.model or "").partition("/")[2]
        if self.provider == "anthropic":
            base = f"{(turn.env.get('ANTHROPIC_BASE_URL') or ANTHROPIC).rstrip('/')}/v1"
            package, key = "@ai-sdk/anthropic", "ANTHROPIC_API_KEY"
        else:
            base, key = turn.env.get("OPENAI_BASE_URL") or OPENAI, "OPENAI_API_KEY"
            package = "@ai-sdk/openai" if self.provider == "openai" else "@ai-sdk/openai-compatible"
        model = {"tool_call": True, "limit": {"context": 200_000, "output": 32_000}}
        options = {"baseURL": base, "apiKey": f"{{env:{key}}}"}
        return {
            "autoupdate": False,
            "share": "disabled",
            "model": self.model,
            "small_model": self.model,
            "enabled_providers": [self.provider],
            "permission": {"edit": "allow", "bash": "allow", "webfetch": "allow"},
            "provider": {self.provider: {"npm": package, "options": options, "models": {name: model}}},
        }

    def asks_version(self) -> bool:
        """Its output does not tell its version."""
        return True

    def reader(self, turn: Turn, sandbox: Sandbox) -> Reader:
        """Reads the JSON lines of `opencode run`."""
        del sandbox
        return _Reader(turn, self.model)

    def rehearsed(self, url: str) -> tuple[Agent, dict[str, str]]:
        """The same agent with a scripted model."""
        if self.provider == "anthropic":
            return self, {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "rehearsal"}
        return self, {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "rehearsal"}


class _Reader:
    def __init__(self, turn: Turn, model: str | None) -> None:
        self._stream = OpenCodeStream(turn.prompt, model)
        self.feed: Callable[[bytes], None] = self._stream.feed
        self.so_far: Callable[[], Usage] = self._stream.so_far

    def heard(self, result: ExecResult) -> Heard:
        """What the stream says."""
        del result
        self._stream.close()
        return self._stream.heard()
