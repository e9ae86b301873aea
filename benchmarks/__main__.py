"""python -m benchmarks [NAME…] [OPTION…]: runs the benchmarks and writes their tables to benchmarks/RESULTS.md.

Each benchmark is a module here with `main(argv)` that prints Markdown. Run alone, a benchmark replaces only its own
section. Options are the benchmark's own, and go with one name.
"""

import compileall
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import machine

HERE = Path(__file__).parent
TITLES = {
    "harness": "Harness cost",
    "startup": "Start-up",
    "memory": "Memory over many runs",
    "static": "Diff and static scorers",
    "integrity": "Test-integrity detectors",
    "signs": "Secrets and bent runners",
    "hostile": "Hostile diffs",
    "scorecards": "Scorecards",
    "bootstrap": "Bootstrap",
    "coverage": "Interval coverage",
    "false_alarms": "False alarms of the verdict",
    "sequential": "Early stopping",
    "compare_records": "Comparing a million records",
    "transcripts": "Agent transcripts",
    "docker": "Docker overhead",
    "judging": "Judging",
    "service": "The service",
    "pages": "The web pages",
    "truth": "Truth table",
}


def main() -> None:
    """Run the named benchmarks, or all."""
    there = [name for name in TITLES if (HERE / f"{name}.py").exists()]
    first = next((place for place, word in enumerate(sys.argv) if place and word.startswith("-")), len(sys.argv))
    wanted, options = sys.argv[1:first] or there, sys.argv[first:]
    if options and len(wanted) != 1:
        raise SystemExit(f"{options[0]}: options go with one benchmark: `python -m benchmarks integrity --help`")
    unknown = set(wanted) - set(there)
    if unknown:
        raise SystemExit(f"no such benchmark: {', '.join(sorted(unknown))}; there are: {', '.join(there)}")
    compileall.compile_dir(HERE.parent / "src", quiet=1)
    for name in wanted:
        print(f"running {name} …", file=sys.stderr, flush=True)
        code = f"import sys; from benchmarks.{name} import main; main(sys.argv[1:])"
        words = [sys.executable, "-c", code, *options]
        done = subprocess.run(words, cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"benchmark {name} failed")
        print(done.stdout)
        if "--help" not in options:
            _write(name, done.stdout.strip())


def _write(name: str, text: str) -> None:
    """Put a section's new table in its place."""
    path = HERE / "RESULTS.md"
    old = path.read_text() if path.exists() else ""
    sections = dict(re.findall(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", old, re.MULTILINE | re.DOTALL))
    sections[TITLES[name]] = f"Machine: {machine()}.\n\n{text}\n\n"
    head = (
        "# Benchmark results\n\nWritten by `make bench`. Ratios are taken within one run; lower is better unless said."
    )
    ordered = [title for title in TITLES.values() if title in sections]
    path.write_text(
        head + "\n\n" + "".join(f"## {title}\n\n{sections[title].strip()}\n\n" for title in ordered).rstrip() + "\n"
    )


if __name__ == "__main__":
    main()
