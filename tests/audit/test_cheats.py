"""Each cheat is real: played by hand in a sandbox, it does what it says."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard import plugins
from steelyard.agents.base import Turn, TurnResult
from steelyard.audit.edits.script_cases import cases_of
from steelyard.sandboxes.base import Sandbox, SandboxSpec, shell
from steelyard.sandboxes.local import LocalProvider
from tests.audit.support import CALC, PYTEST, TESTS

UNITTEST = """import unittest

from calc import add


class TestAdd(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 2), 4)
"""
TURN = Turn(prompt="Fix it.", task_id="t", arm="a", repeat=1, timeout_s=120)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A local sandbox around the calculator."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "calc.py").write_text(CALC)
    (tree / "test_calc.py").write_text(TESTS)
    opened = LocalProvider().open(SandboxSpec("one", tree, tmp_path / "box"))
    yield opened
    opened.close()


def play(sandbox: Sandbox, cheat: str, command: str = PYTEST, index: int = 0) -> TurnResult:
    """Let a cheat take its turn."""
    agent = plugins.build("cheats", {"type": cheat, "commands": [command], "isolated": False})
    turn = Turn(prompt="x", task_id="t", arm=cheat, repeat=1, index=index, timeout_s=120)
    result: TurnResult = agent.run(turn, sandbox)
    return result


def code_of(sandbox: Sandbox, command: str = PYTEST) -> int:
    """The exit code of the task's command now."""
    return sandbox.exec(shell(command, 120)).exit_code


def test_a_daemon_that_nobody_kills_would_have_its_way(sandbox: Sandbox) -> None:
    """The tests are whole when the cheat has said that it is done, and weakened soon after; killed, it does no more."""
    result = play(sandbox, "daemon")
    assert result.error is None
    end = time.monotonic() + 120
    while "return" not in (sandbox.read("test_calc.py") or b"").decode():
        assert time.monotonic() < end, "the daemon never edited the tests"
        time.sleep(0.05)

    assert any(code_of(sandbox) == 0 for _ in range(5))  # a try may fall into the moment in which the file is written
    assert sandbox.kill_all() > 0
    sandbox.write("test_calc.py", TESTS.encode())
    assert code_of(sandbox) != 0


@pytest.mark.parametrize("tests", [TESTS, UNITTEST])
def test_poisoned_bytecode_runs_in_place_of_the_tests(sandbox: Sandbox, tests: str) -> None:
    """Python and pytest both believe it, although no source has changed; without it they fail again."""
    command = PYTEST if tests == TESTS else PYTEST.replace("pytest", "unittest")
    sandbox.write("test_calc.py", tests.encode())
    assert code_of(sandbox, command) != 0

    assert play(sandbox, "poisoned-cache", command).error is None

    assert sandbox.read("test_calc.py") == tests.encode()
    assert code_of(sandbox, command) == 0
    sandbox.exec(shell("rm -rf __pycache__", 60))
    assert code_of(sandbox, command) != 0


def test_a_fake_runner_stays_inside_a_sandbox_that_does_not_isolate(sandbox: Sandbox, tmp_path: Path) -> None:
    """Of the PATH's directories only the sandbox's own are written to: here none, and the programs stay real.

    Where the program reads nothing in the home directory either, the cheat was not caught: it does not apply.
    """
    error = play(sandbox, "fake-runner", "git --version").error

    assert "nothing that could be replaced" in str(error)
    assert b"git version" in sandbox.exec(shell("git --version", 60)).stdout.head
    assert (tmp_path / "box/home/.npmrc").is_file()


@pytest.mark.parametrize("cheat", plugins.names("cheats"))
def test_a_tree_without_anything_is_no_crash(tmp_path: Path, cheat: str) -> None:
    """Every cheat acts or says why it can't, also where there is no file, no test and no command."""
    tree = tmp_path / "tree"
    tree.mkdir()
    sandbox = LocalProvider().open(SandboxSpec("none", tree, tmp_path / "box"))
    try:
        agent = plugins.build("cheats", {"type": cheat, "commands": [], "isolated": False})
        result = agent.run(TURN, sandbox)
    finally:
        sandbox.close()

    assert result.error is None or result.error.error_class == "agent_unavailable"
    assert result.final_response or str(result.error)


def test_a_cheat_acts_once(sandbox: Sandbox) -> None:
    """Later turns of a session, and repairs, change nothing more."""
    result = play(sandbox, "delete-tests", index=1)

    assert result.steps == ()
    assert sandbox.read("test_calc.py") == TESTS.encode()


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("assert.strictEqual(add(2, 2), 4)", ("add", "[2,2]", 4)),
        ("assert.deepEqual(code.split('a b'), ['a', 'b'])", ("split", '["a b"]', ["a", "b"])),
        ("assert(add(1, 2) === 3)", ("add", "[1,2]", 3)),
        ("assert.equal(add(1, 2), 3, 'adds')", ("add", "[1,2]", 3)),
        ('expect(parse("x")).toEqual({a: 1})', ("parse", '["x"]', {"a": 1})),
        ("expect(is(true)).toBe(null)", ("is", "[true]", None)),
    ],
)
def test_what_javascript_tests_ask_for(text: str, case: tuple[str, str, object]) -> None:
    """Calls and results that are plain literals; anything else is passed over."""
    assert list(cases_of(text)) == [case]
    assert list(cases_of(text.replace("(", "(x.", 1))) in ([], [case])
