"""Which lines are tried for a hole, and how they are written."""

import pytest
import yaml

from steelyard.audit.fixes import Hole, Proposal, proposals, unverifiable
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


def test_hidden_tests_are_proposed_but_never_tried() -> None:
    """Once there are some, only advice is left."""
    fix = unverifiable(hole("a.py", commands=("lint", "pytest")), ["hidden_tests"], "write some")
    (read,) = yaml.safe_load(str(fix.line))

    assert (read["type"], read["command"], fix.verified, fix.note) == ("hidden_tests", "pytest", False, "write some")
    assert unverifiable(hole("a.py"), [], "").note == "no line that is known here closes it"
