"""How often the verdict rule cries wolf: equal arms weighed in both modes: `python -m benchmarks false_alarms [N]`."""

import sys
from collections.abc import Iterator

import numpy as np

from steelyard.compare.aa import aa_check
from steelyard.compare.table import RecordTable, table_of
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.run_record import RunRecord

SETS = 25
SPLITS = 8
DESIGNS = ((5, 5), (10, 5), (10, 10), (30, 5))
MODES = ("any", "significant")


def records(rng: np.random.Generator, tasks: int, repeats: int) -> Iterator[RunRecord]:
    """One arm: four checks, each task with its own rate of passing, times that scatter by a quarter."""
    for task in range(tasks):
        rate = rng.beta(4, 1)
        for repeat in range(1, 2 * repeats + 1):
            passed = int(rng.binomial(4, rate))
            yield RunRecord(
                run_id=f"{task}-{repeat}",
                task_id=f"task {task:02d}",
                arm="only",
                repeat=repeat,
                success=passed == 4,
                duration_seconds=float(60 * rng.lognormal(0, 0.25)),
                total_cost_usd=None,
                input_tokens=int(10_000 * rng.lognormal(0, 0.25)),
                output_tokens=1000,
                cache_read_tokens=0,
                cache_write_tokens=0,
                objective_passed=passed,
                objective_total=4,
            )


def tables(sets: int, tasks: int, repeats: int) -> Iterator[RecordTable]:
    """Data sets that are the same in each mode."""
    rng = np.random.default_rng(1000 * tasks + repeats)
    for _ in range(sets):
        yield table_of(records(rng, tasks, repeats))


def rates(sets: int, design: tuple[int, int], mode: str) -> dict[str, float]:
    """The share of equal pairs that got each answer."""
    spec = CompareSpec(regressions=mode)  # type: ignore[arg-type]  # one of MODES
    total = dict.fromkeys(("improved", "regressed", "promoted", "false_interval"), 0)
    for table in tables(sets, *design):
        found = aa_check(table, "only", spec, min_repeats=design[1], splits=SPLITS)
        for name in total:
            total[name] += getattr(found, name)
    return {name: count / (sets * SPLITS) for name, count in total.items()}


def main(argv: list[str]) -> None:
    """Print a Markdown table."""
    sets = int(argv[0]) if argv else SETS
    print(f"{sets * SPLITS} pairs of equal arms a row ({sets} simulated arms, each split {SPLITS} times at random).\n")
    print("| tasks × repeats | mode | improved | regressed | would be promoted | 95 % interval leaves out 0 |")
    print("| --- |" + " --- |" * 5)
    for tasks, repeats in DESIGNS:
        for mode in MODES:
            found = rates(sets, (tasks, repeats), mode)
            cells = " | ".join(f"{100 * share:.1f} %" for share in found.values())
            print(f"| {tasks} × {repeats} | `{mode}` | {cells} |")


if __name__ == "__main__":
    main(sys.argv[1:])
