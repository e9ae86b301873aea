"""An experiment (tasks × arms × repeats, run together) and what a finished run hands over to be stored."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.record import JsonObject, Record
from steelyard.domain.run import Run
from steelyard.domain.suite import Arm, FrozenTask


class Experiment(Record):
    """What was planned, frozen: enough to resume it, to grade its runs again and to compare its arms."""

    id: str
    workspace: str
    created_at: str
    suite_path: str | None = None
    tasks: tuple[FrozenTask, ...]
    arms: tuple[Arm, ...]
    repeats: int
    compare: CompareSpec = CompareSpec()
    settings: JsonObject = {}

    @property
    def to_resume(self) -> str:
        """The command that runs what is missing."""
        return shlex.join(["steelyard", "run", self.suite_path or "SUITE", "--resume"])


@dataclass(frozen=True)
class Finished:
    """A run that has ended, with its artifacts by name (`diff`, `trajectory`, `stdout`, `stderr`, …), not yet stored.

    `secrets` are values injected into the agent's environment: they are redacted before anything is stored.
    """

    run: Run
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
