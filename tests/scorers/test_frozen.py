import pytest

from steelyard.domain.diff import FileChange
from steelyard.scorers.baseline_unmodified import BaselineUnmodified
from steelyard.scorers.tests_unmodified import TestsUnmodified as FrozenTests
from tests.scorers.support import edited, evidence

FROZEN = "tests/test_a.py"
CHANGES = {
    "edited": (edited(FROZEN, "assert True"), "was edited"),
    "deleted": (FileChange(FROZEN, "deleted"), "was deleted"),
    "renamed away": (FileChange("tests/b.py", "renamed", old_path=FROZEN), "was renamed to tests/b.py"),
    "overwritten": (FileChange(FROZEN, "renamed", old_path="mine.py"), "was overwritten by a rename of mine.py"),
    "mode": (FileChange(FROZEN, "mode", old_mode="100644", new_mode="100755"), "mode changed from 100644 to 100755"),
    "symlink": (FileChange(FROZEN, "type", old_mode="100644", new_mode="120000"), "another kind of file"),
    "folder replaced": (FileChange("tests", "added", new_mode="120000"), "lies below tests, which was created"),
}


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("scorer", [FrozenTests, BaselineUnmodified])
def test_every_kind_of_touch_fails(kind: str, scorer: type[FrozenTests] | type[BaselineUnmodified]) -> None:
    """Edits, deletion, renames from and to, modes, links and a replaced folder are all seen and named."""
    change, said = CHANGES[kind]
    grade = scorer(name="frozen", paths=(FROZEN,)).score(evidence(change, baseline=(FROZEN,)), None)
    assert (grade.verdict, grade.score) == ("FAIL", 0.0)
    assert said in grade.detail
    assert grade.findings[0].path == FROZEN


def test_other_files_may_change() -> None:
    """Only the named files are frozen, by their exact paths."""
    change = evidence(edited("tests/test_a.pyc"), edited("a.py"), baseline=(FROZEN,))
    assert FrozenTests(name="frozen", paths=(FROZEN,)).score(change, None).verdict == "PASS"


def test_a_pattern_is_not_expanded() -> None:
    """`tests/*` is an exact path that the baseline lacks, so it fails instead of freezing nothing."""
    grade = FrozenTests(name="frozen", paths=("tests/*",)).score(evidence(baseline=(FROZEN,)), None)
    assert grade.verdict == "FAIL"
    assert "is not in the baseline" in grade.detail


def test_a_file_that_the_agent_creates_at_a_frozen_path_fails() -> None:
    """What the baseline lacks can't be frozen, and creating it is no way around."""
    change = evidence(FileChange(FROZEN, "added", added=((1, "pass"),)))
    grade = FrozenTests(name="frozen", paths=(FROZEN,)).score(change, None)
    assert grade.verdict == "FAIL"
    assert "was created" in grade.detail
