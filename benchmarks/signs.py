"""How often forbid_secrets and harness_unmodified are right: `python -m benchmarks signs [--corpus DIR]`.

The figures come from the samples that ship with the tests, from the source of Python's standard library (ordinary
lines: every hit there is taken for a false alarm), and, where DIR (or $STEELYARD_CORPORA) holds `secrets_dev.jsonl`
(`{"line": …, "secret": true or false}` a line), from that.
"""

import argparse
import json
import os
import time
from pathlib import Path

from tests.formulas.secret_lines import ORDINARY, SECRET
from tests.scorers.harness.benign import BENIGN
from tests.scorers.harness.hostile import HOSTILE
from tests.scorers.harness.support import evidence_of

from steelyard.formulas.secret_rules import rules
from steelyard.formulas.secrets import find
from steelyard.scorers.harness_unmodified import HarnessUnmodified

HARNESS = HarnessUnmodified(name="harness")


def main(argv: list[str]) -> None:
    """Print what was seen and what was taken for something it is not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks signs", description=__doc__)
    parser.add_argument("--corpus", default=os.environ.get("STEELYARD_CORPORA"), help="folder of the labelled sets")
    folder = parser.parse_args(argv).corpus
    print("| scorer | on | seen | false alarms |")
    print("| --- | --- | --- | --- |")
    _harness()
    _secrets("shipped samples", [(line, True) for line in SECRET] + [(line, False) for line in ORDINARY])
    if folder and Path(folder, "secrets_dev.jsonl").is_file():
        text = Path(folder, "secrets_dev.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        _secrets("labelled lines", [(row["line"], bool(row["secret"])) for row in rows])
    _library()


def _harness() -> None:
    seen = sum(HARNESS.score(evidence_of(before, after), None).verdict == "FAIL" for _, _, before, after in HOSTILE)
    wrong = sum(HARNESS.score(evidence_of(before, after), None).verdict == "FAIL" for _, before, after in BENIGN)
    print(f"| harness_unmodified | shipped samples | {seen} of {len(HOSTILE)} | {wrong} of {len(BENIGN)} |")


def _secrets(name: str, rows: list[tuple[str, bool]]) -> None:
    seen = sum(bool(find([(1, line)])) for line, secret in rows if secret)
    wrong = sum(bool(find([(1, line)])) for line, secret in rows if not secret)
    there = sum(secret for _, secret in rows)
    print(f"| forbid_secrets | {name} | {seen} of {there} | {wrong} of {len(rows) - there} |")


def _library() -> None:
    """Ordinary code that is on every machine; its tests are left out, as they hold keys on purpose."""
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
    print(f"\n{len(rules())} rules for secrets; {total / max(seconds, 1e-9) / 1e6:.1f} million lines/s.")
