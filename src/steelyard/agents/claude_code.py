"""claude-code: Anthropic's Claude Code, by `claude -p --output-format stream-json`."""

import re
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import Field, PositiveInt

from steelyard.agents.base import Agent, Turn
from steelyard.agents.claude_stream import ClaudeStream
from steelyard.agents.program import Heard, ProgramAgent, Reader
from steelyard.agents.streams import parse_object
from steelyard.domain.usage import Usage
from steelyard.formulas.prices import Price
from steelyard.sandboxes.base import Command, ExecResult, Sandbox

SESSION_LIMIT = 64 * 1024 * 1024
_SESSION = re.compile(r"^[0-9a-fA-F-]{8,64}$")


class ClaudeCode(ProgramAgent):
    """Runs Claude Code without asking for permissions (the sandbox is the limit); later turns resume its session.

    `model` is any name that `claude --model` takes; without one, Claude Code's own default. `max_turns` is its
    `--max-turns`. The arm's env must name `ANTHROPIC_API_KEY` or another way to sign in; `ANTHROPIC_BASE_URL` points it
    to another service.
    """

    type: Literal["claude-code"] = "claude-code"
    max_turns: PositiveInt | None = Field(default=None, description="how many turns with the model it may take")
    max_retries: int = Field(default=4, ge=0, le=20, description="how often it repeats a failed request")

    continues: ClassVar[bool] = True
    program_name: ClassVar[str] = "claude"
    install: ClassVar[str] = "npm install -g @anthropic-ai/claude-code"
    keys: ClassVar[tuple[str, ...]] = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    )

    def command(self, turn: Turn, sandbox: Sandbox) -> Command:
        """The prompt goes in by stdin: it may be long, and may begin with a dash."""
        argv = [self.executable, "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
        if self.model is not None:
            argv += ["--model", self.model]
        if self.max_turns is not None:
            argv += ["--max-turns", str(self.max_turns)]
        if turn.budget_usd is not None:
            argv += ["--max-budget-usd", f"{max(turn.budget_usd, 0.000001):.6f}"]
        if turn.session_id is not None and _SESSION.match(turn.session_id):
            argv += ["--resume", turn.session_id]
        prompt = turn.prompt.replace("\0", "").encode("utf-8", "replace")
        return Command((*argv, *self.args), turn.timeout_s, env=self.quiet(sandbox), stdin=prompt)

    def quiet(self, sandbox: Sandbox) -> dict[str, str]:
        """No updates, no telemetry, no other traffic; `IS_SANDBOX` lets root skip permissions."""
        return {
            "CLAUDE_CONFIG_DIR": f"{sandbox.home}/.claude",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": str(self.max_retries),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        }

    def reader(self, turn: Turn, sandbox: Sandbox) -> Reader:
        """Reads stream-json."""
        return _Reader(turn, sandbox, self.prices, self.model)

    def rehearsed(self, url: str) -> tuple[Agent, dict[str, str]]:
        """The same agent with a scripted model."""
        return self, {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "rehearsal"}


class _Reader:
    def __init__(self, turn: Turn, sandbox: Sandbox, prices: dict[str, Price] | None, model: str | None) -> None:
        self._stream = ClaudeStream(turn.prompt, model, prices)
        self._turn, self._sandbox = turn, sandbox
        self.feed: Callable[[bytes], None] = self._stream.feed
        self.so_far: Callable[[], Usage] = self._stream.so_far

    def heard(self, result: ExecResult) -> Heard:
        """What the stream says, with per-message usage from the session file, which the stream does not have."""
        del result
        self._stream.close()
        self._stream.measured(self._session())
        return self._stream.heard(self._turn.session_id is not None, self._turn.spent)

    def _session(self) -> list[dict[str, Any]]:
        session_id = self._stream.session_id
        if session_id is None or not _SESSION.match(session_id):
            return []
        place = re.sub(r"[^a-zA-Z0-9]", "-", self._stream.cwd or self._sandbox.tree)
        data = self._sandbox.read(f"{self._sandbox.home}/.claude/projects/{place}/{session_id}.jsonl", SESSION_LIMIT)
        lines = (data or b"").split(b"\n")
        found = [parse_object(line) for line in lines if b'"assistant"' in line]
        return [entry for entry in found if entry is not None and entry.get("type") == "assistant"]
