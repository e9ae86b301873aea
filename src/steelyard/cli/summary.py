"""How an experiment ends: a table per arm, what was caught, the verdict, and the next command.

Runs are read twice and never all held: memory stays flat however many there are.
"""

import json
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from steelyard.cli.output import answer, say
from steelyard.cli.totals import Rated, Totals
from steelyard.domain.experiment import Experiment
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Run
from steelyard.engine.crew import Report
from steelyard.errors import InputError
from steelyard.formulas.composite import Cost, composite_of, cost_of, reference_cost
from steelyard.formulas.gates import gates_of, mean_score, overall
from steelyard.formulas.hidden import sentence

if TYPE_CHECKING:
    from steelyard.cli.waves import Outcome
    from steelyard.domain.comparison import Comparison
    from steelyard.store.database import Store


def conclude(
    store: "Store", experiment: Experiment, report: Report, *, as_json: bool, waves: "Outcome | None" = None
) -> int:
    """Say what came of an experiment.

    The exit code is the verdict's; without arms to compare, 1 when a run FAILs, else 3 when a task could not be
    measured; 3 always when nothing could.
    """
    comparison, references = weighed(store, experiment)
    totals = Totals()
    runs = totals.counting(rate(store, experiment, references))
    if as_json:
        _print_document(experiment, runs, comparison, report, waves)
    else:
        for _ in runs:
            pass
        _show(experiment, totals, comparison, report, waves)
    if totals.runs and not totals.measured:
        return 3
    if waves is not None and waves.found.decision == "regressed":
        return 1
    if comparison is not None:
        return 1 if comparison.verdict == "regressed" else 0
    if totals.failed:
        return 1
    return 0 if totals.all_measured else 3


def weighed(store: "Store", experiment: Experiment) -> "tuple[Comparison | None, dict[str, Cost]]":
    """The arms weighed against each other (None with fewer than two that ran), and the baseline's mean cost by task."""
    if len(experiment.arms) == 1:
        return None, {}  # nothing to compare, so what compares need not be loaded
    from steelyard.compare.runs import material_of, weigh_runs

    costs: dict[str, list[Cost]] = {}

    def seen() -> Iterator[Run]:
        for run in store.iter_runs(experiment.id):
            if run.arm == experiment.compare.baseline and not run.is_infrastructure:
                costs.setdefault(run.task_id, []).append(cost_of(run))
            yield run

    material = material_of(seen(), experiment.arms)
    references = {task: reference_cost(found) for task, found in costs.items()}
    if len(material.facts) < 2:
        return None, references
    try:
        return weigh_runs(material, spec=experiment.compare), references
    except InputError:
        return None, references  # three arms or more, and the suite does not say which two to compare


def rate(store: "Store", experiment: Experiment, references: dict[str, Cost] | None = None) -> Iterator[Rated]:
    """Every run of the experiment with its composite against the baseline arm's mean, its score and tier."""
    from steelyard.store.reads import RunFilter

    if references is None:
        references = weighed(store, experiment)[1]

    cards: dict[str, tuple[int | None, str]] = {}
    after: int | None = None
    while page := store.runs(RunFilter(experiment=experiment.id), after=after, limit=500):
        cards |= {row["run_id"]: (row["score"], row["tier"]) for row in page}
        after = page[-1]["seq"]
    for run in store.iter_runs(experiment.id):
        reference = None if run.arm == experiment.compare.baseline else references.get(run.task_id)
        yield Rated(run, None if run.is_infrastructure else _composite(run, reference), *cards[run.run_id])


def _composite(run: Run, reference: Cost | None) -> float | None:
    """Against the baseline's mean cost; of an imported run, what its record states, if anything."""
    if run.imported is None:
        return round(composite_of(run, reference), 6)
    from steelyard.formulas.records import record_of

    stated = record_of(run).composite
    return None if stated is None or not isfinite(stated) else round(stated, 6)


def _print_document(
    experiment: Experiment,
    runs: Iterator[Rated],
    comparison: "Comparison | None",
    report: Report,
    waves: "Outcome | None" = None,
) -> None:
    """What `run --json` prints, run by run."""
    head = json.dumps({"experiment": experiment.id, "workspace": experiment.workspace}, ensure_ascii=False)
    answer(head[:-1] + ', "runs": [')
    for number, one in enumerate(runs):
        answer(("," if number else "") + "\n" + json.dumps(run_document(one), ensure_ascii=False, allow_nan=False))
    tail = {
        "comparison": None if comparison is None else comparison.model_dump(mode="json"),
        "stopped_by": report.stopped_by,
        "left": report.left,
    }
    if waves is not None:
        tail["until_decided"] = waves.document()
    answer("\n], " + json.dumps(tail, ensure_ascii=False, allow_nan=False)[1:] + "\n")


def run_document(one: Rated) -> JsonObject:
    """One run as programs read it."""
    run = one.run
    return {
        "run_id": run.run_id,
        "task_id": run.task_id,
        "arm": run.arm,
        "repeat": run.repeat,
        "status": run.status,
        "outcome": run.outcome,
        "error_class": run.error_class,
        "error_detail": run.error_detail,
        "gates": gates_of(run).model_dump(mode="json"),
        "overall": overall(run.scorers),
        "mean_score": mean_score(run.scorers),
        "scorers": [result.model_dump(mode="json") for result in run.scorers],
        "judge": None if run.judge is None else run.judge.model_dump(mode="json"),
        "changed_files": list(run.changed_files),
        "composite": one.composite,
        "score": one.score,
        "tier": one.tier,
        "usage": run.usage.model_dump(mode="json"),
        "wall_s": run.wall_s,
        "stages": [attempt.model_dump(mode="json") for attempt in run.stages],
        "notes": list(run.notes),
    }


def _show(
    experiment: Experiment,
    totals: Totals,
    comparison: "Comparison | None",
    report: Report,
    waves: "Outcome | None" = None,
) -> None:
    if totals.runs:
        head = ["arm", "runs", "passed", "composite", "score", "tier", "cost", "tokens", "median s"]
        say(
            aligned(
                [head, *(totals.arms[arm.name].row(arm.name) for arm in experiment.arms if arm.name in totals.arms)]
            )
        )
    for line in totals.caught_lines():
        say(line)
    for gap in totals.gaps.gaps():
        say(sentence(gap))
    for line in totals.broken:
        say(f"not measured: {line}")
    if totals.unpriced and experiment.settings.get("max_cost_usd") is not None:
        count = "1 run" if totals.unpriced == 1 else f"{totals.unpriced} runs"
        say(f"budget: what {count} cost is not known and not counted; give the arm `prices`, or use --max-tokens")
    if report.stopped_by is not None:
        say(f"stopped: {report.stopped_by}; {report.left} runs left; {experiment.to_resume}")
    if comparison is not None:
        from steelyard.reports.text import headline

        say()
        say(headline(comparison))
    if waves is not None:
        say(waves.line())
    if totals.last is not None:
        say()
        say(f"next: steelyard compare {experiment.id}   steelyard show {totals.last}")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
