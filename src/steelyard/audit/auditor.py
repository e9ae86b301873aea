"""Plays the cheats against each task of a suite, tries what would close the holes, and says what was found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from steelyard.audit.closing import Trial, close
from steelyard.audit.findings import CheatResult, Fix, TaskAudit, exploitability, worst_of
from steelyard.audit.fixes import Hole
from steelyard.audit.flakes import flakes
from steelyard.audit.runner import IDLE, REFERENCE, CheatRunner, graders_of
from steelyard.domain.run import Run
from steelyard.domain.suite import Task
from steelyard.errors import InputError

TWICE = (IDLE, REFERENCE)
"""What is run several times to see flakes, and first: without them the rest says nothing."""


@dataclass(frozen=True)
class Auditor:
    """One audit at work: which cheats are played, and how often the baseline and the reference are run."""

    tasks: tuple[Task, ...]
    runner: CheatRunner
    cheats: tuple[str, ...]
    repeats: int = 1
    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)

    def audit(self) -> tuple[TaskAudit, ...]:
        """Every task, in its order."""
        played = [task for task in self.tasks if why_not(task) is None]
        for task in played:
            self._refuse_visible_reference(task)
        self._play(played, [cheat for cheat in self.cheats if cheat in TWICE])
        self._refuse_wrong_references()
        self._play(played, [cheat for cheat in self.cheats if cheat not in TWICE])
        fixes = close([trial for task in played for trial in self._trials(task)], self.runner)
        return tuple(self._found(task, fixes) for task in self.tasks)

    def _play(self, tasks: Sequence[Task], cheats: Sequence[str]) -> None:
        jobs = [
            self.runner.job(task, cheat, repeat)
            for task in tasks
            for cheat in cheats
            if cheat != REFERENCE or task.reference is not None
            for repeat in range(1, 1 + (self.repeats if cheat in TWICE else 1))
        ]
        for job, run in self.runner.play(jobs):
            self.runs.setdefault((job.cell.task_id, job.cell.arm), []).append(run)

    def _refuse_visible_reference(self, task: Task) -> None:
        """A repository that is the seed may hold the reference: then it stands in every agent's tree."""
        if task.reference is None or task.seed is None or task.seed.git is None:
            return
        root = self.runner.lab.suite_root.resolve()
        repository = (root / task.seed.git).resolve()
        named = str(task.reference.patch or task.reference.directory)
        place = (root / named).resolve()
        if place.is_relative_to(repository):
            below = place.relative_to(repository).as_posix()
            if any(path == below or path.startswith(f"{below}/") for path in self.runner.files(task)):
                raise InputError(f"task '{task.id}': the reference {named} is in the seed, so an agent would see it")

    def _refuse_wrong_references(self) -> None:
        for (task_id, cheat), runs in self.runs.items():
            said = str(runs[0].error_detail)
            if cheat == REFERENCE and runs[0].error_class == "setup_failed" and said.startswith("the reference"):
                raise InputError(f"task '{task_id}': {said}")

    def _result(self, task: Task, cheat: str) -> CheatResult | None:
        runs = self.runs.get((task.id, cheat))
        return None if runs is None else worst_of(runs, good="passed" if cheat == REFERENCE else "caught")

    def _trials(self, task: Task) -> Iterator[Trial]:
        reference = self._result(task, REFERENCE)
        passes = reference is not None and reference.result == "passed"
        for cheat in self.cheats:
            result = self._result(task, cheat)
            if cheat == REFERENCE or result is None or result.result != "passed":
                continue
            hole = Hole(task, self.runs[task.id, cheat][0].changed_files, self.runner.files(task), graders_of(task))
            yield Trial(hole, cheat, result.warned, needs_reference=passes)

    def _found(self, task: Task, fixes: dict[tuple[str, str], Fix]) -> TaskAudit:
        if (why := why_not(task)) is not None:
            return TaskAudit(task_id=task.id, skipped=why)
        results = [self._result(task, cheat) for cheat in self.cheats if cheat != REFERENCE]
        cheats = tuple(
            one.model_copy(update={"fix": fixes.get((task.id, one.cheat))}) for one in results if one is not None
        )
        idle, solved = self.runs.get((task.id, IDLE), []), self.runs.get((task.id, REFERENCE), [])
        return TaskAudit(
            task_id=task.id,
            has_reference=task.reference is not None,
            reference=self._result(task, REFERENCE),
            cheats=cheats,
            exploitability=exploitability(cheats),
            flaky=flakes(idle, "baseline") + flakes(solved, "reference"),
        )


def why_not(task: Task) -> str | None:
    """Why a task can't be audited at all; None when it can."""
    if task.is_ledger:
        return "a ledger task has no code tree: only the judge grades it"
    if all(spec.get("type") == "llm_judge" for spec in task.scorers):
        return "it has no scorer: only the judge grades it"
    if task.expected_outcome == "refusal":
        return "refusing is right here: there is nothing to fake"
    return None
