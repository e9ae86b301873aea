"""`steelyard run` in Docker, from a suite file to a verdict."""

import os
import subprocess
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from tests.e2e.conftest import Shop

SUITE = """
scenarios:
  fix:
    seed: {{directory: seed}}
    image: {image}
    setup: ["echo prepared > prepared.txt"]
    stages:
      - {{name: whole, command: "test -s code.txt && test -s prepared.txt"}}
    grading: {grading}
    limits: {{timeout_s: 300, memory_mb: 256, network: false}}
    scorers:
      - {{name: spoils, type: command, command: "grep -q right code.txt && echo spoiled > code.txt && rm new.txt"}}
      - {{name: sees what the agent left, type: command, command: "grep -q right code.txt && test -f new.txt"}}
      - {{name: left outside, type: command, command: "{outside}"}}
tasks:
  - {{id: one, scenario: fix, prompt: "make it right"}}
arms:
  only: {{agent: command, command: "{work}"}}
"""
WORK = "id -u; test -f prepared.txt && echo right > code.txt; echo new > new.txt; rm old.txt; touch /tmp/outside"


@pytest.mark.docker
@pytest.mark.parametrize(
    ("grading", "outside"),
    [("fresh", "test ! -e /tmp/outside && test ! -e old.txt"), ("live", "test -e /tmp/outside && test ! -e old.txt")],
)
def test_a_run_in_docker_is_graded(shop: Shop, grading: str, outside: str) -> None:
    """Set-up, agent, stages, diff and scorers work in containers; a scorer's changes are put back before the next.

    With `fresh`, what the agent left outside the tree is not there; with `live`, it is.
    """
    image = os.environ.get("STEELYARD_TEST_IMAGE", "python:3.12-slim")
    shop.write("seed/code.txt", "wrong\n")
    shop.write("seed/old.txt", "old\n")
    shop.write("suite.yaml", SUITE.format(image=image, grading=grading, outside=outside, work=WORK))
    run = shop.json("run", "suite.yaml", "--sandbox", "docker")["runs"][0]

    assert (run["error_class"], run["outcome"], run["overall"]) == (None, "COMPLETED", "PASS"), run
    assert run["changed_files"] == ["code.txt", "new.txt", "old.txt"]
    assert [one["verdict"] for one in run["scorers"]] == ["PASS"] * 3
    assert "put back" in run["scorers"][0]["detail"]
    assert shop.json("show", "latest")["parity"]["image"].startswith(f"{image}@sha256:")


@pytest.mark.docker
def test_a_missing_image_could_not_be_measured(shop: Shop) -> None:
    """A run whose image is not there is an infrastructure failure that names the remedy."""
    shop.write("seed/code.txt", "wrong\n")
    text = SUITE.format(image="example.invalid/none:1", grading="live", outside="true", work="true")
    shop.write("suite.yaml", text)
    done = shop.steelyard("run", "suite.yaml", "--sandbox", "docker", "--retries", "0")

    assert done.returncode == 3
    assert "docker pull example.invalid/none:1" in done.stdout + done.stderr


@pytest.mark.docker
def test_doctor_removes_what_a_killed_run_left(shop: Shop) -> None:
    """After kill -9 of `steelyard run` its container is there, without its agent, until `doctor --clean`."""
    image = os.environ.get("STEELYARD_TEST_IMAGE", "python:3.12-slim")
    label = f"killed-{uuid4().hex}"
    shop.write("seed/code.txt", "wrong\n")
    shop.write("suite.yaml", SUITE.format(image=image, grading="live", outside="true", work=f"sleep 8300; : {label}"))
    with shop.start("run", "suite.yaml", "--sandbox", "docker", "--judge", "none") as harness:
        left = eventually(lambda: of_command(label))
        harness.kill()

    assert eventually(lambda: of_command(label) is None) is True
    assert eventually(lambda: shop.steelyard("doctor", "--clean").returncode == 0 and left not in containers()) is True


def eventually(look: Callable[[], Any]) -> Any:
    """What is seen as soon as there is something."""
    until = time.monotonic() + 120
    while not (seen := look()):
        assert time.monotonic() < until
        time.sleep(0.1)
    return seen


def docker(*words: str) -> str:
    """What the engine's own command says."""
    return subprocess.run(["docker", *words], capture_output=True, text=True).stdout


def containers() -> list[str]:
    """All of Steelyard's containers, running or not."""
    return docker("ps", "-aq", "--no-trunc", "--filter", "label=steelyard.sandbox").split()


def of_command(label: str) -> str | None:
    """The running container in which a command with this label runs."""
    running = docker("ps", "-q", "--no-trunc", "--filter", "label=steelyard.sandbox").split()
    return next((one for one in running if label in docker("top", one)), None)
