"""Writes benchmarks/TRUTH.md: how often Steelyard is right, from the other benchmarks: `python -m benchmarks truth`.

`--corpus DIR` (or $STEELYARD_CORPORA) names the folder of labelled edits; without it the detectors' last table is kept.
`--scale 0.1` makes the simulations smaller.
"""

import argparse
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks import coverage, false_alarms, integrity, sequential, signs

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
TARGET = HERE / "TRUTH.md"
PAGES = ("integrity.md", "truth.md", "sandboxes.md", "early-stopping.md")
SIZES = {"coverage": 1000, "false_alarms": 60, "sequential": 1000}
DETECTORS = "Detectors"
SECRETS = "Secrets and bent runners"
NOT_MEASURED = (
    "Not measured in the last run of this page: no labelled edits were given. This is the table before it.\n\n"
)
INTRODUCTION = """Real commits to test files, labelled: net new skips (`no_new_skips`), assertions net-removed
(`assertions_not_weakened`). Positive: how many of the edits are such. The labelled sets are development sets, which the
rules were written with in sight: expect somewhat less elsewhere. Few positives make a coarse figure."""
SIGNS = """Samples were written with the rules in sight: they show that the rules do what they are meant to, not how
much they miss. Ordinary lines are a measurement. Lines "kept aside" are fixtures of other scanners that were first
looked at when the rules stood; their misses were looked at since, so they flatter now. Many are words or one letter
repeated, which `forbid_secrets` leaves alone on purpose; false alarms are what the other scanner's fixture calls no
secret of that kind, most of them tokens a little too long or short.

"""
HEAD = """# How often Steelyard is right

Written by `python -m benchmarks truth`; simulations are seeded, so that the same code writes the same figures.

"""
_EDITS = re.compile(
    r"real edits, (\w+), (\w+): precision ([\d.-]+), recall ([\d.-]+), ordinary flagged ([\d.]+)%, (\{.*\})"
)
_HACKS = re.compile(r"weakened tests, ([\w ]+): (\d+) of (\d+) seen")
_SHIPPED = re.compile(r"shipped samples, (\w+): (\d+) of (\d+) right")


def main(argv: list[str]) -> None:
    """Measure, write the page, and print what stands in it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks truth", description=__doc__)
    parser.add_argument("--corpus", default=os.environ.get("STEELYARD_CORPORA"), help="folder of the labelled sets")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the simulations (1: as committed)")
    args = parser.parse_args(argv)
    sizes = {name: str(max(4, round(size * args.scale))) for name, size in SIZES.items()}
    old = sections(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}
    found = {
        DETECTORS: detectors(args.corpus, old.get(DETECTORS)),
        SECRETS: _secrets(args.corpus, old.get(SECRETS, "")),
        "Interval coverage": said_by(coverage.main, [sizes["coverage"]]),
        "False alarms of the verdict": _alarms(sizes["false_alarms"]),
        "Early stopping": _stopping(sizes["sequential"]),
        "Known not to be caught": "\n".join(not_caught()),
    }
    body = "\n\n".join(f"## {title}\n\n{text.strip()}" for title, text in found.items())
    TARGET.write_text(HEAD + body + "\n", encoding="utf-8")
    print(f"The table is [TRUTH.md]({TARGET.name}); {len(body.splitlines())} lines in {len(found)} sections.")


def sections(text: str) -> dict[str, str]:
    """The page by its headings."""
    return dict(re.findall(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


def said_by(benchmark: Callable[[list[str]], None], argv: list[str]) -> str:
    """What a benchmark prints."""
    with redirect_stdout(io.StringIO()) as out:
        benchmark(argv)
    return out.getvalue()


def _secrets(corpus: str | None, old: str) -> str:
    """What signs prints; the last rows of labelled lines stay where the labelled sets are not there."""
    said = _timeless(said_by(signs.main, ["--corpus", corpus or ""]))
    if any(f"| {name}: " in said for name in signs.LABELLED):
        return SIGNS + said
    kept = [row for row in old.splitlines() if any(f"| {name}: " in row for name in signs.LABELLED)]
    table, break_, rest = said.partition("\n\n")
    return SIGNS + "\n".join([table, *kept]) + break_ + rest


def _timeless(said: str) -> str:
    """Without what differs from machine to machine."""
    return re.sub(r"; [\d.]+ million lines/s", "", said)


def detectors(corpus: str | None, old: str | None) -> str:
    """Precision and recall by language; the last table where the labelled sets are not there."""
    there = corpus is not None and Path(corpus, "test_edits_dev.jsonl").is_file()
    if not there and old is not None:
        return NOT_MEASURED + old.removeprefix(NOT_MEASURED)
    said = said_by(integrity.main, ["--corpus", corpus] if there and corpus else ["--corpus", ""])
    if not there:
        return "Not measured here: no labelled edits were given, only the samples that ship.\n\n" + _shipped(said)
    return "\n\n".join((_edits(said), _hacks(said), _shipped(said)))


def _edits(said: str) -> str:
    lines = [
        INTRODUCTION,
        "",
        "| scorer | language | edits | positive | precision | recall | ordinary edits flagged |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for scorer, language, precision, recall, ordinary, counts in sorted(_EDITS.findall(said), key=_all_last):
        seen = {kind: int(number) for kind, number in re.findall(r"'(\w\w)': (\d+)", counts)}
        positive = seen.get("tp", 0) + seen.get("fn", 0)
        lines.append(
            f"| {scorer} | {language} | {sum(seen.values())} | {positive} | {precision} | {recall} | {ordinary} % |"
        )
    return "\n".join(lines)


def _all_last(row: tuple[str, ...]) -> tuple[str, bool, str]:
    return row[0], row[1] == "all", row[1]


def _hacks(said: str) -> str:
    rows = _HACKS.findall(said)
    lines = [
        "Real tests weakened on purpose, seen by either scorer:",
        "",
        "| how | tests | recall |",
        "| --- | --- | --- |",
    ]
    for how, seen, total in sorted(rows, key=lambda row: (row[0] == "all kinds", row[0])):
        lines.append(f"| {how.replace('_', ' ')} | {total} | {int(seen) / int(total):.3f} |")
    return "\n".join(lines)


def _shipped(said: str) -> str:
    rows = _SHIPPED.findall(said)
    lines = ["Samples that ship with the tests, right as a whole:", "", "| language | right |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {language} | {right} of {total} |" for language, right, total in rows)])


def _alarms(size: str) -> str:
    return (
        "The rule of `compare` on arms that are equal. `any`, the default, takes every measured drop of a task as a "
        "regression: on noisy tasks it errs to the safe side nearly always. `improved` alone is not a promotion: that "
        "also asks for an interval above 0.\n\n" + said_by(false_alarms.main, [size])
    )


def _stopping(size: str) -> str:
    return "`run --until-decided` ([how](../docs/early-stopping.md)).\n\n" + said_by(sequential.main, [size])


def not_caught() -> Iterator[str]:
    """What the documentation says it can't see: its sections of that name, and what `local` does not isolate."""
    for page in PAGES:
        path = DOCS / page
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for title, body in sections(text).items():
            if re.search(r"\bnot (caught|covered|seen|isolated)\b", title, re.IGNORECASE):
                linked = re.sub(r"\]\((?![a-z]+:|[./#])", "](../docs/", body.strip())
                yield f"From [{page}](../docs/{page}):\n\n{linked}\n"
    yield (
        "From [sandboxes.md](../docs/sandboxes.md): the `local` sandbox isolates nothing: an agent there can read the "
        "answers on your disk and kill its warden. Limits that the kernel does not let this account enforce are noted "
        "in the run, not enforced. A peak of memory between two samples may be missed."
    )


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
