"""Which lines are tried for a hole, and how they are written."""

import pytest
import yaml

from steelyard.audit.fixes import Hole, Proposal, proposals, unverifiable
from steelyard.audit.runner import commands_of, graders_of
from steelyard.domain.record import JsonObject
from steelyard.domain.suite import Seed, Task

CHECK: JsonObject = {"type": "command", "name": "unit tests", "command": "x"}


def hole(*files: str, commands: tuple[str, ...] = (), changed: tuple[str, ...] = (), **fields: object) -> Hole:
    """A cheat that passed on a task with these files."""
    task = Task(id="t", prompt="x", seed=Seed(empty=True), scorers=(CHECK,), **fields)  # type: ignore[arg-type]
    return Hole(task, changed, frozenset(files), commands)


@pytest.mark.parametrize(
    ("made", "name", "line"),
    [
        (hole("a.py", "test_a.py"), "tests_unmodified", {"type": "tests_unmodified", "paths": ["test_a.py"]}),
        (
            hole("check.sh", "sub/check.sh", commands=("sh ./check.sh",)),
            "scripts_unmodified",
            {"type": "baseline_unmodified", "paths": ["check.sh"]},
        ),
        (
            hole("a.py", changed=("a.py", "out[1].xml")),
            "forbid_changed",
            {"type": "forbid_paths", "patterns": ["out[[]1].xml"]},
        ),
        (
            hole("src/a.test.ts", commands=("npx vitest run",)),
            "baseline_tests_pass",
            {"type": "baseline_tests_pass", "framework": "vitest", "must_pass": ["*"]},
        ),
        (hole("a_test.go"), "no_new_skips", {"type": "no_new_skips", "required": True}),
    ],
)
def test_a_line_is_yaml_that_names_what_is_there(made: Hole, name: str, line: JsonObject) -> None:
    """One list item on one line."""
    (proposal,) = proposals(made, [name], [])

    assert "\n" not in proposal.line
    (read,) = yaml.safe_load(proposal.line)
    assert {key: value for key, value in read.items() if key != "name"} == line


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (hole("a.py"), "tests_unmodified"),
        (hole("src/lib.rs", "tests/a.rs", changed=("src/lib.rs", "tests/a.rs")), "tests_unmodified"),
        (hole("a.py", commands=("true",)), "scripts_unmodified"),
        (hole("a.py", changed=("a.py",)), "forbid_changed"),
        (hole("a.py", grading="fresh"), "grading_fresh"),
        (hole("a.txt"), "baseline_tests_pass"),
    ],
)
def test_what_cannot_help_is_not_tried(made: Hole, name: str) -> None:
    """No test files, tests beside the code, no scripts, nothing brought in, fresh already, no known language."""
    assert proposals(made, [name], []) == []


def test_a_field_is_set_and_a_scorer_is_added_or_takes_its_namesakes_place() -> None:
    """What is tried is what is printed."""
    task = hole("a.py").task

    assert Proposal(field={"grading": "fresh"}).put_into(task).grading == "fresh"
    assert Proposal(field={"grading": "fresh"}).line == "grading: fresh"
    (instead,) = proposals(hole("a.py"), [], ["unit tests"])
    assert instead.put_into(task).scorers == ({**CHECK, "required": True},)


@pytest.mark.parametrize(
    ("commands", "fields"),
    [
        (("lint", "pytest"), {"command": "pytest --junitxml={junit}"}),
        (("A=1 python3 -m pytest -q tests",), {"command": "A=1 python3 -m pytest --junitxml={junit} -q tests"}),
        (("pytest --junitxml out.xml -q", "lint"), {"command": "pytest --junitxml={junit} -q"}),
        (("pytest -q --junitxml={junit}", "lint"), {"command": "pytest -q --junitxml={junit}"}),
        (("go test -json -count=1 ./...",), {"command": "go test -json -count=1 ./...", "framework": "go"}),
        (("pip install pytest", "sh pytest.sh"), {"command": "sh pytest.sh"}),
        (("lint", "make test"), {"command": "make test"}),
        ((), {"command": "…"}),
    ],
)
def test_hidden_tests_are_proposed_but_never_tried(commands: tuple[str, ...], fields: JsonObject) -> None:
    """By a command whose results can be read, where there is one; nobody but the user can write the tests."""
    fix = unverifiable(hole("a.py", commands=commands), ["hidden_tests"], "write some")
    (read,) = yaml.safe_load(str(fix.line))

    assert read == {"name": "hidden tests", "type": "hidden_tests", "files": "hidden", **fields}
    assert (fix.verified, fix.note) == (False, "write some")


def test_where_nothing_is_known_it_says_so() -> None:
    """Without advice too."""
    assert unverifiable(hole("a.py"), [], "").note == "no line that is known here closes it"


def test_the_commands_that_grade_keep_the_place_of_their_report() -> None:
    """A cheat runs them without one; what is proposed reads the results."""
    spec: JsonObject = {"type": "baseline_tests_pass", "name": "tests", "framework": "pytest"}
    task = Task(id="t", prompt="x", seed=Seed(empty=True), scorers=(spec,))

    assert graders_of(task) == ("pytest -q --junitxml={junit}",)
    assert commands_of(task) == ("pytest -q --junitxml=/dev/null",)
