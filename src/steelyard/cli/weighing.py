"""What `compare` weighs: the runs of one experiment, of two, or records from anywhere."""

import argparse
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from steelyard.domain.compare_spec import CompareSpec
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.compare.runs import Material
    from steelyard.compare.table import RecordTable
    from steelyard.domain.comparison import Comparison
    from steelyard.domain.experiment import Experiment
    from steelyard.store.database import Store


@dataclass(frozen=True)
class Weighing:
    """What there is to weigh: stored runs (`material`), or a table of records with the lines that were left out."""

    spec: CompareSpec = CompareSpec()
    material: "Material | None" = None
    records: "RecordTable | None" = None
    skipped: int = 0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def table(self) -> "RecordTable":
        """The records, whatever they came from."""
        if self.records is not None:
            return self.records
        assert self.material is not None  # noqa: S101  # for the type checker: one of the two is there
        return self.material.table()

    def compare(self, args: argparse.Namespace) -> "Comparison":
        """The arms weighed against each other."""
        if self.material is not None:
            from steelyard.compare.runs import weigh_runs

            answer = weigh_runs(self.material, args.baseline, args.candidate, self.spec, args.min_repeats)
        else:  # records load nothing of runs
            from steelyard.compare.weigh import weigh

            answer = weigh(self.table, args.baseline, args.candidate, self.spec, args.min_repeats)
        notes = [*answer.notes, *self.notes]
        excluded = dict(answer.excluded)
        if self.skipped:
            lines = "1 bad line was" if self.skipped == 1 else f"{self.skipped:,} bad lines were"
            notes += [f"{lines} left out (--skip-bad)", *self.problems[:5]]
            excluded["bad_lines"] = self.skipped
        return answer.model_copy(update={"notes": tuple(notes), "excluded": excluded})


def gather(args: argparse.Namespace) -> Weighing:
    """Read what the command line names; its arms are settled in `args`."""
    found = _from_records(args) if args.records else _from_store(args)
    if args.regressions:
        found = replace(found, spec=found.spec.model_copy(update={"regressions": args.regressions}))
    return found


def _from_records(args: argparse.Namespace) -> Weighing:
    from steelyard.interop.records import read_records

    reading = read_records(args.records, skip_bad=args.skip_bad)
    return Weighing(records=reading.table, skipped=reading.skipped, problems=reading.problems)


def _from_store(args: argparse.Namespace) -> Weighing:
    from steelyard.cli.stored import open_existing

    with open_existing() as store:
        experiments = [store.experiment(name) for name in args.experiments]
        if len(experiments) == 2:
            return _two(store, experiments[0], experiments[1], args)
        return _one(store, experiments[0])


def _one(store: "Store", experiment: "Experiment") -> Weighing:
    from steelyard.cli.waves import waves_note
    from steelyard.compare.runs import material_of

    material = material_of(store.iter_runs(experiment.id), experiment.arms)
    if not material.facts:
        raise InputError(f"experiment {experiment.id} has no finished runs yet")
    notes = waves_note(experiment, material.table)
    return Weighing(spec=_known_arms(experiment.compare, material), material=material, notes=notes)


def _known_arms(spec: CompareSpec, material: "Material") -> CompareSpec:
    """The suite's choice of arms, where those arms have runs: `run --arm` may have left one out."""
    kept = {side: getattr(spec, side) for side in ("baseline", "candidate")}
    return spec.model_copy(update={side: arm if arm in material.facts else None for side, arm in kept.items()})


def _two(store: "Store", first: "Experiment", second: "Experiment", args: argparse.Namespace) -> Weighing:
    """The arms of two experiments together; an arm's name that both have is followed by @ and the experiment."""
    from steelyard.compare.together import Part, together

    if first.id == second.id:
        raise InputError(f"both experiments are {first.id}; give it once, or two different ones")
    parts = [Part(each.id, each.arms, store.iter_runs(each.id)) for each in (first, second)]
    material, names = together(parts)
    for part, own in zip(parts, names, strict=True):
        if not own:
            raise InputError(f"experiment {part.experiment} has no finished runs yet")
    args.baseline, args.candidate = _sides(names, args)
    note = f"the arms come from two experiments, {first.id} and {second.id}: they did not run side by side"
    return Weighing(spec=second.compare.model_copy(update=_NO_ARMS), material=material, notes=(note,))


_NO_ARMS = {"baseline": None, "candidate": None}


def _sides(names: list[dict[str, str]], args: argparse.Namespace) -> tuple[str | None, str | None]:
    """A plain arm name means the first experiment's arm for the baseline, the second's for the candidate."""
    first, second = names
    baseline, candidate = args.baseline, args.candidate
    if baseline is None and candidate is None and len(first) == len(second) == 1:
        return next(iter(first.values())), next(iter(second.values()))
    if candidate is None and baseline in first and baseline in second:
        candidate = baseline
    elif baseline is None and candidate in first and candidate in second:
        baseline = candidate
    return first.get(baseline or "", baseline), second.get(candidate or "", candidate)
