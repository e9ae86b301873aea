"""Bounded concurrency, retries and budgets, with real threads."""

import threading

import pytest

from steelyard.domain.experiment import Finished
from steelyard.domain.run import Cell, Parity, Run
from steelyard.domain.suite import Arm, FrozenTask, Task
from steelyard.domain.usage import Usage
from steelyard.engine.crew import Budget, Crew, Orders
from steelyard.engine.lab import Job
from steelyard.errors import ErrorClass

TASK = FrozenTask.of(Task(id="t", prompt="do it"))
ARM = Arm(name="a", agent={"type": "command", "command": "true"})


def job(repeat: int) -> Job:
    """A cell of a one-task experiment."""
    return Job("exp", "default", Cell(task_id="t", arm="a", repeat=repeat), TASK, ARM)


def finished(one: Job, error: ErrorClass | None = None, cost: float | None = None) -> Finished:
    """A run that ended so."""
    run = Run(
        run_id=f"run-{one.cell.repeat}-{one.attempt}",
        experiment="exp",
        workspace="default",
        task_id="t",
        arm="a",
        repeat=one.cell.repeat,
        task_sha256=TASK.sha256,
        status="failed" if error else "completed",
        outcome="FAILED" if error else "COMPLETED",
        error_class=error,
        started_at="2026-01-01T00:00:00.000000Z",
        finished_at="2026-01-01T00:00:01.000000Z",
        wall_s=1.0,
        usage=Usage(cost_usd=cost),
        parity=Parity(agent="command", sandbox="local"),
    )
    return Finished(run=run)


def test_every_job_runs_once() -> None:
    """All cells are run, whatever the number of threads."""
    done: list[int] = []

    report = Crew(
        [job(n) for n in range(1, 21)],
        Orders(run=finished, on_done=lambda one: done.append(one.run.repeat), stop=lambda: None, jobs=4),
    ).work()

    assert sorted(done) == list(range(1, 21))
    assert (report.finished, report.left, report.stopped_by) == (20, 0, None)


def test_no_more_than_the_asked_number_run_at_once() -> None:
    """With two jobs there are never three runs under way."""
    lock, now, most = threading.Lock(), [0], [0]
    gate = threading.Barrier(2, timeout=60)

    def run(one: Job) -> Finished:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        gate.wait()
        with lock:
            now[0] -= 1
        return finished(one)

    Crew([job(n) for n in range(1, 7)], Orders(run=run, on_done=lambda _: None, stop=lambda: None, jobs=2)).work()

    assert most[0] == 2


@pytest.mark.parametrize(
    ("error", "retries", "attempts"),
    [
        ("network", 1, 2),
        ("network", 0, 1),
        ("network", 3, 4),
        ("agent_crashed", 3, 1),
        ("interrupted", 3, 1),
        (None, 3, 1),
    ],
)
def test_only_infrastructure_failures_are_retried(error: ErrorClass | None, retries: int, attempts: int) -> None:
    """An agent's own failure is its result; ours is tried again, and every attempt is kept."""
    kept: list[Finished] = []

    Crew(
        [job(1)],
        Orders(run=lambda one: finished(one, error), on_done=kept.append, stop=lambda: None, retries=retries),
    ).work()

    assert [one.run.run_id for one in kept] == [f"run-1-{n}" for n in range(1, attempts + 1)]


def test_a_budget_stops_new_runs_and_says_so() -> None:
    """When the money is used up nothing more starts, running commands are told to stop, and the rest is counted."""
    stopped: list[bool] = []

    report = Crew(
        [job(n) for n in range(1, 11)],
        Orders(
            run=lambda one: finished(one, cost=1.0),
            on_done=lambda _: None,
            stop=lambda: stopped.append(True),
            budget=Budget(max_cost_usd=3.0),
        ),
    ).work()

    assert report.finished == 3
    assert report.left == 7
    assert report.stopped_by == "the budget of $3 is used up ($3.0000 spent)"
    assert stopped


def test_money_spent_before_counts() -> None:
    """A resumed experiment starts from what it has already spent."""
    report = Crew(
        [job(1), job(2)],
        Orders(
            run=lambda one: finished(one, cost=1.0),
            on_done=lambda _: None,
            stop=lambda: None,
            budget=Budget(max_cost_usd=3.0, cost_usd=2.5),
        ),
    ).work()

    assert (report.finished, report.left) == (1, 1)


def test_an_error_of_ours_is_raised_in_the_main_thread() -> None:
    """A store that can't write is not swallowed by a worker."""

    def broken(_one: Finished) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        Crew([job(1), job(2)], Orders(run=finished, on_done=broken, stop=lambda: None)).work()
