"""The `steelyard` command: finds the command's module by name and loads only that one."""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from steelyard import __version__
from steelyard.errors import InputError, MeasureError, SteelyardError

if TYPE_CHECKING:
    import argparse

# name → what it does, in one line. The module is steelyard.cli.<name>, with `register(parser)` and `main(args) -> int`.
COMMANDS: dict[str, str] = {
    "init": "write a suite to start from",
    "validate": "check a suite file and name every mistake at its line",
    "run": "run a suite: tasks × arms × repeats, graded and stored",
    "grade": "grade changes that are already there, with no agent",
    "runs": "list stored runs",
    "show": "show one run: scorers, diff, timings",
    "doctor": "say what works on this machine and how to get what doesn't",
    "demo": "run the built-in suite: two arms, one cheater, a verdict",
    "schema": "print a JSON Schema: suite, run-record or scorer",
}


def main(argv: list[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code: 0 fine, 1 regressed or FAIL, 2 wrong input, 3 could not measure."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["--version"]:
        print(f"steelyard {__version__}")  # noqa: T201  # the answer itself
        sys.exit(0)
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    try:
        args = _parse(arguments)
        code: int = args.main(args)
        sys.stdout.flush()
    except (InputError, MeasureError, SteelyardError) as error:
        print(f"steelyard: {error}", file=sys.stderr)  # noqa: T201  # errors for people go to stderr
        return 2 if isinstance(error, InputError) else 3
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parse(arguments: list[str]) -> "argparse.Namespace":
    import argparse

    command = next((word for word in arguments if not word.startswith("-")), None)
    parser = argparse.ArgumentParser(
        prog="steelyard", description="Weighs coding agents.", epilog="steelyard COMMAND --help shows an example."
    )
    parser.add_argument("--version", action="version", version=f"steelyard {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(
            name, help=summary, description=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == command:
            module = import_module(f"steelyard.cli.{name.replace('-', '_')}")
            module.register(sub)
            sub.set_defaults(main=module.main)
    if command is not None and command not in COMMANDS:
        from difflib import get_close_matches

        near = get_close_matches(command, COMMANDS, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError(f"unknown command '{command}'{hint} (steelyard --help lists them)")
    return parser.parse_args(arguments)
