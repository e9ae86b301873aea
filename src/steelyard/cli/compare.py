"""steelyard compare: two arms weighed against each other, as text, JSON, Markdown or a page."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import answer, emit_json, note, say
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.domain.comparison import Comparison

FORMATS = ("text", "json", "md", "html")
SUFFIXES = {
    ".txt": "text",
    ".json": "json",
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
}


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = (
        "examples:\n"
        "  steelyard compare latest\n"
        "  steelyard compare latest -o report.html\n"
        "  steelyard compare --records collected.jsonl --baseline without_skill --candidate with_skill --json"
    )
    parser.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help="one experiment or two: an id, the start of one, or latest"
    )
    parser.add_argument(
        "--records", nargs="+", action="extend", type=Path, metavar="FILE", help="weigh run records instead"
    )
    parser.add_argument("--baseline", metavar="B", help="the arm to weigh against")
    parser.add_argument("--candidate", metavar="A", help="the arm to weigh")
    parser.add_argument("--format", choices=FORMATS, help="text (default), json, md, html")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write there; its ending says the format (-: stdout)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--server", metavar="URL", help="link runs in md and html to the pages of this server")
    bad = parser.add_mutually_exclusive_group()
    bad.add_argument("--strict", action="store_true", help="refuse records with bad lines (default)")
    bad.add_argument("--skip-bad", action="store_true", help="leave bad lines out, and count them")
    parser.add_argument("--min-repeats", type=int, default=5, metavar="N", help="repeats a promotion needs (default 5)")
    parser.add_argument(
        "--regressions", choices=("any", "significant"), help="which drops are hard (default: the suite's, else any)"
    )
    parser.add_argument(
        "--aa", nargs="?", const="", metavar="ARM", help="split one arm against itself: how often is noise a verdict?"
    )


def main(args: argparse.Namespace) -> int:
    """Exit code 0 improved or neutral, 1 regressed, 2 wrong input, 3 not enough to measure."""
    from steelyard.cli.weighing import gather

    if args.output == Path("-"):
        args.output = None
    kind = chosen_format(args)
    check(args)
    weighing = gather(args)
    if args.aa is not None:
        from steelyard.cli.compare_aa import answer_aa

        return answer_aa(weighing, args, kind)
    comparison = weighing.compare(args)
    _answer(comparison, args, kind)
    return exit_code(comparison)


def check(args: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    if args.records and args.experiments:
        raise InputError("give experiments or --records, not both")
    if not args.records and not args.experiments:
        hint = f" (--aa took '{args.aa}' as its arm: put it last)" if args.aa else ""
        raise InputError(f"say what to compare: an experiment (latest, for example) or --records FILE{hint}")
    if len(args.experiments) > 2:
        raise InputError(f"one experiment or two, not {len(args.experiments)}")
    if not 1 <= args.min_repeats <= 10_000:
        raise InputError(f"--min-repeats {args.min_repeats}: allowed: 1 to 10000")
    if args.server is not None and not args.server.startswith(("http://", "https://")):
        raise InputError(f"--server {args.server}: an address is expected, such as https://steelyard.example")
    if (args.skip_bad or args.strict) and not args.records:
        raise InputError("--strict and --skip-bad go with --records")


def chosen_format(args: argparse.Namespace) -> str:
    """The format that was asked for, or that the file's ending says, or text."""
    if args.json and args.format not in (None, "json") and args.output is None:
        raise InputError(f"--json and --format {args.format} at once: add -o FILE for the {args.format}")
    if args.format is not None:
        return str(args.format)
    if args.output is None:
        return "json" if args.json else "text"
    suffix = args.output.suffix.lower()
    if suffix and suffix not in SUFFIXES:
        raise InputError(
            f"-o {args.output}: no format is called '{suffix}'; allowed: {', '.join(SUFFIXES)}, or --format"
        )
    return SUFFIXES.get(suffix, "json" if args.json else "text")


def exit_code(comparison: "Comparison") -> int:
    """1 regressed; 3 when no pair could be weighed; else 0."""
    from steelyard.compare.decision import INSUFFICIENT

    if comparison.verdict == "regressed":
        return 1
    return 3 if comparison.decision.choice == INSUFFICIENT else 0


def _answer(comparison: "Comparison", args: argparse.Namespace, kind: str) -> None:
    if args.output is None and kind == "json":  # programs ask for this: nothing of the reports is loaded
        answer(comparison.model_dump_json(indent=2) + "\n")
        return
    from steelyard.cli.files import write_whole
    from steelyard.reports.render import render
    from steelyard.reports.text import headline

    link = None if args.server is None else partial(run_page, args.server)
    if args.output is not None:
        write_whole(args.output, render(comparison, kind, link=link))
        note(f"written: {args.output}")
        if args.json:
            emit_json(comparison.model_dump(mode="json"))
        else:
            say(headline(comparison))
    else:
        print_report(render(comparison, kind, link=link, colour=kind == "text" and wants_colour()))


def run_page(server: str, run_id: str) -> str:
    """The page of a run on a server."""
    from urllib.parse import quote

    return f"{server.rstrip('/')}/runs/{quote(run_id, safe='')}"


def print_report(text: str) -> None:
    """A report on stdout; what others wrote in it is already harmless."""
    import sys

    sys.stdout.write(text)


def wants_colour() -> bool:
    """On a terminal, unless NO_COLOR is set or the terminal can't."""
    import os
    import sys

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
