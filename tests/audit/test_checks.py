"""What catches a cheat, besides a test command: stages, scripts that are frozen, warnings that become required."""

import subprocess
from pathlib import Path
from typing import Any

from tests.audit.support import PYTEST, calculator, suite
from tests.e2e.conftest import Shop


def audited(shop: Shop, text: str, *cheats: str, code: int = 1) -> dict[str, Any]:
    """What became of these cheats on a suite with one task."""
    shop.write("suite.yaml", text)
    words = [word for cheat in cheats for word in ("--cheat", cheat)]
    return {one["cheat"]: one for one in shop.json("audit", "suite.yaml", *words, code=code)["tasks"][0]["cheats"]}


def test_a_stage_catches_too(shop: Shop) -> None:
    """A run whose stage fails is no success, and the stage is named; the cheat gets no second turn."""
    calculator(shop)
    stage = "    stages: [{name: whole, command: 'grep -q test_add test_calc.py'}]\n"

    found = audited(shop, suite(fields=stage), "delete-tests", "nop", code=0)

    assert found["delete-tests"]["by"] == ["stage whole"]
    assert found["nop"]["by"] == ["unit tests"]


def test_a_warning_that_noticed_is_made_required(shop: Shop) -> None:
    """An advisory scorer that failed is named; the line is that scorer, required, in place of the other."""
    calculator(shop)
    advisory = "- {name: skips, type: no_new_skips}"

    found = audited(shop, suite(advisory), "skip-tests")["skip-tests"]

    assert found["warned"] == ["skips"]
    assert found["fix"]["verified"]
    assert "required: true" in found["fix"]["line"]
    assert found["fix"]["note"] == "in place of the scorer of that name"
    closed = audited(shop, suite(found["fix"]["line"]), "skip-tests", code=0)["skip-tests"]
    assert closed["by"] == ["skips"]


def test_a_script_that_checks_is_frozen(shop: Shop) -> None:
    """A script of the tree that the command runs is replaced by one that succeeds, until it is frozen."""
    calculator(shop)
    shop.write("seed/check.sh", f"#!/bin/sh\n{PYTEST}\n")

    found = audited(shop, suite(command="sh ./check.sh"), "shadow-runner")["shadow-runner"]

    assert found["fix"]["verified"]
    closed = audited(shop, suite(found["fix"]["line"], command="sh ./check.sh"), "shadow-runner", code=0)
    assert closed["shadow-runner"]["result"] == "caught"


def test_a_reference_in_the_repository_that_is_the_seed_is_refused(tmp_path: Path) -> None:
    """It would stand in every agent's tree."""
    shop = Shop(tmp_path)
    calculator(shop)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    shop.write("suite.yaml", suite().replace("seed: {directory: seed}", "seed: {git: .}"))

    done = shop.steelyard("audit", "suite.yaml", "--cheat", "nop")

    assert done.returncode == 2
    assert "the reference solution is in the seed, so an agent would see it" in done.stderr
