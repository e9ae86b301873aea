"""Run records for tests of comparisons."""

from typing import Any

from steelyard.domain.run_record import RunRecord


def record(task: str, arm: str, repeat: int = 1, **fields: Any) -> RunRecord:
    """A record with plain numbers where nothing else is said."""
    known: dict[str, Any] = {
        "run_id": f"{task}/{arm}/{repeat}",
        "task_id": task,
        "arm": arm,
        "repeat": repeat,
        "success": True,
        "duration_seconds": 10.0,
        "total_cost_usd": 1.0,
        "input_tokens": 100,
        "output_tokens": 50,
        "cache_read_tokens": 10,
        "cache_write_tokens": 5,
    }
    return RunRecord(**(known | fields))


def arms(baseline: dict[str, list[float]], candidate: dict[str, list[float]]) -> list[RunRecord]:
    """Records of arms `b` and `a` from composites by task, one a repeat."""
    return [
        record(task, arm, place, composite=value)
        for arm, tasks in (("b", baseline), ("a", candidate))
        for task, values in tasks.items()
        for place, value in enumerate(values, start=1)
    ]
