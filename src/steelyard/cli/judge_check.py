"""steelyard judge check: a judge's verdicts beside people's labels, and beside its own when asked again."""

import argparse
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.cli.judging import Bench
    from steelyard.domain.grade import JudgeResult
    from steelyard.domain.record import JsonObject
    from steelyard.domain.run import Run
    from steelyard.judge.agreement import Label, Labelled
    from steelyard.store.database import Store

MOST_SHOWN = 20


def check(args: argparse.Namespace) -> int:
    """0 when anything could be compared; 3 when no labelled run has a verdict."""
    from steelyard.cli.stored import open_existing
    from steelyard.judge.agreement import agreement_of, read_labels, retest_document

    labels = read_labels(args.what)
    with open_existing() as store:
        known, unknown = _look_up(store, labels)
        labelled, skipped, tries = _judged(store, known, args)
    found: JsonObject = {
        "judge": args.judge or "stored",
        "model": args.model,
        **agreement_of(labelled),
        "retest": retest_document(tries) if args.retest else None,
        "unknown_runs": unknown,
        "skipped": [{"run_id": run_id, "reason": reason} for run_id, reason in skipped],
    }
    if args.json:
        emit_json(found)
    else:
        _show(found, labelled)
    return 0 if found["compared"] or (found["retest"] or {}).get("runs") else 3


def _look_up(store: "Store", labels: "Sequence[Label]") -> "tuple[list[tuple[Label, Run]], list[str]]":
    """The labelled runs that are stored, with the newest verdict and scorers, and the ids of those that are not."""
    known, unknown = [], []
    for label in labels:
        try:
            stored = store.run(label.run_id)
        except InputError:
            unknown.append(label.run_id)
            continue
        if stored.run.run_id != label.run_id:  # the start of an id, or `latest`: a label names one run for good
            unknown.append(label.run_id)
            continue
        newest: JsonObject = {"judge": stored.judgements[-1] if stored.judgements else stored.run.judge}
        if stored.gradings:
            newest["scorers"] = stored.gradings[-1].scorers
        known.append((label, stored.run.model_copy(update=newest)))
    return known, unknown


def _judged(
    store: "Store", known: "list[tuple[Label, Run]]", args: argparse.Namespace
) -> "tuple[list[Labelled], list[tuple[str, str]], list[list[str]]]":
    """The runs with their verdicts, those that could not be judged, and what all tries said of each run."""
    from steelyard.judge.agreement import Labelled

    if args.judge is None and args.retest is None:
        return [Labelled(run.task_id, label, run.judge) for label, run in known], [], []
    answers = _asked(store, known, args)
    labelled, skipped = [], []
    tries: list[list[str]] = []
    for (label, run), heard in zip(known, answers, strict=True):
        reason = next((one for one in heard if isinstance(one, str)), None)
        said = [one for one in heard if not isinstance(one, str)]
        if reason is not None:
            skipped.append((run.run_id, reason))
        elif args.retest is not None:
            tries.append([one.verdict for one in said])
        fresh = said[0] if said else None
        labelled.append(Labelled(run.task_id, label, run.judge if args.judge is None else fresh))
    return labelled, skipped, tries


def _asked(
    store: "Store", known: "list[tuple[Label, Run]]", args: argparse.Namespace
) -> "list[list[JudgeResult | str]]":
    """Each run judged as often as was asked for; from the cache only when it is once."""
    from steelyard.cli.judging import open_bench, side_by_side

    count = args.retest or 1
    heard: list[list[JudgeResult | str]] = [[""] * count for _ in known]
    with open_bench(store, args, cache=args.retest is None) as bench:
        _say_who(bench, [run for _, run in known])
        places = [(place, number) for place in range(len(known)) for number in range(count)]
        for done, ((place, number), judged) in enumerate(
            side_by_side(places, lambda place: bench.judge(known[place[0]][1])), 1
        ):
            heard[place][number] = judged
            if not args.json:
                run = known[place][1]
                said = f"skipped: {judged}" if isinstance(judged, str) else judged.verdict
                note(f"[{done}/{len(places)}] {run.run_id} {said}")
    return heard


def _say_who(bench: "Bench", runs: "Sequence[Run]") -> None:
    """What is missing is said once, before anything is asked; wrong input stops here."""
    tasks = {run.task_sha256 for run in runs if run.imported is None}
    bench.choice.look([bench.store.task(sha).task.judge for sha in sorted(tasks)])


def _show(found: "JsonObject", labelled: "Sequence[Labelled]") -> None:
    from steelyard.cli.table import print_table

    who = "the stored verdicts" if found["judge"] == "stored" else f"{found['judge']} {found['model'] or ''}".strip()
    say(f"{who} against {found['runs']} labels: {found['compared']} compared, on {found['tasks']} tasks")
    say(f"  agreement {_share(found['agreement'])}, Cohen's kappa {_kappa(found)}")
    rows = [(f"people {label}", *(str(n) for n in row.values())) for label, row in found["confusion"].items()]
    print_table(("", *(f"judge {name}" for name in found["confusion"]["PASS"])), rows)
    for name, words in (("too_kind", "people FAIL, judge PASS"), ("too_strict", "people PASS, judge FAIL")):
        if found[name]:
            more = f" … and {len(found[name]) - MOST_SHOWN} more" if len(found[name]) > MOST_SHOWN else ""
            say(f"  {words}: {', '.join(found[name][:MOST_SHOWN])}{more}")
    if found["failure_modes"]:
        heads = ("failure mode", "labelled", "judge fails", "same mode", "judged so", "people fail")
        print_table(heads, [tuple(str(value) for value in row.values()) for row in found["failure_modes"]])
    for name, rating in found["ratings"].items():
        if rating is not None:
            say(
                f"  {name}: exact {_share(rating['exact'])}, within one {_share(rating['within_one'])}, "
                f"mean difference {rating['mean_difference']:+.2f} ({rating['runs']} runs)"
            )
    _show_rest(found)


def _show_rest(found: "JsonObject") -> None:
    retest = found["retest"]
    if retest is not None:
        kappa = "undefined" if retest["kappa"] is None else f"{retest['kappa']:.3f}"
        say(
            f"  asked {retest['tries']} times: {_share(retest['share_identical'])} of {retest['runs']} runs always got "
            f"the same verdict, kappa between tries {kappa}"
        )
    for run_id in found["unknown_runs"][:MOST_SHOWN]:
        say(f"  not stored here: {run_id}")
    if len(found["unknown_runs"]) > MOST_SHOWN:
        say(f"  … and {len(found['unknown_runs']) - MOST_SHOWN} more (--json shows them)")
    for one in found["skipped"][:MOST_SHOWN]:
        say(f"  not judged: {one['run_id']}: {one['reason']}")
    if not found["compared"]:
        note("nothing could be compared: no labelled run has a verdict PASS or FAIL")


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def _kappa(found: "JsonObject") -> str:
    if found["kappa"] is None:
        return "undefined (one side, or both, says the same of every run)"
    interval = found["kappa_ci95"]
    if interval is None:
        return f"{found['kappa']:.3f} (too few runs for an interval)"
    drawn = "" if found["kappa_resampled"] == "task" else ", runs resampled: fewer than 5 tasks"
    return f"{found['kappa']:.3f} (95 % interval {interval[0]:.3f} to {interval[1]:.3f}{drawn})"
