"""The page about judging: what it shows works as pasted."""

import re
from pathlib import Path
from typing import Any

import pytest

from steelyard import plugins
from steelyard.judge.bundle import DIFF_LIMIT, OUTPUT_LIMIT, OUTPUTS_LIMIT, RESPONSE_LIMIT, TRAJECTORY_LIMIT
from steelyard.judge.jury import Jury
from steelyard.judge.story import PIECE_LIMIT
from steelyard.suites.load import load_suite
from tests.judge.support import ABOUT, Watch, a_run, alone

PAGE = (Path(__file__).parents[2] / "docs" / "judging.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(3))
def test_every_suite_loads_as_pasted(tmp_path: Path, number: int) -> None:
    """And its judges can be built."""
    path = tmp_path / "suite.yaml"
    path.write_text(blocks("yaml")[number])
    for task in load_suite(path).tasks:
        for spec in task.judge.judges:
            assert plugins.build("judges", spec).type == spec["type"]


def test_a_judge_of_your_own_works() -> None:
    """The class on the page passes a run."""
    (code,) = blocks("python")
    names: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(code, "judging.md", "exec"), names)
    result = Jury(alone(names["MyJudge"]()), {}, Watch().around()).judge(a_run(), ABOUT)

    assert result is not None
    assert (result.verdict, result.backend, result.judge01) == ("PASS", "mine", 1.0)


def test_every_field_is_named() -> None:
    """Each judge's settings stand on the page."""
    for name in plugins.BUILT_IN["judges"]:
        for field in plugins.load("judges", name).model_fields:
            assert field == "type" or f"`{field}`" in PAGE


def test_the_bounds_are_true() -> None:
    """The numbers of characters are those of the program."""
    for number in (DIFF_LIMIT, TRAJECTORY_LIMIT, PIECE_LIMIT, RESPONSE_LIMIT, OUTPUT_LIMIT, OUTPUTS_LIMIT):
        assert f"{number:,}" in PAGE


def test_the_default_models_are_true() -> None:
    """As the classes have them."""
    for name in ("anthropic", "claude-cli", "openai"):
        section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert f"Default model: {plugins.load('judges', name).default_model}." in " ".join(section.split())
