"""What a graded run costs: next to a plain loop that spawns the same processes, and next to Inspect AI.

A sample is a 20-file repository, a trivial agent, the diff, two commands and, for Steelyard, all static scorers and the
store. Marginal cost is (cost of N samples − cost of one) / (N − 1); rounds are interleaved and ratios taken per round.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import ENV, median, span, spend, table

AGENT = "echo changed >> file_03.txt; echo new > added.txt"
CHECKS = ("grep -q changed file_03.txt", "test -e added.txt")
STEELYARD = str(Path(sys.executable).parent / "steelyard")

FLOOR = """
import concurrent.futures, os, shutil, subprocess, sys
seed, scratch, count, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def sample(n):
    tree = os.path.join(scratch, f"floor-{n}")
    subprocess.run(["cp", "-r", seed, tree], check=True)
    subprocess.run(["sh", "-c", AGENT], cwd=tree, check=True, capture_output=True)
    subprocess.run(["git", "diff"], cwd=tree, check=True, capture_output=True)
    for check in CHECKS:
        subprocess.run(["sh", "-c", check], cwd=tree, check=True, capture_output=True)
    shutil.rmtree(tree)
with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    list(pool.map(sample, range(count)))
"""

INSPECT = """
import os, shutil, subprocess, sys
seed, scratch, count, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver
from inspect_ai.util import sandbox
@solver
def agent():
    async def solve(state, generate):
        box = sandbox()
        await box.exec(["cp", "-r", seed + "/.", "."])
        await box.exec(["sh", "-c", AGENT])
        state.metadata["diff"] = (await box.exec(["git", "diff"])).stdout
        return state
    return solve
@scorer(metrics=[accuracy()])
def checks():
    async def score(state, target):
        results = [await sandbox().exec(["sh", "-c", check]) for check in CHECKS]
        return Score(value="C" if all(one.success for one in results) else "I")
    return score
task = Task(dataset=[Sample(input="go", id=n) for n in range(count)], solver=agent(), scorer=checks(), sandbox="local")
done = eval(task, model="mockllm/model", log_dir=os.path.join(scratch, "logs"), display="none", max_samples=jobs,
            max_sandboxes=jobs, max_subprocesses=jobs)
assert done[0].status == "success"
"""

SUITE = """
repeats: {count}
tasks:
  - id: one
    seed: {{directory: seed}}
    prompt: go
    scorers:
      - {{name: a, type: command, command: "{checks[0]}"}}
      - {{name: b, type: command, command: "{checks[1]}"}}
      - {{name: c, type: allowed_paths, patterns: ["*"]}}
      - {{name: d, type: forbid_paths, patterns: [".github/*"]}}
      - {{name: e, type: max_files_changed, limit: 5}}
      - {{name: f, type: forbid_secrets}}
      - {{name: g, type: file_exists, path: added.txt}}
      - {{name: h, type: tests_unmodified, paths: [file_00.txt]}}
      - {{name: i, type: baseline_unmodified, paths: [file_01.txt]}}
      - {{name: j, type: no_new_skips}}
      - {{name: k, type: assertions_not_weakened}}
arms:
  a: {{agent: command, command: "{agent}"}}
"""


def main(argv: list[str]) -> None:
    """Measure in rounds; `--quick` takes few of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-inspect", action="store_true")
    options = parser.parse_args(argv)
    memory = Path("/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="steelyard-bench-", dir=memory if memory.is_dir() else None))
    try:
        print(_measure(work, options))
    finally:
        shutil.rmtree(work)


def _measure(work: Path, options: argparse.Namespace) -> str:
    runners = _runners(work, options.jobs)
    if options.no_inspect:
        del runners["Inspect AI (local sandbox)"]
    single: dict[str, list[float]] = {name: [] for name in runners}
    many: dict[str, list[float]] = {name: [] for name in runners}
    python: list[float] = []
    for number in range(options.rounds):
        python.append(spend([sys.executable, "-c", "pass"]).cpu_s)
        for name, run in runners.items():
            if name.startswith("Inspect") and number >= 3:  # it is slow and its ratio is not close
                continue
            single[name].append(run(1))
            many[name].append((run(options.samples) - single[name][-1]) / (options.samples - 1) * 1000)
    floor = many["floor: a loop in threads"]
    rows = []
    for name, values in many.items():
        ratios = [value / base for value, base in zip(values, floor, strict=False)]
        fixed = single[name]
        rows.append((name, span(values, 1), span(ratios), span(fixed), f"{median(fixed) / median(python):.0f} ×"))
    head = ["harness", "CPU ms a run", "next to the floor", "CPU s for one run", "next to `python -c pass`"]
    said = (
        f"{options.samples} samples, {options.jobs} at once, {options.rounds} rounds (Inspect AI: 3), trees in memory."
    )
    goals = "Goals: at most 1.5 × the floor and half of Inspect AI; one run at most 0.6 s CPU."
    return f"{said}\n\n{table(head, rows)}\n\n{goals}"


def _runners(work: Path, jobs: int) -> dict[str, Callable[[int], float]]:
    seed = work / "seed"
    seed.mkdir()
    for number in range(20):
        (seed / f"file_{number:02}.txt").write_text(f"line of file {number}\n" * 40)
    plain = work / "plain"
    shutil.copytree(seed, plain)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=plain, check=True)
    given = f"AGENT = {AGENT!r}\nCHECKS = {CHECKS!r}\n"
    (work / "floor.py").write_text(given + FLOOR)
    (work / "inspect_run.py").write_text(given + INSPECT)

    def script(name: str) -> Callable[[int], float]:
        def run(count: int) -> float:
            return spend(
                [sys.executable, str(work / name), str(plain), str(work), str(count), str(jobs)], cwd=work
            ).cpu_s

        return run

    def steelyard(count: int) -> float:
        (work / "suite.yaml").write_text(SUITE.format(count=count, checks=CHECKS, agent=AGENT))
        env = ENV | {"STEELYARD_HOME": str(work / "home"), "STEELYARD_SCRATCH": str(work / "scratch")}
        words = [STEELYARD, "run", "suite.yaml", "--sandbox", "local", "--jobs", str(jobs), "--judge", "none", "--json"]
        spent = spend(words, cwd=work, env=env).cpu_s
        shutil.rmtree(work / "home")
        return spent

    return {
        "floor: a loop in threads": script("floor.py"),
        "Steelyard": steelyard,
        "Inspect AI (local sandbox)": script("inspect_run.py"),
    }
