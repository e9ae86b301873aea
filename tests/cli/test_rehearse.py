"""`steelyard rehearse`: a suite without a cent."""

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Shop

AGENTS = Path(".venv/agents/bin").absolute()
SUITE = """
tasks:
  - {id: one, seed: {directory: seed}, prompt: "Fix it", limits: {network: false}, scorers: [SCORER]}
arms:
  plain: {agent: command, command: "COMMAND", env: [SOME_KEY]}
"""
CHECK = '{name: c, type: command, command: "grep -q right code.txt"}'


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A directory with a seed."""
    shop = Shop(tmp_path)
    shop.write("seed/code.txt", "wrong\n")
    return shop


def suite(shop: Shop, command: str, scorer: str = CHECK) -> str:
    """A suite with one arm."""
    shop.write("suite.yaml", SUITE.replace("COMMAND", command).replace("SCORER", scorer))
    return "suite.yaml"


def test_an_arm_without_a_model_is_run_with_made_up_keys(shop: Shop) -> None:
    """Keys that the arm names need not be set, and nothing is stored."""
    found = shop.json("rehearse", suite(shop, "echo $SOME_KEY > code.txt"), "--sandbox", "local")

    assert found["ready"] is True
    assert found["rehearsals"][0]["problem"] is None
    assert found["rehearsals"][0]["scorers"][0]["verdict"] == "FAIL"
    assert not (shop.root / ".steelyard").exists()


def test_what_would_not_work_is_told(shop: Shop) -> None:
    """A missing program is exit code 3 with its name."""
    done = shop.steelyard("rehearse", suite(shop, "no-such-agent-x"), "--sandbox", "local")

    assert done.returncode == 3
    assert "no-such-agent-x" in done.stdout


def test_a_task_that_measures_nothing_is_warned_of(shop: Shop) -> None:
    """Checks that pass on the untouched seed can't tell good from bad."""
    scorer = '{name: c, type: command, command: "true"}'
    found = shop.json("rehearse", suite(shop, "echo idle", scorer), "--sandbox", "local")

    assert "can't tell good from bad" in found["rehearsals"][0]["warning"]


def test_docker_is_refused_with_the_reason(shop: Shop) -> None:
    """A container has its own loopback."""
    assert shop.steelyard("rehearse", suite(shop, "true"), "--sandbox", "docker").returncode == 2


@pytest.mark.agents
@pytest.mark.node
def test_a_real_agent_plays_the_tasks_script(shop: Shop) -> None:
    """Claude Code does what the script of the task says, in a sandbox, and the checks see it."""
    shop.write(
        "suite.yaml",
        SUITE.replace("SCORER", CHECK).replace(
            '{agent: command, command: "COMMAND", env: [SOME_KEY]}',
            "{agent: claude-code, model: claude-haiku-4-5, env: [ANTHROPIC_API_KEY]}",
        ),
    )
    steps = [{"calls": [{"shell": "echo right > code.txt"}]}, {"text": "Done."}]
    shop.write("script.json", json.dumps({"scripts": {"one": steps}, "steps": ["never"]}))

    found = shop.steelyard(
        "rehearse", "suite.yaml", "--script", "script.json", "--json", PATH=f"{AGENTS}:{os.environ['PATH']}"
    )

    assert found.returncode == 0, found.stdout + found.stderr
    one = json.loads(found.stdout)["rehearsals"][0]
    assert one["requests"] == 2
    assert one["scorers"][0]["verdict"] == "PASS"
