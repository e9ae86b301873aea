"""hidden_tests under an agent's own hooks and settings: the runner's files are the baseline's while they run."""

from pathlib import Path
from typing import Any

import pytest

from steelyard.scorers.hidden_tests import HiddenTests
from tests.scorers.truth import FILES, FIXED, PYTEST, contents, worked

WRONG = FILES["calc.py"].replace("return a + b", "return a + b + 0")
SECRET = "from calc import sub\n\n\ndef test_hidden():\n    assert sub(9, 4) == 5\n"
GREEN = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    call.excinfo = None\n    yield\n"
)
PATCHES = "from _pytest.python import Function\n\n\ndef quiet(self):\n    pass\n\n\nFunction.runtest = quiet\n"


def scorer(**fields: Any) -> HiddenTests:
    """One hidden file below tests/."""
    hidden = [{"path": "tests/unit/test_secret.py", "text": SECRET}]
    given = {"name": "hidden", "contents": hidden, "command": PYTEST + " tests/unit/test_secret.py", **fields}
    return HiddenTests.model_validate(given, strict=False)


@pytest.mark.parametrize(
    "change",
    [
        {"conftest.py": GREEN},
        {"tests/conftest.py": GREEN},
        {"tests/unit/conftest.py": GREEN},
        {"green.py": GREEN, "pytest.ini": "[pytest]\naddopts = -p green\n"},
        {"green.py": GREEN, "pytest.ini": None, "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p green"\n'},
        {"tests/__init__.py": PATCHES, "tests/unit/__init__.py": ""},
        {"pytest.py": "raise SystemExit(0)\n"},
        {"tests/unit": "a file where the directory of the hidden tests should be\n"},
    ],
    ids=["hook", "hook of tests", "hook beside", "settings", "other settings", "package", "shadow", "in the way"],
)
def test_an_agents_runner_files_turn_nothing_green(change: dict[str, str | None], tmp_path: Path) -> None:
    """The code is wrong, and so the hidden test fails; afterwards the tree is as the agent left it."""
    with worked(tmp_path, {"calc.py": WRONG, **change}) as (evidence, sandbox, tree):
        before = contents(tree)
        grade = scorer().score(evidence, sandbox)
        left = contents(tree)

    assert grade.verdict == "FAIL", grade
    assert "1 of 1 tests failed: tests.unit.test_secret::test_hidden" in grade.detail
    assert left == before


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [({}, "FAIL"), ({"runner_files": "agent"}, "PASS")],
    ids=["baseline", "agent"],
)
def test_a_task_may_be_about_the_configuration(fields: dict[str, Any], verdict: str, tmp_path: Path) -> None:
    """`runner_files: agent` leaves them as the agent made them: here the task was to make a folder importable."""
    files = {"lib/calc.py": FIXED, "pytest.ini": "[pytest]\naddopts = -q\n"}
    change = {"pytest.ini": "[pytest]\npythonpath = lib\n"}
    with worked(tmp_path, change, files) as (evidence, sandbox, _tree):
        assert scorer(**fields).score(evidence, sandbox).verdict == verdict


def test_more_files_may_be_the_baselines(tmp_path: Path) -> None:
    """`config` names files beside the usual ones, here a plugin that the command loads."""
    files = {**FILES, "ci/__init__.py": "", "ci/plugin.py": ""}
    fields = {"command": PYTEST + " -p ci.plugin tests/unit/test_secret.py"}
    with worked(tmp_path, {"calc.py": WRONG, "ci/plugin.py": GREEN}, files) as (evidence, sandbox, _tree):
        bent = scorer(**fields).score(evidence, sandbox)
        kept = scorer(**fields, config=["ci/*"]).score(evidence, sandbox)

    assert (bent.verdict, kept.verdict) == ("PASS", "FAIL")


def test_hidden_settings_win_over_both(tmp_path: Path) -> None:
    """A runner's file among the hidden ones is what runs, whatever baseline and agent have."""
    hidden = [
        {"path": "tests/unit/test_secret.py", "text": SECRET.replace("calc", "shop.calc")},
        {"path": "pytest.ini", "text": "[pytest]\npythonpath = lib\n"},
    ]
    change = {"lib/shop/calc.py": FIXED, "pytest.ini": "[pytest]\naddopts = --co\n", "tests/__init__.py": ""}
    with worked(tmp_path, change) as (evidence, sandbox, _tree):
        grade = scorer(contents=hidden).score(evidence, sandbox)

    assert grade.verdict == "PASS", grade
