"""steelyard plan: how many repeats a wanted effect takes, what they cost, and what this design could see."""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import emit_json, say
from steelyard.errors import InputError, MeasureError

if TYPE_CHECKING:
    from steelyard.compare.designs import Design
    from steelyard.compare.power import Pilot
    from steelyard.compare.table import RecordTable
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.suite import Suite
    from steelyard.store.database import Store

MEASURES = {"composite": "composite_delta", "pass rate": "pass_delta"}
MOST_LOOKED_AT = 20


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "examples:\n  steelyard plan steelyard.yaml\n  steelyard plan latest --effect 0.1 --power 0.9"
    parser.add_argument("target", metavar="SUITE|EXPERIMENT", help="a suite file with stored runs, or an experiment")
    parser.add_argument("--effect", type=float, default=0.05, metavar="E", help="difference to be seen (default 0.05)")
    parser.add_argument("--power", type=float, default=0.8, metavar="P", help="how surely (default 0.8)")
    parser.add_argument("--alpha", type=float, default=0.05, metavar="A", help="error level (default 0.05)")
    parser.add_argument("--baseline", metavar="B", help="the arm to weigh against")
    parser.add_argument("--candidate", metavar="A", help="the arm to weigh")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Print the plan; exit code 3 when there is no pilot to plan from."""
    check(args)
    suite = _suite(args.target)
    experiment, table = _pilot_runs(args, suite)
    arms = _arms(table, experiment, args)
    tasks, repeats = _design_now(suite or experiment, table, arms)
    designs = list(_designs(table, arms, tasks, (args.effect, args.power, args.alpha, repeats)))
    if not designs:
        raise MeasureError(f"experiment {experiment.id} has no pair of runs to plan from; run more of it")
    document = {
        "experiment": experiment.id,
        "arms": list(arms),
        "tasks": tasks,
        "repeats_now": repeats,
        "effect": args.effect,
        "power": args.power,
        "alpha": args.alpha,
        "plans": {name: design.document() for name, design in designs},
        "notes": _notes(table, arms, tasks),
    }
    if args.json:
        emit_json(document)
    else:
        _show(document, designs)
    return 0


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that mean nothing."""
    if not (math.isfinite(args.effect) and 0 < args.effect <= 1):
        raise InputError(f"--effect {args.effect}: allowed: above 0, at most 1 (0.05 is 5 percentage points)")
    for option in ("power", "alpha"):
        if not 0.0001 <= getattr(args, option) <= 0.9999:
            raise InputError(f"--{option} {getattr(args, option)}: allowed: 0.0001 to 0.9999")


def _design_now(planned: "Suite | Experiment", table: "RecordTable", arms: tuple[str, ...]) -> tuple[int, int]:
    """How many tasks and repeats there are: as they were planned, or as imported runs show, whose plan nobody knows."""
    if planned.tasks:
        return len(planned.tasks), planned.repeats
    cells = [(arm, int(task)) for arm in arms for task in table.task[table.rows_of(arm)]]
    return len({task for _, task in cells}), max(1, round(len(cells) / len(set(cells))))


def _suite(target: str) -> "Suite | None":
    path = Path(target)
    if not path.exists() and path.suffix not in {".yaml", ".yml"} and "/" not in target:
        return None
    from steelyard.suites.load import load_suite

    return load_suite(path)


def _pilot_runs(args: argparse.Namespace, suite: "Suite | None") -> "tuple[Experiment, RecordTable]":
    """The named experiment, or the newest one of the suite that has counted runs."""
    from steelyard.cli.stored import open_existing

    none = MeasureError(
        f"no run of {args.target} is stored to plan from: make a pilot with "
        f"`steelyard run {args.target} --repeats 3`, then plan again"
    )
    try:
        store = open_existing()
    except InputError:
        if suite is None:
            raise
        raise none from None
    with store:
        if suite is None:
            experiment = store.experiment(args.target)
            table = _table(store, experiment)
            if not table.counted.any():
                raise MeasureError(f"experiment {experiment.id} has no run that counts to plan from; run it (again)")
            return experiment, table
        for experiment in _of_suite(store, Path(args.target)):
            table = _table(store, experiment)
            if len(table) and table.counted.any():
                return experiment, table
    raise none


def _of_suite(store: "Store", path: Path) -> "list[Experiment]":
    """The newest stored experiments of a suite file."""
    from steelyard.suites.load import suite_file

    name = str(suite_file(path))
    found: list[Experiment] = []
    after: int | None = None
    while len(found) < MOST_LOOKED_AT and (page := store.experiments(after=after, limit=200)):
        found += [store.experiment(row["id"]) for row in page if row["suite_path"] == name]
        after = page[-1]["seq"]
    return found


def _table(store: "Store", experiment: "Experiment") -> "RecordTable":
    from steelyard.compare.table import table_of
    from steelyard.formulas.records import record_of

    return table_of(record_of(run) for run in store.iter_runs(experiment.id))


def _arms(table: "RecordTable", experiment: "Experiment", args: argparse.Namespace) -> tuple[str, ...]:
    """The two arms to plan for, or the only one that there is."""
    from steelyard.compare.arms import pick_arms

    names = [arm for arm in table.arms if len(table.rows_of(arm))]
    if len(names) == 1 and not (args.baseline or args.candidate):
        return (names[0],)
    spec = experiment.compare
    chosen = [args.baseline or spec.baseline, args.candidate or spec.candidate]
    if args.baseline is None and args.candidate is None:
        chosen = [arm if arm in names else None for arm in chosen]
        if None in chosen and len(names) == 2:
            chosen = list(names)
    return pick_arms(names, chosen[0], chosen[1])


def _designs(
    table: "RecordTable", arms: tuple[str, ...], tasks: int, wanted: tuple[float, float, float, int]
) -> "list[tuple[str, Design]]":
    from steelyard.compare.designs import Wanted, design_of
    from steelyard.compare.pilots import pilot_of, pilot_of_arm

    aim = Wanted(*wanted)
    found = []
    for name, measure in MEASURES.items():
        pilot = pilot_of(table, arms[0], arms[1], measure) if len(arms) == 2 else pilot_of_arm(table, arms[0], measure)
        if pilot.pairs:
            found.append((name, design_of(measure, _scaled(pilot, tasks), aim)))
    return found


def _scaled(pilot: "Pilot", tasks: int) -> "Pilot":
    """The same spread on as many tasks as the suite has now; a pilot on few tasks can't speak of more."""
    from steelyard.compare.power import LEAST_TASKS

    if tasks == pilot.tasks or pilot.tasks < LEAST_TASKS or tasks < LEAST_TASKS:
        return pilot
    return replace(pilot, tasks=tasks, pairs=max(1, round(pilot.repeats * tasks)))


def _notes(table: "RecordTable", arms: tuple[str, ...], tasks: int) -> list[str]:
    notes = []
    if len(arms) == 1:
        notes.append(
            f"only {arms[0]} has runs: tasks may differ in how much a change helps them, which one arm can't show; "
            "the plan is the least that can do"
        )
    ran = len({int(task) for arm in arms for task in table.task[table.rows_of(arm)]})
    if ran != tasks:
        notes.append(
            f"the pilot ran {ran} of {tasks} tasks" if ran < tasks else f"the pilot ran {ran} tasks, now {tasks}"
        )
    return notes


def _show(document: dict[str, Any], designs: "list[tuple[str, Design]]") -> None:
    from steelyard.reports.plans import plan_text

    say(plan_text(document, designs).rstrip("\n"))
