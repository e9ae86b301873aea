"""baseline_tests_pass: what an agent put behind a link or into bytecode decides nothing."""

import py_compile
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.sandboxes.base import SandboxSpec
from steelyard.sandboxes.local import LocalProvider
from steelyard.scorers.baseline_tests_pass import BaselineTestsPass
from steelyard.worktree.diff import capture
from steelyard.worktree.snapshot import take_baseline
from tests.scorers.truth import FILES, PYTEST

HOOK = "def pytest_collection_modifyitems(items):\n    items.clear()\n"


def _linked_tests(tree: Path) -> None:
    (tree / "tests").rename(tree / "checks")
    (tree / "checks/test_calc.py").write_text("def test_add():\n    pass\n\n\ndef test_zero():\n    pass\n")
    (tree / "tests").symlink_to("checks")


def _linked_conftest(tree: Path) -> None:
    (tree / "hooks.txt").write_text(HOOK)
    (tree / "conftest.py").symlink_to("hooks.txt")


def _bytecode(tree: Path) -> None:
    source = tree / "x.py"
    source.write_text("import os\nos._exit(0)\n")
    py_compile.compile(str(source), cfile=str(tree / "unittest.pyc"))
    source.unlink()


@pytest.mark.parametrize("cheat", [_linked_tests, _linked_conftest, _bytecode])
def test_the_baselines_tests_still_decide(cheat: Callable[[Path], None], tmp_path: Path) -> None:
    """The broken code fails by the test that it breaks, not by an error of the runner."""
    tree = tmp_path / "tree"
    for path, text in FILES.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    baseline = take_baseline(tree, tmp_path / "base")
    (tree / "calc.py").write_text(FILES["calc.py"].replace("return a + b", "return a * b", 1))
    cheat(tree)
    captured = capture(tree, baseline, tmp_path / "keep")
    (tmp_path / "scratch").mkdir()
    sandbox = LocalProvider().open(SandboxSpec(run_id="test", tree=tree, scratch=tmp_path / "scratch"))
    try:
        evidence = Evidence(
            task=Task(id="t", prompt="x"),
            diff=captured.diff,
            before=captured.before,
            after=captured.after,
            baseline_files=captured.baseline_files,
        )
        grade = BaselineTestsPass(name="base", command=PYTEST).score(evidence, sandbox)
    finally:
        sandbox.close()

    assert grade.verdict == "FAIL"
    assert "test_add: passed on the baseline, failed now" in grade.detail
