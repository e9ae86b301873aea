"""The `steelyard` command: finds the command's module by name and loads only that one."""

import atexit
import gc
import os
import sys
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from steelyard import __version__
from steelyard.errors import InputError, PlacedError, SteelyardError

if TYPE_CHECKING:
    import argparse

# name → what it does, in one line. The module is steelyard.cli.<name>, with `register(parser)` and `main(args) -> int`.
# `register` sets `parser.epilog` to at least one example; `--json` is there for every command.
COMMANDS: dict[str, str] = {
    "init": "write a suite to start from",
    "validate": "check a suite file and name every mistake at its line",
    "plan": "say how many repeats a wanted effect takes, and what they cost",
    "rehearse": "run a suite with a scripted model: real agents, no key, no money",
    "audit": "play scripted cheats against a suite: which would pass, and what would stop them",
    "run": "run a suite: tasks × arms × repeats, graded and stored",
    "grade": "grade changes that are already there, with no agent",
    "score": "score one finished run described as JSON",
    "compare": "weigh two arms: verdict, decision, and every number behind them",
    "rescore": "grade stored runs again, and say which verdicts change",
    "judge": "check a judge against people's labels, or let it choose between two arms, blind",
    "promote": "propose the change that won: the plan, or with --open the pull request",
    "runs": "list stored runs",
    "show": "show one run: scorers, diff, timings",
    "view": "write the pages of an experiment as a folder that opens without a server",
    "export": "write run records: JSON lines, CSV or Parquet",
    "import": "store run records from elsewhere",
    "serve": "serve the HTTP API and the web pages",
    "token": "make, list and revoke the tokens that open the server",
    "events": "deliver events to where STEELYARD_EVENTS says, and show what waits",
    "db": "bring the store's schema up to date, check it, back it up, restore it",
    "prune": "remove runs that finished long ago",
    "doctor": "say what works on this machine and how to get what doesn't",
    "demo": "run the built-in suite: two arms and a cheater, ending in a verdict",
    "schema": "print a JSON Schema: suite, run-record, scorer or agent",
}
OPTIONS = ("--help", "--version")


class UsageError(PlacedError):
    """A wrong word on the command line; the message opens with the command."""


def main(argv: list[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code: 0 fine, 1 regressed or FAIL, 2 wrong input, 3 could not measure."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_what_is_closed()
    # Nearly all objects of a command stay to its end: looking through them often, and once more then, is for nothing.
    gc.set_threshold(20_000, 20, 50)
    atexit.register(gc.freeze)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them reads every installed package
    # Work is split over threads here already; those of BLAS would wait for each other, and round as many ways as cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(_run(arguments))


def _open_what_is_closed() -> None:
    """A stream that the caller closed (`2>&-`) is a void: the next file that is opened must not take its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _run(arguments: list[str]) -> int:
    try:
        code = _answer(arguments)
        sys.stdout.flush()
    except SteelyardError as error:
        _complain(str(error) if isinstance(error, PlacedError) else f"steelyard: {error}")
        return 2 if isinstance(error, InputError) else 3
    except KeyboardInterrupt:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # pressed again, it would only spoil the last clearing up
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A full disk, a directory that may not be written: the machine's trouble, which needs no traceback.
        place = f"{error.filename}: " if error.filename else ""
        _complain(f"steelyard: {place}{error.strerror or error}")
        return 3
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        # Never Python's own exit code 1, which says that a candidate regressed.
        _complain(f"steelyard: a mistake in the program: {_place_of(error)}; PYTHONDEVMODE=1 shows the whole way to it")
        return 3
    return code


def _place_of(error: Exception) -> str:
    """What was raised, in one line, and where."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace is not None else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}{where}"


def _answer(arguments: list[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first == "--version":
        print(f"steelyard {__version__}")  # noqa: T201  # the answer itself
        return 0
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # What others read is UTF-8 whatever the locale, or JSON would be none; a terminal gets what it can show.
            # A name that is not UTF-8 is shown as an escape, never a crash.
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    if first in {"--help", "-h"}:
        print(_overview())  # noqa: T201  # the answer itself
        return 0 if arguments else 2
    if first.startswith("-"):
        raise UsageError(
            f"steelyard: unknown option {_shown(first)}; allowed: --help, --version{_near(first, OPTIONS)}"
        )
    if first not in COMMANDS:
        hint = _near(first, COMMANDS)
        raise UsageError(f"steelyard: unknown command '{_shown(first)}'{hint} (steelyard --help lists them)")
    module = import_module(module_of(first))
    args = parser_for(first).parse_args(arguments[1:])
    from steelyard.cli.output import only_answers

    with only_answers() if args.json else nullcontext():
        code: int = module.main(args)
    return code


def module_of(name: str) -> str:
    """The module of a command; a name that Python keeps for itself (`import`) is followed by _."""
    import keyword

    return f"steelyard.cli.{name.replace('-', '_')}{'_' if keyword.iskeyword(name) else ''}"


def _overview() -> str:
    width = max(map(len, COMMANDS)) + 2
    commands = "\n".join(f"  {name:<{width}}{summary}" for name, summary in COMMANDS.items())
    return (
        "usage: steelyard COMMAND [option …]\n\nWeighs coding agents.\n\n"
        f"commands:\n{commands}\n\noptions:\n  --help     show this\n  --version  show the version\n\n"
        "steelyard COMMAND --help shows a command's options and an example.\n"
        "example: steelyard init try && steelyard run try/steelyard.yaml"
    )


def parser_for(name: str) -> "argparse.ArgumentParser":
    """A command's parser, whose mistakes are `UsageError`s."""
    import argparse

    class Parser(argparse.ArgumentParser):
        """Says what is wrong in one line."""

        def error(self, message: str) -> NoReturn:
            """Refuse the command line."""
            raise UsageError(f"{self.prog}: {_plainer(message, self)}")

    parser = Parser(
        prog=f"steelyard {name}",
        description=COMMANDS[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    import_module(module_of(name)).register(parser)
    return parser


def _plainer(message: str, parser: "argparse.ArgumentParser") -> str:
    """Argparse's complaint in our words, with the option that was probably meant."""
    help_hint = f" ({parser.prog} --help shows an example)"
    unknown = message.removeprefix("unrecognized arguments: ")
    if unknown != message:
        word = unknown.split(" ")[0]
        if not word.startswith("-"):
            return f"unexpected argument '{_shown(word)}'{help_hint}"
        option = word.partition("=")[0]
        options = [o for action in parser._actions for o in action.option_strings]  # noqa: SLF001  # no public way
        return f"unknown option {_shown(option)}{_near(option, options) or help_hint}"
    missing = message.removeprefix("the following arguments are required: ")
    if missing != message:
        return f"{missing} is missing{help_hint}"
    return f"{_shown(_about_a_value(message))}{help_hint}"


def _about_a_value(message: str) -> str:
    """`argument --repeats: invalid int value: 'x'` in plain words."""
    said = message.removeprefix("argument ")
    for kind, wanted in (("int", "a whole number"), ("float", "a number")):
        head, found, value = said.partition(f": invalid {kind} value: ")
        if found:
            return f"{head} {value}: allowed: {wanted}"
    head, found, rest = said.partition(": invalid choice: ")
    value, chosen, allowed = rest.partition(" (choose from ")
    return f"{head} {value}: allowed: {allowed.removesuffix(')')}" if found and chosen else message


def _near(word: str, allowed: "dict[str, str] | list[str] | tuple[str, ...]") -> str:
    from difflib import get_close_matches

    found = get_close_matches(word[:100], allowed, 1)
    return f"; did you mean {found[0]}?" if found else ""


def _shown(text: str) -> str:
    from steelyard.cli.output import plain

    return plain(text).replace("\n", "\\n")


def _complain(message: str) -> None:
    from steelyard.cli.output import note

    note(message)
