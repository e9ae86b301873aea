"""steelyard judge: how far a judge can be trusted, and which of two arms it prefers without knowing which is which."""

import argparse
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.judging import add_options, check_options
from steelyard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

ACTIONS = ("check", "pairs")
MOST_TRIES = 50


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = (
        "exit code: 0 measured, 2 wrong input, 3 nothing could be measured\n\nexamples:\n"
        "  steelyard judge check labels.jsonl\n"
        "  steelyard judge check labels.jsonl --judge anthropic --retest 3\n"
        "  steelyard judge pairs latest --baseline without_skill --candidate with_skill"
    )
    parser.add_argument("action", choices=ACTIONS, help="check against labels, or choose between pairs of runs")
    parser.add_argument("what", metavar="LABELS|EXPERIMENT", help="check: a file of labels; pairs: an experiment")
    add_options(parser, None, "who judges: a name, or auto (check: the stored verdicts, unless a judge is named)")
    parser.add_argument("--retest", type=int, metavar="N", help=f"check: judge each run N times, 2 to {MOST_TRIES}")
    parser.add_argument("--baseline", metavar="B", help="pairs: the arm to weigh against (default: the suite's)")
    parser.add_argument("--candidate", metavar="A", help="pairs: the arm to weigh (default: the suite's)")
    parser.add_argument("--task", metavar="T", help="pairs: of one task only")
    parser.add_argument("--limit", type=int, metavar="N", help="pairs: at most so many, over as many tasks as can be")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Do it."""
    from steelyard.cli.judge_check import check
    from steelyard.cli.judge_pairs import pairs

    _refuse_mixtures(args)
    check_options(args)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job leaves nothing behind either
    chosen: Callable[[argparse.Namespace], int] = check if args.action == "check" else pairs
    if args.action == "check":
        args.what = Path(args.what)
    return chosen(args)


def _refuse_mixtures(args: argparse.Namespace) -> None:
    others = {"check": ("baseline", "candidate", "task", "limit"), "pairs": ("retest",)}
    for name in others[args.action]:
        if getattr(args, name) is not None:
            right = "pairs" if args.action == "check" else "check"
            raise InputError(f"--{name} goes with judge {right}")
    if args.retest is not None and not 2 <= args.retest <= MOST_TRIES:
        raise InputError(f"--retest {args.retest}: allowed: 2 to {MOST_TRIES}")
    if args.limit is not None and not 1 <= args.limit <= 1_000_000:
        raise InputError(f"--limit {args.limit}: allowed: 1 to 1000000")
