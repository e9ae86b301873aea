"""Four weeks of a workspace: three arms that score each day, one of which gets better in the last week."""

from typing import Any

from steelyard.domain.experiment import Finished
from steelyard.domain.run import Parity, StageAttempt
from steelyard.domain.usage import Usage
from steelyard.store.database import Store
from tests.store.support import judged, run_of, scorer

WORKSPACE = "watched"
DAYS = 28
LAST = f"2026-01-{DAYS}"
ARMS = ("plain", "with_skill", "with_skill_and_search")
_RUNS = 3


def add_watched(store: Store, hostile: str = "an arm") -> None:
    """Store the runs; one more, of an arm whose name an agent could have made up."""
    number = 0
    for day in range(DAYS):
        for arm in range(len(ARMS)):
            for turn in range(_RUNS):
                at = f"2026-01-{day + 1:02d}T{8 + turn:02d}:00:00+00:00"
                _save(store, number, ARMS[arm], at, _quality(day, arm, turn))
                number += 1
    _save(store, number, hostile, f"{LAST}T20:00:00+00:00", 2)


def _quality(day: int, arm: int, turn: int) -> int:
    """0 is a failed run, 3 the best: the first arm is mixed, the second better in the last week, the third good."""
    mixed = (day * 7 + turn * 3) % 10
    if arm == 0:
        return 0 if mixed == 0 else 1 if mixed < 3 else 2
    if arm == 1:
        return 3 if day >= DAYS - 7 else 1 if mixed < 6 else 2
    return 3 if mixed < 5 else 2


def _save(store: Store, number: int, arm: str, at: str, quality: int) -> None:
    stages = tuple(
        StageAttempt(name=name, attempt=attempt, exit_code=0, passed=attempt == last, duration_s=1.0, output_tail="")
        for name, last in (("lint", 1), ("test", 1 if quality > 1 else 2))
        for attempt in range(1, last + 1)
    )
    tokens = 9_000 + number * 311 % 20_000
    usage = Usage(
        input_tokens=tokens,
        output_tokens=tokens // 12,
        cache_read_tokens=0,
        cache_write_tokens=0,
        cost_usd=round(tokens / 90_000, 4),
        tool_calls=6 + number % 19,
    )
    changes: dict[str, Any] = {
        "usage": usage,
        "parity": Parity(agent="claude-code", agent_version="2.1.0", model="a-model", sandbox="bwrap"),
        "scorers": (scorer("PASS" if quality > 0 else "FAIL", name="unit tests"),),
        "judge": judged("PASS") if quality > 1 else judged("FAIL", failure_mode="incomplete"),
        "outcome": ("FAILED", "BLOCKED", "COMPLETED", "COMPLETED")[quality],
        "stages": stages,
        "wall_s": 60.0 + number % 17 - 20 * (quality == 3),
        "started_at": at,
        "finished_at": at,
        "arm": arm,
    }
    fields = {"run_id": f"run_watched{number:05d}", "workspace": WORKSPACE, "experiment": "", "repeat": 1}
    store.save(Finished(run_of(number, **{**fields, **changes}), {}), scored_at=at)
