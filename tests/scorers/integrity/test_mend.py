"""Pieces of files that begin or end inside a long string or comment."""

import pytest

from steelyard.scorers.integrity.analyse import analyser_for
from steelyard.scorers.integrity.mend import mended
from tests.scorers.integrity.build import ASSERTIONS, SKIPS, evidence

INSIDE_TEMPLATE = """      state: "pending",
    },
  `)
})

test("collects", () => {
  run(`
    test.skip("in a string", () => {})
  `)
  expect(found).toEqual(1)
})
"""
CUT_COMMENT = """/**
 * Update the snapshots
    it(`test ${name}`, function () {
        this.skip();
"""
RUST_STRING = """3:be, to a very large extent, the result of luck.
";
    assert_eq!(lines, expected);
});

work!(columns, |mut cmd: Command| {
    let expected = "a
";
    assert_eq!(lines, expected);
"""
PLAIN_COMMENT = """package a

/*
	Objects
*/

func TestA(t *testing.T) {
	assert.Equal(t, 1, f())
"""
DOCSTRINGS = '''class TestA:
    """
    Tests for a.

        assert f() == 1

    @pytest.mark.xfail(NEW, reason="broken")
    def test_b(self):
        """
        When it is used
'''


@pytest.mark.parametrize(
    ("path", "text", "checks", "skips"),
    [
        ("tests/a.test.ts", INSIDE_TEMPLATE, 1, 0),
        ("tests/a.test.ts", CUT_COMMENT, 0, 1),
        ("tests/a.rs", RUST_STRING, 2, 0),
        ("a_test.go", PLAIN_COMMENT, 1, 0),
        ("tests/test_a.py", DOCSTRINGS, 1, 1),
    ],
)
def test_a_piece_is_read_as_its_file_would_be(path: str, text: str, checks: int, skips: int) -> None:
    """What stands in a cut string is no code, and the code after a cut comment is no comment."""
    analyser = analyser_for(path)
    seen = analyser.syntax(text)
    view = seen if seen.mode == "syntax" else analyser.lines(text)

    assert (len(view.checks), len(view.skips)) == (checks, skips)


def test_code_that_became_a_comment_is_told_though_no_assertion_is_in_sight() -> None:
    """The hunk shows the two ends of a comment only; the tests between them are gone all the same."""
    before = 'package cmd\n\nimport (\n\t"testing"\n)\n\n// TestAdd adds\n\t\t}\n\t}\n}\n'
    after = "package cmd\n\n/*\n// TestAdd adds\n\t\t}\n\t}\n}\n*/\n("

    grade = ASSERTIONS.score(evidence({"add_test.go": before + "("}, {"add_test.go": after}), None)

    assert grade.verdict == "FAIL"
    assert [(finding.rule, finding.line) for finding in grade.findings] == [("commented_out", 3)]


def test_a_new_comment_around_nothing_is_no_finding() -> None:
    """A comment that explains is not one that switches off."""
    code = "func TestA(t *testing.T) {\n\tassert.Equal(t, 1, f())\n("

    change = evidence({"a_test.go": code}, {"a_test.go": "/* why\nthis\nmatters */\n" + code})

    assert ASSERTIONS.score(change, None).verdict == "PASS"
    assert SKIPS.score(change, None).verdict == "PASS"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert f(x) == 3", "assert f(x) == f(x)"),
        ("assert mode(x) == 'wal'", "assert mode(x) in ('wal', None)"),
        ("assert 'wal' == mode(x)", "assert 'wal' in (mode(x), None)"),
        ("assert f(x) == 3", "return\n    assert f(x) == 3"),
    ],
)
def test_a_check_that_lets_more_through_is_found(before: str, after: str) -> None:
    """Compared with itself, with a choice, or never reached: one assertion on both sides, one of them weaker."""
    head = "def test_a(x):\n    "

    grade = ASSERTIONS.score(evidence({"test_a.py": head + before}, {"test_a.py": head + after}), None)

    assert grade.verdict == "FAIL"


def test_a_raised_skip_is_one_marker() -> None:
    """`raise SkipTest(…)` is one skip, however it was imported."""
    text = "from unittest import SkipTest\n\ndef test_a():\n    raise SkipTest('no')\n"

    assert len(analyser_for("test_a.py").syntax(text).skips) == 1


@pytest.mark.parametrize("family", ["python", "javascript", "go", "kotlin", "rust", "ruby"])
@pytest.mark.parametrize("line", ['    """\n    def x(\n', " `\n", " */\n", "/**\n", '    "\n'])
def test_hostile_cuts_are_mended_in_one_pass(family: str, line: str) -> None:
    """Text in which everything opens and nothing closes keeps its lines, and is done in time."""
    text = line * 50_000

    assert mended(family, text).count("\n") == text.count("\n")
