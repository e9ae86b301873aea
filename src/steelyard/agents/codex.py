"""codex: OpenAI's Codex CLI, by `codex exec --json`."""

import json
import re
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.agents.base import Agent, Turn
from steelyard.agents.codex_stream import CodexStream
from steelyard.agents.program import Heard, ProgramAgent, Reader
from steelyard.agents.streams import parse_object
from steelyard.domain.usage import Usage
from steelyard.sandboxes.base import Command, ExecResult, Sandbox

OPENAI = "https://api.openai.com/v1"
ROLLOUT_LIMIT = 64 * 1024 * 1024
_THREAD = re.compile(r"^[0-9a-fA-F-]{8,64}$")
_MARKS = (b'"token_usage_record"', b'"turn_context"')


class Codex(ProgramAgent):
    """Runs Codex without its own sandbox and approvals (Steelyard's is the limit); later turns resume its session.

    The arm's env must name `OPENAI_API_KEY` or `CODEX_API_KEY`; `OPENAI_BASE_URL` (with its `/v1`) points it to another
    service that speaks the Responses API.
    """

    type: Literal["codex"] = "codex"
    max_retries: int = Field(default=4, ge=0, le=20, description="how often it repeats a failed request")

    continues: ClassVar[bool] = True
    program_name: ClassVar[str] = "codex"
    install: ClassVar[str] = "npm install -g @openai/codex"
    keys: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY", "CODEX_API_KEY")

    def command(self, turn: Turn, sandbox: Sandbox) -> Command:
        """The prompt goes in by stdin: it may be long, and may begin with a dash."""
        home = f"{sandbox.home}/.codex"
        sandbox.write(f"{home}/.keep", b"")
        resumed = turn.session_id is not None and _THREAD.match(turn.session_id)
        argv = [self.executable, "exec", *(["resume"] if resumed else []), "--json", "--skip-git-repo-check"]
        if self.model is not None:
            argv += ["-m", self.model]
        for setting in self._settings(turn):
            argv += ["-c", setting]
        argv += ["--dangerously-bypass-approvals-and-sandbox", *self.args]
        argv += [str(turn.session_id), "-"] if resumed else ["-"]
        prompt = turn.prompt.replace("\0", "").encode("utf-8", "replace")
        return Command(tuple(argv), turn.timeout_s, env=self.quiet(sandbox), stdin=prompt)

    def quiet(self, sandbox: Sandbox) -> dict[str, str]:
        """Everything that it keeps goes below the private HOME."""
        return {"CODEX_HOME": f"{sandbox.home}/.codex"}

    def _settings(self, turn: Turn) -> list[str]:
        """A provider of our own, so that the key comes from the environment alone, and no other traffic."""
        key = next((name for name in self.keys if turn.env.get(name)), self.keys[0])
        provider = (
            f'{{name="steelyard",base_url={json.dumps(turn.env.get("OPENAI_BASE_URL") or OPENAI)},env_key="{key}",'
            f'wire_api="responses",request_max_retries={self.max_retries},stream_max_retries={self.max_retries}}}'
        )
        return [
            'model_provider="steelyard"',
            f"model_providers.steelyard={provider}",
            "features.plugins=false",
            "analytics.enabled=false",
            "check_for_update_on_startup=false",
            "features.unbounded_connection_retries=false",
        ]

    def asks_version(self) -> bool:
        """Its output does not tell its version."""
        return True

    def reader(self, turn: Turn, sandbox: Sandbox) -> Reader:
        """Reads the JSON lines of `codex exec`."""
        return _Reader(turn, sandbox, self.model)

    def rehearsed(self, url: str) -> tuple[Agent, dict[str, str]]:
        """The same agent with a scripted model."""
        return self, {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "rehearsal"}


class _Reader:
    def __init__(self, turn: Turn, sandbox: Sandbox, model: str | None) -> None:
        self._stream = CodexStream(turn.prompt, model)
        self._turn, self._sandbox = turn, sandbox
        self.feed: Callable[[bytes], None] = self._stream.feed

    def so_far(self) -> Usage:
        """It tells its totals at its end only."""
        return Usage()

    def heard(self, result: ExecResult) -> Heard:
        """What the stream says, with usage by response from the session file, which the stream does not have."""
        self._stream.close()
        self._stream.measured(self._rollout() if result.exit_code not in (126, 127) else [])
        return self._stream.heard(self._turn.session_id is not None, self._turn.spent)

    def _rollout(self) -> list[dict[str, Any]]:
        thread = self._stream.thread_id
        if thread is None or not _THREAD.match(thread):
            return []
        where = f"{self._sandbox.home}/.codex/sessions"
        found = self._sandbox.exec(Command(("find", where, "-name", f"*{thread}.jsonl"), 30.0)).stdout.text()
        path = next((line for line in found.splitlines() if line.startswith(where)), None)
        data = self._sandbox.read(path, ROLLOUT_LIMIT) if path is not None else None
        lines = [line for line in (data or b"").split(b"\n") if any(mark in line[:200] for mark in _MARKS)]
        return [entry for line in lines if (entry := parse_object(line)) is not None]
