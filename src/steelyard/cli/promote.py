"""steelyard promote: the plan of a promotion, and with --open its branch and pull request."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say
from steelyard.cli.table import print_table
from steelyard.errors import InputError
from steelyard.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.domain.record import JsonObject
    from steelyard.promote.carry_out import Done
    from steelyard.promote.plan import Plan
    from steelyard.promote.ranking import Entrant

_WORDS = {"A": "added", "M": "modified", "D": "deleted", "T": "type changed"}
MOST_FILES = 30


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = (
        "Without --open nothing is done: the plan is shown, with all that is missing for it.\n"
        "exit code: 0 may be promoted, 1 may not, 2 wrong input or something is missing, 3 push or request failed"
        "\n\nexamples:\n"
        "  steelyard promote latest\n"
        "  steelyard promote latest --open --repo ../service\n"
        "  steelyard promote latest --winner --task off-by-one"
    )
    parser.add_argument("experiment", metavar="EXPERIMENT", help="an id, the start of one, or latest")
    parser.add_argument("--open", action="store_true", help="push the branch and open the pull request")
    parser.add_argument("--winner", action="store_true", help="propose the change of the best run on one task")
    parser.add_argument("--task", metavar="T", help="the task, where the experiment has several (with --winner)")
    parser.add_argument("--baseline", metavar="B", help="the arm to weigh against (default: the suite's)")
    parser.add_argument("--candidate", metavar="A", help="the arm to promote (default: the suite's)")
    parser.add_argument("--min-repeats", type=int, default=5, metavar="N", help="repeats it needs (default 5)")
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the checkout (default: here)")
    parser.add_argument("--into", metavar="DIR", help="where in the repository (default: its top, or the seed's place)")
    parser.add_argument("--branch", metavar="NAME", help="the new branch (default: steelyard/…)")
    parser.add_argument("--base", metavar="BRANCH", help="the branch to merge into (default: the remote's default)")
    parser.add_argument("--remote", metavar="NAME", help="where to push (default: origin)")
    parser.add_argument("--github", metavar="OWNER/NAME", help="the repository on GitHub (default: the remote's)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Show the plan; with --open carry it out, unless something speaks against it."""
    from steelyard.cli.proposals import proposal_of
    from steelyard.promote.carry_out import carry_out
    from steelyard.promote.plan import Wishes, make_plan

    if not 1 <= args.min_repeats <= 10_000:
        raise InputError(f"--min-repeats {args.min_repeats}: allowed: 1 to 10000")
    if args.task and not args.winner:
        raise InputError("--task goes with --winner; a candidate is promoted over all tasks")
    proposal, ranking = proposal_of(args)
    wishes = Wishes(args.repo, read_settings().home, os.environ, args.remote, args.branch, args.base, args.github)
    plan = make_plan(proposal, wishes)
    done = carry_out(plan) if args.open and not proposal.reasons and not plan.missing else None
    if args.json:
        emit_json(_document(plan, ranking, done, args))
    else:
        _show(plan, ranking, done, args)
    if proposal.reasons:
        return 1
    return 2 if args.open and plan.missing else 0


def _document(
    plan: "Plan", ranking: "Sequence[Entrant]", done: "Done | None", args: argparse.Namespace
) -> "JsonObject":
    proposal = plan.proposal
    return {
        "mode": "winner" if args.winner else "candidate",
        "promote": not proposal.reasons,
        "reasons": list(proposal.reasons),
        "missing": plan.missing,
        "plan": {
            "repo": str(plan.wishes.repo.absolute()),
            "remote": plan.remote,
            "github": plan.slug,
            "branch": plan.branch,
            "base": plan.base,
            "base_commit": plan.base_commit,
            "files": [{"path": path, "change": _WORDS.get(kind, kind)} for kind, path in plan.changes],
            "commit_message": proposal.message,
            "title": proposal.title,
            "body": proposal.body,
        },
        "ranking": [
            {
                "run_id": one.run.run_id,
                "task_id": one.run.task_id,
                "arm": one.run.arm,
                "repeat": one.run.repeat,
                "score": one.score,
                "tier": one.tier,
                "composite": one.composite,
                "cost_usd": one.run.usage.cost_usd,
                "out": one.out,
            }
            for one in ranking
        ],
        "opened": None
        if done is None
        else {"branch": done.branch, "commit": done.commit, "url": done.opened.url, "number": done.opened.number},
    }


def _show(plan: "Plan", ranking: "Sequence[Entrant]", done: "Done | None", args: argparse.Namespace) -> None:
    from steelyard.promote.texts import ranking_row

    proposal = plan.proposal
    if ranking:
        heads = ("place", "run", "arm", "score", "tier", "composite", "cost", "")
        print_table(
            heads, [ranking_row(place, one) for place, one in enumerate(ranking, 1)], ("cost", "tier", "composite")
        )
        say()
    if done is not None:
        for line in done.notes:
            note(line)
        say(f"opened: {done.opened.url}")
        say(f"branch {done.branch}, commit {done.commit[:12]}, base {plan.base}")
        return
    for reason in proposal.reasons:
        say(f"not to be promoted: {reason}")
    if not proposal.message:
        return  # there is no winner: nothing to plan
    if not args.open:
        _show_plan(plan)
    for line in plan.missing:
        say(f"missing: {line}")
    if not args.open and not proposal.reasons and not plan.missing:
        say(f"nothing was done; --open pushes the branch to {plan.remote} and opens the request with {plan.way.name}")


def _show_plan(plan: "Plan") -> None:
    proposal = plan.proposal
    say(f"branch   {plan.branch}")
    base = "unknown" if plan.base is None else plan.base + (f" at {plan.base_commit[:12]}" if plan.base_commit else "")
    say(f"base     {base}")
    say(f"remote   {plan.remote or 'none'}" + (f" ({plan.slug})" if plan.slug else ""))
    for kind, path in plan.changes[:MOST_FILES]:
        say(f"file     {path} ({_WORDS.get(kind, kind)})")
    if len(plan.changes) > MOST_FILES:
        say(f"file     … and {len(plan.changes) - MOST_FILES} more")
    for title, text in (("commit", proposal.message), ("title", proposal.title), ("body", proposal.body)):
        say(f"\n--- {title}")
        say(text.rstrip("\n"))
    say()
