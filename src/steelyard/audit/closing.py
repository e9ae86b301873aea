"""Tries the lines that may close holes: a line is proposed only when it was seen to work."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from steelyard import plugins
from steelyard.audit.findings import Fix, result_of
from steelyard.audit.fixes import Hole, Proposal, proposals, unverifiable
from steelyard.audit.runner import IDLE, REFERENCE, CheatRunner
from steelyard.engine.lab import Job


@dataclass
class Trial:
    """A hole, and the proposals that are still to be tried on it.

    `needs_reference`: the reference passes now, and must pass with the line too.
    """

    hole: Hole
    cheat: str
    warned: tuple[str, ...]
    needs_reference: bool
    left: list[Proposal] = field(default_factory=list)
    fix: Fix | None = None

    def __post_init__(self) -> None:
        """Look up what may close it."""
        self.part = plugins.load("cheats", self.cheat)
        self.left = [] if self.cheat == IDLE else proposals(self.hole, self.part.closed_by, self.warned)

    @property
    def key(self) -> tuple[str, str]:
        """Whose hole it is."""
        return self.hole.task.id, self.cheat


def close(trials: Sequence[Trial], runner: CheatRunner) -> dict[tuple[str, str], Fix]:
    """For each hole the first line that closes it; where none does, what a person can do."""
    known: dict[tuple[str, str], bool] = {}
    while pending := [trial for trial in trials if trial.fix is None and trial.left]:
        _round(pending, runner, known)
    return {
        trial.key: trial.fix or unverifiable(trial.hole, trial.part.closed_by, trial.part.advice) for trial in trials
    }


def _round(pending: Sequence[Trial], runner: CheatRunner, known: dict[tuple[str, str], bool]) -> None:
    """Try the next line of each hole; `known` keeps with which lines the reference still passes."""
    tried = [(trial, trial.left.pop(0)) for trial in pending]
    attempts = [runner.job(proposal.put_into(trial.hole.task), trial.cheat) for trial, proposal in tried]
    proofs: dict[tuple[str, str], Job] = {}
    for trial, proposal in tried:
        key = (trial.hole.task.id, proposal.line)
        if trial.needs_reference and key not in known and key not in proofs:
            proofs[key] = runner.job(proposal.put_into(trial.hole.task), REFERENCE)
    runs = {id(job): run for job, run in runner.play([*attempts, *proofs.values()])}
    known |= {key: result_of(runs[id(job)]).result == "passed" for key, job in proofs.items()}
    for (trial, proposal), job in zip(tried, attempts, strict=True):
        still_passes = not trial.needs_reference or known[trial.hole.task.id, proposal.line]
        if still_passes and result_of(runs[id(job)]).result == "caught":
            trial.fix = proposal.fix(verified=True)
