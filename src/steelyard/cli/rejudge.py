"""steelyard rescore --judge: stored runs judged again from stored evidence, and which verdicts that changes."""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say

if TYPE_CHECKING:
    from steelyard.cli.judging import Bench
    from steelyard.domain.comparison import Comparison
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.grade import JudgeResult
    from steelyard.domain.record import JsonObject
    from steelyard.domain.run import Run
    from steelyard.judge.again import Flip
    from steelyard.store.database import Store

MOST_SHOWN = 50


@dataclass
class Rejudged:
    """An experiment whose runs were judged again."""

    experiment: "Experiment"
    judged: "list[Flip]" = field(default_factory=list)
    skipped: "list[tuple[Run, str]]" = field(default_factory=list)
    before: "Comparison | None" = None
    after: "Comparison | None" = None

    @property
    def changed(self) -> "list[Flip]":
        """The runs of which the judge says something else now."""
        return [flip for flip in self.judged if flip.changes]


def judge_again(
    store: "Store", chosen: "Iterable[tuple[Experiment, set[str] | None]]", args: argparse.Namespace
) -> int:
    """0; 1 when an experiment turns out regressed that was not; 3 when nothing could be judged again."""
    from steelyard.cli.judging import check_options, open_bench

    check_options(args)
    with open_bench(store, args) as bench:
        found = []
        for experiment, only in chosen:
            specs = [frozen.task.judge for frozen in experiment.tasks]
            bench.choice.look(specs)
            found.append(_one(bench, experiment, only, args))
    if args.json:
        emit_json({"stored": not args.dry_run, "experiments": [_document(one) for one in found]})
    else:
        for one in found:
            _show(one, args)
    if any(_verdict(one.after) == "regressed" != _verdict(one.before) for one in found):
        return 1
    return 0 if any(one.judged for one in found) or not any(one.skipped for one in found) else 3


def _one(bench: "Bench", experiment: "Experiment", only: set[str] | None, args: argparse.Namespace) -> Rejudged:
    from steelyard.cli.judging import side_by_side
    from steelyard.judge.again import Flip
    from steelyard.promote.again import weighed

    runs = list(bench.store.iter_runs(experiment.id))
    wanted = [run for run in runs if only is None or run.run_id in only]
    found = Rejudged(experiment)
    for count, (run, judged) in enumerate(side_by_side(wanted, bench.judge), 1):
        if isinstance(judged, str):
            found.skipped.append((run, judged))
        else:
            if not args.dry_run:
                bench.store.add_judgement(run.run_id, judged, secrets=bench.secrets(run))
            found.judged.append(Flip(run, run.judge, judged))
        if not args.json:
            _progress(f"{count}/{len(wanted)}", run, judged)
    found.judged.sort(key=lambda flip: (flip.run.task_id, flip.run.arm, flip.run.repeat, flip.run.run_id))
    now = {flip.run.run_id: flip.after for flip in found.judged}
    found.before = weighed(runs, experiment)
    found.after = weighed(
        (run.model_copy(update={"judge": now[run.run_id]}) if run.run_id in now else run for run in runs), experiment
    )
    return found


def _progress(count: str, run: "Run", judged: "JudgeResult | str") -> None:
    before = "-" if run.judge is None else run.judge.verdict
    said = f"skipped: {judged}" if isinstance(judged, str) else f"{before} → {judged.verdict}"
    kept = "" if isinstance(judged, str) or not judged.cached else " (cached)"
    note(f"[{count}] {run.task_id} {run.arm} #{run.repeat} {said}{kept}")


def _verdict(comparison: "Comparison | None") -> str | None:
    return None if comparison is None else comparison.verdict


def _said(judged: "JudgeResult | None") -> "JsonObject | None":
    if judged is None:
        return None
    names = ["verdict", "failure_mode", "task_completion", "instruction_adherence", "efficiency"]
    names += ["backend", "model", "prompt_version", "cost_usd", "cached"]
    return {name: getattr(judged, name) for name in names}


def _document(one: Rejudged) -> "JsonObject":
    from steelyard.cli.rescore import flips

    return {
        "experiment": one.experiment.id,
        "judged": len(one.judged),
        "cached": sum(flip.after.cached for flip in one.judged),
        "cost_usd": _cost(one),
        "skipped": [{"run_id": run.run_id, "reason": reason} for run, reason in one.skipped],
        "changed": [
            {
                "run_id": flip.run.run_id,
                "task_id": flip.run.task_id,
                "arm": flip.run.arm,
                "repeat": flip.run.repeat,
                "flips": flip.verdict_flips,
                "before": _said(flip.before),
                "after": _said(flip.after),
            }
            for flip in one.changed
        ],
        "verdict": {"before": _verdict(one.before), "after": _verdict(one.after)},
        "promote": {
            "before": None if one.before is None else one.before.promote,
            "after": None if one.after is None else one.after.promote,
        },
        "flips": flips(one.before, one.after),
    }


def _cost(one: Rejudged) -> float | None:
    """What it cost; None when a judge did not say."""
    costs = [flip.after.cost_usd for flip in one.judged]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _show(one: Rejudged, args: argparse.Namespace) -> None:
    from steelyard.cli.rescore import flips
    from steelyard.cli.table import print_table

    kept = " (nothing stored)" if args.dry_run else ""
    cached = sum(flip.after.cached for flip in one.judged)
    say(f"experiment {one.experiment.id}: {len(one.judged)} runs judged again, {len(one.skipped)} skipped{kept}")
    cost = _cost(one)
    price = "cost unknown" if cost is None else f"cost ${cost:.4f}"
    say(f"  {cached} answers were known already, {price}")
    reasons: dict[str, int] = {}
    for _, reason in one.skipped:
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        say(f"  skipped {count}: {reason}")
    changed = one.changed
    if changed:
        print_table(
            ("run", "task", "arm", "#", "verdict", "failure mode", "ratings"), [_row(f) for f in changed[:MOST_SHOWN]]
        )
        if len(changed) > MOST_SHOWN:
            say(f"  … and {len(changed) - MOST_SHOWN} more (--json shows them)")
    if one.judged:
        flipped = sum(flip.verdict_flips for flip in one.judged)
        say(f"  {flipped} verdicts of the judge flip")
    lines = flips(one.before, one.after)
    for line in lines:
        say(f"  FLIPS: {line}")
    if not lines and one.after is not None:
        say(f"  the verdict stays {one.after.verdict}, {'promote' if one.after.promote else 'do not promote'}")


def _row(flip: "Flip") -> tuple[str, ...]:
    run, changes = flip.run, flip.changes

    def shift(name: str) -> str:
        before, after = changes.get(name, (None, None))
        return f"{before or '-'} → {after or '-'}" if name in changes else ""

    names = ("task_completion", "instruction_adherence", "efficiency")
    ratings = ""
    if any(name in changes for name in names):
        before, after = (
            "/".join("-" if side is None or getattr(side, n) is None else str(getattr(side, n)) for n in names)
            for side in (flip.before, flip.after)
        )
        ratings = f"{before} → {after}"
    same = f"{flip.after.verdict}"
    return (
        run.run_id,
        run.task_id,
        run.arm,
        str(run.repeat),
        shift("verdict") or same,
        shift("failure_mode"),
        ratings,
    )
