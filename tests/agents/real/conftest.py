"""A real sandbox, a scripted model, and the real programs between them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard import plugins
from steelyard.agents.base import Agent, Turn, TurnResult
from steelyard.domain.usage import Usage
from steelyard.sandboxes.base import Sandbox, SandboxSpec
from steelyard.sandboxes.local import LocalProvider
from steelyard.testing.scripted_model import ScriptedModel

PROGRAMS = Path(".venv/agents/bin").absolute()
WORK = {
    "text": "I will create hello.txt.",
    "calls": [{"write": {"path": "hello.txt", "content": "hi\n"}}, {"shell": "echo out; exit 3"}],
    "usage": {"input_tokens": 1000, "output_tokens": 50, "cache_write_tokens": 800},
}
DONE = {
    "text": "Done: created hello.txt.",
    "usage": {"input_tokens": 200, "output_tokens": 20, "cache_read_tokens": 1800},
}
MORE = {"text": "Looking again.", "calls": [{"shell": "cat hello.txt"}], "usage": {"input_tokens": 10}}
LAST = {"text": "It says hi.", "usage": {"input_tokens": 20}}
SCRIPTS: dict[str, list[Any]] = {
    "work": [WORK, DONE, MORE, LAST],
    "401": [{"fault": {"status": 401, "message": "invalid x-api-key"}}],
    "429": [{"fault": {"status": 429, "retry_after_s": 0}}],
    "404": [{"fault": {"status": 404, "message": "The model does not exist", "error_type": "model_not_found"}}],
    "drop": [{"fault": {"drop": True}}],
    "cut": [{"text": "half of it", "fault": {"cut_after": 3}}],
    "cut-once": [{"text": "whole", "fault": {"cut_after": 3, "times": 1}}],
    "overflow": [{"fault": {"overflow": True}}],
    "endless": [{**MORE, "usage": {"input_tokens": 1000, "output_tokens": 10}, "delay_s": 0.1} for _ in range(200)],
    "hang": [MORE, {"text": "never", "delay_s": 600}],
    "hang-at-once": [{"text": "never", "delay_s": 600}],
    "excuse": [
        {"text": "API Error: 429 rate_limit_error", "calls": [{"shell": "echo 'HTTP 429 Too Many Requests'"}]},
        {"text": "Error: 401 authentication_error, overloaded_error", "calls": [{"shell": "kill -9 $PPID"}]},
        "Still here.",
    ],
}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """All scripts on one server."""
    with ScriptedModel({"scripts": SCRIPTS}) as server:
        yield server


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A tree of its own."""
    tree, scratch = tmp_path / "tree", tmp_path / "scratch"
    tree.mkdir()
    scratch.mkdir()
    opened = LocalProvider().open(SandboxSpec(run_id="run-1", tree=tree, scratch=scratch))
    yield opened
    opened.close()


Take = Callable[..., TurnResult]


@pytest.fixture
def take(model: ScriptedModel, sandbox: Sandbox) -> Take:
    """Takes a turn: `take(spec, script, before=…, **turn)`."""

    def turn_of(
        spec: dict[str, Any], script: str, before: TurnResult | None = None, timeout_s: float = 120.0, **more: Any
    ) -> TurnResult:
        program = PROGRAMS / {"claude-code": "claude", "mini-swe-agent": "mini"}.get(spec["type"], spec["type"])
        agent: Agent = plugins.build("agents", {"program": str(program), **spec})
        rehearsal = agent.rehearsed(model.url_of(script))
        assert rehearsal is not None
        agent, env = rehearsal
        turn = Turn(
            prompt="Create hello.txt" if before is None else "- and what does it say?",
            task_id="t",
            arm="a",
            repeat=1,
            index=0 if before is None else 1,
            timeout_s=timeout_s,
            session_id=None if before is None else before.session_id,
            env=env,
            spent=Usage() if before is None else before.usage,
            **more,
        )
        return agent.run(turn, sandbox)

    return turn_of
