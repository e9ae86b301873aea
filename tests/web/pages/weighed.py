"""Experiments to weigh: a mixed one with three arms, a clear gain, one arm alone, one without pairs, a hostile one."""

import zlib
from typing import Any

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.experiment import Experiment, Finished
from steelyard.domain.run import Parity, Run
from steelyard.domain.suite import Arm, FrozenTask, Seed, Task
from steelyard.domain.usage import Usage
from steelyard.store.database import Store
from steelyard.store.reads import RunFilter
from tests.store.support import AT, judged, run_of, scorer

TASKS = ("dates", "invoices", "off-by-one", "pagination", "retries", "rounding", "slugs", "time-zones")


def add_weighed(store: Store, hostile: str = "") -> None:
    """Fill the store; the hostile one only with a text to be hostile with."""
    _mixed(store)
    _gain(store)
    create(store, "exp_lonely", ("only",), ("solo",), 2, None)
    for repeat in (1, 2):
        save(store, "exp_lonely", "only", "solo", repeat, 1)
    create(store, "exp_apart", ("left", "right"), ("first", "second"), 1, ("first", "second"))
    save(store, "exp_apart", "left", "first", 1, 1)
    save(store, "exp_apart", "right", "second", 1, 1)
    create(store, "exp_planned", ("a",), ("first", "second"), 3, ("first", "second"))
    create(store, "exp_part", ("a", "b"), ("first", "second"), 2, ("first", "second"))
    for arm in ("first", "second"):
        save(store, "exp_part", "a", arm, 1, 1)
    if not hostile:
        return
    create(store, "exp/with a slash?", ("a",), ("first", "second"), 1, ("first", "second"))
    for arm in ("first", "second"):
        save(store, "exp/with a slash?", "a", arm, 1, 1)
    evil = (hostile[:150], hostile[-150:])
    tasks = (hostile[:190], hostile[-190:])
    create(store, "exp_hostile", tasks, evil, 2, evil)
    for place, arm in enumerate(evil):
        for repeat in (1, 2):
            save(store, "exp_hostile", tasks[0], arm, repeat, 1 - place)
            save(store, "exp_hostile", tasks[1], arm, repeat, place)
            save(store, "exp_hostile", hostile, arm, repeat, place)


def _mixed(store: Store) -> None:
    """Two arms and a third: most tasks gain, one falls, one fails for an infrastructure reason, one lacks a partner."""
    create(store, "exp_mixed", TASKS, ("plain", "with_skill", "terse"), 3, ("plain", "with_skill"))
    for number, task in enumerate(TASKS):
        for repeat in (1, 2, 3):
            save(store, "exp_mixed", task, "plain", repeat, int((number + repeat) % 3 > 0))
            good = 0 if task == "retries" else 1
            if (task, repeat) == ("time-zones", 3):
                broken = {"status": "failed", "outcome": "FAILED", "error_class": "rate_limited"}
                save(store, "exp_mixed", task, "with_skill", repeat, 0, **broken)
            else:
                save(store, "exp_mixed", task, "with_skill", repeat, good)
            if task != "slugs":
                save(store, "exp_mixed", task, "terse", repeat, int((number + repeat) % 2))


def _gain(store: Store) -> None:
    """A gain on every task, five times over: what may be promoted."""
    create(store, "exp_gain", TASKS, ("before", "after"), 5, ("before", "after"))
    for task in TASKS:
        for repeat in range(1, 6):
            save(store, "exp_gain", task, "before", repeat, 0)
            save(store, "exp_gain", task, "after", repeat, 1)


def create(
    store: Store, name: str, tasks: tuple[str, ...], arms: tuple[str, ...], repeats: int, sides: tuple[str, str] | None
) -> None:
    """Plan an experiment; `sides` are its baseline and candidate."""
    frozen = tuple(FrozenTask.of(Task(id=task, prompt="Do it.", seed=Seed(empty=True))) for task in tasks)
    spec = CompareSpec() if sides is None else CompareSpec(baseline=sides[0], candidate=sides[1])
    fields: dict[str, Any] = {"workspace": "weighed", "created_at": AT, "suite_path": "/suites/skills.yaml"}
    made = tuple(Arm(name=arm, agent={"type": "scripted"}) for arm in arms)
    store.create_experiment(Experiment(id=name, **fields, tasks=frozen, arms=made, repeats=repeats, compare=spec))


def save(store: Store, experiment: str, task: str, arm: str, repeat: int, good: int, **changes: Any) -> Run:
    """A run whose numbers follow from its names, so that every world is the same."""
    known = len(store.runs(RunFilter(experiment=experiment), limit=1000))
    mixed = zlib.crc32(f"{experiment} {task} {arm} {repeat}".encode("utf-8", "replace")) % 97
    size = {"with_skill": 1.25, "after": 0.9}.get(arm, 1.0)
    usage = Usage(
        input_tokens=int(size * (900 + 13 * mixed)), output_tokens=int(size * (200 + 5 * mixed)),
        cache_read_tokens=40 * mixed, cache_write_tokens=mixed, cost_usd=round(size * (0.05 + mixed / 900), 4),
        steps=6 + mixed % 9, tool_calls=4 + mixed % 7,
    )  # fmt: skip
    fields: dict[str, Any] = {
        "run_id": f"run_{experiment[4:].partition(' ')[0]}_{known + 1:03d}",
        "experiment": experiment,
        "workspace": "weighed",
        "task_id": task,
        "arm": arm,
        "repeat": repeat,
        "wall_s": size * (8.0 + mixed / 4),
        "scorers": (scorer("PASS" if good else "FAIL"), scorer(name="small", type="max_files_changed")),
        "judge": judged(
            "PASS" if good else "FAIL", task_completion=5 if good else 2, failure_mode=None if good else "incomplete"
        ),
        "usage": usage,
        "parity": Parity(agent="scripted", sandbox="local", model="a-model"),
    }
    run = run_of(repeat, **{**fields, **changes})
    store.save(Finished(run, {}), scored_at=AT)
    return run
