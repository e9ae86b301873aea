"""Very many runs, written straight into the table: for tests and measurements of pages, not of storing."""

from typing import Any

from sqlalchemy import insert

from steelyard.domain.record import canonical_json
from steelyard.domain.usage import Usage
from steelyard.store import schema
from steelyard.store.database import Store
from steelyard.store.rows import run_row
from tests.store.support import run_of

MODES = (None, None, None, "incomplete", "wrong_solution", "reward_hacking")
TIERS = ("Bronze", "Silver", "Gold", "Elite")
ARMS = ("plain", "with_skill", "other")
BATCH = 5_000
DAYS = 28


def add_many(store: Store, count: int, workspace: str = "many", experiment: str = "exp_many") -> None:
    """`count` runs that differ in all that can be filtered and sorted; the number of each makes its values."""
    usage = Usage(input_tokens=1, output_tokens=1, cache_read_tokens=0, cache_write_tokens=0, cost_usd=0.1)
    run = run_of(0, workspace=workspace, experiment=experiment, usage=usage)
    base = run_row(run, "", ("bulk",))
    record = canonical_json(run.model_dump(mode="json"))
    with store.database.write("adding many runs") as connection:
        connection.execute(insert(schema.workspaces).values(id=workspace))
        connection.execute(insert(schema.daily_scores), _days(workspace, count))
        for index in schema.runs.indexes:  # made again at the end, in one go each: much sooner done
            index.drop(connection)
    for start in range(0, count, BATCH):
        rows = [_row(base, record, number, count) for number in range(start, min(count, start + BATCH))]
        with store.database.write("adding many runs") as connection:
            connection.execute(insert(schema.runs), rows)
    for index in schema.runs.indexes:
        with store.database.write("making an index") as connection:
            index.create(connection)


def name_of(number: int) -> str:
    """The id of a run of `add_many`."""
    return f"run_many{number:08d}"


def _days(workspace: str, count: int) -> list[dict[str, Any]]:
    """The same weeks however many runs there are: only the numbers in them differ."""
    each = max(1, count // (DAYS * len(ARMS)))
    common = {"workspace": workspace, "runs": each, "silver": 0, "gold": each - each // 2, "p50_s": 500.0}
    return [
        common
        | {"arm": arm, "day": f"2026-01-{day + 1:02d}", "total": 70 * each, "squares": 70 * 70 * each + each}
        | {"bronze": each // 2, "elite": 0, "last_at": f"2026-01-{day + 1:02d}T23:00:00.000000Z"}
        for arm in ARMS
        for day in range(DAYS)
    ]


def _row(base: dict[str, Any], record: str, number: int, count: int) -> dict[str, Any]:
    mixed = (number * 7919) % 100_003
    mode = MODES[mixed % len(MODES)]
    failed = mixed % 11 == 0
    return base | {
        "run_id": name_of(number),
        "task_id": f"task-{mixed % 40}",
        "arm": ARMS[mixed % 3],
        "repeat": number + 1,
        "status": "failed" if failed else "completed",
        "objective": "FAIL" if mixed % 5 == 0 else "PASS",
        "judge": "PASS" if mode is None else "FAIL",
        "failure_mode": mode,
        "disagreement": "mechanical pass, not convincing" if mode and mixed % 5 else None,
        "composite": mixed % 1000 / 1000,
        "score": None if failed else mixed % 101,
        "tier": "Unranked" if failed else TIERS[min(3, mixed % 101 // 30)],
        "wall_s": 1 + mixed / 100,
        "cost_usd": None if mixed % 13 == 0 else mixed / 10_000,
        "total_tokens": 1000 + mixed,
        "tool_calls": mixed % 300,
        "finished_at": f"2026-01-{1 + number * DAYS // count:02d}T{number // 3600 % 24:02d}:"
        f"{number // 60 % 60:02d}:{number % 60:02d}.000000Z",
        "record": record.replace("run_00000", name_of(number)),
    }
