"""steelyard score: one finished run as JSON in, its scorecard out."""

import argparse
import sys
from pathlib import Path

from steelyard.cli.output import emit_json
from steelyard.errors import InputError, PlacedError

LARGEST = 64 * 1024 * 1024


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.description = (
        f"{parser.description}\n\n"
        "reads: run_id, outcome, stages[{name, attempts, passed}], wall_s, history_wall_s[] or baseline_p50_s,\n"
        "       resources{peak_memory_mb, memory_limit_mb, cpu_periods, cpu_throttled_periods}, weights{}"
    )
    parser.epilog = 'example: echo \'{"run_id": "r1", "outcome": "COMPLETED"}\' | steelyard score -'
    parser.add_argument("file", metavar="FILE", help="a JSON file, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print one JSON document (it always does)")


def main(args: argparse.Namespace) -> int:
    """Print the scorecard of the run."""
    from pydantic import ValidationError

    from steelyard.domain.mistakes import mistakes
    from steelyard.domain.score import RunDescription
    from steelyard.formulas.descriptions import facts_from, score_document
    from steelyard.formulas.scorecard import score_run

    name = "standard input" if args.file == "-" else args.file
    text = _read(args.file, name)
    try:
        description = RunDescription.model_validate_json(text)
    except ValidationError as error:
        raise PlacedError("\n".join(f"{name}: {line}" for line in mistakes(error, RunDescription))) from None
    emit_json(score_document(score_run(facts_from(description))))
    return 0


def _read(file: str, name: str) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{name}: can't be read: {reason}") from None
    if len(data) > LARGEST:
        raise InputError(f"{name}: larger than 64 MB; one run is expected, not a collection of them")
    if not data.strip():
        raise InputError(f"{name}: is empty; one JSON object is expected, with run_id and outcome")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 (byte {error.start + 1})") from None
