"""Builds what commands use from settings: the only module that names concrete classes."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engine.lab import Job, Lab, Observer
from steelyard.settings import Settings

if TYPE_CHECKING:
    from steelyard.domain.evidence import Evidence
    from steelyard.domain.grade import JudgeResult
    from steelyard.sandboxes.base import SandboxProvider
    from steelyard.store.database import Store

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
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
    from steelyard.worktree.template import Templates

    with scratch_place(settings) as scratch:
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
        )


@contextmanager
def scratch_place(settings: Settings) -> Iterator[Path]:
    """A private directory for trees: `STEELYARD_SCRATCH`, else memory where there is room, else the temp directory."""
    folder = settings.scratch or _roomy_memory()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    from steelyard.worktree.remove import remove_tree

    place = Path(tempfile.mkdtemp(prefix="steelyard-", dir=folder))
    try:
        yield place
    finally:
        remove_tree(place)


def _roomy_memory() -> Path | None:
    memory = Path("/dev/shm")  # noqa: S108  # the standard place for files in memory
    try:
        return memory if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM else None
    except OSError:
        return None


def open_store(settings: Settings) -> "Store":
    """The store that the settings name."""
    from steelyard.store.database import open_store as open_at

    return open_at(settings.store_url, settings.artifacts)
