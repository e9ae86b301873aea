from pathlib import Path

import pytest

from steelyard.scorers.file_exists import FileExists
from tests.scorers.support import evidence, local_sandbox


def test_the_captured_tree_decides() -> None:
    """A file that was captured is there, an empty one too; another is missing."""
    captured = evidence(after={"out/report.md": b""})
    assert FileExists(name="x", path="out/report.md").score(captured, None).verdict == "PASS"
    grade = FileExists(name="x", path="out/other.md").score(captured, None)
    assert (grade.verdict, grade.detail) == ("FAIL", "out/other.md is missing")


@pytest.mark.parametrize(
    ("kind", "verdict", "said"),
    [
        ("ignored file", "PASS", "is there"),
        ("link inside", "PASS", "is there"),
        ("link to nowhere", "FAIL", "leads nowhere"),
        ("link out", "FAIL", "leads out"),
        ("link to parent", "FAIL", "leads out"),
        ("link loop", "FAIL", "leads nowhere"),
        ("folder", "FAIL", "is a directory"),
        ("below a file", "FAIL", "is missing"),
    ],
)
def test_only_a_file_in_the_tree_counts(kind: str, verdict: str, said: str, tmp_path: Path) -> None:
    """Links that lead nowhere or out, and folders, are no file; ignored files are found in the sandbox."""
    with local_sandbox(tmp_path) as sandbox:
        tree = tmp_path / "tree"
        target, path = tree / "here", "here"
        if kind == "ignored file":
            target.write_text("x")
        elif kind == "link inside":
            (tree / "real").write_text("x")
            target.symlink_to("real")
        elif kind == "link to nowhere":
            target.symlink_to("nothing")
        elif kind == "link out":
            target.symlink_to("/etc/passwd")
        elif kind == "link to parent":
            (tmp_path / "beside").write_text("x")
            target.symlink_to("../beside")
        elif kind == "link loop":
            target.symlink_to("here")
        elif kind == "folder":
            target.mkdir()
        else:
            target.write_text("x")
            path = "here/below"
        grade = FileExists(name="x", path=path).score(evidence(), sandbox)
    assert grade.verdict == verdict
    assert said in grade.detail
