"""Evidence and sandboxes for the scorers' tests."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.domain.trajectory import AgentInfo, Step, ToolCall, Trajectory
from steelyard.sandboxes.base import Sandbox, SandboxSpec
from steelyard.sandboxes.local import LocalProvider


def edited(path: str, *lines: str) -> FileChange:
    """A modified file with these added lines, from line 1 on."""
    return FileChange(path, "modified", added=tuple(enumerate(lines, 1)))


def evidence(
    *changes: FileChange, baseline: tuple[str, ...] = (), after: Mapping[str, bytes] | None = None, **more: Any
) -> Evidence:
    """Evidence of a change; the baseline holds the named files."""
    return Evidence(
        task=more.pop("task", Task(id="task", prompt="Do it.")),
        diff=Diff(files=changes),
        after=(after or {}).get,
        baseline_files=frozenset(baseline),
        **more,
    )


def did(*calls: tuple[str, dict[str, Any]], task: Task | None = None) -> Evidence:
    """Evidence of an agent that made these tool calls, one a step, from step 1 on."""
    steps = tuple(
        Step(
            step_id=number,
            source="agent",
            tool_calls=(ToolCall(tool_call_id=f"call-{number}", function_name=name, arguments=arguments),),
        )
        for number, (name, arguments) in enumerate(calls, 1)
    )
    trajectory = Trajectory(agent=AgentInfo(name="test", version="1"), steps=steps)
    return Evidence(task=task or Task(id="task", prompt="Do it."), trajectory=trajectory)


@contextmanager
def local_sandbox(place: Path) -> Iterator[Sandbox]:
    """A real sandbox around an empty tree."""
    (place / "tree").mkdir()
    (place / "scratch").mkdir()
    sandbox = LocalProvider().open(SandboxSpec(run_id="test", tree=place / "tree", scratch=place / "scratch"))
    try:
        yield sandbox
    finally:
        sandbox.close()
