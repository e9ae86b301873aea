from pathlib import Path

import pytest
from pydantic import ValidationError

from steelyard.errors import InfraError
from steelyard.scorers.command import Command
from tests.scorers.support import evidence, local_sandbox


@pytest.mark.parametrize(
    ("command", "verdict", "said"),
    [
        ("test -d .", "PASS", "exit code 0"),
        ("exit 3", "FAIL", "exit code 3"),
        ("no-such-program-anywhere", "FAIL", "exit code 127: a command was not found"),
        ("kill -9 $$", "FAIL", "exit code 137: killed by signal 9"),
    ],
)
def test_the_exit_code_decides(command: str, verdict: str, said: str, tmp_path: Path) -> None:
    """Zero passes, anything else fails, and what the shell means by it is said."""
    with local_sandbox(tmp_path) as sandbox:
        grade = Command(name="x", command=command).score(evidence(), sandbox)
    assert grade.verdict == verdict
    assert said in grade.detail


def test_it_runs_in_the_tree_and_keeps_the_end_of_its_output(tmp_path: Path) -> None:
    """The working directory is the tree; stdout and stderr are kept."""
    with local_sandbox(tmp_path) as sandbox:
        (tmp_path / "tree" / "here.txt").write_text("found me")
        grade = Command(name="x", command="cat here.txt; echo oops >&2; exit 1").score(evidence(), sandbox)
    assert "found me" in grade.output_tail
    assert "oops" in grade.output_tail


def test_running_out_of_time_fails_with_124(tmp_path: Path) -> None:
    """A command that does not end is killed and graded FAIL, exit code 124."""
    with local_sandbox(tmp_path) as sandbox:
        grade = Command(name="x", command="echo started; sleep 600", timeout_s=1).score(evidence(), sandbox)
    assert grade.verdict == "FAIL"
    assert "timed out after 1 s, exit code 124" in grade.detail
    assert "started" in grade.output_tail


@pytest.mark.parametrize("seconds", [0, 3601])
def test_the_time_limit_has_bounds(seconds: int) -> None:
    """1 to 3600 seconds, 900 by default."""
    with pytest.raises(ValidationError, match="timeout_s"):
        Command(name="x", command="true", timeout_s=seconds)
    assert Command(name="x", command="true").timeout_s == 900


def test_without_a_sandbox_it_says_so() -> None:
    """A command can't be graded from evidence alone: that is our fault, not the arm's."""
    with pytest.raises(InfraError, match="needs a sandbox"):
        Command(name="x", command="true").score(evidence(), None)
