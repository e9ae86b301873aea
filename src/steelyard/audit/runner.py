"""Where cheats are played: the real engine, with nothing stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steelyard.domain.experiment import Finished
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Cell, Run
from steelyard.domain.suite import Arm, FrozenTask, Task
from steelyard.engine.crew import Crew, Orders
from steelyard.engine.execute import execute
from steelyard.engine.lab import Job, Lab
from steelyard.scorers.runners import COMMANDS, PLACE

REFERENCE = "reference"
IDLE = "nop"


@dataclass(frozen=True)
class CheatRunner:
    """Plays jobs, `jobs` at a time. `stop` ends every running command.

    `expect` hears how many more runs there will be, `told` of each that has ended.
    """

    lab: Lab
    workspace: str
    jobs: int
    stop: Callable[[], None]
    expect: Callable[[int], None] = lambda _more: None
    told: Callable[[Run], None] = lambda _run: None

    def job(self, task: Task, cheat: str, repeat: int = 1) -> Job:
        """One cheat on one task, without arms, overlays, repairs or a judge."""
        spec: JsonObject = {"type": cheat, "commands": commands_of(task), "isolated": self.lab.provider.isolates}
        if cheat == REFERENCE and task.reference is not None:
            root = self.lab.suite_root.absolute()
            spec |= {name: str(root / path) for name, path in task.reference.model_dump().items() if path is not None}
        judge = task.judge.model_copy(update={"enabled": False})
        quiet = task.model_copy(update={"max_repair_loops": 0, "judge": judge})
        cell = Cell(task_id=task.id, arm=cheat, repeat=repeat)
        return Job("audit", self.workspace, cell, FrozenTask.of(quiet), Arm(name=cheat, agent=spec), shelf="cheats")

    def play(self, jobs: Sequence[Job]) -> list[tuple[Job, Run]]:
        """Run them all, and give each its run."""
        self.expect(len(jobs))
        done: dict[int, Run] = {}

        def run(job: Job) -> Finished:
            finished = execute(job, self.lab)
            done[id(job)] = finished.run
            return finished

        orders = Orders(
            run=run,
            on_done=lambda finished: self.told(finished.run),
            stop=self.stop,
            jobs=self.jobs,
            retries=0,
            monotonic=self.lab.clock.monotonic,
        )
        Crew(jobs, orders).work()
        return [(job, done[id(job)]) for job in jobs]

    def files(self, task: Task) -> frozenset[str]:
        """The files of the task's tree at first, before any set-up."""
        if task.seed is None:
            return frozenset()
        return self.lab.templates.get(task.seed, self.lab.suite_root, None).baseline.files


def commands_of(task: Task) -> tuple[str, ...]:
    """The commands as a cheat can run them itself: where a report goes, there is nothing."""
    return tuple(command.replace(PLACE, "/dev/null") for command in graders_of(task))


def graders_of(task: Task) -> tuple[str, ...]:
    """The commands that grade a task in the agent's sight: of its stages and scorers, hidden tests left out."""
    found = [stage.command for stage in task.gates]
    for spec in task.scorers:
        command = spec.get("command")
        if spec.get("type") == "baseline_tests_pass":
            command = command or COMMANDS.get(str(spec.get("framework", "pytest")))
        if isinstance(command, str) and spec.get("type") != "hidden_tests":
            found.append(command)
    return tuple(dict.fromkeys(found))
