"""What the engine needs from outside: sandboxes, templates, clocks, ids, and where to report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import JudgeResult
from steelyard.domain.run import Cell
from steelyard.domain.suite import Arm, FrozenTask
from steelyard.sandboxes.base import SandboxProvider

if TYPE_CHECKING:
    from steelyard.worktree.patches import Patches
    from steelyard.worktree.template import Templates


class Clock(Protocol):
    """The time, from the edge."""

    def now(self) -> datetime:
        """The instant, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""


def instant(moment: datetime) -> str:
    """An instant as it is stored: ISO 8601 in UTC with microseconds, so that text order is time order."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True)
class Observer:
    """Who watches an experiment while it runs. Called from worker threads."""

    started: Callable[[Cell], None] = lambda _cell: None
    step: Callable[[Cell, str], None] = lambda _cell, _what: None


@dataclass(frozen=True)
class Job:
    """One cell with everything it needs; `shelf` is the kind of part that the arm's agent is (agents, or cheats)."""

    experiment: str
    workspace: str
    cell: Cell
    task: FrozenTask
    arm: Arm
    attempt: int = 1
    shelf: str = "agents"


@dataclass(frozen=True)
class Lab:
    """The parts that runs share. `environ` is where the values of an arm's `env` names are looked up.

    `judge` is None when nobody judges; without `patches` each run starts git for its own.
    """

    provider: SandboxProvider
    templates: "Templates"
    scratch: Path
    suite_root: Path
    clock: Clock
    new_id: Callable[[], str]
    environ: Mapping[str, str] = field(default_factory=dict)
    judge: Callable[[Evidence, Job], JudgeResult | None] | None = None
    observer: Observer = Observer()
    patches: "Patches | None" = None
