"""steelyard run: tasks × arms × repeats, graded and stored."""

import argparse
import math
import os
import signal
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import note
from steelyard.cli.progress import Watch
from steelyard.cli.reporting import Reporter, open_reporter
from steelyard.cli.summary import conclude
from steelyard.cli.waves import KEY, Outcome, Until, add_wave_options, arms_of, conduct_waves, resumed, until_of
from steelyard.domain.experiment import Experiment, Finished
from steelyard.domain.suite import FrozenTask, Suite
from steelyard.engine.crew import Budget, Crew, Orders, Report
from steelyard.engine.execute import execute
from steelyard.engine.lab import Job, Lab, instant
from steelyard.engine.plan import plan
from steelyard.errors import InputError
from steelyard.settings import read_settings
from steelyard.wiring import Choices, JudgeWish, new_id, open_judge, open_lab, open_store

if TYPE_CHECKING:
    from steelyard.store.database import Store


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard run steelyard.yaml --repeats 5 --jobs 2"
    parser.add_argument("suite", type=Path, metavar="SUITE", help="the suite file")
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that `run` and `demo` share."""
    parser.add_argument("--arm", action="append", default=[], metavar="A", help="run only this arm; may be repeated")
    parser.add_argument("--task", action="append", default=[], metavar="T", help="run only this task; may be repeated")
    parser.add_argument("--repeats", type=int, metavar="N", help="repeats of each task and arm (default: the suite's)")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count() or 1, help="runs at the same time")
    parser.add_argument("--sandbox", default="auto", metavar="S", help="local, bwrap, docker, or auto (default)")
    parser.add_argument("--judge", default="auto", metavar="J", help="auto (default), none, or a judge's name")
    parser.add_argument("--judge-model", metavar="M", help="the judge's model (default: the suite's or the judge's)")
    parser.add_argument("--no-cache", action="store_true", help="ask the judge also what it was asked before")
    parser.add_argument("--max-cost", type=float, metavar="USD", help="stop when the experiment has cost this much")
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help="stop when the experiment has used this many tokens"
    )
    parser.add_argument("--max-seconds", type=float, metavar="S", help="stop when the experiment has taken this long")
    parser.add_argument("--retries", type=int, default=1, metavar="N", help="retries of infrastructure failures")
    parser.add_argument("--resume", action="store_true", help="go on with the last experiment of this suite")
    add_wave_options(parser)
    parser.add_argument("--server", metavar="URL", help="also report each run to a server (token: STEELYARD_TOKEN)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


@dataclass(frozen=True)
class Ended:
    """An experiment when its crew has gone home."""

    experiment: Experiment
    report: Report
    waves: Outcome | None = None


def main(args: argparse.Namespace) -> int:
    """Run the suite; exit code 1 when the candidate regressed, 3 when nothing could be measured."""
    from steelyard.sandboxes.choose import choose
    from steelyard.suites.load import load_suite

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job stops as with Ctrl-C
    _refuse_wrong_budgets(args)
    until = until_of(args)
    suite = narrowed(load_suite(args.suite), args)
    if until is not None:
        suite = suite.model_copy(update={"repeats": args.repeats or 1})
    provider = choose(args.sandbox)
    settings = read_settings()
    cache = None if args.no_cache else settings.judge_cache
    wish, specs = JudgeWish(args.judge, args.judge_model, cache), [task.judge for task in suite.tasks]
    with open_judge(wish, specs, os.environ, note) as judge, open_store(settings) as store:
        experiment = _experiment(store, suite, args, until)
        until = resumed(args, until, experiment) if args.resume else until
        reporter = open_reporter(args.server, os.environ.get("STEELYARD_TOKEN"), store, experiment)
        try:
            choices = Choices(provider, Path(suite.root), os.environ, judge=judge)
            if until is not None:
                ended = Ended(
                    *conduct_waves(
                        store, experiment, until, lambda wave: conduct(store, wave, args, choices, reporter).report
                    )
                )
            else:
                ended = conduct(store, experiment, args, choices, reporter)
        finally:
            if reporter is not None:
                reporter.finish()
        return conclude(store, ended.experiment, ended.report, as_json=args.json, waves=ended.waves)


def narrowed(suite: Suite, args: argparse.Namespace) -> Suite:
    """The suite with only the arms, tasks and repeats that the command line asks for."""
    for option, wanted, known in (
        ("--arm", args.arm, [arm.name for arm in suite.arms]),
        ("--task", args.task, [task.id for task in suite.tasks]),
    ):
        for name in wanted:
            if name not in known:
                raise InputError(f"{option} {name}: the suite has no such one; it has: {', '.join(known)}")
    for option, number, least in (
        ("--repeats", args.repeats, 1),
        ("--jobs", args.jobs, 1),
        ("--retries", args.retries, 0),
    ):
        if number is not None and not least <= number <= 10_000:
            raise InputError(f"{option} {number}: allowed: {least} to 10000")
    return suite.model_copy(
        update={
            "arms": tuple(arm for arm in suite.arms if not args.arm or arm.name in args.arm),
            "tasks": tuple(task for task in suite.tasks if not args.task or task.id in args.task),
            "repeats": args.repeats or suite.repeats,
        }
    )


def _refuse_wrong_budgets(args: argparse.Namespace) -> None:
    for option, number in (
        ("--max-cost", args.max_cost),
        ("--max-tokens", args.max_tokens),
        ("--max-seconds", args.max_seconds),
    ):
        if number is not None and not 0 < number < math.inf:
            raise InputError(f"{option} {number}: allowed: a number above 0")


def _experiment(store: "Store", suite: Suite, args: argparse.Namespace, until: Until | None) -> Experiment:
    from steelyard.suites.load import suite_file

    path = str(suite_file(args.suite))
    if args.resume:
        last = store.last_experiment(path)
        if last is None:
            raise InputError(f"--resume: no experiment of {args.suite} is stored; run it without --resume first")
        _refuse_strangers(last, args)
        _note_edits(last, suite)
        return last.model_copy(update={"repeats": max(last.repeats, args.repeats or 0)})
    experiment = Experiment(
        id=new_id("exp"),
        workspace=suite.workspace,
        created_at=instant(datetime.now(UTC)),
        suite_path=path,
        tasks=tuple(FrozenTask.of(task) for task in suite.tasks),
        arms=suite.arms,
        repeats=suite.repeats,
        compare=suite.compare,
        settings={
            "max_cost_usd": args.max_cost or suite.max_cost_usd,
            "max_tokens": args.max_tokens or suite.max_tokens,
            "max_seconds": args.max_seconds or suite.max_seconds,
            **({} if until is None else {KEY: until.document()}),
        },
    )
    if until is not None:
        arms_of(experiment)
    store.create_experiment(experiment)
    return experiment


def _refuse_strangers(last: Experiment, args: argparse.Namespace) -> None:
    """An arm or a task that the resumed experiment does not have can't be run in it."""
    for option, wanted, known in (
        ("--arm", args.arm, [arm.name for arm in last.arms]),
        ("--task", args.task, [frozen.task.id for frozen in last.tasks]),
    ):
        for name in wanted:
            if name not in known:
                raise InputError(
                    f"{option} {name}: experiment {last.id}, which --resume goes on with, has only "
                    f"{', '.join(known)}; run it without --resume"
                )


def _note_edits(last: Experiment, suite: Suite) -> None:
    """Say which tasks and arms were edited since: an experiment goes on with what was frozen when it began."""
    tasks = {frozen.task.id: frozen for frozen in last.tasks}
    arms = {arm.name: arm for arm in last.arms}
    edited = [task.id for task in suite.tasks if task.id in tasks and FrozenTask.of(task) != tasks[task.id]]
    edited += [arm.name for arm in suite.arms if arm.name in arms and arm != arms[arm.name]]
    if edited:
        note(
            f"edited since experiment {last.id} began: {', '.join(edited)}; it goes on with them as they were "
            "(without --resume a new one begins)"
        )


def conduct(
    store: "Store",
    experiment: Experiment,
    args: argparse.Namespace,
    choices: Choices,
    reporter: Reporter | None = None,
) -> Ended:
    """Run what is missing of an experiment, and store each run as it ends."""
    from steelyard.sandboxes.process import interrupt_all
    from steelyard.store.leases import owner_name

    owner = owner_name(new_id("crew"))
    jobs = [
        job
        for job in jobs_of(experiment, store)
        if (not args.arm or job.arm.name in args.arm) and (not args.task or job.cell.task_id in args.task)
    ]
    ours = store.claim(experiment.id, [job.cell for job in jobs], owner, time.time())
    others, jobs = len(jobs) - len(ours), [job for job in jobs if job.cell in ours]
    watch = Watch(len(jobs), quiet=args.json)
    if not args.json:
        note(f"experiment {experiment.id}: {len(jobs)} runs in {choices.provider.type} sandboxes")
        if others:
            note(f"{others} more are under way in another process, which stores them")
        if choices.provider.note:
            note(choices.provider.note)
    with open_lab(read_settings(), replace(choices, observer=watch.observer())) as lab, watch:
        orders = Orders(
            run=lambda job: execute(job, lab),
            on_done=lambda finished: _store(store, finished, lab, (watch, reporter)),
            stop=interrupt_all,
            jobs=args.jobs,
            retries=args.retries,
            budget=_budget(store, experiment, args, lab),
            monotonic=lab.clock.monotonic,
            tick=lambda: store.renew(owner, time.time()),
        )
        try:
            report = Crew(jobs, orders).work()
        except KeyboardInterrupt:
            note(f"stopped: finished runs are kept; {experiment.to_resume} goes on")
            raise
        finally:
            store.release(owner)
    return Ended(experiment, report)


def jobs_of(experiment: Experiment, store: "Store") -> list[Job]:
    """The cells that have no finished run yet."""
    tasks = {frozen.task.id: frozen for frozen in experiment.tasks}
    arms = {arm.name: arm for arm in experiment.arms}
    cells = plan(list(tasks), list(arms), range(1, experiment.repeats + 1), store.finished_cells(experiment.id))
    return [Job(experiment.id, experiment.workspace, cell, tasks[cell.task_id], arms[cell.arm]) for cell in cells]


def _budget(store: "Store", experiment: Experiment, args: argparse.Namespace, lab: Lab) -> Budget:
    spent = store.spent(experiment.id)
    return Budget(
        max_cost_usd=args.max_cost or experiment.settings.get("max_cost_usd"),
        max_tokens=args.max_tokens or experiment.settings.get("max_tokens"),
        max_seconds=args.max_seconds or experiment.settings.get("max_seconds"),
        cost_usd=spent.cost_usd,
        tokens=spent.tokens,
        started=lab.clock.monotonic() - spent.seconds,
    )


def _store(store: "Store", finished: Finished, lab: Lab, told: tuple[Watch, Reporter | None]) -> None:
    """Store a run, and only then tell of it: what was told is never lost."""
    store.save(finished, scored_at=instant(lab.clock.now()))
    watch, reporter = told
    watch.finished(finished.run)
    if reporter is not None:
        reporter.report(finished.run.run_id)
