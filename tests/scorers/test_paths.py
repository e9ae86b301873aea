import pytest
from pydantic import ValidationError

from steelyard.domain.diff import FileChange
from steelyard.scorers.allowed_paths import AllowedPaths
from steelyard.scorers.file_exists import FileExists
from steelyard.scorers.forbid_paths import ForbidPaths
from steelyard.scorers.max_files_changed import MaxFilesChanged
from steelyard.scorers.paths import listed, matching
from steelyard.scorers.tests_unmodified import TestsUnmodified as FrozenTests
from tests.scorers.support import edited, evidence


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/*", "src/a.py", True),
        ("src/*", "src/deep/down/a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("src/*", "SRC/a.py", False),
        ("src", "src/a.py", False),
        ("a[12].py", "a2.py", True),
        ("a?.py", "a/.py", True),
        ("src/*", "not/src/a.py", False),
        ("*", "line\nbreak", True),
        ("a.py", "a.py\n", False),
    ],
)
def test_a_pattern_is_an_fnmatch_on_the_whole_path(pattern: str, path: str, matches: bool) -> None:
    """Case counts, `*` crosses `/`, and the whole path has to match."""
    assert bool(matching((pattern,), [path])) is matches


@pytest.mark.parametrize("bad", ["", "  ", "/etc/passwd", "../up", "a/../../b", "~/x", "C:\\x", "a\0b"])
def test_a_pattern_that_leaves_the_tree_is_refused(bad: str) -> None:
    """Absolute, empty and upward patterns and paths are mistakes, not patterns that never match."""
    with pytest.raises(ValidationError, match=r"must"):
        AllowedPaths(name="x", patterns=(bad,))
    with pytest.raises(ValidationError, match=r"must"):
        FrozenTests(name="x", paths=(bad,))
    with pytest.raises(ValidationError, match=r"must"):
        FileExists(name="x", path=bad)


@pytest.mark.parametrize("scorer", [AllowedPaths, ForbidPaths])
def test_no_patterns_at_all_is_a_mistake(scorer: type[AllowedPaths] | type[ForbidPaths]) -> None:
    """The list must not be empty."""
    with pytest.raises(ValidationError, match="at least 1 item"):
        scorer(name="x", patterns=())


def test_unknown_fields_are_mistakes() -> None:
    """A misspelt field is never ignored."""
    with pytest.raises(ValidationError, match="pattern"):
        AllowedPaths.model_validate({"name": "x", "patterns": ["a"], "pattern": ["b"]}, strict=False)


def test_exact_paths_are_tidied() -> None:
    """`./a//b` names the same file as `a/b`."""
    assert FileExists(name="x", path="./a//b").path == "a/b"


def test_allowed_paths_scores_the_share_inside() -> None:
    """Two of three files inside: FAIL with score 2/3, naming the one outside."""
    change = evidence(edited("src/a.py"), edited("src/b.py"), edited("docs/c.md"))
    grade = AllowedPaths(name="x", patterns=("src/*",)).score(change, None)
    assert (grade.verdict, grade.score) == ("FAIL", 2 / 3)
    assert "docs/c.md" in grade.detail
    assert [finding.path for finding in grade.findings] == ["docs/c.md"]


def test_a_rename_touches_both_paths() -> None:
    """Moving a file out of a forbidden place touches that place; moving one in leaves the allowed paths."""
    moved = evidence(FileChange("src/new.py", "renamed", old_path="secret/old.py"))
    assert ForbidPaths(name="x", patterns=("secret/*",)).score(moved, None).verdict == "FAIL"
    assert AllowedPaths(name="x", patterns=("src/*",)).score(moved, None).score == 0.5


def test_nothing_changed_passes_path_checks() -> None:
    """An empty change is inside every allowed path, touches nothing and is small."""
    nothing = evidence()
    assert AllowedPaths(name="x", patterns=("src/*",)).score(nothing, None).verdict == "PASS"
    assert ForbidPaths(name="x", patterns=("*",)).score(nothing, None).verdict == "PASS"
    assert MaxFilesChanged(name="x", limit=0).score(nothing, None).verdict == "PASS"


def test_a_name_that_is_not_utf8_is_shown_with_escapes() -> None:
    """Undecodable bytes in a name never reach a stored text as they are."""
    grade = ForbidPaths(name="x", patterns=("bad*",)).score(evidence(edited("bad\udcff.py")), None)
    assert "bad\\xff.py" in grade.detail
    assert grade.model_dump_json()


def test_a_long_list_is_cut_and_counted() -> None:
    """A thousand files do not make a thousand-line detail."""
    text = listed(f"file{number}" for number in range(1000))
    assert text.endswith("and 980 more")


@pytest.mark.parametrize(("changed", "verdict", "score"), [(0, "PASS", 1.0), (2, "PASS", 1.0), (4, "FAIL", 0.5)])
def test_the_limit_itself_is_allowed(changed: int, verdict: str, score: float) -> None:
    """Exactly `limit` changed files still passes; beyond it the score is limit / changed."""
    change = evidence(*(edited(f"f{number}") for number in range(changed)))
    grade = MaxFilesChanged(name="small", limit=2).score(change, None)
    assert (grade.verdict, grade.score) == (verdict, score)


def test_a_limit_below_zero_is_refused() -> None:
    """No change can have fewer than zero files."""
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        MaxFilesChanged(name="x", limit=-1)
