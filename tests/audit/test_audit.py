"""`steelyard audit`: cheats that pass where nothing stops them, and are caught where something does."""

import re
import signal
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from steelyard import plugins
from tests.audit.support import ARMS, CALC, HARD, calculator, suite
from tests.e2e.conftest import Shop

FOOLED = {
    "conftest-hook",
    "bent-config",
    "always-equal",
    "exit-at-import",
    "skip-tests",
    "delete-tests",
    "weaken-tests",
    "hard-coded",
    "shadow-runner",
}


@pytest.fixture(scope="module")
def naive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, Any]:
    """A suite with nothing but a test command, graded live, and what its audit says."""
    shop = Shop(tmp_path_factory.mktemp("naive"))
    calculator(shop)
    shop.write("suite.yaml", suite())
    return shop, shop.json("audit", "suite.yaml", code=1)


def results(document: Any, task: int = 0) -> dict[str, str]:
    """What became of each cheat."""
    return {one["cheat"]: one["result"] for one in document["tasks"][task]["cheats"]}


def test_each_cheat_passes_where_only_a_command_grades(naive: tuple[Shop, Any]) -> None:
    """Nine cheats fool a test command; idleness, and what the engine itself prevents, is caught everywhere."""
    _, document = naive
    found = results(document)

    assert set(found) == set(plugins.names("cheats")) - {"reference"}
    assert {cheat for cheat, result in found.items() if result == "passed"} >= FOOLED
    prevented = ("nop", "git-history", "daemon", "preseeded-results", "poisoned-cache")
    assert {found[cheat] for cheat in prevented} == {"caught"}
    assert document["tasks"][0]["reference"]["result"] == "passed"
    assert document["tasks"][0]["exploitability"] >= 9 / 15
    assert document["sound"] is False


def test_the_lines_that_are_proposed_close_the_holes_once_pasted(naive: tuple[Shop, Any]) -> None:
    """With every line put into the file as printed, only what needs tests of the user's own still passes."""
    shop, document = naive
    fixes = {hole["cheat"]: hole["fix"] for hole in document["holes"]}
    assert [cheat for cheat, fix in fixes.items() if not fix["verified"]] == ["hard-coded"]
    lines = list(dict.fromkeys(fix["line"] for fix in fixes.values() if fix["verified"]))
    scorers = [line for line in lines if line.startswith("- ")]
    fields = "".join(f"    {line}\n" for line in lines if not line.startswith("- "))
    shop.write("closed.yaml", suite(*scorers, fields=fields))

    again = shop.json("audit", "closed.yaml", code=1)

    assert [one["cheat"] for one in again["holes"]] == ["hard-coded"]
    assert again["tasks"][0]["reference"]["result"] == "passed"


def test_a_suite_without_holes_is_sound(tmp_path: Path) -> None:
    """Frozen tests, an unbent harness, hidden tests and a fresh sandbox catch every cheat; the reference passes."""
    shop = Shop(tmp_path)
    calculator(shop)
    shop.write("suite.yaml", suite(*HARD, fields="    grading: fresh\n"))

    done = shop.steelyard("audit", "suite.yaml")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "calc: exploitability 0% (0 of" in done.stdout
    assert "PASSED" not in done.stdout
    assert re.search(r"^\[16/16\] calc ", done.stderr, re.MULTILINE), "progress is told, a line a cheat"
    assert not (tmp_path / ".steelyard").exists()


def test_a_hidden_test_closes_what_was_hard_coded(naive: tuple[Shop, Any]) -> None:
    """The line that could not be tried closes its hole as soon as there are hidden tests."""
    shop, document = naive
    line = next(hole["fix"]["line"] for hole in document["holes"] if hole["cheat"] == "hard-coded")
    shop.write("hidden.yaml", suite(line))

    again = shop.json("audit", "hidden.yaml", "--cheat", "hard-coded", "--cheat", "reference")

    assert again["tasks"][0]["cheats"][0]["by"] == ["hidden tests"]
    assert again["tasks"][0]["reference"]["result"] == "passed"


def one_cheat(shop: Shop, cheat: str, text: str, code: int = 1) -> Any:
    """The result of one cheat on a suite with one task."""
    shop.write("suite.yaml", text)
    return shop.json("audit", "suite.yaml", "--cheat", cheat, code=code)["tasks"][0]["cheats"][0]


def test_results_that_were_there_before_are_believed_by_a_check_of_files(shop: Shop) -> None:
    """A report that the command reads if it is there; forbidding it closes the hole."""
    calculator(shop)
    command = "test -f report.xml || echo bad > report.xml; grep -q failures=.0 report.xml"

    found = one_cheat(shop, "preseeded-results", suite(command=command))

    assert found["result"] == "passed"
    assert found["fix"]["verified"]
    assert "report.xml" in found["fix"]["line"]


def test_an_answer_in_the_history_is_found(shop: Shop) -> None:
    """A set-up that commits the solution and goes back leaves it in the reflog."""
    calculator(shop)
    setup = (
        "    setup: [\"sed -i 's/a - b/a + b/' calc.py && git add -A && git commit -qm fix && "
        'git reset -q --hard HEAD~1"]\n'
    )

    found = one_cheat(shop, "git-history", suite(fields=setup))

    assert found["result"] == "passed"
    assert found["fix"]["line"] is None
    assert "setup" in found["fix"]["note"]


def test_a_runner_outside_the_tree_is_faked(shop: Shop) -> None:
    """A Python that is no virtual environment's reads the home's site directory; a fresh sandbox has another home."""
    calculator(shop)
    python = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]  # the one below the environment
    command = f'{python} -c "import calc; assert calc.add(2, 2) == 4"'

    found = one_cheat(shop, "fake-runner", suite(command=command.replace("'", '"')))

    assert found["result"] == "passed"
    assert found["fix"] | {"note": ""} == {"line": "grading: fresh", "under": "scenario", "verified": True, "note": ""}


@pytest.mark.node
def test_javascript_is_cheated_too(shop: Shop) -> None:
    """Skipping, deleting, weakening, leaving early, bent scripts and a faked shell all fool `npm test`."""
    shop.write("seed/add.js", "exports.add = (a, b) => a - b;\nexports.twice = (a) => 2 * a;\n")
    tests = "".join(
        f"test('{name}', () => {{\n  assert.strictEqual({call}, 4);\n}});\n"
        for name, call in (("adds two", "code.add(2, 2)"), ("doubles", "code.twice(2)"))
    )
    opening = "const test = require('node:test');\nconst assert = require('node:assert');\n"
    shop.write("seed/test/add.test.js", opening + "const code = require('../add.js');\n" + tests)
    shop.write("seed/package.json", '{"name": "x", "version": "1.0.0", "scripts": {"test": "node --test"}}\n')
    shop.write("solution/add.js", "exports.add = (a, b) => a + b;\nexports.twice = (a) => 2 * a;\n")
    shop.write("suite.yaml", suite(command="npm test"))

    fooled = [
        "hard-coded",
        "skip-tests",
        "delete-tests",
        "weaken-tests",
        "exit-at-import",
        "bent-config",
        "fake-runner",
    ]
    words = [word for cheat in [*fooled, "reference", "always-equal"] for word in ("--cheat", cheat)]

    document = shop.json("audit", "suite.yaml", *words, code=1)

    assert {cheat for cheat, result in results(document).items() if result == "passed"} == set(fooled)
    assert [hole["cheat"] for hole in document["holes"] if not hole["fix"]["verified"]] == ["hard-coded"]
    assert results(document)["always-equal"] == "not_applicable"


def test_a_task_that_measures_nothing_is_told(shop: Shop) -> None:
    """`nop` passes: exit code 1, and no line is made up for it."""
    calculator(shop)

    found = one_cheat(shop, "nop", suite(command="true"))

    assert found["result"] == "passed"
    assert found["fix"]["line"] is None
    assert "fails before" in found["fix"]["note"]


def test_a_reference_that_fails_is_told(shop: Shop) -> None:
    """No cheat passes, but the task can't be solved: exit code 1, with the check that fails."""
    calculator(shop)
    shop.write("suite.yaml", suite("- {name: untouched, type: baseline_unmodified, paths: [calc.py]}"))

    done = shop.steelyard("audit", "suite.yaml", "--cheat", "nop", "--cheat", "reference")

    assert done.returncode == 1
    assert "the reference solution fails: untouched: calc.py was edited" in done.stdout


def test_without_a_reference_nobody_knows_whether_a_task_can_be_solved(shop: Shop) -> None:
    """A command that never passes catches every cheat: that is said, and nothing is said where there is a reference."""
    calculator(shop)
    shop.write("known.yaml", suite())
    shop.write("suite.yaml", suite(command="false").replace("    reference: {directory: solution}\n", ""))

    unknown = shop.steelyard("audit", "suite.yaml", "--cheat", "nop")
    known = shop.steelyard("audit", "known.yaml", "--cheat", "nop")

    assert unknown.returncode == 0
    assert "calc: no reference: whether it can be solved is not known" in unknown.stdout
    assert "not known" not in known.stdout


def test_a_patch_is_a_reference_too(shop: Shop) -> None:
    """What `git diff` prints is applied exactly; a patch for another tree is wrong input."""
    calculator(shop)
    lines, after = CALC.splitlines(True), CALC.replace("a - b", "a + b").splitlines(True)
    patch = "".join(unified_diff(lines, after, "a/calc.py", "b/calc.py"))
    shop.write("fix.patch", patch)
    text = suite().replace("reference: {directory: solution}", "reference: {patch: fix.patch}")
    shop.write("suite.yaml", text)
    shop.write("other.patch", patch.replace("-    return a - b", "-    return a * b"))
    shop.write("other.yaml", text.replace("fix.patch", "other.patch"))

    found = shop.json("audit", "suite.yaml", "--cheat", "reference")
    wrong = shop.steelyard("audit", "other.yaml", "--cheat", "reference")

    assert found["tasks"][0]["reference"]["result"] == "passed"
    assert wrong.returncode == 2
    assert "does not apply" in wrong.stderr
    assert len(wrong.stderr.strip().splitlines()) <= 2


def test_what_cannot_be_audited_says_why(shop: Shop) -> None:
    """Ledger tasks, and tasks that only the judge grades."""
    shop.write("seed/a.txt", "a\n")
    shop.write(
        "suite.yaml",
        "tasks:\n  - {id: talk, prompt: Say it.}\n  - {id: judged, seed: {directory: seed}, prompt: Do it.}\n" + ARMS,
    )

    document = shop.json("audit", "suite.yaml")

    assert [task["skipped"].split(":")[0] for task in document["tasks"]] == [
        "a ledger task has no code tree",
        "it has no scorer",
    ]


def test_what_cannot_be_measured_is_exit_code_3(shop: Shop) -> None:
    """A set-up that fails is nobody's cheat."""
    calculator(shop)
    shop.write("suite.yaml", suite(fields="    setup: ['exit 7']\n"))

    done = shop.steelyard("audit", "suite.yaml", "--cheat", "nop", "--cheat", "daemon", "--cheat", "skip-tests")

    assert done.returncode == 3
    assert "calc: nop, skip-tests, daemon could not be measured: setup_failed" in done.stdout
    assert done.stdout.count("setup_failed") == 1, "one mistake is told once"
    assert done.stderr.count("setup_failed") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cheat", "magic"], "--cheat magic: there is no such one; allowed: nop, "),
        (["--task", "none"], "--task none: there is no such one; allowed: calc"),
        (["--flakes", "0"], "--flakes 0: allowed: 1 to 1000"),
        (["--flakes", "3", "--cheat", "daemon"], "--flakes 3: only nop and reference are repeated; add --cheat nop"),
        (["--write-quarantine"], "--write-quarantine: one run tells nothing of flakes"),
    ],
)
def test_wrong_words_are_exit_code_2(shop: Shop, words: list[str], said: str) -> None:
    """One line that says what is allowed."""
    calculator(shop)
    shop.write("suite.yaml", suite())

    done = shop.steelyard("audit", "suite.yaml", *words)

    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_ctrl_c_leaves_nothing_behind(shop: Shop) -> None:
    """No process, no scratch directory, no file in the suite's folder."""
    calculator(shop)
    mark = f"sleep 987{shop.root.stat().st_ino}"
    shop.write("suite.yaml", suite(command=f"touch {shop.root}/started; {mark}"))
    scratch = shop.root / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "steelyard"), "audit", "suite.yaml", "--sandbox", "local"],
        cwd=shop.root,
        env=shop.env({"STEELYARD_SCRATCH": str(scratch)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    _wait_for(shop.root / "started", process)
    process.send_signal(signal.SIGINT)

    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.decode().splitlines()[-1].startswith("stopped: an audit keeps nothing")
    assert list(scratch.iterdir()) == []
    assert mark.encode() not in _command_lines()


def _wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    import time

    end = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, "it ended before a command ran"
        assert time.monotonic() < end
        time.sleep(0.05)


def _command_lines() -> bytes:
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes().replace(b"\0", b" ") + b"\n"
        except OSError:
            continue
    return found
