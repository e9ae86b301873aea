"""steelyard judge pairs: runs of two arms on the same task held against each other, blind and in both orders."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError, SteelyardError

if TYPE_CHECKING:
    from steelyard.cli.judging import Bench
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.record import JsonObject
    from steelyard.domain.run import Run
    from steelyard.judge.base import JudgeRequest
    from steelyard.judge.pairwise import Entry, Match, Preference
    from steelyard.store.database import Store

ARTIFACTS = ("diff",)


@dataclass(frozen=True)
class Pair:
    """Two runs of one (task, repeat)."""

    baseline: "Run"
    candidate: "Run"


def pairs(args: argparse.Namespace) -> int:
    """0 when at least one pair was answered, 3 when none was."""
    from steelyard.cli.judging import open_bench, side_by_side
    from steelyard.cli.stored import open_existing
    from steelyard.judge.pairwise import read_preference
    from steelyard.judge.standings import standings

    matches: list[Match] = []
    skipped: list[tuple[Pair, str]] = []
    with open_existing() as store:
        experiment = store.experiment(args.what)
        arms, chosen = _chosen(store, experiment, args)
        with open_bench(store, args, reads=read_preference) as bench:
            bench.choice.look([frozen.task.judge for frozen in experiment.tasks])
            for count, (pair, found) in enumerate(side_by_side(chosen, partial(_match, bench)), 1):
                if isinstance(found, str):
                    skipped.append((pair, found))
                else:
                    matches.append(found)
                if not args.json:
                    run = pair.candidate
                    said = f"skipped: {found}" if isinstance(found, str) else _words(found)
                    note(f"[{count}/{len(chosen)}] {run.task_id} #{run.repeat} {said}")
    matches.sort(key=lambda match: (match.task_id, match.repeat))
    result = standings(matches)
    if args.json:
        emit_json(_document(experiment, arms, result, matches, skipped))
    else:
        _show(arms, result, skipped)
    return 0 if any(match.result != "unanswered" for match in matches) else 3


def _chosen(store: "Store", experiment: "Experiment", args: argparse.Namespace) -> tuple[tuple[str, str], list[Pair]]:
    """The two arms (baseline, candidate) and their pairs, first repeats first: a limit then leaves most tasks in."""
    from steelyard.compare.arms import pick_arms

    names = [arm.name for arm in experiment.arms]
    if not names:
        raise InputError(f"experiment {experiment.id} was imported: its runs have no diff to choose between")
    suite = experiment.compare
    arms = pick_arms(names, args.baseline or suite.baseline, args.candidate or suite.candidate)
    tasks = [frozen.task.id for frozen in experiment.tasks]
    if args.task is not None and args.task not in tasks:
        raise InputError(f"--task {args.task}: the experiment has no such one; it has: {', '.join(tasks)}")
    runs: dict[tuple[int, str], dict[str, Run]] = {}
    for run in store.iter_runs(experiment.id):
        if run.arm in arms and args.task in (None, run.task_id) and not run.is_infrastructure and run.imported is None:
            runs.setdefault((run.repeat, run.task_id), {})[run.arm] = run
    found = [Pair(both[arms[0]], both[arms[1]]) for _, both in sorted(runs.items()) if len(both) == 2]
    if not found:
        raise InputError(f"experiment {experiment.id} has no pair of runs of {arms[0]} and {arms[1]} to choose between")
    return arms, found[: args.limit]


def _match(bench: "Bench", pair: Pair) -> "Match | str":
    """Both orders of a pair, or why it can't be judged."""
    from steelyard.judge.base import About
    from steelyard.judge.pairwise import Match, play, prefer, same_work

    baseline, candidate = pair.baseline, pair.candidate
    try:
        seats = bench.choice.seats(bench.store.task(baseline.task_sha256).task.judge)
        if not seats:
            return "nobody judges its task"
        entries = (_entry(bench, baseline), _entry(bench, candidate))
        match = partial(Match, baseline.task_id, baseline.repeat, baseline.run_id, candidate.run_id)
        if same_work(*entries):
            return match(identical=True)

        def choose(request: "JudgeRequest") -> "Preference":
            return prefer(bench.jury, seats, request)

        first, second = play(*entries, About(baseline.task_id, repeat=baseline.repeat), choose)
    except SteelyardError as error:
        return str(error)
    return match(first=first, second=second)


def _entry(bench: "Bench", run: "Run") -> "Entry":
    from steelyard.judge.jury import keys_of
    from steelyard.judge.pairwise import Entry

    return Entry(run.arm, bench.evidence(run, ARTIFACTS), (*bench.secrets(run), *keys_of(bench.environ)))


def _words(match: "Match") -> str:
    if match.identical:
        return "tie (the same work)"
    return f"{match.result} ({match.first.better or '?'}, then {match.second.better or '?'})"


def _document(
    experiment: "Experiment",
    arms: tuple[str, str],
    result: "JsonObject",
    matches: "list[Match]",
    skipped: list[tuple[Pair, str]],
) -> "JsonObject":
    return {
        "experiment": experiment.id,
        "baseline": arms[0],
        "candidate": arms[1],
        **result,
        "matches": [
            {
                "task_id": match.task_id,
                "repeat": match.repeat,
                "baseline_run": match.baseline_run,
                "candidate_run": match.candidate_run,
                "result": match.result.replace(" ", "_"),
                "identical": match.identical,
                "orders": [
                    {"x": x, "y": y, "better": said.better, "reason": said.reason, "cached": said.cached}
                    for x, y, said in ((*arms, match.first), (*arms[::-1], match.second))
                ],
            }
            for match in matches
        ],
        "skipped": [
            {"task_id": pair.baseline.task_id, "repeat": pair.baseline.repeat, "reason": reason}
            for pair, reason in skipped
        ],
    }


def _show(arms: tuple[str, str], result: "JsonObject", skipped: list[tuple[Pair, str]]) -> None:
    from steelyard.reports.words import many

    baseline, candidate = arms
    counts = f"{many(result['pairs'], 'pair')} on {many(result['tasks'], 'task')}"
    say(f"{candidate} against {baseline}, blind, in both orders: {counts}")
    say(f"  {candidate} {result['wins']} wins, {result['ties']} ties, {result['losses']} losses")
    if result["identical"]:
        say(f"  {result['identical']} of the ties did the same work; nobody was asked")
    if result["by_position"]:
        say(f"  {result['by_position']} not counted: the answer changed with the order")
    if result["unanswered"]:
        say(f"  {result['unanswered']} not counted: no answer that can be read")
    net = result["net_preference"]
    if net["mean"] is not None:
        interval = net["ci95"]
        known = (
            "too few tasks for an interval"
            if interval is None
            else f"95 % interval {interval[0]:+.3f} to {interval[1]:+.3f}"
        )
        say(f"  net preference {net['mean']:+.3f} ({known}, p {net['p']:.4g} by task)")
    position = result["position"]
    if position["x_share"] is not None:
        say(
            f"  position: X, shown first, was preferred in {100 * position['x_share']:.1f} % of "
            f"{position['answers']} answers; {position['pairs_leaning_to_first']} pairs lean to the first, "
            f"{position['pairs_leaning_to_second']} to the second (exact p {position['p']:.4g})"
        )
    cost = "unknown" if result["cost_usd"] is None else f"${result['cost_usd']:.4f}"
    say(f"  {result['requests']} questions, {result['cached']} answered from the cache, cost {cost}")
    for pair, reason in skipped:
        say(f"  skipped: {pair.baseline.task_id} #{pair.baseline.repeat}: {reason}")
