"""baseline_tests_pass: real trees, real pytest, real sandboxes."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard.errors import InfraError
from steelyard.scorers.baseline_tests_pass import BaselineTestsPass
from tests.scorers.truth import FILES, FIXED, PYTEST, contents, worked

BROKEN = FIXED.replace("return a + b", "return a * b")
EXIT = "import os\n\nos._exit(0)\n"
FORGED = FIXED.replace("return a + b", "return 0") + (
    "\n\nimport atexit, os, sys\n\n\ndef _forge():\n"
    "    path = [w.split('=')[1] for w in sys.argv if w.startswith('--junitxml=')][0]\n"
    "    open(path, 'w').write('<testsuite><testcase name=\"x\"/></testsuite>')\n\n\natexit.register(_forge)\n"
)


def scorer(**fields: Any) -> BaselineTestsPass:
    """The scorer with this machine's own pytest."""
    return BaselineTestsPass.model_validate({"name": "base", "command": PYTEST, **fields}, strict=False)


@pytest.mark.parametrize(
    ("change", "verdict", "said"),
    [
        ({"calc.py": FIXED}, "PASS", "tests that pass on the baseline: 2, all collected and passing"),
        ({"README.md": "x\n"}, "PASS", "all collected and passing"),
        ({"calc.py": BROKEN}, "FAIL", "tests.test_calc::test_add: passed on the baseline, failed now"),
        ({"calc.py": BROKEN, "tests/test_calc.py": "def test_add():\n    pass\n"}, "FAIL", "test_add"),
        ({"calc.py": BROKEN, "tests/test_calc.py": None}, "FAIL", "test_add"),
        ({"calc.py": BROKEN, "pytest.ini": "[pytest]\naddopts = --co\n"}, "FAIL", "test_add"),
        (
            {"calc.py": BROKEN, "conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n"},
            "FAIL",
            "test_add",
        ),
        ({"calc.py": EXIT}, "FAIL", "wrote no report (exit code 0)"),
        ({"calc.py": "def add(a, b)\n"}, "FAIL", "not collected"),
        ({"calc.py": FORGED}, "FAIL", "not collected"),
        ({"calc.py": None}, "FAIL", "not collected"),
    ],
    ids=[
        "fixed",
        "other file",
        "broken",
        "weakened",
        "deleted",
        "nothing runs",
        "hook",
        "exit",
        "syntax",
        "forged",
        "gone",
    ],
)
def test_the_baselines_tests_decide(change: dict[str, str | None], verdict: str, said: str, tmp_path: Path) -> None:
    """Whatever the agent did to tests, hooks or configuration, its code meets the tests of the baseline."""
    with worked(tmp_path, change) as (evidence, sandbox, tree):
        before = contents(tree)
        grade = scorer().score(evidence, sandbox)
        left = contents(tree)

    assert grade.verdict == verdict, grade
    assert said in grade.detail
    assert left == before, "the tree is as the agent left it"


@pytest.mark.parametrize(
    ("code", "pattern", "verdict"),
    [
        (FIXED, "tests.test_calc::test_sub", "PASS"),
        (FILES["calc.py"] + "\n", "*::test_sub", "FAIL"),
        (FIXED, "*::test_other", "FAIL"),
    ],
    ids=["fixed", "not fixed", "no such test"],
)
def test_what_failed_before_may_be_made_to_pass(code: str, pattern: str, verdict: str, tmp_path: Path) -> None:
    """`must_pass` names tests that fail on the baseline and must pass now; a name that no test has is not fulfilled."""
    with worked(tmp_path, {"calc.py": code}) as (evidence, sandbox, _tree):
        grade = scorer(must_pass=[pattern]).score(evidence, sandbox)

    assert grade.verdict == verdict, grade.detail


CASES = {
    "calc.py": "CASES = [1, 2, 3]\n\n\ndef double(a):\n    return min(a * 2, 4)\n\n\ndef add(a, b):\n    return a\n",
    "tests/test_calc.py": (
        "import pytest\nfrom calc import CASES, add, double\n\n\n@pytest.mark.parametrize('a', CASES)\n"
        "def test_double(a):\n    assert double(a) == a + a\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    ),
}
ADDS = CASES["calc.py"].replace("return a\n", "return a + b\n")
FEWER = ADDS.replace("[1, 2, 3]", "[1, 2]")


@pytest.mark.parametrize(
    ("code", "verdict", "said"),
    [
        (ADDS.replace("min(a * 2, 4)", "a * 2"), "PASS", "baseline: 2, all collected and passing, and 2 more that"),
        (ADDS, "FAIL", "of 2 that must_pass names besides, 1 not passing: tests.test_calc::test_double[3]: failed"),
        (FEWER, "FAIL", "test_double[3]: failed on the baseline, and was not collected now"),
        (FEWER.replace("4)", "2)"), "FAIL", "of 2 tests that pass on the baseline, 1 no longer pass; of 2 that"),
    ],
    ids=["solved", "half", "fewer cases", "both"],
)
def test_a_test_that_must_pass_can_not_be_left_out(code: str, verdict: str, said: str, tmp_path: Path) -> None:
    """The code decides which cases there are: one of the baseline that is not collected any more is not passed."""
    with worked(tmp_path, {"calc.py": code}, CASES) as (evidence, sandbox, _tree):
        grade = scorer(must_pass=["*"]).score(evidence, sandbox)

    assert grade.verdict == verdict, grade.detail
    assert said in grade.detail
    assert len({finding.test for finding in grade.findings}) == len(grade.findings)


def test_a_file_that_could_not_be_loaded_before_is_no_test_that_is_gone(tmp_path: Path) -> None:
    """It is reported as one that failed; when it can be loaded, its tests stand in its place."""
    files = {**FILES, "tests/test_new.py": "from new import one\n\n\ndef test_one():\n    assert one() == 1\n"}
    change = {"calc.py": FIXED, "new.py": "def one():\n    return 1\n"}
    command = PYTEST + " --continue-on-collection-errors"
    with worked(tmp_path, change, files) as (evidence, sandbox, _tree):
        grade = scorer(command=command, must_pass=["*"]).score(evidence, sandbox)

    assert grade.verdict == "PASS", grade.detail
    assert "baseline: 2, all collected and passing, and 2 more that must_pass names" in grade.detail


REWRITES = """
import os, pathlib
path = pathlib.Path("tests/test_more.py")
was, times = path.read_text(), os.stat(path)
path.write_text(was.replace("== 2", "!= 2"))
"""
RESTORES = "path.write_text(was)\nos.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))\n"


@pytest.mark.parametrize("code", [REWRITES, REWRITES + RESTORES], ids=["rewritten", "and put back"])
def test_code_that_rewrites_a_test_is_seen_by_its_time_of_change(code: str, tmp_path: Path) -> None:
    """Loaded by one test file, the code writes the next before it is read; setting times back is no help."""
    more = "from calc import add\n\n\ndef test_one():\n    assert add(1, 1) == 2\n"
    files = {**FILES, "tests/test_more.py": more}
    with worked(tmp_path, {"calc.py": BROKEN + code}, files) as (evidence, sandbox, _tree):
        grade = scorer().score(evidence, sandbox)

    assert grade.verdict == "FAIL"
    assert "written while the tests ran" in grade.detail
    assert [finding.path for finding in grade.findings] == ["tests/test_more.py"]


def test_a_file_that_the_tests_always_write_is_no_fault(tmp_path: Path) -> None:
    """What the baseline's own run writes, another run may write too."""
    writes = "import pathlib\n\n\ndef test_a():\n    pathlib.Path('tests/test_data.py').write_text('')\n"
    files = {**FILES, "tests/test_a.py": writes, "tests/test_data.py": ""}
    with worked(tmp_path, {"calc.py": FIXED}, files) as (evidence, sandbox, _tree):
        assert scorer().score(evidence, sandbox).verdict == "PASS"


GOLDEN = "import pathlib\n\npathlib.Path('tests/golden.txt').write_text('3 0')\n"


def test_code_that_rewrites_the_data_of_the_tests_is_seen(tmp_path: Path) -> None:
    """What a test compares with is as much the baseline's as the test: here wrong code writes it when it is loaded."""
    compares = (
        "import pathlib\nfrom calc import add\n\n\ndef test_golden():\n"
        "    assert pathlib.Path('tests/golden.txt').read_text() == f'{add(1, 2)} {add(0, 0)}'\n"
    )
    files = {"calc.py": FILES["calc.py"], "tests/test_calc.py": compares, "tests/golden.txt": "3 0"}
    change = {"calc.py": BROKEN + GOLDEN.replace("3 0", "2 0")}
    with worked(tmp_path, change, files) as (evidence, sandbox, _tree):
        grade = scorer().score(evidence, sandbox)

    assert grade.verdict == "FAIL", grade.detail
    assert [finding.path for finding in grade.findings] == ["tests/golden.txt"]


def test_data_that_the_tests_always_write_is_no_fault(tmp_path: Path) -> None:
    """A result that the baseline's own run writes beside its tests may be written again."""
    files = {**FILES, "calc.py": FILES["calc.py"] + GOLDEN, "tests/golden.txt": ""}
    with worked(tmp_path, {"calc.py": FIXED + GOLDEN}, files) as (evidence, sandbox, _tree):
        assert scorer().score(evidence, sandbox).verdict == "PASS"


GREEN = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    call.excinfo = None\n    yield\n"
)


@pytest.mark.parametrize("name", ["pytest.ini", "tox.ini", "setup.cfg", ".pytest.ini"])
def test_naming_configuration_takes_no_other_from_the_baseline(name: str, tmp_path: Path) -> None:
    """`config` adds to the runner files that are known: another that the agent brought loads no plugin of its own."""
    files = {path: text for path, text in FILES.items() if path != "pytest.ini"} | {"pkg/__init__.py": ""}
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    change = {"calc.py": BROKEN, "pkg/green.py": GREEN, name: f"[{section}]\naddopts = -p pkg.green\n"}
    given = scorer(tests=["tests/*"], config=["pyproject.toml", "conftest.py"])
    with worked(tmp_path, change, files) as (evidence, sandbox, _tree):
        grade = given.score(evidence, sandbox)

    assert grade.verdict == "FAIL", grade.detail
    assert "test_add: passed on the baseline, failed now" in grade.detail


def test_links_and_modes_come_back(tmp_path: Path) -> None:
    """What the agent made of files is there again afterwards, links and scripts too."""
    tree = tmp_path / "tree"
    with worked(tmp_path, {"run.sh": "#!/bin/sh\n", "calc.py": FIXED}) as (evidence, sandbox, _):
        (tree / "run.sh").chmod(0o755)
        grade = scorer().score(evidence, sandbox)

        assert grade.verdict == "PASS", grade.detail
        assert os.access(tree / "run.sh", os.X_OK)


def test_a_link_out_of_the_tree_is_not_followed(tmp_path: Path) -> None:
    """A link in the place of the tests' directory: nothing outside is touched, and the tests still run."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "test_calc.py").write_text("precious")
    from steelyard.worktree.diff import capture
    from steelyard.worktree.snapshot import take_baseline

    with worked(tmp_path, {"calc.py": BROKEN}) as (evidence, sandbox, tree):
        shutil.copytree(tree, tmp_path / "again")
        (tmp_path / "again" / "calc.py").write_text(FILES["calc.py"])
        baseline = take_baseline(tmp_path / "again", tmp_path / "base2")
        shutil.rmtree(tree / "tests")
        (tree / "tests").symlink_to(outside)
        captured = capture(tree, baseline, tmp_path / "keep2")
        from dataclasses import replace

        evidence = replace(
            evidence,
            diff=captured.diff,
            before=captured.before,
            after=captured.after,
            baseline_files=captured.baseline_files,
        )
        grade = scorer().score(evidence, sandbox)

    assert grade.verdict == "FAIL"
    assert "test_add: passed on the baseline, failed now" in grade.detail
    assert [path.name for path in outside.iterdir()] == ["test_calc.py"]
    assert (outside / "test_calc.py").read_text() == "precious"


def test_a_baseline_that_says_nothing_is_nobodys_fault(tmp_path: Path) -> None:
    """Where the command does not even run on the untouched baseline, no arm pays."""
    with (
        worked(tmp_path, {"calc.py": FIXED}) as (evidence, sandbox, _tree),
        pytest.raises(InfraError, match="on the untouched baseline: the runner wrote no report"),
    ):
        scorer(command="true {junit}").score(evidence, sandbox)


def test_without_a_passing_test_it_does_not_apply(tmp_path: Path) -> None:
    """Nothing passed before and nothing is owed: neither PASS nor FAIL."""
    files = {"tests/test_a.py": "def test_a():\n    assert False\n"}
    with worked(tmp_path, {"x.py": "\n"}, files) as (evidence, sandbox, _tree):
        assert scorer().score(evidence, sandbox).verdict == "N/A"


def test_running_out_of_time_fails(tmp_path: Path) -> None:
    """Code that never ends under the baseline's tests."""
    files = {"calc.py": "PATIENT = False\n", "check.sh": "echo '<testsuite><testcase name=\"a\"/></testsuite>' > $1\n"}
    files["check.sh"] += "if grep -q True calc.py; then sleep 600; fi\n"
    with worked(tmp_path, {"calc.py": "PATIENT = True\n"}, files) as (evidence, sandbox, _tree):
        grade = scorer(framework="junit", command="sh check.sh {junit}", timeout_s=3).score(evidence, sandbox)

    assert grade.verdict == "FAIL"
    assert "timed out after 3 s" in grade.detail


def test_reports_that_lay_there_before_do_not_count(tmp_path: Path) -> None:
    """Report files are removed before the run; one that the agent left behind is no result."""
    files = {
        "calc.py": "ok\n",
        "check.sh": "mkdir -p out; grep -q ok calc.py && "
        "echo '<testsuite><testcase name=\"a\"/></testsuite>' > out/TEST-a.xml\n",
    }
    fake = '<testsuite><testcase name="a"/></testsuite>'
    with worked(tmp_path, {"calc.py": "bad\n", "out/TEST-b.xml": fake}, files) as (evidence, sandbox, _tree):
        grade = scorer(framework="junit", command="sh check.sh", reports=["out/*.xml"]).score(evidence, sandbox)

    assert grade.verdict == "FAIL"
    assert "no report that matches" in grade.detail


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"command": "pytest -q"}, "tells no test results"),
        ({"command": None, "framework": "junit"}, "has no usual command"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"tests": ["../x"]}, "must stay in the tree"),
        ({"tests": []}, "tests"),
        ({"framework": "nose"}, "framework"),
    ],
)
def test_bad_fields_are_refused(fields: dict[str, Any], why: str) -> None:
    """A command that tells no results can't be graded by test."""
    with pytest.raises(ValidationError, match=why):
        scorer(**fields)


def test_every_framework_has_a_way_to_tell() -> None:
    """The usual command of each framework is enough."""
    for name in ("pytest", "jest", "vitest", "node", "go", "cargo", "maven", "gradle"):
        one = BaselineTestsPass.model_validate({"name": "x", "framework": name}, strict=False)
        assert one.is_required
