"""Weigh the runs of experiments: their records, and beside them parity and whether the treatment was received."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.compare.judged import Tally
from steelyard.compare.parity import ArmFacts, parity_notes
from steelyard.compare.table import Columns, RecordTable, refuse_duplicates
from steelyard.compare.weigh import MIN_REPEATS, weigh
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.comparison import Comparison, Disagreement, Treatment
from steelyard.domain.run import Run
from steelyard.domain.suite import Arm
from steelyard.formulas.gates import HARD_CONSTRAINT, NOT_CONVINCING, WARNING, gates_of
from steelyard.formulas.hidden import GapTally
from steelyard.formulas.records import record_of

TREATED_RESAMPLES = 2000
MOST_FILES = 20
MOST_RUN_IDS = 3  # of one reading and arm: enough to begin reading, `runs --disagree` lists all


@dataclass
class Material:
    """Runs gathered for a comparison, without keeping them: columns, and what parity needs to know."""

    columns: Columns = field(default_factory=Columns)
    facts: dict[str, ArmFacts] = field(default_factory=dict)
    arms: dict[str, Arm] = field(default_factory=dict)
    disagreeing: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    judged: dict[str, Tally] = field(default_factory=dict)
    gaps: GapTally = field(default_factory=GapTally)

    def add(self, run: Run, arm: str | None = None) -> None:
        """One more run, under another arm's name where two experiments share one."""
        name = arm or run.arm
        self.columns.add(record_of(run).model_copy(update={"arm": name}))
        self.gaps.add(run, name)
        facts = self.facts.setdefault(name, ArmFacts())
        if not run.is_infrastructure:
            facts.add(run)
            self.judged.setdefault(name, Tally()).add(run.judge)
            reading = gates_of(run).disagreement if run.judge is not None else None
            if reading is not None:
                self.disagreeing.setdefault((reading, name), []).append(run.run_id)

    def table(self) -> RecordTable:
        """The records as columns."""
        table = self.columns.table()
        refuse_duplicates(table)
        return table


def material_of(runs: Iterable[Run], arms: Sequence[Arm]) -> Material:
    """The runs of one experiment."""
    found = Material(arms={arm.name: arm for arm in arms})
    for run in runs:
        found.add(run)
    return found


def weigh_runs(
    material: Material,
    baseline: str | None = None,
    candidate: str | None = None,
    spec: CompareSpec = CompareSpec(),  # noqa: B008  # frozen
    min_repeats: int = MIN_REPEATS,
) -> Comparison:
    """Compare two arms of stored runs, with parity notes and what treated runs alone would say."""
    table = material.table()
    answer = weigh(table, baseline, candidate, spec, min_repeats)
    names = (answer.baseline, answer.candidate)
    parity = parity_notes(material.facts, material.arms, names)
    treatment = tuple(_treatment(table, material.facts, names, spec))
    notes = [*answer.notes, *(f"parity: {note}" for note in parity), *_treatment_notes(treatment)]
    found = {"parity": tuple(parity), "treatment": treatment, "notes": tuple(notes)}
    found["hidden_gaps"] = tuple(gap for gap in material.gaps.gaps() if gap.arm in names)
    judged = tuple(material.judged[name].summary(name) for name in names if name in material.judged)
    if any(one.models for one in judged):
        found["judged"] = judged
    return answer.model_copy(update={**found, "disagreements": tuple(_disagreements(material, names))})


def _disagreements(material: Material, names: tuple[str, str]) -> Iterable[Disagreement]:
    """What the gates of the two arms' runs disagree on, reading by reading."""
    for reading in (HARD_CONSTRAINT, NOT_CONVINCING, WARNING):
        for name in names:
            runs = material.disagreeing.get((reading, name), [])
            if runs:
                yield Disagreement(reading=reading, arm=name, runs=len(runs), run_ids=tuple(runs[:MOST_RUN_IDS]))


def _treatment(
    table: RecordTable, facts: Mapping[str, ArmFacts], names: tuple[str, str], spec: CompareSpec
) -> Iterable[Treatment]:
    """For each of the two arms that adds files: how many runs met them."""
    for name, other in (names, names[::-1]):
        files = facts[name].files
        added = files - facts[other].files or files
        if not added:
            continue
        received = facts[name].received(added)
        found = Treatment(
            arm=name,
            files=tuple(sorted(added)[:MOST_FILES]),
            runs=len(facts[name].read) + facts[name].unknown,
            received=len(received),
            unknown=facts[name].unknown,
        )
        if 0 < len(received) < found.runs:
            treated = _treated_only(table, name, received)
            paired = weigh(treated, *names, spec, 1, TREATED_RESAMPLES).paired
            deltas = {"pass_delta": paired.pass_delta, "composite_delta": paired.composite_delta}
            found = found.model_copy(update=deltas)
        yield found


def _treated_only(table: RecordTable, arm: str, received: set[str]) -> RecordTable:
    """The table without those runs of an arm that did not meet what it added."""
    import numpy as np

    mine = np.flatnonzero(table.arm == table.arms.index(arm))
    return table.without([int(row) for row in mine if table.run_ids[int(row)] not in received])


def _treatment_notes(treatment: Iterable[Treatment]) -> list[str]:
    notes = []
    for one in treatment:
        if one.received == one.runs:
            continue
        missed = one.runs - one.unknown - one.received
        if one.received == 0 and missed:
            notes.append(
                f"treatment: no run of {one.arm} is known to have read a file that its overlay added: "
                "what differs may not be its doing"
            )
        elif missed or one.unknown:
            notes.append(
                f"treatment: {one.received} of {one.runs} runs of {one.arm} read a file that its overlay added"
                + (f"; of {one.unknown} it is not known" if one.unknown else "")
            )
    return notes
