"""The pages about agents: what they show works as pasted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from steelyard import plugins
from steelyard.agents.base import Turn
from steelyard.sandboxes.base import SandboxSpec
from steelyard.sandboxes.local import LocalProvider
from steelyard.suites.load import load_suite
from steelyard.testing.scripted_model import read_scripts

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "agents.md", DOCS / "rehearsing.md", *sorted((DOCS / "agents").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_suite_loads_as_pasted(page: Path, tmp_path: Path) -> None:
    """A suite on a page has no mistake, and its agents can be built."""
    suites = blocks(page, "yaml")
    assert suites
    for number, text in enumerate(suites):
        file = tmp_path / f"suite{number}.yaml"
        file.write_text(text)
        for arm in load_suite(file).arms:
            assert plugins.build("agents", arm.agent).type == arm.agent["type"]


def test_every_agent_has_its_place() -> None:
    """Each built-in type has a page or a section."""
    index = (DOCS / "agents.md").read_text("utf-8")
    for name in plugins.BUILT_IN["agents"]:
        assert f"\n## {name}\n" in index or (DOCS / "agents" / f"{name}.md").exists()


def test_every_field_is_documented() -> None:
    """A field of an agent is named on the index or on the agent's own page."""
    index = (DOCS / "agents.md").read_text("utf-8")
    for name in ("claude-code", "codex", "opencode", "mini-swe-agent"):
        for field in plugins.load("agents", name).model_fields:
            assert field == "type" or f"`{field}`" in index


def test_every_script_is_one() -> None:
    """The scripts on the page about rehearsing are valid."""
    scripts = blocks(DOCS / "rehearsing.md", "json")
    assert scripts
    for text in scripts:
        read_scripts(json.loads(text))


def test_an_agent_in_fifteen_lines(tmp_path: Path) -> None:
    """The class on the page is short, and runs a program with the prompt on stdin."""
    (code,) = blocks(DOCS / "agents" / "bring-your-own.md", "python")
    assert len([line for line in code.splitlines() if line.strip()]) < 15
    names: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(code, "bring-your-own.md", "exec"), names)
    tree, scratch, programs = (tmp_path / name for name in ("tree", "scratch", "bin"))
    for folder in (tree, scratch, programs):
        folder.mkdir()
    (programs / "my-agent").write_text('#!/bin/sh\necho "$2: $(cat)"\n')
    (programs / "my-agent").chmod(0o755)
    path = {"PATH": f"{programs}:/usr/bin:/bin"}
    sandbox = LocalProvider().open(SandboxSpec(run_id="r", tree=tree, scratch=scratch, env=path))

    result = names["MyAgent"](effort="low").run(Turn("go", "t", "a", 1, timeout_s=60.0), sandbox)
    sandbox.close()

    assert (result.final_response, result.error) == ("low: go\n", None)
