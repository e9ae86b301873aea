"""What a sandbox consumed: from its control group, else from its processes; what is unknown stays None, never zero."""

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

from steelyard.domain.suite import Limits
from steelyard.domain.usage import Resources
from steelyard.sandboxes.cgroup import Cgroup
from steelyard.sandboxes.warden import family, scan
from steelyard.sandboxes.wardens import Used

PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1024 * 1024)


class Meter:
    """Adds up what commands used; may be asked and told from any thread."""

    def __init__(self, limits: Limits, cgroup: Cgroup | None) -> None:
        self.limits, self.cgroup = limits, cgroup
        self._lock = threading.Lock()
        self._used: Used | None = None
        self._sampled_mb: float | None = None

    def add(self, used: Used) -> None:
        """A command ended, or orphans were reaped."""
        if used == Used():
            return
        with self._lock:
            self._used = used if self._used is None else self._used.plus(used)

    def sample(self, warden: int) -> None:
        """Look at the memory in use right now, where no peak is kept for us."""
        now = self.cgroup.memory_mb() if self.cgroup is not None else tree_memory_mb(warden)
        if now is not None:
            with self._lock:
                self._sampled_mb = max(now, self._sampled_mb or 0.0)

    @property
    def samples(self) -> bool:
        """Whether peaks have to be looked for while commands run."""
        return self.cgroup is None or self.cgroup.peak_memory_mb() is None

    def resources(self) -> Resources:
        """Everything that is known so far."""
        with self._lock:
            used, sampled = self._used, self._sampled_mb
        largest = None if used is None else used.max_rss_kb / 1024
        seen = [value for value in (sampled, largest) if value is not None]
        source: Literal["cgroup2", "cgroup1", "processes", "unknown"] = "unknown" if used is None else "processes"
        peak, cpu = max(seen, default=None), None if used is None else used.cpu_s
        periods: tuple[int | None, int | None] = (None, None)
        kills = None
        if self.cgroup is not None:
            source, kills, periods = self.cgroup.kind, self.cgroup.oom_kills(), self.cgroup.periods()
            peak, group_cpu = self.cgroup.peak_memory_mb() or peak, self.cgroup.cpu_time_s()
            cpu = cpu if group_cpu is None else group_cpu
        return Resources(
            peak_memory_mb=peak,
            memory_limit_mb=self.limits.memory_mb,
            cpu_time_s=cpu,
            cpu_periods=periods[0],
            cpu_throttled_periods=periods[1],
            oom_kills=kills,
            source=source,
        )


def tree_memory_mb(root: int) -> float | None:
    """The resident memory of all that descends from a process: private pages added up, shared ones counted once."""
    private, shared = 0, 0
    below = family(root, scan(), set())[1:]
    for entry in below:
        try:
            with open(f"/proc/{entry[0]}/statm", "rb") as file:  # noqa: PTH123  # a Path per process costs more
                resident, common = (int(word) for word in file.read().split()[1:3])
        except (OSError, ValueError):
            continue
        private, shared = private + resident - common, max(shared, common)
    return (private + shared) * PAGE_MB if below else None


def deleted_mb(root: int, place: Path) -> float:
    """What files without a name take on the disk of a place, as long as a process that descends from one has them."""
    try:
        disk = place.stat().st_dev
    except OSError:
        return 0.0
    found: dict[int, int] = {}
    for entry in family(root, scan(), set())[1:]:
        with suppress(OSError), os.scandir(f"/proc/{entry[0]}/fd") as files:
            for file in files:
                with suppress(OSError):
                    told = file.stat()
                    if told.st_nlink == 0 and told.st_dev == disk and stat.S_ISREG(told.st_mode):
                        found[told.st_ino] = told.st_blocks
    return sum(found.values()) / 2048
