"""A file where a directory of the baseline's tests should be: no arm gets out of its grade by that."""

import shutil
from dataclasses import replace
from pathlib import Path

from steelyard.scorers.baseline_tests_pass import BaselineTestsPass
from steelyard.worktree.diff import capture
from steelyard.worktree.snapshot import take_baseline
from tests.scorers.truth import FILES, PYTEST, worked


def test_a_file_in_the_place_of_the_tests_is_left_out(tmp_path: Path) -> None:
    """The directory comes back for the run, and the agent's file afterwards."""
    broken = FILES["calc.py"].replace("a + b", "a * b", 1)
    with worked(tmp_path, {}) as (evidence, sandbox, tree):
        baseline = take_baseline(tree, tmp_path / "before")
        (tree / "calc.py").write_text(broken)
        shutil.rmtree(tree / "tests")
        (tree / "tests").write_text("not a directory\n")
        captured = capture(tree, baseline, tmp_path / "after")
        changed = replace(
            evidence,
            diff=captured.diff,
            before=captured.before,
            after=captured.after,
            baseline_files=captured.baseline_files,
        )
        grade = BaselineTestsPass(name="base", command=PYTEST).score(changed, sandbox)

        assert (tree / "tests").read_text() == "not a directory\n"

    assert grade.verdict == "FAIL", grade.detail
    assert "test_add: passed on the baseline, failed now" in grade.detail
