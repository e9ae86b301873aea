"""Diffs that were written to be slow to read: an answer, what was left out is said, and nothing hides behind them."""

import pytest

from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.scorers.forbid_secrets import ForbidSecrets
from steelyard.scorers.harness.meter import TooMuchError, metered, spend
from steelyard.scorers.harness_unmodified import HarnessUnmodified
from tests.scorers.harness.support import evidence_of
from tests.scorers.integrity.build import ASSERTIONS, SKIPS, evidence

HARNESS = HarnessUnmodified(name="harness")
STRONG = "def test_a():\n    assert f(1) == 2\n"
WEAK = "def test_a():\n    assert f(1) is not None\n"
PADDING = "".join(f"def test_{number}():\n    assert g({number}) == 1\n\n" for number in range(12_000))


def test_every_assertion_of_one_long_line_counts() -> None:
    """Sixty thousand on a line of almost a megabyte: all are counted."""
    line = "assertTrue(a); " * 60_000
    grade = ASSERTIONS.score(evidence({"ATest.java": "assertTrue(a);\n"}, {"ATest.java": line}), None)

    assert grade.verdict == "PASS"
    assert "1 before, 60000 after; by line rules" in grade.detail


def test_a_skip_at_the_end_of_a_long_line_is_seen() -> None:
    """Nobody hides a marker by writing far enough to the right."""
    line = "expect(a).toBe(1); " * 20_000 + "it.skip('b', () => {});"
    change = evidence({"a.test.js": "expect(a).toBe(1);\n"}, {"a.test.js": line})

    assert SKIPS.score(change, None).verdict == "FAIL"


def test_a_huge_file_hides_no_small_one() -> None:
    """Small files are read by syntax first, whatever else was changed."""
    huge = {"tests/test_0.py": "x = 1\n" + PADDING}
    grade = ASSERTIONS.score(
        evidence(
            {**huge, "tests/test_z.py": STRONG}, {"tests/test_0.py": "x = 2\n" + PADDING, "tests/test_z.py": WEAK}
        ),
        None,
    )

    assert [(finding.path, finding.rule) for finding in grade.findings] == [("tests/test_z.py", "loosened")]


def test_a_very_large_change_is_read_by_line_rules_and_said_so() -> None:
    """A loss is still seen where syntax is no longer asked."""
    files = {f"tests/test_{number}.py": PADDING[:90_000] for number in range(6)}
    fewer = {path: text.replace("assert g(7) == 1", "g(7)") + "# \n" for path, text in files.items()}
    grade = ASSERTIONS.score(evidence({}, dict(files)), None)
    lost = ASSERTIONS.score(evidence(dict(files), dict(fewer)), None)

    assert grade.verdict == "PASS"
    assert "the change is very large" in grade.detail
    assert lost.verdict == "FAIL"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("ATest.kt", "then(a) expect(b) " * 3_000),
        ("ATest.java", "assertA<" * 6_000),
        ("a.test.ts", "(" * 50_000),
        ("tests/test_a.py", "{\n" * 20_000),
    ],
)
def test_chains_without_end_are_said(path: str, text: str) -> None:
    """What no parser should be asked to read is read by line rules."""
    grade = ASSERTIONS.score(evidence({}, {path: text}), None)

    assert grade.verdict == "PASS"
    assert f"{path}: nested too deep to parse" in grade.detail


def test_a_padded_runner_file_is_a_finding() -> None:
    """Nobody writes so much into a conftest.py; its hook is found by line rules all the same."""
    text = "x = [" + "1," * 200_000 + "]\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"
    grade = HARNESS.score(evidence_of({}, {"conftest.py": text}), None)

    assert grade.verdict == "FAIL"
    assert {finding.rule for finding in grade.findings} == {"too-much", "pytest-hook"}
    assert "conftest.py is more than can be read: line rules only" in grade.detail


def test_padding_in_the_code_hides_no_runner_file() -> None:
    """A runner's own files are read before anything else."""
    hook = "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"
    code = "import sys\nsys.argv\nx = [" + "1," * 400_000 + "]\n"
    grade = HARNESS.score(evidence_of({}, {"a.py": code, "tests/conftest.py": hook}), None)

    assert [(finding.path, finding.rule) for finding in grade.findings] == [("tests/conftest.py", "pytest-hook")]
    assert "a.py is more than can be read" in grade.detail


def test_steps_are_counted_only_inside_and_for_all_together() -> None:
    """What one file spent is not there for the next; outside, nothing is counted."""
    spend(10**9)
    with metered(10):
        spend(6)
        with pytest.raises(TooMuchError):
            spend(5)
        spend(4)
    spend(10**9)


def test_thousands_of_secrets_are_not_all_counted() -> None:
    """The verdict stands long before; the detail says that there may be more."""
    lines = tuple((number, f"password = 'aB3x{number}kQ9z'") for number in range(1, 30_000))
    change = FileChange("a.txt", "added", added=lines)
    grade = ForbidSecrets(name="x").score(Evidence(Task(id="t", prompt="p"), Diff(files=(change,))), None)

    assert grade.verdict == "FAIL"
    assert grade.detail.startswith("2000 or more secrets in added lines")
