"""steelyard runs: list stored runs, newest first."""

import argparse
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.domain.record import JsonObject
    from steelyard.store.database import Store
    from steelyard.store.reads import RunFilter

_CHOICES = {
    "status": ("completed", "failed", "interrupted"),
    "outcome": ("COMPLETED", "BLOCKED", "FAILED"),
    "verdict": ("PASS", "FAIL", "UNPARSEABLE", "NOT_RUN"),
    "tier": ("Unranked", "Bronze", "Silver", "Gold", "Elite"),
}
_MOST = 10_000


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard runs --experiment latest --outcome FAILED --limit 20"
    parser.add_argument("--experiment", metavar="ID", help="of one experiment: its id, the start of it, or latest")
    parser.add_argument("--workspace", metavar="NAME", help="of one workspace")
    parser.add_argument("--task", metavar="ID", help="of one task")
    parser.add_argument("--arm", metavar="NAME", help="of one arm")
    for name, allowed in _CHOICES.items():
        word = "the judge's verdict" if name == "verdict" else f"with this {name}"
        parser.add_argument(f"--{name}", choices=allowed, help=word)
    parser.add_argument("--disagree", action="store_true", help="only runs whose gates disagree")
    parser.add_argument("--since", metavar="WHEN", help="finished since: 2026-01-31, 2026-01-31T12:00:00Z, 12h or 7d")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help=f"at most so many, 1 to {_MOST} (50)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """List the runs that match."""
    from steelyard.cli.stored import open_existing

    if not 1 <= args.limit <= _MOST:
        raise InputError(f"--limit {args.limit}: allowed: 1 to {_MOST}")
    with open_existing() as store:
        rows = store.runs(_filter(store, args), limit=args.limit + 1)
    more, rows = len(rows) > args.limit, rows[: args.limit]
    if args.json:
        emit_json({"runs": [_document(row) for row in rows], "has_more": more})
        return 0
    if not rows:
        note("no stored run matches")
        return 0
    _show(rows)
    if more:
        shown = "newest run is" if args.limit == 1 else f"newest {args.limit} are"
        note(f"the {shown} shown; --limit shows more")
    return 0


def _filter(store: "Store", args: argparse.Namespace) -> "RunFilter":
    from steelyard.cli.stored import since
    from steelyard.store.reads import RunFilter

    return RunFilter(
        workspace=args.workspace,
        experiment=None if args.experiment is None else store.experiment(args.experiment).id,
        task_id=args.task,
        arm=args.arm,
        status=args.status,
        outcome=args.outcome,
        verdict=args.verdict,
        tier=args.tier,
        disagree=args.disagree,
        since=None if args.since is None else since("--since", args.since),
    )


def _document(row: "JsonObject") -> dict[str, Any]:
    import json

    shown = {name: value for name, value in row.items() if name not in ("seq", "judge", "objective", "run_gate")}
    shown["gates"] = {"objective": row["objective"], "judge": row["judge"], "run": row["run_gate"]}
    shown["tags"] = json.loads(row["tags"])
    return {**shown, "infrastructure": bool(row["infrastructure"]), "replaced": bool(row["replaced"])}


def _show(rows: "list[JsonObject]") -> None:
    from collections import Counter

    from steelyard.cli.table import print_table
    from steelyard.reports.words import many

    heads = ("run", "task", "arm", "#", "outcome", "objective", "judge", "score", "tier", "wall", "cost", "finished")
    print_table(heads, [_cells(row) for row in rows], ("finished", "cost", "wall", "tier", "judge", "objective"))
    named = [(row["run_id"], row["disagreement"]) for row in rows if row["disagreement"]]
    for run_id, disagreement in named:
        say(f"{run_id}: {disagreement}")
    counts = Counter(row["experiment"] for row in rows if row["experiment"])
    say("experiments: " + (", ".join(f"{name} ({many(count, 'run')})" for name, count in counts.items()) or "none"))


def _cells(row: "JsonObject") -> tuple[str, ...]:
    outcome = row["outcome"] + (f" ({row['error_class']})" if row["error_class"] else "")
    return (
        row["run_id"],
        row["task_id"],
        row["arm"],
        f"{row['repeat']}" + (" replaced" if row["replaced"] else ""),
        outcome,
        row["objective"],
        "-" if row["judge"] == "NOT_RUN" else row["judge"],
        "-" if row["score"] is None else str(row["score"]),
        row["tier"],
        f"{row['wall_s']:.1f}s",
        "-" if row["cost_usd"] is None else f"${row['cost_usd']:.4f}",
        row["finished_at"][:19].replace("T", " "),
    )
