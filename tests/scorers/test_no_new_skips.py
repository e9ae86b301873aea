"""no_new_skips: counting over all files, moves, globs, N/A."""

from steelyard import plugins
from steelyard.scorers.no_new_skips import NoNewSkips
from tests.scorers.integrity.build import SKIPS, evidence

PLAIN = "def test_a():\n    assert f() == 1\n"
SKIPPED = "import pytest\n\n\n@pytest.mark.skip\n" + PLAIN


def test_not_applicable_without_test_files() -> None:
    """A change of code alone says nothing about skips."""
    grade = SKIPS.score(evidence({"src/a.py": "x = 1\n"}, {"src/a.py": "x = 2\n"}), None)

    assert (grade.verdict, grade.score) == ("N/A", None)


def test_a_new_skip_fails_and_is_named() -> None:
    """The finding tells file, line, test and marker."""
    grade = SKIPS.score(evidence({"tests/test_a.py": PLAIN}, {"tests/test_a.py": SKIPPED}), None)

    assert (grade.verdict, grade.score) == ("FAIL", 0.0)
    assert [(f.path, f.line, f.test, f.after) for f in grade.findings] == [
        ("tests/test_a.py", 4, "test_a", "pytest.mark.skip")
    ]


def test_a_moved_skip_is_not_new() -> None:
    """A test that moves to another file takes its marker along."""
    change = evidence(
        {"tests/test_a.py": SKIPPED, "tests/test_b.py": ""}, {"tests/test_a.py": "", "tests/test_b.py": SKIPPED}
    )

    assert SKIPS.score(change, None).verdict == "PASS"


def test_own_globs_replace_the_default() -> None:
    """With `test_globset` only matching files are looked at."""
    own = NoNewSkips(name="own", test_globset=("checks/*",))
    elsewhere = evidence({"tests/test_a.py": PLAIN}, {"tests/test_a.py": SKIPPED})
    inside = evidence({"checks/a.py": PLAIN}, {"checks/a.py": SKIPPED})

    assert own.score(elsewhere, None).verdict == "N/A"
    assert own.score(inside, None).verdict == "FAIL"


def test_advisory_unless_told_otherwise() -> None:
    """The type's default is advisory; a suite may require it, in plain JSON."""
    built = plugins.build("scorers", {"type": "no_new_skips", "name": "s", "required": True, "test_globset": ["t/*"]})

    assert not SKIPS.is_required
    assert built.is_required
    assert built.test_globset == ("t/*",)


def test_a_new_go_file_may_have_a_build_tag() -> None:
    """A tag on a new file is how it is written; on an old file it switches tests off."""
    body = 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {\n\tt.Error("x")\n}\n'
    tagged = "//go:build linux\n\n" + body

    assert SKIPS.score(evidence({}, {"a_test.go": tagged}), None).verdict == "PASS"
    assert SKIPS.score(evidence({"a_test.go": body}, {"a_test.go": tagged}), None).verdict == "FAIL"
