"""How far an experiment is: a bar on a terminal, a line a run elsewhere. Written to stderr."""

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import note
from steelyard.domain.run import Cell, Run
from steelyard.engine.lab import Observer

if TYPE_CHECKING:
    from rich.progress import Progress


class Watch:
    """Counts finished runs, failures and money, and shows them."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total, self.quiet = total, quiet
        self.done = self.failed = 0
        self.cost_usd = 0.0
        self.cost_known = self.cost_unknown = 0
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._row: Any = None

    def observer(self) -> Observer:
        """What the engine calls."""
        return Observer(started=self._begin)

    def __enter__(self) -> "Watch":
        """Show the bar where there is a terminal."""
        if not self.quiet and self.total and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            console = Console(stderr=True)
            if console.is_dumb_terminal:  # no bar can be drawn there
                return self
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[extra]}", markup=False),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self._row = self._bar.add_task("runs", total=self.total, extra="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away again."""
        if self._bar is not None:
            self._bar.stop()

    def _begin(self, cell: Cell) -> None:
        if self._bar is not None:
            self._bar.update(self._row, description=f"{cell.task_id} {cell.arm} #{cell.repeat}"[:48])

    def finished(self, run: Run) -> None:
        """A run has been stored; what is tried again takes the place of the try before, which had failed."""
        again = run.attempt > 1
        with self._lock:
            self.done += not again
            self.failed += (run.is_infrastructure or run.outcome != "COMPLETED") - again
            self.cost_usd += run.usage.cost_usd or 0.0
            self.cost_known += run.usage.cost_usd is not None
            self.cost_unknown += run.usage.cost_usd is None
            if self._bar is not None:
                self._bar.update(self._row, completed=self.done, extra=f"{self.failed} failed, {self._cost()}")
            elif not self.quiet:
                self._line(run)

    def _line(self, run: Run) -> None:
        spent = time.monotonic() - self._started
        left = spent / self.done * max(0, self.total - self.done)
        why = f" ({run.error_class}: {run.error_detail})" if run.error_class else ""
        note(
            f"[{self.done}/{self.total}] {run.task_id} {run.arm} #{run.repeat} {run.outcome} "
            f"{run.wall_s:.1f}s{why} · {self._cost()} · {left:.0f}s left"
        )

    def _cost(self) -> str:
        """What was spent, as far as agents told."""
        if not self.cost_known:
            return "cost unknown"
        return f"${self.cost_usd:.2f}" + (f" + {self.cost_unknown} unknown" if self.cost_unknown else "")
