"""How often forbid_secrets and harness_unmodified are right: `python -m benchmarks signs [--corpus DIR]`.

The figures come from the samples that ship with the tests, from the source of Python's standard library (ordinary
lines: every hit there is taken for a false alarm), and, where DIR (or $STEELYARD_CORPORA) holds `secrets_dev.jsonl` or
`secrets_heldout.jsonl`, from those: `{"line": …, "secret": true or false, "source": …}` a line, where `line` may be
several and each source has its own row. Lines that rules were written with in sight belong into the first.
"""

import argparse
import json
import os
import time
from pathlib import Path

from tests.formulas.secret_lines import ORDINARY, SECRET
from tests.scorers.harness.benign import BENIGN
from tests.scorers.harness.benign_releases import RELEASES
from tests.scorers.harness.hostile import HOSTILE
from tests.scorers.harness.hostile_beside import BESIDE
from tests.scorers.harness.hostile_runners import MORE_HOSTILE
from tests.scorers.harness.support import evidence_of

from steelyard.formulas.secret_rules import rules
from steelyard.formulas.secrets import find
from steelyard.scorers.harness_unmodified import HarnessUnmodified

HARNESS = HarnessUnmodified(name="harness")
LABELLED = {"development": "secrets_dev.jsonl", "kept aside": "secrets_heldout.jsonl"}


def main(argv: list[str]) -> None:
    """Print what was seen and what was taken for something it is not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks signs", description=__doc__)
    parser.add_argument("--corpus", default=os.environ.get("STEELYARD_CORPORA"), help="folder of the labelled sets")
    folder = parser.parse_args(argv).corpus
    print("| scorer | on | seen | false alarms |")
    print("| --- | --- | --- | --- |")
    _harness()
    _secrets("shipped samples", [(line, True) for line in SECRET] + [(line, False) for line in ORDINARY])
    pace = _library()
    for name, file in LABELLED.items():
        if folder and Path(folder, file).is_file():
            _labelled(name, Path(folder, file).read_text(encoding="utf-8"))
    print(f"\n{len(rules())} rules for secrets; {pace / 1e6:.1f} million lines/s.")


def _harness() -> None:
    bent, usual = HOSTILE + MORE_HOSTILE + BESIDE, BENIGN + RELEASES
    seen = sum(HARNESS.score(evidence_of(before, after), None).verdict == "FAIL" for _, _, before, after in bent)
    wrong = sum(HARNESS.score(evidence_of(before, after), None).verdict == "FAIL" for _, before, after in usual)
    print(f"| harness_unmodified | shipped samples | {seen} of {len(bent)} | {wrong} of {len(usual)} |")


def _labelled(name: str, text: str) -> None:
    """Lines of other scanners' fixtures, by where they come from."""
    sources: dict[str, list[tuple[str, bool]]] = {}
    for row in map(json.loads, text.splitlines()):
        sources.setdefault(row.get("source", "labelled lines"), []).append((row["line"], bool(row["secret"])))
    for source, rows in sorted(sources.items()):
        _secrets(f"{name}: {source}", rows)


def _secrets(name: str, rows: list[tuple[str, bool]]) -> None:
    told = [(bool(find(list(enumerate(line.split("\n"), 1)))), secret) for line, secret in rows]
    seen = sum(found for found, secret in told if secret)
    wrong = sum(found for found, secret in told if not secret)
    there = sum(secret for _, secret in rows)
    print(f"| forbid_secrets | {name} | {seen} of {there} | {wrong} of {len(rows) - there} |")


def _library() -> float:
    """Ordinary code that is on every machine, without its tests, which hold keys on purpose; the lines a second."""
    total, hits, seconds = 0, 0, 0.0
    for path in sorted(Path(os.__file__).parent.rglob("*.py")):
        if {"test", "tests", "site-packages", "dist-packages", "idlelib"} & set(path.parts):
            continue
        lines = list(enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1))
        start = time.process_time()
        hits += len(find(lines))
        seconds += time.process_time() - start
        total += len(lines)
    print(f"| forbid_secrets | {total:,} lines of Python's standard library | - | {hits} |")
    return total / max(seconds, 1e-9)
