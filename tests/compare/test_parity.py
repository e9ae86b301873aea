"""What differs between arms without being declared, and whether the treatment arrived."""

from typing import Any

import pytest

from steelyard.compare.runs import material_of, weigh_runs
from steelyard.domain.comparison import Comparison
from steelyard.domain.grade import ScorerResult
from steelyard.domain.run import Parity, Run
from steelyard.domain.suite import Arm

PLAIN = Arm(name="old", agent={"type": "command"})
SAME = Arm(name="new", agent={"type": "command"})
SKILLED = Arm(name="new", agent={"type": "command"}, overlay="skills")
FILES = ("SKILL.md", "notes.md")


def run(arm: str, task: int, repeat: int, *, passed: bool = True, **more: Any) -> Run:
    """A run with one required check; `parity` fields go into its fingerprint."""
    parity = {"agent": "command", "agent_version": "1.0", "sandbox": "local", **more.pop("parity", {})}
    verdict = "PASS" if passed else "FAIL"
    check = ScorerResult.model_validate(
        {
            "name": "tests",
            "type": "command",
            "verdict": verdict,
            "score": float(passed),
            "required": True,
            "detail": "",
            "duration_s": 0.0,
        }
    )
    fields = {
        "run_id": f"run-{arm}-{task}-{repeat}",
        "experiment": "e",
        "workspace": "w",
        "task_id": f"t{task}",
        "arm": arm,
        "repeat": repeat,
        "task_sha256": f"sha-{task}",
        "status": "completed",
        "outcome": "COMPLETED",
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:00:01Z",
        "wall_s": 1.0,
        "scorers": (check,),
        "parity": Parity.model_validate(parity),
        **more,
    }
    return Run.model_validate(fields)


def weighed(new: Arm, **parity: Any) -> Comparison:
    """Two tasks, two repeats: the old arm as it is, the new one with another fingerprint."""
    runs = [run("old", task, repeat) for task in (1, 2) for repeat in (1, 2)]
    runs += [run("new", task, repeat, parity=parity) for task in (1, 2) for repeat in (1, 2)]
    return weigh_runs(material_of(runs, [PLAIN, new]), "old", "new")


@pytest.mark.parametrize(
    ("new", "parity", "note"),
    [
        (
            SAME,
            {"agent_version": "2.0"},
            "undeclared difference in agent version: old 1.0, new 2.0",
        ),
        (SAME, {"sandbox": "docker"}, "undeclared difference in sandbox: old local, new docker"),
        (SAME, {"limits": {"cpus": 2}}, "undeclared difference in limits on t1"),
        (
            SAME,
            {"overlay_sha256": "a" * 64},
            "undeclared difference in overlay: old none, new aaaa",
        ),
        (SAME, {"env_names": ("KEY",)}, "undeclared difference in environment variables"),
    ],
)
def test_an_undeclared_difference_is_noted(new: Arm, parity: dict[str, Any], note: str) -> None:
    """Version, sandbox, limits, overlay, environment: each is named with both values."""
    comparison = weighed(new, **parity)
    assert any(line.startswith(note) for line in comparison.parity), comparison.parity
    assert all(f"parity: {line}" in comparison.notes for line in comparison.parity)


@pytest.mark.parametrize(
    ("new", "parity"),
    [
        (SKILLED, {"overlay_sha256": "a" * 64}),
        (Arm(name="new", agent={"type": "command"}, env=("KEY",)), {"env_names": ("KEY",)}),
        (Arm(name="new", agent={"type": "command", "model": "m2"}), {"model": "m2"}),
        (Arm(name="new", agent={"type": "codex"}), {"agent": "codex", "agent_version": "9", "tools": ("x",)}),
        (SKILLED, {"tools": None, "overlay_sha256": "b" * 64}),
    ],
)
def test_the_declared_difference_is_not_noted(new: Arm, parity: dict[str, Any]) -> None:
    """What the suite says the arms differ in needs no note."""
    assert weighed(new, **parity).parity == ()


def test_tools_are_compared_one_by_one() -> None:
    """Only the tools that one arm has and the other has not are named."""
    runs = [run("old", 1, 1, parity={"tools": ("Bash", "Read")}), run("new", 1, 1, parity={"tools": ("Bash", "mcp")})]
    comparison = weigh_runs(material_of(runs, [PLAIN, SKILLED]), "old", "new")
    assert "only old has Read; only new has mcp" in comparison.parity[0]


def test_tools_that_arguments_switch_off_are_declared() -> None:
    """Arms with other arguments may have other tools: that is what was asked for."""
    runs = [run("old", 1, 1, parity={"tools": ("Bash", "Web")}), run("new", 1, 1, parity={"tools": ("Bash",)})]
    without = Arm(name="new", agent={"type": "command", "args": ["--disallowedTools", "Web"]})
    assert weigh_runs(material_of(runs, [PLAIN, without]), "old", "new").parity == ()


def test_a_change_within_an_arm_is_noted() -> None:
    """An agent that was updated in the middle of an experiment."""
    runs = [run("old", 1, r, parity={"agent_version": v}) for r, v in ((1, "1.0"), (2, "1.1"))]
    runs += [run("new", 1, r, parity={"agent_version": "1.0"}) for r in (1, 2)]
    comparison = weigh_runs(material_of(runs, [PLAIN, SKILLED]), "old", "new")
    assert "old ran with more than one agent version: 1.0 (1 run), 1.1 (1 run)" in comparison.parity


def test_arms_that_are_declared_alike_are_named() -> None:
    """Two arms that differ in nothing but their names measure chance."""
    assert weighed(SAME).parity == ("old and new are declared alike: a difference between them is chance",)


def test_an_infrastructure_failure_has_no_say() -> None:
    """A run that never got an agent does not count as another version."""
    runs = [run("old", 1, 1), run("new", 1, 1), run("new", 1, 2, error_class="network", parity={"agent_version": "?"})]
    assert weigh_runs(material_of(runs, [PLAIN, SKILLED]), "old", "new").parity == ()


def treated(read: list[tuple[str, ...] | None]) -> Comparison:
    """The new arm adds two files; each of its runs read these, and passes only when it read one."""
    runs = [run("old", task, 1, passed=False) for task in range(len(read))]
    for task, files in enumerate(read):
        parity = {"treatment_files": FILES, "treatment_read": files, "overlay_sha256": "a" * 64}
        runs.append(run("new", task, 1, passed=bool(files), parity=parity))
    return weigh_runs(material_of(runs, [PLAIN, SKILLED]), "old", "new")


def test_the_treated_estimate_stands_beside_intent_to_treat() -> None:
    """Half of the runs read the skill: their own effect is shown next to that of all runs."""
    comparison = treated([("SKILL.md",), (), ("notes.md",), ()])
    (found,) = comparison.treatment
    assert (found.arm, found.files, found.runs, found.received, found.unknown) == ("new", FILES, 4, 2, 0)
    assert found.pass_delta is not None
    assert (comparison.paired.pass_delta.mean, found.pass_delta.mean) == (0.5, 1.0)
    assert any("2 of 4 runs of new read a file" in note for note in comparison.notes)


def test_a_treatment_that_all_received_needs_no_second_estimate() -> None:
    """Then both estimates are the same."""
    (found,) = treated([("SKILL.md",), FILES]).treatment
    assert (found.received, found.pass_delta) == (2, None)


def test_a_treatment_that_nobody_received_is_said_aloud() -> None:
    """Whatever differs may not be its doing."""
    comparison = treated([(), ()])
    assert comparison.treatment[0].received == 0
    assert any("no run of new is known to have read a file" in note for note in comparison.notes)


def test_not_knowing_is_not_reading() -> None:
    """A run without a trajectory counts as unknown."""
    comparison = treated([None, ("SKILL.md",)])
    assert (comparison.treatment[0].unknown, comparison.treatment[0].received) == (1, 1)
    assert any("of 1 it is not known" in note for note in comparison.notes)
