"""steelyard rehearse: the suite with the real agent programs and a scripted model, for no money."""

import argparse
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard import plugins
from steelyard.cli.output import emit_json, note, say
from steelyard.cli.progress import Watch
from steelyard.cli.run import narrowed
from steelyard.cli.summary import aligned
from steelyard.domain.experiment import Finished
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Cell, Run
from steelyard.domain.suite import Arm, FrozenTask, Suite, Task
from steelyard.engine.crew import Crew, Orders
from steelyard.engine.execute import execute
from steelyard.engine.lab import Job
from steelyard.errors import InputError
from steelyard.formulas.gates import overall
from steelyard.settings import read_settings
from steelyard.wiring import Choices, open_lab

if TYPE_CHECKING:
    from steelyard.testing.scripted_model import Scripts

LOOK_AROUND = [
    {"text": "This is a rehearsal: I look around and change nothing.", "calls": [{"shell": "ls"}]},
    {"text": "The rehearsal is over."},
]


@dataclass(frozen=True)
class Rehearsal:
    """One task and arm, and what the scripted model heard from it."""

    run: Run
    requests: int
    uses_model: bool

    @property
    def problem(self) -> str | None:
        """Why this cell would not work for real, as far as a rehearsal can tell."""
        if self.run.error_class is not None and self.run.error_class != "agent_no_output":
            return f"{self.run.error_class}: {self.run.error_detail}"
        if self.uses_model and self.requests == 0:
            return "the agent ended without asking its model; does the arm point it somewhere else?"
        return None

    @property
    def warning(self) -> str | None:
        """A task whose checks pass although nothing was done measures nothing."""
        idle = not self.run.changed_files and overall(self.run.scorers) == "PASS"
        return "every check passes although nothing was changed: this task can't tell good from bad" if idle else None


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard rehearse steelyard.yaml --script replies.json"
    parser.add_argument("suite", type=Path, metavar="SUITE", help="the suite file")
    parser.add_argument("--script", type=Path, metavar="FILE", help="what the model says (default: look around, end)")
    parser.add_argument("--arm", action="append", default=[], metavar="A", help="only this arm; may be repeated")
    parser.add_argument("--task", action="append", default=[], metavar="T", help="only this task; may be repeated")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count() or 1, help="runs at the same time")
    parser.add_argument("--sandbox", default="auto", metavar="S", help="local, bwrap, or auto (default)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(repeats=None, retries=0)


def main(args: argparse.Namespace) -> int:
    """Exit code 0 when every arm got through, 3 when one could not. Nothing is stored."""
    from steelyard.sandboxes.choose import choose
    from steelyard.suites.load import load_suite
    from steelyard.testing.scripted_model import load_scripts, read_scripts

    suite = narrowed(load_suite(args.suite), args)
    if args.sandbox == "docker":
        raise InputError(
            "--sandbox docker: a container can't reach a model on this machine's loopback; use bwrap or local"
        )
    choices = Choices(choose(args.sandbox), Path(suite.root), {})
    scripts = read_scripts(load_scripts(args.script) if args.script else LOOK_AROUND)
    found = _rehearse(suite, choices, scripts, args)
    if args.json:
        emit_json({"rehearsals": [_document(one) for one in found], "ready": not any(one.problem for one in found)})
    else:
        _show(found)
    return 3 if any(one.problem for one in found) else 0


def _rehearse(suite: Suite, choices: Choices, scripts: "Scripts", args: argparse.Namespace) -> list[Rehearsal]:
    """Every task with every arm, each with its own copy of its script, so that its requests can be told apart."""
    from steelyard.sandboxes.process import interrupt_all
    from steelyard.testing.scripted_model import ScriptedModel, Scripts

    cells = [Cell(task_id=task.id, arm=arm.name, repeat=1) for task in suite.tasks for arm in suite.arms]
    tasks, arms = {task.id: task for task in suite.tasks}, {arm.name: arm for arm in suite.arms}
    copies = {f"cell-{n}": scripts.find(cell.task_id) or scripts.default for n, cell in enumerate(cells)}
    watch, runs = Watch(len(cells), quiet=args.json), dict[Cell, Run]()
    chosen = replace(choices, observer=watch.observer())

    def ended(done: Finished) -> None:
        runs[_cell(done.run)] = done.run
        watch.finished(done.run)

    with ScriptedModel(Scripts(scripts.default, copies)) as model, open_lab(read_settings(), chosen) as lab, watch:
        staged = {cell: _on_stage(arms[cell.arm], model.url_of(f"cell-{n}")) for n, cell in enumerate(cells)}
        jobs = [Job("rehearsal", suite.workspace, cell, _open(tasks[cell.task_id]), staged[cell].arm) for cell in cells]
        orders = Orders(
            run=lambda job: execute(job, replace(lab, environ=staged[job.cell].environ)),
            on_done=ended,
            stop=interrupt_all,
            jobs=args.jobs,
            retries=0,
            monotonic=lab.clock.monotonic,
        )
        Crew(jobs, orders).work()
        asked = Counter(entry.script for entry in model.requests)
    return [Rehearsal(runs[cell], asked[f"cell-{n}"], staged[cell].uses_model) for n, cell in enumerate(cells)]


def _cell(run: Run) -> Cell:
    return Cell(task_id=run.task_id, arm=run.arm, repeat=run.repeat)


@dataclass(frozen=True)
class Staged:
    """An arm that talks to the scripted model, and the environment it gets."""

    arm: Arm
    environ: dict[str, str]
    uses_model: bool


def _on_stage(arm: Arm, url: str) -> Staged:
    """The arm talking to the scripted model, with made-up values for the keys it names."""
    agent = plugins.build("agents", arm.agent)
    environ = dict.fromkeys(arm.env, "rehearsal")
    rehearsed = agent.rehearsed(url)
    if rehearsed is None:
        return Staged(arm, environ, uses_model=False)
    acting, given = rehearsed
    names = tuple(dict.fromkeys([*arm.env, *given]))
    spec = acting.model_dump(mode="json")
    return Staged(arm.model_copy(update={"agent": spec, "env": names}), environ | given, uses_model=True)


def _open(task: Task) -> FrozenTask:
    """The task with the network on: the scripted model is on this machine's loopback."""
    return FrozenTask.of(task.model_copy(update={"limits": task.limits.model_copy(update={"network": True})}))


def _document(one: Rehearsal) -> JsonObject:
    return {
        "task_id": one.run.task_id,
        "arm": one.run.arm,
        "requests": one.requests,
        "outcome": one.run.outcome,
        "problem": one.problem,
        "warning": one.warning,
        "agent_version": one.run.parity.agent_version,
        "scorers": [result.model_dump(mode="json") for result in one.run.scorers],
        "stages": [attempt.model_dump(mode="json") for attempt in one.run.stages],
        "wall_s": one.run.wall_s,
    }


def _show(found: list[Rehearsal]) -> None:
    rows = [["task", "arm", "model requests", "checks passed", "seconds", "ready"]]
    for one in found:
        applicable = [result for result in one.run.scorers if result.verdict != "N/A"]
        passes = sum(result.verdict == "PASS" for result in applicable)
        asked = str(one.requests) if one.uses_model else "no model"
        ready = "no" if one.problem else "yes"
        rows.append(
            [one.run.task_id, one.run.arm, asked, f"{passes}/{len(applicable)}", f"{one.run.wall_s:.1f}", ready]
        )
    say(aligned(rows))
    for one in found:
        for kind, text in (("not ready", one.problem), ("warning", one.warning)):
            if text:
                say(f"{kind}: {one.run.task_id} {one.run.arm}: {text}")
    note("nothing was stored, and nothing was spent")
