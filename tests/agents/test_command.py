"""Any program as an agent, in a real sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.agents.base import Turn, TurnResult
from steelyard.agents.command import CommandAgent, read_usage
from steelyard.domain.suite import Limits
from steelyard.sandboxes.base import Sandbox, SandboxSpec
from steelyard.sandboxes.local import LocalProvider


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A tree of its own."""
    tree, scratch = tmp_path / "tree", tmp_path / "scratch"
    tree.mkdir()
    scratch.mkdir()
    opened = LocalProvider().open(SandboxSpec(run_id="run-1", tree=tree, scratch=scratch, limits=Limits()))
    yield opened
    opened.close()


def take(sandbox: Sandbox, command: str, prompt: str = "do it", **more: object) -> TurnResult:
    """One turn of a command."""
    turn = Turn(prompt=prompt, task_id="t", arm="a", repeat=1, **more)  # type: ignore[arg-type]  # a test's shorthand
    return CommandAgent(command=command).run(turn, sandbox)


BY_ARGUMENT = """python3 -c 'import sys; print(sys.argv[1], end="")' "$STEELYARD_PROMPT" """


@pytest.mark.parametrize("way", ["cat", 'printf %s "$STEELYARD_PROMPT"', 'cat "$STEELYARD_PROMPT_FILE"', BY_ARGUMENT])
def test_the_prompt_comes_in_every_way(sandbox: Sandbox, way: str) -> None:
    """On stdin, in a variable, in a file and as an argument; what is printed is the final response."""
    result = take(sandbox, way, prompt="fix it, dépêche-toi\n$HOME `id`")

    assert result.final_response == "fix it, dépêche-toi\n$HOME `id`"
    assert (result.exit_code, result.error) == (0, None)


def test_a_huge_prompt_still_comes_on_stdin(sandbox: Sandbox) -> None:
    """A prompt that no variable can hold is left out of the environment, not lost."""
    result = take(sandbox, 'wc -c; printf %s "${STEELYARD_PROMPT-none}"', prompt="x" * 300_000)

    assert result.final_response.split() == ["300000", "none"]


def test_usage_is_read_from_the_file(sandbox: Sandbox) -> None:
    """What the command states is kept as reported; what it leaves out is unknown."""
    result = take(sandbox, """printf '{"input_tokens": 7, "cost_usd": 0.5}' > "$STEELYARD_USAGE_FILE" """)

    assert result.usage.input_tokens == 7
    assert (result.usage.cost_usd, result.usage.cost_source) == (0.5, "reported")
    assert result.usage.output_tokens is None


def test_usage_of_an_earlier_turn_is_not_counted_again(sandbox: Sandbox) -> None:
    """Each turn starts with an empty usage file."""
    take(sandbox, """printf '{"input_tokens": 7}' > "$STEELYARD_USAGE_FILE" """)

    assert take(sandbox, "true", index=1).usage.input_tokens is None


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense",
        b"[1]",
        b'{"input_tokens": -1}',
        b'{"input_tokens": "7"}',
        b'{"cost_usd": NaN}',
        b'{"cost_usd": 1e999}',
        b'{"cost_usd": 1%s}' % (b"0" * 400),
        b'{"input_tokens": 99999999999999999999}',
        b"\xff\xfe",
        b"[" * 99999,
    ],
)
def test_usage_that_is_not_understood_is_unknown_and_noted(data: bytes) -> None:
    """A broken or lying usage file never becomes a number."""
    usage, notes = read_usage(data)

    assert usage.input_tokens is None
    assert usage.cost_usd is None
    assert len(notes) == 1


def test_one_bad_number_does_not_hide_the_others() -> None:
    """What is believable counts; the note names what is not."""
    usage, notes = read_usage(b'{"input_tokens": 7, "steps": "3", "tool_calls": 1e5, "cost_usd": 2, "mood": "good"}')

    assert (usage.input_tokens, usage.cost_usd, usage.cost_source) == (7, 2.0, "reported")
    assert (usage.steps, usage.tool_calls) == (None, None)
    assert notes == ("the usage file has no believable number for steps, tool_calls: unknown",)


@pytest.mark.parametrize(
    ("command", "timeout_s", "error_class"),
    [("exit 3", 60.0, "agent_crashed"), ("kill -9 $$", 60.0, "agent_crashed"), ("sleep 600", 0.3, "agent_timeout")],
)
def test_whose_fault(sandbox: Sandbox, command: str, timeout_s: float, error_class: str) -> None:
    """A bad ending is recorded as the agent's."""
    result = take(sandbox, command, timeout_s=timeout_s)

    assert result.error is not None
    assert result.error.error_class == error_class


def test_only_named_variables_reach_the_command(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness's own environment stays outside; what the arm names comes in."""
    monkeypatch.setenv("HARNESS_SECRET", "s3cret")
    result = take(sandbox, 'printf "%s %s" "${HARNESS_SECRET-none}" "$KEY"', env={"KEY": "given"})

    assert result.final_response == "none given"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("sh -c true", True),
        ("no-such-program-here --go", False),
        ("./agent.sh", True),
        ("X=1 no-such-program-here", True),
        ("cd src && make", True),
    ],
)
def test_a_missing_program_is_told_before_it_runs(command: str, found: bool) -> None:
    """Only a plain first word can be looked up; what needs the shell to know is left to it."""
    assert (CommandAgent(command=command).check({}) is None) is found
