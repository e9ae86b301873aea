"""What two arms must share, and whether the agent met what its arm added."""

import re
from collections.abc import Sequence
from pathlib import Path

from steelyard.domain.record import canonical_json, sha256
from steelyard.domain.run import Parity
from steelyard.domain.trajectory import Trajectory
from steelyard.engine.lab import Job, Lab
from steelyard.engine.turns import Session

# Files that an agent program reads by itself when it starts: no tool call shows it.
READ_AT_START = {
    "claude-code": ("CLAUDE.md", ".claude/CLAUDE.md", ".claude/settings.json", ".mcp.json"),
    "codex": ("AGENTS.md",),
    "opencode": ("AGENTS.md", "opencode.json"),
}


def parity_of(job: Job, lab: Lab, session: Session | None) -> Parity:
    """The fingerprint of a run, from what was really used."""
    task, arm = job.task.task, job.arm
    last = session.results[-1] if session and session.results else None
    files = overlay_files(lab.suite_root / arm.overlay) if arm.overlay else {}
    read = None
    if session is not None and files:
        bare = "--bare" in getattr(session.agent, "args", ())  # Claude Code then reads nothing by itself
        read = treatment_read(sorted(files), session.trajectory(), "" if bare else session.agent.type)
    return Parity(
        agent=str(arm.agent.get("type")),
        agent_version=session.version if session else None,
        model=(last.model if last else None) or arm.agent.get("model"),
        sandbox=lab.provider.type,
        image=session.sandbox.image if session else None,
        limits=task.limits.model_dump(mode="json", exclude_none=True),
        env_names=tuple(sorted(arm.env)),
        tools=None if last is None or last.tools is None else tuple(sorted(last.tools)),
        overlay_sha256=sha256(canonical_json(files)) if files else None,
        treatment_files=tuple(sorted(files))[:1000],
        treatment_read=read,
    )


def overlay_files(folder: Path) -> dict[str, str]:
    """The overlay's files with the sha256 of each."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def treatment_read(files: Sequence[str], trajectory: Trajectory, agent: str) -> tuple[str, ...]:
    """Which of the arm's files the agent met: named in a tool call, a skill by its folder, or read at start."""
    asked = [
        canonical_json(call.arguments).replace("\\n", " ") + " " + call.function_name
        for step in trajectory.steps
        for call in step.tool_calls or ()
    ]
    met = {name for name in files if any(_names(text, name) or _skill(name) in text for text in asked)}
    met.update(set(files) & set(READ_AT_START.get(agent, ())))
    return tuple(sorted(met))


def _names(text: str, name: str) -> bool:
    """Whether a path stands in a text as a whole: `README` is not read by who reads `README.md`."""
    return name in text and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) is not None


def _skill(name: str) -> str:
    """How a call names a skill file: by the folder that holds its SKILL.md."""
    path = Path(name)
    return f'"{path.parent.name}"' if path.name == "SKILL.md" else "\0"
