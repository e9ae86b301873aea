"""steelyard schema: the JSON Schema of a suite, a run record, a scorer or an arm."""

import argparse

from steelyard.cli.output import emit_json, note

KINDS = ("suite", "run-record", "scorer", "agent")


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.description = "Print a JSON Schema (2020-12), made of the scorers and agents that are installed here."
    parser.epilog = "example: steelyard schema suite > suite.schema.json"
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=f"one of {', '.join(KINDS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON document (which it always does)")


def main(args: argparse.Namespace) -> int:
    """Print the schema; parts that can't be loaded are left out, and named on stderr."""
    from steelyard.suites.schema import SCHEMAS, installed

    emit_json(SCHEMAS[args.kind]())
    kinds = {"suite": ("scorers", "agents"), "scorer": ("scorers",), "agent": ("agents",)}.get(args.kind, ())
    for kind in kinds:
        for name, why in installed(kind)[1].items():
            note(f"steelyard schema: {kind.removesuffix('s')} type '{name}' can't be loaded and is left out: {why}")
    return 0
