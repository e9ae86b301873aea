"""hidden_tests: files that only the grader knows, there for one command and gone again."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard.errors import InputError
from steelyard.scorers.hidden_tests import MAX_TOTAL, HiddenTests
from tests.scorers.truth import FIXED, PYTEST, contents, worked

WRITES = """import pathlib

for path in pathlib.Path("tests").glob("test_s*.py"):
    path.write_text("def test_hidden():\\n    pass\\n")
add = sub = min
"""
SECRET = "from calc import sub\n\n\ndef test_hidden():\n    assert sub(9, 4) == 5\n"


def scorer(root: Path, **fields: Any) -> HiddenTests:
    """The scorer with its directory read in."""
    (root / "hidden/tests").mkdir(parents=True, exist_ok=True)
    (root / "hidden/tests/test_secret.py").write_text(SECRET)
    given = {"name": "hidden", "files": "hidden", "command": PYTEST + " tests/test_secret.py", **fields}
    return HiddenTests.model_validate(given, strict=False).resolved(root)


@pytest.mark.parametrize(
    ("change", "fields", "verdict", "said"),
    [
        ({"calc.py": FIXED}, {}, "PASS", "1 tests passed with 1 file hidden"),
        ({"README.md": "x\n"}, {}, "FAIL", "1 of 1 tests failed: tests.test_secret::test_hidden"),
        ({"calc.py": "import os\nos._exit(0)\n"}, {}, "FAIL", "the runner wrote no report (exit code 0)"),
        ({"calc.py": FIXED, "tests/test_secret.py": "def test_hidden():\n    pass\n"}, {}, "PASS", "1 tests passed"),
        ({"tests/test_secret.py": "def test_hidden():\n    pass\n"}, {}, "FAIL", "1 of 1 tests failed"),
        (
            {"calc.py": WRITES},
            {"command": PYTEST + " tests"},
            "FAIL",
            "hidden files were written while they ran: tests/te",
        ),
        ({"calc.py": FIXED}, {"min_tests": 2}, "FAIL", "1 tests passed, at least 2 must"),
        ({"calc.py": FIXED}, {"command": "test -f tests/test_secret.py"}, "PASS", "exit code 0 with 1 file hidden"),
        ({"calc.py": FIXED}, {"command": "exit 4"}, "FAIL", "exit code 4"),
        ({"calc.py": FIXED}, {"command": "sleep 600", "timeout_s": 1}, "FAIL", "timed out after 1 s"),
    ],
    ids=[
        "solved",
        "not solved",
        "exits",
        "same name",
        "overwritten",
        "rewritten",
        "too few",
        "exit code",
        "exit 4",
        "endless",
    ],
)
def test_the_hidden_files_decide(
    change: dict[str, str], fields: dict[str, Any], verdict: str, said: str, tmp_path: Path
) -> None:
    """They win over files of the same name, and the tree is afterwards as the agent left it."""
    with worked(tmp_path, change) as (evidence, sandbox, tree):
        before = contents(tree)
        grade = scorer(tmp_path, **fields).score(evidence, sandbox)
        left = contents(tree)

    assert grade.verdict == verdict, grade
    assert said in grade.detail
    assert left == before


SKIPS = FIXED.replace("return a - b", "import unittest\n    raise unittest.SkipTest('not here')")
TWO = SECRET + "\n\ndef test_zero():\n    assert sub is not None\n"


@pytest.mark.parametrize(
    ("change", "fields", "verdict", "said"),
    [
        ({"calc.py": FIXED}, {"min_tests": 2}, "PASS", "2 tests passed"),
        (
            {"calc.py": SKIPS},
            {},
            "FAIL",
            "1 of 2 tests were skipped, max_skipped allows 0: tests.test_secret::test_hid",
        ),
        ({"calc.py": SKIPS}, {"max_skipped": 1}, "PASS", "1 tests passed"),
        (
            {"calc.py": SKIPS, "pytest.ini": "[pytest]\naddopts = -k zero\n"},
            {"min_tests": 2, "runner_files": "agent"},
            "FAIL",
            "at least 2 must",
        ),
    ],
    ids=["solved", "skipped", "allowed", "deselected"],
)
def test_a_hidden_test_that_was_left_out_has_not_passed(
    change: dict[str, str], fields: dict[str, Any], verdict: str, said: str, tmp_path: Path
) -> None:
    """Code that skips its test fails unless skips are allowed; that one was not even chosen is seen by their number."""
    with worked(tmp_path, change) as (evidence, sandbox, _tree):
        given = scorer(tmp_path, **fields)
        (hidden,) = given.contents
        two = given.model_copy(update={"contents": (hidden.model_copy(update={"text": TWO}),)})
        grade = two.score(evidence, sandbox)

    assert grade.verdict == verdict, grade.detail
    assert said in grade.detail


def test_the_frozen_scorer_needs_the_directory_no_more(tmp_path: Path) -> None:
    """Text and bytes come back out of the frozen configuration as they went in."""
    (tmp_path / "hidden/data").mkdir(parents=True)
    (tmp_path / "hidden/data/blob.bin").write_bytes(b"\xff\x00\x01")
    (tmp_path / "hidden/run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "hidden/run.sh").chmod(0o755)
    frozen = scorer(tmp_path).model_dump_json()

    again = HiddenTests.model_validate_json(frozen)

    plants = {file.path: file.plant() for file in again.contents}
    assert plants["data/blob.bin"].data == b"\xff\x00\x01"
    assert plants["run.sh"].executable
    assert plants["tests/test_secret.py"].data == SECRET.encode()
    assert again.resolved(tmp_path / "nowhere") == again


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere", "there is no directory"),
        ("../up", "below the suite's own"),
        ("empty", "holds no files"),
        ("linked", "links are not followed"),
        ("large", "larger than"),
    ],
)
def test_a_bad_directory_is_one_line(name: str, why: str, tmp_path: Path) -> None:
    """Said when the suite is read, before anything runs."""
    for folder in ("empty", "linked", "large"):
        (tmp_path / folder).mkdir()
    (tmp_path / "linked/passwd").symlink_to("/etc/passwd")
    (tmp_path / "large/big.txt").write_bytes(b"x" * (MAX_TOTAL + 1))

    with pytest.raises(InputError, match=why):
        HiddenTests(name="h", files=name, command="true").resolved(tmp_path)


@pytest.mark.parametrize(
    "contents_",
    [
        [],
        [{"path": "../x", "text": ""}],
        [{"path": "x"}],
        [{"path": "x", "text": "a", "base64": "YQ=="}],
        [{"path": "x", "base64": "?"}],
    ],
)
def test_bad_contents_are_refused(contents_: list[dict[str, str]]) -> None:
    """A file has one content and stays in the tree; without files there is nothing to hide."""
    with pytest.raises(ValidationError):
        HiddenTests.model_validate({"name": "h", "command": "true", "contents": contents_}, strict=False)
