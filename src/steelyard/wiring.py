"""Builds what commands use from settings: the only module that names concrete classes."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engine.lab import Job, Lab, Observer, instant
from steelyard.settings import Settings

if TYPE_CHECKING:
    from steelyard.domain.evidence import Evidence
    from steelyard.domain.grade import JudgeResult
    from steelyard.domain.run import Run
    from steelyard.domain.suite import JudgeSpec
    from steelyard.events.base import Sink
    from steelyard.judge.cache import Reads
    from steelyard.judge.jury import Jury, Seats
    from steelyard.sandboxes.base import SandboxProvider
    from steelyard.store.database import Store

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
MEMORY = Path("/dev/shm")  # noqa: S108  # the standard place for files in memory
ROOM = 2 * 1024**3  # below this much free space, memory is not used for trees


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The instant, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


def new_id(prefix: str) -> str:
    """A fresh id that sorts by time: milliseconds, then 80 random bits, in Crockford's base 32."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return prefix + "_" + "".join(CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


@dataclass(frozen=True)
class Choices:
    """What a command line chose for the runs of an experiment."""

    provider: "SandboxProvider"
    suite_root: Path
    environ: Mapping[str, str]
    observer: Observer = Observer()
    judge: "Callable[[Evidence, Job], JudgeResult | None] | None" = None


@contextmanager
def open_lab(settings: Settings, choices: Choices) -> Iterator[Lab]:
    """The lab, with a scratch place that is gone afterwards."""
    from steelyard.worktree.patches import Patches
    from steelyard.worktree.template import Templates

    with scratch_place(settings) as scratch, closing(Patches(scratch / "patches")) as patches:
        yield Lab(
            provider=choices.provider,
            templates=Templates(scratch / "templates"),
            scratch=scratch,
            suite_root=choices.suite_root,
            clock=SystemClock(),
            new_id=lambda: new_id("run"),
            environ=choices.environ,
            judge=choices.judge,
            observer=choices.observer,
            patches=patches,
        )


@dataclass(frozen=True)
class JudgeWish:
    """What a command line says of judging: auto, none or a backend's name, a model, and where replies are cached."""

    name: str = "auto"
    model: str | None = None
    cache: Path | None = None


@contextmanager
def open_judge(
    wish: JudgeWish, specs: "Sequence[JudgeSpec]", environ: Mapping[str, str], note: Callable[[str], None]
) -> "Iterator[Callable[[Evidence, Job], JudgeResult | None] | None]":
    """Who judges the runs of tasks with these `judge` specs, or None when nobody does; `note` hears why, once."""
    if wish.name == "none":
        yield None
        return
    from steelyard.judge.base import About
    from steelyard.judge.choose import Choice

    choice = Choice(wish.name, wish.model, environ, note)
    if not choice.look(specs):
        yield None
        return
    with open_jury(choice.seats, environ, wish.cache) as jury:

        def judge(evidence: "Evidence", job: Job) -> "JudgeResult | None":
            cell = job.cell
            injected = [environ[name] for name in job.arm.env if environ.get(name)]
            return jury.judge(evidence, About(cell.task_id, cell.arm, cell.repeat), injected)

        yield judge


def open_jury(
    seats: "Seats", environ: Mapping[str, str], cache: Path | None = None, reads: "Reads | None" = None
) -> "Jury":
    """A jury with the machine's clocks, whose waiting ends when the program is stopped; a context manager.

    `cache` is where replies are kept; `reads` says which replies are worth it, where the question is not the usual one.
    """
    from steelyard.judge.cache import caching
    from steelyard.judge.consult import Surroundings
    from steelyard.judge.jury import Jury
    from steelyard.judge.verdict import read_opinion

    clock = SystemClock()
    around = Surroundings(lambda: instant(clock.now()), clock.monotonic, _stopped_within)
    return Jury(seats, environ, around, caching(cache, environ, reads or read_opinion))


def _stopped_within(seconds: float) -> bool:
    """Sleep; True as soon as the program is to stop."""
    import select

    from steelyard.sandboxes.process import INTERRUPTER

    poll = select.poll()
    poll.register(INTERRUPTER, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


@contextmanager
def scratch_place(settings: Settings) -> Iterator[Path]:
    """A private directory for trees: `STEELYARD_SCRATCH`, else memory where there is room, else the temp directory.

    What killed harnesses left there is removed first: in memory, nobody else would give it back.
    """
    from steelyard.worktree.scratch import scratch_in, sweep

    folder = settings.scratch or _roomy_memory() or Path(tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    with scratch_in(folder) as place:
        yield place


def sweep_scratch(settings: Settings) -> int:
    """Remove what killed harnesses left, wherever trees may be; say how many places."""
    from steelyard.worktree.scratch import sweep

    folders = {settings.scratch, MEMORY, Path(tempfile.gettempdir())}
    return sum(sweep(folder) for folder in folders if folder is not None)


def _roomy_memory() -> Path | None:
    try:
        return MEMORY if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM else None
    except OSError:
        return None


def open_store(settings: Settings) -> "Store":
    """The store that the settings name."""
    from steelyard.store.database import open_store as open_at

    return open_at(settings.store_url, settings.artifacts)


def open_sinks(settings: Settings, environ: Mapping[str, str], store: "Store") -> "list[Sink]":
    """Where the settings send events to."""
    from steelyard.errors import InputError
    from steelyard.events.configure import make_sinks

    def look_up(run_id: str) -> "Run | None":
        try:
            run = store.run(run_id).run
        except InputError:
            return None
        return run if run.run_id == run_id else None  # the start of another id is not it

    return make_sinks(settings.events, environ, SystemClock(), look_up)
