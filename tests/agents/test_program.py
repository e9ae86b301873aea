"""What all agents that are programs share, with small programs in a real sandbox."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard import plugins
from steelyard.agents.base import Turn, TurnResult
from steelyard.agents.program import is_version
from steelyard.sandboxes.base import Sandbox, SandboxSpec
from steelyard.sandboxes.local import LocalProvider

TYPES = {
    "claude-code": {"model": "claude-haiku-4-5"},
    "codex": {"model": "gpt-5.5"},
    "opencode": {"model": "anthropic/claude-haiku-4-5"},
    "mini-swe-agent": {"model": "openai/gpt-4o"},
}
KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A tree of its own."""
    tree, scratch = tmp_path / "tree", tmp_path / "scratch"
    tree.mkdir()
    scratch.mkdir()
    opened = LocalProvider().open(SandboxSpec(run_id="run-1", tree=tree, scratch=scratch))
    yield opened
    opened.close()


def program(tmp_path: Path, body: str) -> str:
    """A shell script to stand where an agent's program stands."""
    path = tmp_path / "program"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "tool 1.2.3 (x)" && exit 0\n{body}\n')
    path.chmod(0o755)
    return str(path)


def take(sandbox: Sandbox, kind: str, env: Mapping[str, str] = KEYS, **fields: Any) -> TurnResult:
    """One turn."""
    agent = plugins.build("agents", {"type": kind, **TYPES[kind], **fields})
    result: TurnResult = agent.run(Turn("go", "t", "a", 1, timeout_s=60.0, env=env), sandbox)
    return result


@pytest.mark.parametrize("kind", TYPES)
def test_a_missing_program(sandbox: Sandbox, kind: str) -> None:
    """It is infrastructure, and the remedy is said; `check` says it before anything runs."""
    result = take(sandbox, kind, program="/nowhere/agent-program")
    agent = plugins.build("agents", {"type": kind, **TYPES[kind], "program": "/nowhere/agent-program"})

    assert result.error is not None
    assert result.error.error_class == "agent_unavailable"
    assert "`program: /path/to/agent-program`" in str(result.error)
    assert "install it with `" in (agent.check(KEYS) or "")


@pytest.mark.parametrize("kind", TYPES)
def test_a_missing_key(sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
    """Without a key nothing starts, and the variable to set is named; that is not for `check` to say."""
    path = program(tmp_path, "touch started")
    result = take(sandbox, kind, env={}, program=path)
    agent = plugins.build("agents", {"type": kind, **TYPES[kind], "program": path})

    assert result.error is not None
    assert result.error.error_class == "auth_failed"
    assert "_API_KEY" in str(result.error)
    assert sandbox.read("started") is None
    assert "name it in the arm's env" in str(result.error)
    assert agent.check({}) is None


@pytest.mark.parametrize("kind", TYPES)
def test_another_version(sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
    """A version that was not asked for is refused before it starts."""
    result = take(sandbox, kind, program=program(tmp_path, "touch started"), version="1.3")

    assert result.error is not None
    assert result.error.error_class == "agent_unavailable"
    assert "1.3 is wanted, but 1.2.3 is installed" in str(result.error)
    assert sandbox.read("started") is None


@pytest.mark.parametrize("kind", TYPES)
def test_exit_0_without_a_word(sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
    """Doing nothing is not success."""
    result = take(sandbox, kind, program=program(tmp_path, "exit 0"))

    assert result.error is not None
    assert result.error.error_class == "agent_no_output"


@pytest.mark.parametrize("kind", TYPES)
def test_words_of_an_excuse(sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
    """Text about rate limits on stdout and stderr, and a failing exit, is never a rate limit."""
    words = "echo 'Error: 429 Too Many Requests rate_limit_error'; echo 'status: 429' >&2"
    failed = take(sandbox, kind, program=program(tmp_path, f"{words}; exit 1"))
    fine = take(sandbox, kind, program=program(tmp_path, words))

    assert failed.error is not None
    assert failed.error.error_class in ("agent_unavailable", "agent_crashed")
    assert fine.error is not None
    assert fine.error.error_class == "bad_output"


def test_a_stream_that_is_cut(sandbox: Sandbox, tmp_path: Path) -> None:
    """Half a stream with exit 0 is bad output; with a kill it is a crash; what was told is kept."""
    init = '{"type":"system","subtype":"init","session_id":"s","model":"m","claude_code_version":"9"}'
    half = f"printf '%s\\n%s' '{init}' '{{\"type\":\"assistant\"'"
    cut = take(sandbox, "claude-code", program=program(tmp_path, half))
    killed = take(sandbox, "claude-code", program=program(tmp_path, f"{half}; kill -9 $$"))

    assert cut.error is not None
    assert cut.error.error_class == "bad_output"
    assert "its output broke off inside a line" in cut.notes
    assert (cut.version, cut.model) == ("9", "m")
    assert killed.error is not None
    assert killed.error.error_class == "agent_crashed"
    assert '"type":"assistant"' in cut.stdout.text()


@pytest.mark.parametrize("kind", TYPES)
def test_a_rehearsal_points_to_the_scripted_model(kind: str) -> None:
    """It has a key that is none, and a base URL that is the server's; the agent itself stays the same."""
    agent = plugins.build("agents", {"type": kind, **TYPES[kind]})
    rehearsed, env = agent.rehearsed("http://127.0.0.1:9/s/x")

    assert rehearsed == agent
    assert any(value.startswith("http://127.0.0.1:9/s/x") for value in env.values())
    assert any(env.get(name) == "rehearsal" for name in agent.wanted_keys())


@pytest.mark.parametrize(("kind", "model"), [("opencode", None), ("opencode", "gpt-5"), ("mini-swe-agent", None)])
def test_a_model_that_is_needed(kind: str, model: str | None) -> None:
    """Where the program has no default of its own, the mistake is told when the suite is read."""
    with pytest.raises(ValueError, match="for example"):
        plugins.build("agents", {"type": kind, "model": model})


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [("2.1.9", "2.1", True), ("2.10.0", "2.1", False), ("2.1.9", "2.1.9", True), ("2.1.9", "2.1.", True)],
)
def test_versions_match_at_a_dot(found: str, wanted: str, same: bool) -> None:
    """A beginning of a version is one only at a dot."""
    assert is_version(found, wanted) is same
