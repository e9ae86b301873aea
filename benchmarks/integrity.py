"""How well and how fast the test-integrity detectors work: `python -m benchmarks integrity [--corpus DIR]`.

The figures come from the samples that ship with the tests and, where DIR (or $STEELYARD_CORPORA) holds
`test_edits_dev.jsonl` and `test_hacks_dev.jsonl`, from real commits and weakened real tests given as diffs.
"""

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.scorers.integrity.samples import samples

from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade
from steelyard.domain.suite import Task
from steelyard.scorers.assertions_not_weakened import AssertionsNotWeakened
from steelyard.scorers.no_new_skips import NoNewSkips

TASK = Task.model_construct(id="benchmark", prompt="none")
SKIPS, ASSERTIONS = NoNewSkips(name="skips"), AssertionsNotWeakened(name="assertions")


def main(argv: list[str]) -> None:
    """Print precision and recall per language and per kind, then the speed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks integrity", description=__doc__)
    parser.add_argument("--corpus", default=os.environ.get("STEELYARD_CORPORA"), help="folder of the labelled sets")
    folder = parser.parse_args(argv).corpus
    _shipped()
    if folder and Path(folder, "test_edits_dev.jsonl").is_file():
        _edits(Path(folder, "test_edits_dev.jsonl"))
        _hacks(Path(folder, "test_hacks_dev.jsonl"))
    else:
        print("corpora: absent (give --corpus DIR or STEELYARD_CORPORA); the shipped samples alone were measured")
    _speed()


def grades(files: dict[str, tuple[str, str]]) -> tuple[Grade, Grade]:
    """Both scorers on files given as (before, after)."""
    before = {path: sides[0].encode("utf-8", "replace") for path, sides in files.items()}
    after = {path: sides[1].encode("utf-8", "replace") for path, sides in files.items()}
    changes = tuple(FileChange(path, "modified") for path in files)
    evidence = Evidence(task=TASK, diff=Diff(files=changes), before=before.get, after=after.get)
    return SKIPS.score(evidence, None), ASSERTIONS.score(evidence, None)


def sides(diff: str) -> tuple[str, str]:
    """Both sides of what a unified diff shows."""
    body = [line for line in diff.split("\n")[2:] if not line.startswith("@@")]
    return (
        "\n".join(line[1:] for line in body if not line.startswith("+")),
        "\n".join(line[1:] for line in body if not line.startswith("-")),
    )


def _shipped() -> None:
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for sample in samples():
        skips, assertions = grades({sample.path: (sample.before, sample.after)})
        seen = {"skips": skips.verdict, "assertions": assertions.verdict}
        good = "FAIL" not in seen.values() if sample.verdict == "quiet" else seen[sample.verdict] == "FAIL"
        right[sample.language] += good
        total[sample.language] += 1
    for language, count in total.items():
        print(f"shipped samples, {language}: {right[language]} of {count} right")


def _edits(path: Path) -> None:
    """Net new skips and net removed assertions on real commits, against the labels."""
    table: dict[str, Counter[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        skips, assertions = grades({row["path"]: sides(row["diff"])})
        for name, grade, label in (
            ("skips", skips, "label_new_skip"),
            ("assertions", assertions, "label_assert_removed"),
        ):
            kind = ("t" if (grade.verdict == "FAIL") == row[label] else "f") + ("p" if grade.verdict == "FAIL" else "n")
            for language in (row["lang"], "all"):
                table.setdefault(f"{name}, {language}", Counter())[kind] += 1
    for name, seen in sorted(table.items()):
        flagged, there = seen["tp"] + seen["fp"], seen["tp"] + seen["fn"]
        precision = f"{seen['tp'] / flagged:.3f}" if flagged else "-"
        recall = f"{seen['tp'] / there:.3f}" if there else "-"
        ordinary = seen["fp"] / max(1, seen["fp"] + seen["tn"])
        print(
            f"real edits, {name}: precision {precision}, recall {recall}, ordinary flagged {ordinary:.1%}, {dict(seen)}"
        )


def _hacks(path: Path) -> None:
    """Weakened real tests, by how they were weakened: seen by either scorer."""
    seen: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        hit = "FAIL" in {grade.verdict for grade in grades({row["path"]: sides(row["diff"])})}
        for kind in (row["operator"], "all kinds"):
            seen[kind] += hit
            total[kind] += 1
    for kind, count in total.items():
        print(f"weakened tests, {kind}: {seen[kind]} of {count} seen ({seen[kind] / count:.1%})")


def _speed() -> None:
    """Both scorers on 500 changed test files of 10 kB, one edit each."""
    bases = {sample.language: sample for sample in samples()}
    files: dict[str, tuple[str, str]] = {}
    for number in range(500):
        sample = list(bases.values())[number % len(bases)]
        copies = [sample.before.replace("20", str(20 + copy)) for copy in range(10_000 // len(sample.before) + 1)]
        text = "\n".join(copies).replace("anvil", f"anvil{number}")
        folder, _, name = sample.path.rpartition("/")
        files[f"{folder}/m{number}/{name}"] = (text, text.replace("23", "777", 1))
    size = sum(len(after) for _, after in files.values()) / 1e6
    start = time.process_time()
    grades(files)
    seconds = time.process_time() - start
    print(f"speed: {len(files)} changed test files, {size:.1f} MB, {seconds:.2f} s CPU, {size / seconds:.1f} MB/s")
