"""Whether an agent met the files that its arm added."""

from typing import Any

import pytest

from steelyard.domain.trajectory import AgentInfo, Step, ToolCall, Trajectory
from steelyard.engine.parity import treatment_read

FILES = (".claude/skills/greet/SKILL.md", "CLAUDE.md", "README", "docs/notes.md")


def after(name: str, **arguments: Any) -> Trajectory:
    """A session with one tool call."""
    call = ToolCall(tool_call_id="1", function_name=name, arguments=arguments)
    step = Step(step_id=1, source="agent", tool_calls=(call,))
    return Trajectory(agent=AgentInfo(name="a", version="1"), steps=(step,))


@pytest.mark.parametrize(
    ("trajectory", "met"),
    [
        (after("Skill", skill="greet"), {".claude/skills/greet/SKILL.md"}),
        (after("Skill", skill="greetings"), set()),
        (after("Read", file_path="/repo/docs/notes.md"), {"docs/notes.md"}),
        (after("shell", command="cat docs/notes.md|head"), {"docs/notes.md"}),
        (after("shell", command=["bash", "-lc", "cat ./README"]), {"README"}),
        (after("shell", command="cat README.md MYREADME docs/notes.md.bak"), set()),
        (after("shell", command="cat <<E\nREADME\nE"), {"README"}),
        (after("shell", command="ls"), set()),
    ],
)
def test_a_file_is_met_when_a_call_names_it(trajectory: Trajectory, met: set[str]) -> None:
    """As a whole path, or a skill by the folder of its SKILL.md; part of another name is not it."""
    assert set(treatment_read(FILES, trajectory, "command")) == met


@pytest.mark.parametrize(("agent", "met"), [("claude-code", {"CLAUDE.md"}), ("codex", set()), ("", set())])
def test_some_files_are_read_at_the_start(agent: str, met: set[str]) -> None:
    """Programs read their own instructions without a call that shows it."""
    assert set(treatment_read(FILES, after("shell", command="ls"), agent)) == met
