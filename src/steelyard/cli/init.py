"""steelyard init: a suite to start from, which runs as it is."""

import argparse
from pathlib import Path

from steelyard.cli.output import emit_json, say
from steelyard.errors import InputError


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard init try && steelyard run try/steelyard.yaml"
    parser.add_argument("directory", type=Path, nargs="?", default=Path(), metavar="DIR", help="where (default: here)")
    parser.add_argument("--agent", default="command", metavar="TYPE", help="the arms' agent (default: command)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Write the files, and say what to do next."""
    from steelyard import plugins
    from steelyard.suites.problems import listed, near, quoted
    from steelyard.suites.starter import write_starter

    agents = plugins.names("agents")
    if args.agent not in agents:
        raise InputError(f"unknown agent {quoted(args.agent)}{listed(agents)}{near(args.agent, agents)}")
    written = write_starter(args.directory, args.agent)
    suite = written[0]
    if args.json:
        emit_json({"suite": str(suite), "agent": args.agent, "files": [str(path) for path in written]})
        return 0
    for path in written:
        say(f"wrote {path}")
    say(f"next: steelyard run {suite}")
    return 0
