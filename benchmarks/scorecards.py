"""Scorecards per second of processor time on one core, from run descriptions that are already parsed."""

import sys
import time

from steelyard.domain.usage import Resources
from steelyard.formulas.scorecard import RunFacts, score_facts, score_run

RUNS = 100_000
LIMIT = 100_000


def facts() -> list[RunFacts]:
    """Runs with three stages, a history of twenty and full telemetry."""
    measured = [
        Resources(peak_memory_mb=100.0 + k, memory_limit_mb=1000.0, cpu_periods=100, cpu_throttled_periods=k)
        for k in range(50)
    ]
    histories = [tuple(float(1 + (k + n) % 17) for n in range(20)) for k in range(17)]
    stages = [(("lint", 1, True), ("build", 1, True), ("test", 1 + k, True)) for k in range(3)]
    outcomes = ("COMPLETED", "COMPLETED", "BLOCKED", "FAILED")
    return [
        RunFacts(f"r{n}", outcomes[n % 4], stages[n % 3], 5.0 + n % 13, histories[n % 17], None, measured[n % 50])
        for n in range(RUNS)
    ]


def main(argv: list[str]) -> None:
    """Print a Markdown table."""
    runs = facts()
    print("| what | runs per second (limit 100,000 for the formula) |")
    print("| --- | --- |")
    for name, work in (("the formula", score_facts), ("the formula and its stored record", score_run)):
        best = float("inf")
        for _ in range(3):
            begun = time.process_time()
            for run in runs:
                work(run)
            best = min(best, time.process_time() - begun)
        print(f"| {name} | {RUNS / best:,.0f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
