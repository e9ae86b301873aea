"""Peak memory of the harness over few and over many runs of the trivial agent."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import ENV, table

CODE = """
import resource, sys
from steelyard.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert ended.code in (0, None), ended.code
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
"""
SUITE = """
repeats: {count}
tasks:
  - id: one
    seed: {{directory: seed}}
    prompt: go
    scorers:
      - {{name: a, type: command, command: "true"}}
      - {{name: b, type: forbid_secrets}}
arms:
  a: {{agent: command, command: "echo changed >> file.txt"}}
"""


def main(argv: list[str]) -> None:
    """Run both sizes once each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--few", type=int, default=100)
    parser.add_argument("--many", type=int, default=5000)
    options = parser.parse_args(argv)
    peaks = {count: _peak(count) for count in (options.few, options.many)}
    rows = [(f"{count:,}", f"{peak:.0f}") for count, peak in peaks.items()]
    ratio = peaks[options.many] / peaks[options.few]
    print(table(["runs", "peak RSS of the harness, MB"], rows))
    print(f"\nRatio {ratio:.2f} ×; goal: at most 1.2 ×.")


def _peak(count: int) -> float:
    import subprocess

    memory = Path("/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="steelyard-bench-", dir=memory if memory.is_dir() else None))
    try:
        (work / "seed").mkdir()
        (work / "seed" / "file.txt").write_text("one\n")
        (work / "suite.yaml").write_text(SUITE.format(count=count))
        words = ["run", "suite.yaml", "--sandbox", "local", "--judge", "none"]
        env = ENV | {"STEELYARD_HOME": str(work / "home")}
        subprocess.run([sys.executable, "-c", CODE, *words], cwd=work, env=env, check=True, capture_output=True)
        return float((work / "peak").read_text())
    finally:
        shutil.rmtree(work)
