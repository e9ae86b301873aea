"""steelyard view: the pages of an experiment as a folder, for CI artifacts, web hosts and mail."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError
from steelyard.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from steelyard.web.still.make import Made

FOLDER = Path("steelyard-view")


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard view latest -o report && xdg-open report/index.html"
    parser.add_argument("experiment", metavar="EXPERIMENT", help="an id, the start of one, or latest")
    parser.add_argument(
        "-o", "--output", type=Path, default=FOLDER, metavar="FOLDER", help=f"write there (default: {FOLDER})"
    )
    parser.add_argument("--max-runs", type=int, default=1000, metavar="N", help="the newest N runs (default 1000)")
    parser.add_argument(
        "--force", action="store_true", help="write into a folder with other files in it; those stay as they are"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Write the folder."""
    from steelyard.cli.folders import beside, check_folder, put_in_place
    from steelyard.cli.stored import open_existing

    if not 1 <= args.max_runs <= 100_000:
        raise InputError(f"--max-runs {args.max_runs}: allowed: 1 to 100000")
    try:
        from steelyard.web.still.make import make_still
    except ImportError as error:
        raise InputError(f"view needs the extra (no module {error.name}): pip install 'steelyard[server]'") from None
    folder: Path = args.output
    with open_existing() as store:
        experiment = store.experiment(args.experiment).id
    check_folder(folder, force=args.force)
    with beside(folder) as scratch:
        made = make_still(read_settings(), experiment, scratch, args.max_runs, _teller())
        put_in_place(scratch, folder, sorted(made.files), experiment)
    _answer(made, experiment, folder, as_json=args.json)
    return 0


def _teller() -> "Callable[[int], None]":
    """Says on a terminal how many files there are; elsewhere nothing."""
    if not sys.stderr.isatty():
        return lambda _files: None

    def tell(files: int) -> None:
        if files % 25 == 0:
            sys.stderr.write(f"\r{files:,} files")
            sys.stderr.flush()

    return tell


def _answer(made: "Made", experiment: str, folder: Path, *, as_json: bool) -> None:
    index = folder / "index.html"
    if as_json:
        document = {
            "experiment": experiment,
            "folder": str(folder.absolute()),
            "index": str(index.absolute()),
            "pages": made.pages,
            "files": len(made.files),
            "bytes": sum(made.files.values()),
            "runs": made.runs,
            "runs_left_out": made.runs_left_out,
            "too_large": made.too_large,
        }
        emit_json(document)
        return
    if made.runs_left_out:
        note(f"{made.runs_left_out:,} older runs are left out; --max-runs takes more")
    if made.too_large:
        note(f"{made.too_large:,} artifacts are too large and left out; `steelyard show RUN` has them")
    say(f"{made.pages:,} pages of {made.runs:,} runs, {sum(made.files.values()) / 1e6:.1f} MB: {index}")
