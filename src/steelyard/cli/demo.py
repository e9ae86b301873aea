"""steelyard demo: the built-in suite, end to end."""

import argparse
from pathlib import Path

from steelyard.cli import run
from steelyard.cli.output import note

SUITE = Path(__file__).parent.parent / "demo" / "suite.yaml"


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options: those of `run`, with the suite given."""
    parser.epilog = "example: steelyard demo --repeats 2"
    run.add_options(parser)
    parser.set_defaults(suite=SUITE, judge="none")


def main(args: argparse.Namespace) -> int:
    """Run the demo suite: no key, no network, real processes and real git."""
    if not args.json:
        note("four small tasks, three scripted arms: baseline, candidate, and shortcut, which games the tests")
    return run.main(args)
