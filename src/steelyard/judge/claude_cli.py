"""claude-cli: Claude Code's `claude -p`, also on a subscription. Pure text: no tools, an empty directory."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.domain.usage import Usage
from steelyard.judge.base import Judge, JudgeError, JudgeRequest, Line, Reply
from steelyard.judge.services import count
from steelyard.sandboxes.base import Command, ExecResult, SandboxSpec
from steelyard.sandboxes.local import LocalProvider

KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",  # the rest of the patience is ours
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
LARGEST_OUTPUT = 4 * 1024 * 1024


class ClaudeCliJudge(Judge):
    """Asks Claude by its command line, signed in by a key, a token, or the subscription of this account.

    It gets no tools, no settings, no MCP servers and no other variables than its own, and runs in an empty directory.
    """

    type: Literal["claude-cli"] = "claude-cli"
    concurrency: int = Field(default=2, ge=1, le=1000, description="how many programs may run at once")
    program: str = Field(default="claude", description="the program's name on the PATH, or its path")

    default_model: ClassVar[str] = "claude-sonnet-5-5"

    def check(self, env: Mapping[str, str]) -> str | None:
        """Whether the program is there and has a way to sign in; whether that still works is not tried."""
        if shutil.which(self.program, path=env.get("PATH")) is None:
            return f"'{self.program}' is not on the PATH; install it with `npm install -g @anthropic-ai/claude-code`"
        if not any(env.get(name) for name in KEYS) and not _signed_in(env):
            return "claude is not signed in; run `claude` once and sign in, or set ANTHROPIC_API_KEY"
        return None

    def open(self, env: Mapping[str, str]) -> Line:
        """Nothing is kept open: each question starts the program."""
        return _ClaudeLine(self, env)


def _config(env: Mapping[str, str]) -> Path | None:
    """Where the program keeps its own files."""
    if env.get("CLAUDE_CONFIG_DIR"):
        return Path(env["CLAUDE_CONFIG_DIR"])
    return Path(env["HOME"]) / ".claude" if env.get("HOME") else None


def _signed_in(env: Mapping[str, str]) -> bool:
    folder = _config(env)
    return folder is not None and (folder / ".credentials.json").exists()


class _ClaudeLine(Line):
    def __init__(self, judge: ClaudeCliJudge, env: Mapping[str, str]) -> None:
        self._judge = judge
        self._program = shutil.which(judge.program, path=env.get("PATH")) or judge.program
        own = {name: value for name, value in env.items() if name.startswith("ANTHROPIC_") or name in KEYS}
        if not any(own.get(name) for name in KEYS):
            # Only a subscription is left: the program finds it in the user's own home; settings there are not loaded.
            own |= {name: env[name] for name in ("HOME", "CLAUDE_CONFIG_DIR") if env.get(name)}
        self._env = {**own, **QUIET}
        self._schema = True

    def ask(self, request: JudgeRequest) -> Reply:
        """Run the program once; one that does not know schemas is run without."""
        schema = self._schema
        result, output = self._run(request, schema)
        if schema and result.exit_code != 0 and "--json-schema" in result.stderr.text():
            self._schema = False
            result, output = self._run(request, False)
        return _reply(result, output, self._program, self._judge.timeout_s)

    def _run(self, request: JudgeRequest, schema: bool) -> tuple[ExecResult, bytes]:
        argv = [
            *(self._program, "-p", "--output-format", "json", "--tools", "", "--no-session-persistence"),
            *("--strict-mcp-config", "--setting-sources", "project", "--model", self._judge.model_name),
            *("--system-prompt", request.system),
        ]
        if schema:
            argv += ["--json-schema", json.dumps(request.schema)]
        output = bytearray()

        def keep(chunk: bytes) -> None:
            output.extend(chunk[: LARGEST_OUTPUT - len(output)])

        with tempfile.TemporaryDirectory(prefix="steelyard-judge-", ignore_cleanup_errors=True) as folder:
            tree, scratch = Path(folder) / "empty", Path(folder) / "scratch"
            tree.mkdir()
            scratch.mkdir()
            sandbox = LocalProvider().open(SandboxSpec(run_id=f"judge-{request.case}", tree=tree, scratch=scratch))
            try:
                stdin = _prompt(request).encode("utf-8", "replace")
                result = sandbox.exec(
                    Command(tuple(argv), self._judge.timeout_s, env=self._env, stdin=stdin, on_stdout=keep)
                )
            finally:
                sandbox.close()
        return result, bytes(output)


def _prompt(request: JudgeRequest) -> str:
    """The whole conversation as one text: the program takes no other."""
    prompt = f"{request.context}\n\n{request.evidence}"
    if request.refused is None:
        return prompt
    return f"{prompt}\n\nYou answered:\n\n{request.refused[0].strip() or '(nothing)'}\n\n{request.complaint}"


def _reply(result: ExecResult, output: bytes, program: str, timeout_s: float) -> Reply:
    text = output.decode("utf-8", "replace").strip()
    if result.interrupted:
        raise JudgeError("interrupted", "stopped while the judge was at work")
    if result.timed_out:
        raise JudgeError("timeout", f"{program} took longer than {timeout_s:g} s", raw=text or None)
    told = _document(text)
    if told is None:
        why = " ".join(result.stderr.text().split())[-500:] or "it said nothing"
        raise JudgeError("broken", f"{program} exited with {result.exit_code}: {why}", raw=text or None)
    answer = told.get("result")
    if told.get("is_error"):
        raise _failure(told, answer if isinstance(answer, str) else "no reason given", text)
    value = told.get("structured_output")
    return Reply(
        text=answer if isinstance(answer, str) else "",
        value=value if isinstance(value, dict) else None,
        model=_model(told),
        usage=_usage(told),
    )


def _document(text: str) -> dict[str, Any] | None:
    """The program's one line; warnings may stand before it."""
    for line in reversed(text.splitlines()):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("type") == "result":
            return value
    return None


def _failure(told: Mapping[str, Any], reason: str, raw: str) -> JudgeError:
    """What the program says of its service; its `subtype` is "success" even then."""
    status = told.get("api_error_status")
    if isinstance(status, int):
        kind = "busy" if status in (408, 409, 429) or status >= 500 else "refused"
    else:
        kind = "network" if told.get("api_error") == "connection_failed" else "refused"
    return JudgeError(kind, f"claude says: {' '.join(reason.split())[:500]}", raw=raw)  # type: ignore[arg-type]  # one of the troubles


def _model(told: Mapping[str, Any]) -> str | None:
    models = told.get("modelUsage")
    return next((str(name) for name in models), None) if isinstance(models, dict) else None


def _usage(told: Mapping[str, Any]) -> Usage:
    """Tokens as told; its sum of money only where it knows the price, not where it guesses."""
    used = told.get("usage")
    counts = used if isinstance(used, dict) else {}
    models = told.get("modelUsage")
    parts = [part for part in (models.values() if isinstance(models, dict) else ()) if isinstance(part, dict)]
    guessed = any(part.get("costBasis") == "unknown" for part in parts)
    cost = told.get("total_cost_usd")
    known = isinstance(cost, (int, float)) and not isinstance(cost, bool) and cost >= 0 and not guessed
    return Usage(
        input_tokens=count(counts.get("input_tokens")),
        output_tokens=count(counts.get("output_tokens")),
        cache_read_tokens=count(counts.get("cache_read_input_tokens")),
        cache_write_tokens=count(counts.get("cache_creation_input_tokens")),
        cost_usd=float(cost) if known else None,  # type: ignore[arg-type]  # a number by now
        cost_source="reported" if known else "unknown",
    )
