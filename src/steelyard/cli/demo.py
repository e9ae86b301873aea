"""steelyard demo: the built-in suite, end to end."""

import argparse
from importlib.util import find_spec
from pathlib import Path

from steelyard.cli import run
from steelyard.cli.files import write_whole
from steelyard.cli.main import parser_for
from steelyard.cli.output import note, say
from steelyard.cli.weighing import gather
from steelyard.reports.render import render
from steelyard.settings import read_settings

SUITE = Path(__file__).parent.parent / "demo" / "suite.yaml"


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options: those of `run`, with the suite given."""
    parser.epilog = "example: steelyard demo --repeats 2"
    run.add_options(parser)
    parser.set_defaults(suite=SUITE, judge="none")


def main(args: argparse.Namespace) -> int:
    """Run the demo suite: no key, no network, real processes and real git."""
    if not args.json:
        note("five small tasks, three scripted arms: baseline, candidate, and shortcut, which games the tests")
    code = run.main(args)
    if not args.json and find_spec("altair") is not None:
        _report(read_settings().home / "demo.html")
    return code


def _report(path: Path) -> None:
    """The comparison as a page that can be opened from disk."""
    args = parser_for("compare").parse_args(["latest"])
    write_whole(path, render(gather(args).compare(args), "html"))
    say(f"report: {path}")
