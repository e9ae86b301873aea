"""Comparisons to report on, made by really weighing records."""

from collections.abc import Iterator
from typing import Any

from steelyard.compare.weigh import weigh
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.comparison import Comparison
from steelyard.domain.run_record import RunRecord

HOSTILE = "</script><img src=x onerror=alert(1)>|`@me` #1 \x1b[31m\n\u202e&"


def record(task: str, arm: str, repeat: int, passed: int, **more: Any) -> RunRecord:
    """One run with four checks."""
    fields = {
        "run_id": f"run-{task}-{arm}-{repeat}",
        "task_id": task,
        "arm": arm,
        "repeat": repeat,
        "success": passed == 4,
        "duration_seconds": 10.0 + repeat,
        "total_cost_usd": 0.25,
        "input_tokens": 1000,
        "output_tokens": 100,
        "cache_read_tokens": 5000,
        "cache_write_tokens": 10,
        "objective_passed": passed,
        "objective_total": 4,
        **more,
    }
    return RunRecord.model_validate(fields)


def records(tasks: int, repeats: int, gain: int, *, name: str = "task") -> Iterator[RunRecord]:
    """An old and a new arm; the new one passes `gain` more checks (or fewer) on every task but the first."""
    for number in range(tasks):
        for repeat in range(1, repeats + 1):
            before = 2 + (number + repeat) % 2
            after = before if number == 0 else max(0, min(4, before + gain))
            yield record(f"{name}-{number:03d}", "old", repeat, before)
            yield record(f"{name}-{number:03d}", "new", repeat, after)


def compared(tasks: int = 6, repeats: int = 5, gain: int = 1, **spec: Any) -> Comparison:
    """Those records, weighed."""
    return weigh(records(tasks, repeats, gain), "old", "new", CompareSpec(**spec), resamples=200)
