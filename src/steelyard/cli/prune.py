"""steelyard prune: remove runs that finished long ago, and the files that nobody refers to."""

import argparse
from dataclasses import asdict

from steelyard.cli.output import emit_json, note, say


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard prune --older-than 30d        (shows what would go; add --yes to remove it)"
    parser.add_argument("--older-than", required=True, metavar="AGE", help="30d, 12w, or a date: 2026-01-31")
    parser.add_argument("--yes", action="store_true", help="remove them; without it nothing is removed")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Say what would go, or with --yes remove it."""
    from steelyard.cli.stored import open_existing, since

    cutoff = since("--older-than", args.older_than)
    with open_existing() as store:
        pruned = store.prune(cutoff, dry_run=not args.yes)
    if args.json:
        emit_json({"older_than": cutoff, "removed": args.yes, **asdict(pruned)})
        return 0
    word = "removed" if args.yes else "would remove"
    size = f"{pruned.artifact_bytes / 1_000_000:.1f} MB"
    say(f"{word} {pruned.runs} runs finished before {cutoff[:19]}Z, {pruned.experiments} experiments,")
    say(f"  and {pruned.artifacts} artifact files that no other run needs ({size})")
    if not args.yes and (pruned.runs or pruned.artifacts):
        note("nothing was removed; add --yes to remove it")
    return 0
