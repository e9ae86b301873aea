"""steelyard rescore: stored runs graded and scored again, and which verdicts that changes."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.judging import add_options
from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError
from steelyard.formulas.scorecard import FORMULA_VERSION
from steelyard.settings import read_settings

if TYPE_CHECKING:
    from steelyard.domain.comparison import Comparison
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.record import JsonObject
    from steelyard.domain.run import Run
    from steelyard.promote.again import Regraded, Wish
    from steelyard.store.database import Store
    from steelyard.wiring import Choices

MOST_SHOWN = 50


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = (
        "examples:\n  steelyard rescore latest --scorers stricter.yaml\n  steelyard rescore --all --dry-run\n"
        "  steelyard rescore latest --judge anthropic --model claude-opus-5-5"
    )
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="an id, the start of one, or latest")
    parser.add_argument("--all", action="store_true", help="every experiment: which past verdicts would flip")
    parser.add_argument("--runs", nargs="+", metavar="R", default=[], help="only these runs")
    parser.add_argument("--scorers", type=Path, metavar="FILE", help="grade with these instead of each task's own")
    parser.add_argument("--score-only", action="store_true", help="grade nothing; compute the scorecards again")
    parser.add_argument(
        "--formula", choices=(FORMULA_VERSION,), default=FORMULA_VERSION, help="the scorecard formula's version"
    )
    add_options(parser, None, "judge again instead of grading: a judge's name, or auto")
    parser.add_argument("--dry-run", action="store_true", help="store nothing")
    parser.add_argument("--sandbox", default="auto", metavar="S", help="local, bwrap, docker, or auto (default)")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count() or 1, help="runs at the same time")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """0; 1 when an experiment turns out regressed that was not; 3 when nothing could be graded again."""
    from steelyard.cli.stored import open_existing

    wish = _wish(args)
    _refuse_mixtures(args)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job leaves nothing behind either
    with open_existing() as store:
        chosen = _chosen(store, args)
        if args.judge is not None:
            from steelyard.cli.rejudge import judge_again

            return judge_again(store, chosen, args)
        found = [_one(store, experiment, runs, args, wish) for experiment, runs in chosen]
    if args.json:
        emit_json({"stored": wish.keep, "formula": args.formula, "experiments": [_document(one) for one in found]})
    else:
        for one in found:
            _show(one, args)
    if any(_verdict(one.after) == "regressed" != _verdict(one.before) for one in found):
        return 1
    return 0 if any(one.graded for one in found) or not any(one.skipped for one in found) else 3


def _wish(args: argparse.Namespace) -> "Wish":
    from steelyard.engine.lab import instant
    from steelyard.promote.again import Wish
    from steelyard.suites.load import load_scorers

    if not args.runs and args.all == (args.experiment is not None):
        raise InputError("say what to grade again: an experiment (latest, for example), --runs R…, or --all")
    if args.all and (args.runs or args.experiment):
        raise InputError("--all stands alone: leave out EXPERIMENT and --runs")
    if args.score_only and args.scorers:
        raise InputError("--score-only grades nothing; leave out --scorers")
    if not 1 <= args.jobs <= 10_000:
        raise InputError(f"--jobs {args.jobs}: allowed: 1 to 10000")
    scorers = load_scorers(args.scorers) if args.scorers else None
    return Wish(
        lambda: instant(datetime.now(UTC)), scorers, grade=not args.score_only, keep=not args.dry_run, jobs=args.jobs
    )


def _refuse_mixtures(args: argparse.Namespace) -> None:
    if args.judge is None:
        if args.model is not None or args.no_cache:
            raise InputError(f"{'--model' if args.model else '--no-cache'} goes with --judge NAME")
    elif args.scorers or args.score_only:
        raise InputError("--judge judges again and grades nothing; leave out --scorers and --score-only")


def _chosen(store: "Store", args: argparse.Namespace) -> "Iterator[tuple[Experiment, set[str] | None]]":
    """The experiments, each with the ids of the runs that were asked for, or None for all of them."""
    from steelyard.cli.export import every_experiment

    if args.all:
        yield from ((experiment, None) for experiment in every_experiment(store))
        return
    named = [store.run(name).run for name in args.runs]
    if args.experiment is None:
        for name in dict.fromkeys(run.experiment for run in named):
            yield store.experiment(name), {run.run_id for run in named if run.experiment == name}
        return
    experiment = store.experiment(args.experiment)
    foreign = [run.run_id for run in named if run.experiment != experiment.id]
    if foreign:
        raise InputError(f"--runs {foreign[0]}: is not a run of experiment {experiment.id}")
    yield experiment, {run.run_id for run in named} or None


def _one(
    store: "Store", experiment: "Experiment", only: set[str] | None, args: argparse.Namespace, wish: "Wish"
) -> "Regraded":
    from steelyard.promote.again import Regraded, conclude, look_again
    from steelyard.wiring import open_lab

    runs = list(store.iter_runs(experiment.id))
    wanted = [run for run in runs if only is None or run.run_id in only]
    found = Regraded(experiment)
    pairs: list[tuple[Run, Run]] = []
    with ExitStack() as stack:
        lab = None
        if wish.grade and wanted:
            lab = stack.enter_context(open_lab(read_settings(), _choices(experiment, args)))
        for count, (before, after) in enumerate(look_again(store, experiment, wanted, lab, wish), 1):
            if isinstance(after, str):
                found.skipped.append((before, after))
            else:
                pairs.append((before, after))
            if not args.json:
                _progress(count, len(wanted), before, after)
    touched = {before.run_id for before, _ in pairs}
    return conclude(found, pairs, [run for run in runs if run.run_id not in touched])


def _choices(experiment: "Experiment", args: argparse.Namespace) -> "Choices":
    from steelyard.sandboxes.choose import choose
    from steelyard.wiring import Choices

    path = Path(experiment.suite_path or ".")
    return Choices(choose(args.sandbox), path if path.is_dir() else path.parent, {})


def _progress(count: int, total: int, before: "Run", after: "Run | str") -> None:
    from steelyard.formulas.gates import overall

    said = f"skipped: {after}" if isinstance(after, str) else f"{overall(before.scorers)} → {overall(after.scorers)}"
    end = "\r" if sys.stderr.isatty() and not isinstance(after, str) and count < total else "\n"
    if end == "\r":
        sys.stderr.write(f"\r\033[K[{count}/{total}]\r")
    else:
        note(f"[{count}/{total}] {before.task_id} {before.arm} #{before.repeat} {said}")


def _verdict(comparison: "Comparison | None") -> str | None:
    return None if comparison is None else comparison.verdict


def _document(one: "Regraded") -> "JsonObject":
    return {
        "experiment": one.experiment.id,
        "graded": one.graded,
        "skipped": [{"run_id": run.run_id, "reason": reason} for run, reason in one.skipped],
        "changed": [
            {
                "run_id": shift.run.run_id,
                "task_id": shift.run.task_id,
                "arm": shift.run.arm,
                "repeat": shift.run.repeat,
                "scorer": shift.scorer,
                "before": shift.before,
                "after": shift.after,
                "detail": shift.detail,
            }
            for shift in one.shifts
        ],
        "verdict": {"before": _verdict(one.before), "after": _verdict(one.after)},
        "promote": {
            "before": None if one.before is None else one.before.promote,
            "after": None if one.after is None else one.after.promote,
        },
        "flips": flips(one.before, one.after),
    }


def flips(before: "Comparison | None", after: "Comparison | None") -> list[str]:
    """Which decisions of an experiment come out otherwise now, and why; a line each."""
    if before is None or after is None:
        return []
    lines = []
    if before.verdict != after.verdict:
        why = "; ".join(f"{r.task_id}: {r.detail}" for r in after.regressions if r.hard) or (
            f"net composite gain {_number(before.net_composite_gain)} → {_number(after.net_composite_gain)}"
        )
        lines.append(f"verdict {before.verdict} → {after.verdict}: {why}")
    if before.promote != after.promote:
        words = {True: "promote", False: "do not promote"}
        reasons = "; ".join(after.promote_reasons or before.promote_reasons)
        lines.append(f"{words[before.promote]} → {words[after.promote]}: {reasons}")
    if before.decision.choice != after.decision.choice:
        lines.append(f"decision {before.decision.choice} → {after.decision.choice}")
    return lines


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def _show(one: "Regraded", args: argparse.Namespace) -> None:
    from steelyard.cli.table import print_table

    what = "scored" if args.score_only else "graded"
    kept = " (nothing stored)" if args.dry_run else ""
    say(f"experiment {one.experiment.id}: {one.graded} runs {what} again, {len(one.skipped)} skipped{kept}")
    reasons: dict[str, int] = {}
    for _, reason in one.skipped:
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        say(f"  skipped {count}: {reason}")
    if one.shifts:
        rows = [
            (
                s.run.run_id,
                s.run.task_id,
                s.run.arm,
                str(s.run.repeat),
                s.scorer,
                f"{s.before or '-'} → {s.after or '-'}",
            )
            for s in one.shifts[:MOST_SHOWN]
        ]
        print_table(("run", "task", "arm", "#", "scorer", "verdict"), rows)
        if len(one.shifts) > MOST_SHOWN:
            say(f"  … and {len(one.shifts) - MOST_SHOWN} more (--json shows them)")
    elif one.graded and not args.score_only:
        say("  no verdict of a scorer changed")
    lines = flips(one.before, one.after)
    for line in lines:
        say(f"  FLIPS: {line}")
    if not lines and one.after is not None:
        say(f"  the verdict stays {one.after.verdict}, {'promote' if one.after.promote else 'do not promote'}")
