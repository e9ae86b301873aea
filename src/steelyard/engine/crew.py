"""Bounded concurrency in threads: retries for infrastructure failures, budgets, and a Ctrl-C that loses nothing."""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from steelyard.domain.experiment import Finished
from steelyard.engine.lab import Job

TICK_S = 15.0


@dataclass
class Budget:
    """What an experiment may spend, and has spent, over all its runs and resumes. None: no limit."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    started: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, finished: Finished) -> None:
        """Count what a run used, whatever became of it."""
        with self.lock:
            self.cost_usd += finished.run.known_cost_usd
            self.tokens += finished.run.known_tokens

    def reached(self, now: float) -> str | None:
        """Which limit is used up, in words."""
        if self.max_cost_usd is not None and self.cost_usd >= self.max_cost_usd:
            return f"the budget of ${self.max_cost_usd:g} is used up (${self.cost_usd:.4f} spent)"
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"the budget of {self.max_tokens} tokens is used up ({self.tokens} spent)"
        if self.max_seconds is not None and now - self.started >= self.max_seconds:
            return f"the experiment's {self.max_seconds:g} s are used up"
        return None


@dataclass(frozen=True)
class Orders:
    """How a crew works.

    `stop` ends every running command at once; `tick` is called every `TICK_S` seconds while there is work.
    """

    run: Callable[[Job], Finished]
    on_done: Callable[[Finished], None]
    stop: Callable[[], None]
    jobs: int = 1
    retries: int = 1
    budget: Budget = field(default_factory=Budget)
    monotonic: Callable[[], float] = lambda: 0.0
    tick: Callable[[], None] = lambda: None


@dataclass
class Report:
    """How it went."""

    finished: int = 0
    left: int = 0
    stopped_by: str | None = None
    error: BaseException | None = None


class Crew:
    """Works through jobs with a bounded number of threads."""

    def __init__(self, jobs: Sequence[Job], orders: Orders) -> None:
        self.orders = orders
        self.report = Report()
        self._queue: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for job in jobs:
            self._queue.put(job)
        self._changed = threading.Condition()
        self._working = 0
        self._stopping = False
        self._ticked = orders.monotonic()

    def work(self) -> Report:
        """Run everything; after Ctrl-C the running agents are stopped, what they used is kept, and it is raised on.

        The main thread never joins a worker: on Python 3.11 an interrupted join takes a running thread for ended.
        """
        count = max(1, min(self.orders.jobs, self._queue.qsize()))
        self._working = count
        for number in range(count):
            threading.Thread(target=self._worker, name=f"run-{number}", daemon=True).start()
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                self._wait()
                break
            except KeyboardInterrupt as error:
                if interrupt is not None:
                    raise
                interrupt = error
                self._halt("interrupted")
        self.report.left = self._queue.qsize()
        if self.report.error is not None:
            raise self.report.error
        if interrupt is not None:
            raise interrupt
        return self.report

    def _wait(self) -> None:
        with self._changed:
            while self._working:
                self._changed.wait(0.2)
                if self.orders.monotonic() - self._ticked >= TICK_S:
                    self._ticked = self.orders.monotonic()
                    self.orders.tick()
                self._spent()

    def _halt(self, why: str) -> None:
        self._stopping = True
        self.report.stopped_by = self.report.stopped_by or why
        self.orders.stop()

    def _worker(self) -> None:
        try:
            while not self._stopping and not self._spent():
                try:
                    job = self._queue.get_nowait()
                except queue.Empty:
                    return
                self._one(job)
        except BaseException as error:  # noqa: BLE001  # whatever it was, the main thread raises it on
            self.report.error = self.report.error or error
            self._halt("an error in Steelyard")
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    def _one(self, job: Job) -> None:
        while True:
            finished = self.orders.run(job)
            self.orders.budget.add(finished)
            self.orders.on_done(finished)
            with self._changed:
                self.report.finished += 1
            again = finished.run.is_infrastructure and finished.run.error_class != "interrupted"
            if not again or job.attempt > self.orders.retries or self._stopping:
                break
            job = replace(job, attempt=job.attempt + 1)

    def _spent(self) -> bool:
        """Whether a limit of the experiment is used up; then everything is told to stop."""
        reached = self.orders.budget.reached(self.orders.monotonic())
        if reached is not None and not self._stopping:
            self._halt(reached)
        return reached is not None
