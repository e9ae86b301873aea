"""How an experiment ends: a table per arm, what was caught, the verdict, and the next command."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, say
from steelyard.domain.experiment import Experiment
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Run
from steelyard.engine.crew import Report
from steelyard.errors import InputError
from steelyard.formulas.composite import composite_of, cost_of, reference_cost
from steelyard.formulas.gates import gates_of, mean_score, overall

if TYPE_CHECKING:
    from steelyard.domain.comparison import Comparison
    from steelyard.store.database import Store


@dataclass(frozen=True)
class Rated:
    """A run with the numbers derived from it."""

    run: Run
    composite: float | None
    score: int | None
    tier: str


def conclude(store: "Store", experiment: Experiment, report: Report, *, as_json: bool) -> int:
    """Say what came of an experiment; the exit code is the verdict's, or 3 when nothing could be measured."""
    rated = rate(store, experiment)
    comparison = comparison_of([one.run for one in rated], experiment)
    if as_json:
        emit_json(document(experiment, rated, comparison) | {"stopped_by": report.stopped_by, "left": report.left})
    else:
        _show(experiment, rated, comparison, report)
    measured = [one for one in rated if not one.run.is_infrastructure]
    if rated and not measured:
        return 3
    return 1 if comparison is not None and comparison.verdict == "regressed" else 0


def rate(store: "Store", experiment: Experiment) -> list[Rated]:
    """Every run of the experiment with its composite against the baseline arm's mean, its score and tier."""
    from steelyard.store.reads import RunFilter

    runs = list(store.iter_runs(experiment.id))
    cards: dict[str, JsonObject] = {}
    after: int | None = None
    while page := store.runs(RunFilter(experiment=experiment.id), after=after, limit=500):
        cards |= {row["run_id"]: row for row in page}
        after = page[-1]["seq"]
    baseline = experiment.compare.baseline
    references = {
        task: reference_cost([cost_of(run) for run in runs if run.task_id == task and _counts(run, baseline)])
        for task in {run.task_id for run in runs}
    }
    return [
        Rated(
            run,
            None
            if run.is_infrastructure
            else round(composite_of(run, None if run.arm == baseline else references[run.task_id]), 6),
            cards[run.run_id]["score"],
            cards[run.run_id]["tier"],
        )
        for run in runs
    ]


def _counts(run: Run, baseline: str | None) -> bool:
    return run.arm == baseline and not run.is_infrastructure


def comparison_of(runs: Sequence[Run], experiment: Experiment) -> "Comparison | None":
    """The arms weighed against each other; None with fewer than two arms that ran."""
    from steelyard.formulas.records import record_of

    if len({run.arm for run in runs}) < 2:
        return None
    from steelyard.compare.weigh import weigh

    try:
        return weigh([record_of(run) for run in runs], spec=experiment.compare)
    except InputError:
        return None  # three arms or more, and the suite does not say which two to compare


def document(experiment: Experiment, rated: Sequence[Rated], comparison: "Comparison | None") -> JsonObject:
    """What `run --json` prints."""
    return {
        "experiment": experiment.id,
        "workspace": experiment.workspace,
        "runs": [run_document(one) for one in rated],
        "comparison": None if comparison is None else comparison.model_dump(mode="json"),
    }


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


def _show(experiment: Experiment, rated: Sequence[Rated], comparison: "Comparison | None", report: Report) -> None:
    if rated:
        say(_arm_table(experiment, rated))
    for line in caught(rated):
        say(line)
    broken = [one.run for one in rated if one.run.is_infrastructure]
    for run in broken[:5]:
        say(f"not measured: {run.task_id} {run.arm} #{run.repeat}: {run.error_class}: {run.error_detail}")
    if report.stopped_by is not None:
        say(f"stopped: {report.stopped_by}; {report.left} runs left; steelyard run {experiment.suite_path} --resume")
    if comparison is not None:
        from steelyard.reports.text import headline

        say()
        say(headline(comparison))
    if rated:
        say()
        say(f"next: steelyard compare {experiment.id}   steelyard show {rated[-1].run.run_id}")


def _arm_table(experiment: Experiment, rated: Sequence[Rated]) -> str:
    rows = [["arm", "runs", "passed", "composite", "score", "tier", "cost", "tokens", "median s"]]
    for arm in experiment.arms:
        mine = [one for one in rated if one.run.arm == arm.name]
        if not mine:
            continue
        counted = [one for one in mine if not one.run.is_infrastructure]
        passes = sum(overall(one.run.scorers) == "PASS" for one in counted)
        scores = [one.score for one in counted if one.score is not None]
        costs = [one.run.usage.cost_usd for one in counted if one.run.usage.cost_usd is not None]
        tokens = [one.run.usage.total_tokens for one in counted if one.run.usage.total_tokens is not None]
        rows.append(
            [
                arm.name,
                str(len(mine)),
                f"{passes}/{len(counted)}",
                _mean([one.composite for one in counted if one.composite is not None], 3),
                _mean(scores, 0),
                _tier(scores),
                f"${sum(costs):.2f}" if costs else "unknown",
                f"{sum(tokens):,}" if tokens else "unknown",
                _middle([one.run.wall_s for one in counted]),
            ]
        )
    return aligned(rows)


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


def _mean(values: Sequence[float], digits: int) -> str:
    return f"{sum(values) / len(values):.{digits}f}" if values else "-"


def _middle(values: Sequence[float]) -> str:
    ordered = sorted(values)
    half = len(ordered) // 2
    if not ordered:
        return "-"
    return f"{ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2:.2f}"


def _tier(scores: Sequence[int]) -> str:
    from steelyard.formulas.scorecard import tier_of

    return tier_of(round(sum(scores) / len(scores))) if scores else "Unranked"


INTEGRITY = {
    "tests_unmodified",
    "baseline_unmodified",
    "no_new_skips",
    "assertions_not_weakened",
    "harness_unmodified",
    "baseline_tests_pass",
    "hidden_tests",
    "trajectory_rules",
    "forbid_secrets",
}


def caught(rated: Sequence[Rated]) -> list[str]:
    """Which arms gamed which checks on which tasks, a line each, with one run to look at."""
    found: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for one in rated:
        for result in one.run.scorers:
            if result.type in INTEGRITY and result.verdict == "FAIL" and not result.crashed:
                key = (one.run.arm, one.run.task_id, result.name)
                found.setdefault(key, []).append((one.run.run_id, result.detail))
    return [
        f"caught: {arm} on {task}: {name}: {places[0][1]} ({len(places)} of its runs, e.g. {places[0][0]})"
        for (arm, task, name), places in sorted(found.items())
    ]
