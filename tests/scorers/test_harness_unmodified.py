"""harness_unmodified: what bends the runner is seen, what is ordinary is let pass."""

from typing import Any

import pytest

from steelyard.scorers.harness_unmodified import HarnessUnmodified
from tests.scorers.harness.benign import BENIGN
from tests.scorers.harness.benign_hidden import HONEST
from tests.scorers.harness.benign_releases import RELEASES
from tests.scorers.harness.hostile import HOSTILE
from tests.scorers.harness.hostile_beside import BESIDE
from tests.scorers.harness.hostile_hidden import HIDDEN
from tests.scorers.harness.hostile_runners import MORE_HOSTILE
from tests.scorers.harness.settings import SETTINGS, USUAL
from tests.scorers.harness.support import evidence_of

ALL_HOSTILE = HOSTILE + MORE_HOSTILE + HIDDEN + SETTINGS + BESIDE
ALL_BENIGN = BENIGN + HONEST + USUAL + RELEASES
SCORER = HarnessUnmodified(name="harness")


@pytest.mark.parametrize(
    ("rule", "before", "after"), [row[1:] for row in ALL_HOSTILE], ids=[row[0] for row in ALL_HOSTILE]
)
def test_a_bent_runner_is_seen(rule: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """The change fails, by the rule that is meant for it, at a place in the changed file."""
    grade = SCORER.score(evidence_of(before, after), None)

    assert grade.verdict == "FAIL", grade.detail
    assert rule in {finding.rule for finding in grade.findings}, grade.detail
    assert all(finding.path in after and finding.line and finding.message for finding in grade.findings)


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in ALL_BENIGN], ids=[row[0] for row in ALL_BENIGN])
def test_an_ordinary_change_passes(before: dict[str, Any], after: dict[str, Any]) -> None:
    """No false alarm."""
    grade = SCORER.score(evidence_of(before, after), None)

    assert grade.verdict == "PASS", grade.detail


def test_an_allowed_file_is_not_looked_at() -> None:
    """Where the change of a file is the task, `allow` says so; other files still count."""
    change = {"conftest.py": "collect_ignore = ['x']\n", "sitecustomize.py": "\n"}

    both = HarnessUnmodified(name="h", allow=("conftest.py", "sitecustomize.py")).score(evidence_of({}, change), None)
    one = HarnessUnmodified(name="h", allow=("conftest.py",)).score(evidence_of({}, change), None)

    assert both.verdict == "PASS"
    assert {finding.path for finding in one.findings} == {"sitecustomize.py"}


def test_a_finding_says_what_was_and_what_is() -> None:
    """File, line, rule, before and after."""
    before, after = "[pytest]\npython_files = *_test.py\n", "[pytest]\npython_files = none.py\n"
    grade = SCORER.score(evidence_of({"pytest.ini": before}, {"pytest.ini": after}), None)

    finding = grade.findings[0]
    assert (finding.path, finding.line, finding.rule) == ("pytest.ini", 2, "collection-setting")
    assert (finding.before, finding.after) == ("*_test.py", "none.py")


def test_nothing_changed_is_not_applicable() -> None:
    """N/A neither passes nor fails, and the scorer gates when it is listed."""
    assert SCORER.score(evidence_of({}, {}), None).verdict == "N/A"
    assert SCORER.is_required


DEEP = "x = " + "(" * 10_000 + ")" * 10_000 + "\nimport sys\nsys.exit(0)\n"
BIG = ("a = '" + "x" * 1_000_000 + "'\n") * 54
AWKWARD: dict[str, str | bytes] = {
    "deep.py": DEEP,
    "sum.py": "import sys\nx = " + "1+" * 50_000 + "1\n",
    "huge.py": BIG,
    "line.js": "a" * 20_000_000,
    "package.json": "[" * 100_000,
    "pyproject.toml": "a = " + "[" * 50_000,
    ".github/workflows/x.yml": "- " * 5_000 + "a\n",
    "tox.ini": "no section\n",
    "latin.py": b"# caf\xe9 exit\nx = '\xff'\n",
    "wide.py": "import sys\n".encode("utf-16"),
    "Makefile": "test:\n\t" + "pytest " * 50_000,
    "pom.xml": "<exclude>" * 50_000,
    "build.gradle": "test {" * 50_000,
}


@pytest.mark.parametrize("path", AWKWARD)
def test_awkward_files_end_in_an_answer(path: str) -> None:
    """Huge, deep, broken or oddly encoded: a verdict, never an exception."""
    grade = SCORER.score(evidence_of({}, {path: AWKWARD[path]}), None)

    assert grade.verdict in ("PASS", "FAIL")


def test_what_does_not_parse_is_read_by_lines_and_said() -> None:
    """The fallback is stated, and still sees an exit."""
    grade = SCORER.score(evidence_of({}, {"deep.py": DEEP}), None)

    assert grade.verdict == "FAIL"
    assert "does not parse: line rules only" in grade.detail
