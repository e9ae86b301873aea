"""Replayed scripts, in a real sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.agents.base import Turn, TurnResult
from steelyard.agents.scripted import ScriptedAgent
from steelyard.domain.suite import Limits
from steelyard.errors import InputError
from steelyard.sandboxes.base import Sandbox, SandboxSpec
from steelyard.sandboxes.local import LocalProvider


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A tree with one file."""
    tree, scratch = tmp_path / "tree", tmp_path / "scratch"
    tree.mkdir()
    scratch.mkdir()
    (tree / "a.txt").write_text("one two\n")
    opened = LocalProvider().open(SandboxSpec(run_id="run-1", tree=tree, scratch=scratch, limits=Limits()))
    yield opened
    opened.close()


def agent(tmp_path: Path, script: str) -> ScriptedAgent:
    """An agent with its script read in."""
    (tmp_path / "script.yaml").write_text(script)
    return ScriptedAgent(script="script.yaml").resolved(tmp_path)


def play(one: ScriptedAgent, sandbox: Sandbox, *, repeat: int = 1, index: int = 0) -> TurnResult:
    """One turn."""
    return one.run(Turn(prompt="p", task_id="t", arm="a", repeat=repeat, index=index, timeout_s=60), sandbox)


def test_every_action(tmp_path: Path, sandbox: Sandbox) -> None:
    """Edits and commands happen for real, are counted, and stand in the trajectory."""
    script = """
tasks:
  t:
    - say: starting
    - write: {path: new/b.txt, text: "b"}
    - append: {path: a.txt, text: "three\\n"}
    - replace: {path: a.txt, old: two, new: TWO}
    - rename: {from: new/b.txt, to: c.txt}
    - chmod: {path: c.txt, mode: "755"}
    - run: "printf ran > r.txt"
    - write: {path: gone, text: x}
    - delete: gone
    - sleep: 0
    - usage: {input_tokens: 10, cost_usd: 0.1}
    - say: done
"""
    result = play(agent(tmp_path, script), sandbox)

    tree = tmp_path / "tree"
    assert (tree / "a.txt").read_text() == "one TWO\nthree\n"
    assert (tree / "c.txt").stat().st_mode & 0o777 == 0o755
    assert (tree / "r.txt").read_text() == "ran"
    assert not (tree / "gone").exists()
    assert (result.final_response, result.usage.tool_calls, result.usage.input_tokens) == ("done", 9, 10)
    assert len(result.steps) == 11
    assert result.error is None


def test_chance_is_drawn_from_seed_task_and_repeat(tmp_path: Path, sandbox: Sandbox) -> None:
    """The same repeat draws the same; over many repeats both branches are met."""
    script = "tasks: {'*': [{chance: {p: 0.5, then: [{say: heads}], else: [{say: tails}]}}]}"
    one = agent(tmp_path, script)

    first = [play(one, sandbox, repeat=n).final_response for n in range(1, 21)]
    again = [play(one, sandbox, repeat=n).final_response for n in range(1, 21)]

    assert first == again
    assert set(first) == {"heads", "tails"}


def test_turns_and_repeats(tmp_path: Path, sandbox: Sandbox) -> None:
    """A turn plays its own list; after the last there is nothing more to do; repeats may differ."""
    one = agent(
        tmp_path, "tasks: {t: {turns: [[{say: first}], [{repeats: {2: [{say: two}], default: [{say: other}]}}]]}}"
    )

    said = [play(one, sandbox, index=n).final_response for n in range(3)]

    assert said == ["first", "other", ""]
    assert play(one, sandbox, index=1, repeat=2).final_response == "two"


def test_exit_is_a_crash(tmp_path: Path, sandbox: Sandbox) -> None:
    """A script that exits non-zero ends there, as a crashed agent."""
    result = play(agent(tmp_path, "tasks: {t: [{exit: 4}, {say: never}]}"), sandbox)

    assert result.exit_code == 4
    assert result.error is not None
    assert result.error.error_class == "agent_crashed"
    assert result.final_response == ""


@pytest.mark.parametrize(
    "script",
    ["", "[]", "tasks: []", "tasks: {t: [{dance: 1}]}", "tasks: {t: [{say: a, run: b}]}", "tasks: {t: [", "\x00"],
)
def test_a_wrong_script_is_told_before_anything_runs(tmp_path: Path, script: str) -> None:
    """The error names the file and what is allowed."""
    with pytest.raises(InputError, match=r"script\.yaml"):
        agent(tmp_path, script)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("{rename: {path: a.txt, to: b.txt}}", "task 't': rename: 'from' is missing; it takes from, to"),
        ("{write: {path: a.txt, text: 5}}", "write.text: must be text, not 5"),
        ("{write: a.txt}", "write: must be a mapping with path, text, not 'a.txt'"),
        ("{replace: {path: a, old: b, new: c, all: true}}", "'all' is no field of it; it takes path, old, new"),
        ("{chance: {of: 0.5, then: []}}", "chance: 'p' is missing"),
        ("{chance: {p: 0.5, then: [{sleep: long}]}}", "sleep: must be a number, not 'long'"),
        ("{repeats: {1: [{exit: no}]}}", "exit: must be a whole number, not False"),
        ("{usage: {input_tokens: 99999999999999999999}}", "usage.input_tokens: must be a number of at least 0"),
        ("{usage: {cost_usd: .inf}}", "usage.cost_usd: must be a number of at least 0, not inf"),
        ("{wirte: {path: a, text: b}}", "did you mean 'write'?"),
    ],
)
def test_every_field_of_an_action_is_checked(tmp_path: Path, action: str, words: str) -> None:
    """A script's own mistake is told when the suite is read, not as a crash of the agent it plays."""
    with pytest.raises(InputError) as refused:
        agent(tmp_path, f"tasks:\n  t:\n    - {action}\n")

    assert words in str(refused.value)
