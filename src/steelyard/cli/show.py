"""steelyard show: one run with everything that was measured and said of it."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import emit_json, note, plain, say

if TYPE_CHECKING:
    from steelyard.store.database import Store
    from steelyard.store.rows import StoredRun

_PARTS = {"diff": ("diff",), "trajectory": ("trajectory",), "output": ("stdout", "stderr")}
_FIRST_LINES = 40


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard show latest --diff"
    parser.add_argument("run", metavar="RUN", help="a run's id, the start of it, or latest")
    parser.add_argument("--diff", action="store_true", help="show the whole change, not only its first lines")
    parser.add_argument("--trajectory", action="store_true", help="show what the agent said and did, step by step")
    parser.add_argument("--output", action="store_true", help="show what the agent's program printed")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Show the run and the beginning of its change; with --diff, --trajectory or --output all of that part."""
    from steelyard.cli.show_text import show_run
    from steelyard.cli.stored import open_existing

    with open_existing() as store:
        stored = store.run(args.run)
        wanted = [part for part in _PARTS if getattr(args, part)]
        if args.json:
            parts = {part: _json_part(store, stored, part) for part in wanted}
            emit_json({**document(stored), "diff": None if args.diff else _known_diff(store, stored), **parts})
            return 0
        show_run(stored)
        if not args.diff:
            _show_first(_known_diff(store, stored))
        for part in wanted:
            _show_part(store, stored, part)
    return 0


def document(stored: "StoredRun") -> dict[str, Any]:
    """The run as programs read it: its record, then what was derived from it or said of it later."""
    from steelyard.formulas.gates import mean_score, overall

    run, card = stored.run, stored.scorecard
    stated = stated_score(stored)
    return {
        **run.model_dump(mode="json"),
        "gates": stored.gates.model_dump(mode="json"),
        "overall": overall(run.scorers),
        "mean_score": mean_score(run.scorers),
        "score": card.score if card else stated[0],
        "tier": card.tier if card else stated[1],
        "replaced": stored.replaced,
        "scorecards": [
            {**score.card.model_dump(mode="json"), "version": score.version, "scored_at": score.scored_at}
            for score in stored.scores
        ],
        "judgements": [judged.model_dump(mode="json") for judged in stored.judgements],
        "gradings": [
            {
                "graded_at": grading.graded_at,
                "objective": grading.objective,
                "scorers": [scorer.model_dump(mode="json") for scorer in grading.scorers],
            }
            for grading in stored.gradings
        ],
    }


def stated_score(stored: "StoredRun") -> tuple[int | None, str]:
    """The score and tier that an imported run's record states; it has no scorecard of our making."""
    if stored.run.imported is None:
        return None, "Unranked"
    from steelyard.formulas.records import record_of

    record = record_of(stored.run)
    return record.score, record.tier or "Unranked"


def _json_part(store: "Store", stored: "StoredRun", part: str) -> Any:
    import json

    texts = _texts(store, stored, part)
    if part == "output":
        return texts
    found = texts.get(part)
    if part != "trajectory" or found is None:
        return found
    try:
        return json.loads(found)
    except ValueError:
        return found


def _texts(store: "Store", stored: "StoredRun", part: str) -> dict[str, str]:
    """The artifacts of a part that the run has, as text: bytes that are not UTF-8 become escapes."""
    names = [name for name in _PARTS[part] if name in stored.run.artifacts]
    return {name: store.artifact(stored.run.artifacts[name]).decode("utf-8", "backslashreplace") for name in names}


def _known_diff(store: "Store", stored: "StoredRun") -> str | None:
    """The change, where its artifact can be read; it may lie on another machine."""
    from steelyard.errors import SteelyardError

    try:
        return _texts(store, stored, "diff").get("diff")
    except SteelyardError as error:
        note(str(error))
        return None


def _show_first(diff: str | None) -> None:
    """The first lines of a change: all of it, when it is small."""
    from steelyard.cli.show_text import cut

    if not diff:
        return
    lines = diff.rstrip("\n").split("\n")
    say("\ndiff")
    _show_diff("\n".join(cut(line) for line in lines[:_FIRST_LINES]))
    if len(lines) > _FIRST_LINES:
        say(f"… {len(lines) - _FIRST_LINES} lines more (--diff shows them)")


def _show_part(store: "Store", stored: "StoredRun", part: str) -> None:
    from steelyard.cli.show_text import show_trajectory

    texts = _texts(store, stored, part)
    if not texts:
        note(f"the run has no {part}")
    for name, text in texts.items():
        say(f"\n{name}")
        if part == "trajectory":
            show_trajectory(text)
        elif part == "diff":
            _show_diff(text)
        else:
            say(text.rstrip("\n"))


def _show_diff(text: str) -> None:
    colours = {"+": "32", "-": "31", "@": "36", "d": "1"}
    on_terminal = sys.stdout.isatty()
    for line in text.rstrip("\n").split("\n"):
        colour = colours.get(line[:1]) if on_terminal and not line.startswith(("+++", "---")) else None
        shown = plain(line)
        sys.stdout.write(f"\033[{colour}m{shown}\033[0m\n" if colour else f"{shown}\n")
