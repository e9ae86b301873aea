"""run --until-decided: repeats are added in balanced waves until the paired deltas decide."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import note
from steelyard.domain.experiment import Experiment
from steelyard.engine.crew import Report
from steelyard.errors import InputError
from steelyard.reports.words import many

if TYPE_CHECKING:
    from steelyard.compare.sequential import Sequential
    from steelyard.compare.table import RecordTable
    from steelyard.store.database import Store

KEY = "until_decided"
DEFAULTS: dict[str, Any] = {"alpha": 0.05, "margin": 0.05, "max_repeats": 30}
MOST_STALLS = 2  # rounds in a row that complete no wave
WORDS = {
    "improved": "the candidate is better",
    "regressed": "the candidate is worse",
    "no_difference": "no difference larger than {margin:g}",
    "undecided": "not decided",
}


def add_wave_options(parser: argparse.ArgumentParser) -> None:
    """The options of early stopping."""
    parser.add_argument(
        "--until-decided", action="store_true", help="add repeats until the paired deltas decide, and stop then"
    )
    parser.add_argument("--alpha", type=float, metavar="A", help="--until-decided: error level (default 0.05)")
    parser.add_argument("--margin", type=float, metavar="M", help="--until-decided: too small to matter (default 0.05)")
    parser.add_argument("--max-repeats", type=int, metavar="N", help="--until-decided: repeats at most (default 30)")


@dataclass(frozen=True)
class Until:
    """What was asked for, kept with the experiment so that a resume can't change the rule in the middle."""

    alpha: float
    margin: float
    max_repeats: int

    def document(self) -> dict[str, Any]:
        """As kept in the experiment's settings."""
        return {"alpha": self.alpha, "margin": self.margin, "max_repeats": self.max_repeats}


@dataclass(frozen=True)
class Outcome:
    """What `until_decided` shows: the decision, what it rests on, and what it saved against a fixed design."""

    until: Until
    arms: tuple[str, str]
    found: "Sequential"
    measure: str
    pass_interval: tuple[float, float]
    incomplete: tuple[int, ...]
    fixed: int
    fixed_by: str
    runs_saved: int
    cost_saved_usd: float | None

    def document(self) -> dict[str, Any]:
        """As `run --json` prints it."""
        found = self.found
        return {
            "decision": found.decision,
            "repeats": found.waves,
            "e_value": _short(found.e_value),
            "e_value_needed": _short(found.needed),
            "measure": self.measure,
            "mean": None if found.mean is None else round(found.mean, 6),
            "interval": [round(bound, 6) for bound in found.interval],
            "pass_interval": [round(bound, 6) for bound in self.pass_interval],
            "runs_saved": self.runs_saved,
            "cost_saved_usd": None if self.cost_saved_usd is None else round(self.cost_saved_usd, 6),
            "fixed_design_repeats": self.fixed,
            "fixed_design": self.fixed_by,
            "incomplete_repeats": list(self.incomplete),
            **self.until.document(),
        }

    def line(self) -> str:
        """The same for people."""
        found, until = self.found, self.until
        low, high = found.interval
        words = WORDS[found.decision].format(margin=until.margin)
        text = (
            f"until decided: {words} after {many(found.waves, 'repeat')} of {many(found.tasks, 'task')} "
            f"({self._mean()}, {100 * (1 - until.alpha):g} % interval {low:+.3f} to {high:+.3f}, "
            f"evidence {found.e_value:.3g}, needed {found.needed:.3g})"
        )
        return text + self._saving()

    def progress(self) -> str:
        """One line after each wave."""
        low, high = self.found.interval
        words = WORDS[self.found.decision].format(margin=self.until.margin)
        where = f"{self._mean()}, interval {low:+.3f} to {high:+.3f}"
        return f"repeat {self.found.waves}: {words}, {where}"

    def _mean(self) -> str:
        return "mean unknown" if self.found.mean is None else f"mean {self.found.mean:+.3f}"

    def _saving(self) -> str:
        if self.found.decision == "undecided":
            more = f"; incomplete: repeat {', '.join(map(str, self.incomplete[:5]))}" if self.incomplete else ""
            most = self.until.max_repeats
            if self.found.waves < most:
                return f"; stopped before the {many(most, 'repeat')} that were allowed{more}"
            return f"; at most {many(most, 'repeat')} were allowed{more}"
        design = "steelyard plan" if self.fixed_by == "plan" else "--max-repeats"
        kind = "saved against" if self.runs_saved >= 0 else "more than"
        money = "" if self.cost_saved_usd is None else f" and ${abs(self.cost_saved_usd):.2f}"
        return f"; {many(abs(self.runs_saved), 'run')}{money} {kind} the {many(self.fixed, 'repeat')} of {design}"


def until_of(args: argparse.Namespace) -> Until | None:
    """What the command line asks for; None without `--until-decided`. Options that make no sense are refused."""
    given = {name: getattr(args, name) for name in DEFAULTS if getattr(args, name) is not None}
    if not args.until_decided and not args.resume and given:
        option = next(iter(given)).replace("_", "-")
        raise InputError(f"--{option} goes with --until-decided")
    for option, least, most in (("alpha", 0.0001, 0.5), ("margin", 0.001, 0.999)):
        if option in given and not least <= given[option] <= most:
            raise InputError(f"--{option} {given[option]}: allowed: {least:g} to {most:g}")
    if not 1 <= given.get("max_repeats", 1) <= 10_000:
        raise InputError(f"--max-repeats {given['max_repeats']}: allowed: 1 to 10000")
    if not args.until_decided:
        return None
    until = Until(**{**DEFAULTS, **given})
    if args.repeats and args.repeats > until.max_repeats:
        raise InputError(f"--repeats {args.repeats} is more than --max-repeats {until.max_repeats}; raise that one")
    return until


def resumed(args: argparse.Namespace, asked: Until | None, experiment: Experiment) -> Until | None:
    """The rule to go on with: the experiment's own, where it has one; more repeats may be allowed, nothing else."""
    kept = kept_of(experiment)
    if (kept or asked) and (args.arm or args.task):
        raise InputError("--arm and --task do not go with --resume of --until-decided: a wave is every task and arm")
    if kept is None:
        if asked is None and any(getattr(args, name) is not None for name in DEFAULTS):
            raise InputError(f"experiment {experiment.id} was not begun with --until-decided; add it to go on so")
        return asked
    for name in ("alpha", "margin"):
        given, old = getattr(args, name), getattr(kept, name)
        if given is not None and given != old:
            raise InputError(f"--{name} {given}: the experiment began with {old}; a rule can't change while it runs")
    return Until(kept.alpha, kept.margin, args.max_repeats or kept.max_repeats)


def kept_of(experiment: Experiment) -> Until | None:
    """The rule that an experiment began with."""
    kept = experiment.settings.get(KEY)
    if not isinstance(kept, dict):
        return None
    try:
        return Until(float(kept["alpha"]), float(kept["margin"]), int(kept["max_repeats"]))
    except (KeyError, TypeError, ValueError):
        return None  # a record from elsewhere, whose settings are its own


def arms_of(experiment: Experiment) -> tuple[str, str]:
    """The two arms that are weighed; refused before anything runs when they are not clear."""
    from steelyard.compare.arms import pick_arms

    spec, names = experiment.compare, [arm.name for arm in experiment.arms]
    chosen = [arm if arm in names else None for arm in (spec.baseline, spec.candidate)]
    if len(names) < 2:
        raise InputError("--until-decided weighs two arms, and there is only one")
    try:
        return pick_arms(names, chosen[0], chosen[1])
    except InputError:
        raise InputError(
            "--until-decided: the suite does not say which two arms to weigh; "
            f"add compare: {{baseline: …, candidate: …}} (arms: {', '.join(names)})"
        ) from None


def conduct_waves(
    store: "Store", experiment: Experiment, until: Until, conduct: Callable[[Experiment], Report]
) -> "tuple[Experiment, Report, Outcome]":
    """Run one wave after the other until it is decided, the repeats are used up, or waves can't be completed."""
    outcome = look(store, experiment, until)
    target = max([experiment.repeats, *_started(store, experiment)])
    report, stalls = Report(), 0
    while outcome.found.decision == "undecided" or outcome.found.waves < experiment.repeats:
        before = outcome.found.waves
        if before >= until.max_repeats:
            break
        target = max(target, before + 1)
        wave = conduct(experiment.model_copy(update={"repeats": target}))
        report = Report(report.finished + wave.finished, wave.left, wave.stopped_by, wave.error)
        outcome = look(store, experiment, until)
        if report.stopped_by is not None:
            break
        stalls = stalls + 1 if outcome.found.waves == before else 0
        if stalls == MOST_STALLS:
            missing = ", ".join(map(str, outcome.incomplete[:5])) or str(target)
            report.stopped_by = f"repeat {missing} could not be completed for infrastructure reasons"
            break
        note(outcome.progress())
    return experiment.model_copy(update={"repeats": target}), report, outcome


def _started(store: "Store", experiment: Experiment) -> set[int]:
    return {cell.repeat for cell in store.finished_cells(experiment.id)}


def look(store: "Store", experiment: Experiment, until: Until) -> Outcome:
    """What the stored runs say so far."""
    from steelyard.compare.table import table_of
    from steelyard.formulas.records import record_of

    return weigh_waves(table_of(record_of(run) for run in store.iter_runs(experiment.id)), experiment, until)


def weigh_waves(table: "RecordTable", experiment: Experiment, until: Until) -> Outcome:
    """The decision on a table of runs, and what was saved."""
    from steelyard.compare.sequential import decide, interval, waves_of

    arms = arms_of(experiment)
    tasks = [frozen.task.id for frozen in experiment.tasks]
    waves = waves_of(table, arms, tasks)
    passes = waves_of(table, arms, tasks, "pass_delta")
    found = decide(waves.deltas, until.alpha, until.margin)
    fixed, fixed_by = _fixed_design(table, arms, until, found.waves)
    spared = 0 if found.decision == "undecided" else fixed - found.waves
    costs = _cost_of_wave(table, experiment)
    return Outcome(
        until=until,
        arms=arms,
        found=found,
        measure=waves.measure,
        pass_interval=interval(passes.deltas, until.alpha),
        incomplete=waves.incomplete,
        fixed=fixed,
        fixed_by=fixed_by,
        runs_saved=spared * len(tasks) * len(experiment.arms),
        cost_saved_usd=None if costs is None else spared * costs,
    )


def _fixed_design(table: "RecordTable", arms: tuple[str, str], until: Until, waves: int) -> tuple[int, str]:
    """What `plan` would ask for to see the margin, at least what a promotion needs; `--max-repeats` where it can't."""
    from steelyard.compare.designs import Wanted, design_of
    from steelyard.compare.pilots import pilot_of
    from steelyard.compare.weigh import MIN_REPEATS

    if waves >= 2:  # one repeat says nothing about chance within a task
        pilot = pilot_of(table, *arms)
        repeats = design_of("composite_delta", pilot, Wanted(until.margin, 0.8, until.alpha, waves)).wanted.repeats
        if repeats is not None:
            return max(MIN_REPEATS, repeats), "plan"
    return until.max_repeats, "max_repeats"


def _cost_of_wave(table: "RecordTable", experiment: Experiment) -> float | None:
    """What one repeat of every task and arm costs on average; None when an arm's cost is not known."""
    import numpy as np

    total = 0.0
    for arm in experiment.arms:
        costs = table.number("total_cost_usd")[table.rows_of(arm.name)]
        if not (~np.isnan(costs)).any():
            return None
        total += float(np.nanmean(costs))
    return total * len(experiment.tasks)


def waves_note(experiment: Experiment, table: "Callable[[], RecordTable]") -> tuple[str, ...]:
    """What `compare` adds to its notes; nothing for an experiment with a fixed number of repeats."""
    until = kept_of(experiment)
    if until is None:
        return ()
    try:
        return (weigh_waves(table(), experiment, until).line(),)
    except InputError:
        return ()  # its arms are not clear: then `compare` itself says so


def _short(number: float) -> float:
    return float(f"{number:.6g}")
