"""Control groups, version 2 or 1: limits and exact measurements for a sandbox, where this user may make one."""

import os
import secrets
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from steelyard.domain.suite import Limits

MB = 1024 * 1024
PREFIX = "steelyard-"
PERIOD_US = 100_000
FORGET_S = 10.0


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where this process stands: its directory for each version-1 controller, and in version 2."""

    v1: Mapping[str, Path] = field(default_factory=dict)
    v2: Path | None = None


@cache
def hierarchies() -> Hierarchies:
    """Read where this process stands from /proc, once."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return Hierarchies()
    return parse_hierarchies(mounts, groups)


def parse_hierarchies(mounts: Iterable[str], groups: Iterable[str]) -> Hierarchies:
    """The directories that /proc/self/mountinfo and /proc/self/cgroup together tell of."""
    own = {names: path for _, names, path in (line.split(":", 2) for line in groups)}
    v1: dict[str, Path] = {}
    v2: Path | None = None
    for line in mounts:
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        for names, path in own.items():
            place = Path(point, os.path.relpath(path, root)) if Path(path).is_relative_to(root) else Path(point)
            if kind == "cgroup2" and names == "":
                v2 = place
            elif kind == "cgroup" and names and set(names.split(",")) <= set(options.split(",")):
                v1.update(dict.fromkeys(names.split(","), place))
    return Hierarchies(v1, v2)


class Cgroup:
    """A control group that was made for one sandbox: the directories of its controllers."""

    def __init__(self, kind: Literal["cgroup1", "cgroup2"], controllers: Mapping[str, Path]) -> None:
        self.kind = kind
        self.controllers = dict(controllers)

    def number(self, controller: str, name: str, key: str | None = None) -> int | None:
        """A number from one of the group's files, or from the line that starts with a key."""
        directory = self.controllers.get(controller)
        if directory is None:
            return None
        try:
            text = (directory / name).read_text()
        except OSError:
            return None
        words = (
            text.split()
            if key is None
            else next((x.split()[1:] for x in text.splitlines() if x.startswith(key + " ")), [])
        )
        return int(words[0]) if words and words[0].isdigit() else None

    def add(self, pid: int) -> None:
        """Move a process in; what it starts from now on is born here."""
        for directory in set(self.controllers.values()):
            (directory / "cgroup.procs").write_text(str(pid))

    def limit(self, limits: Limits, own_processes: int) -> list[str]:
        """Set the limits that can be set, our own processes not counted; name those that can't."""
        missing = []
        pids = None if limits.pids is None else limits.pids + own_processes
        wanted = (("memory_mb", limits.memory_mb), ("cpus", limits.cpus), ("pids", pids))
        for name, value in wanted:
            if value is None:
                continue
            try:
                self._set(name, float(value))
            except (OSError, KeyError):
                missing.append(name)
        return missing

    def _set(self, name: str, value: float) -> None:
        memory = str(int(value * MB))
        if name == "pids":
            (self.controllers["pids"] / "pids.max").write_text(str(int(value)))
        elif name == "cpus" and self.kind == "cgroup2":
            (self.controllers["cpu"] / "cpu.max").write_text(f"{max(1000, int(value * PERIOD_US))} {PERIOD_US}")
        elif name == "cpus":
            (self.controllers["cpu"] / "cpu.cfs_quota_us").write_text(str(max(1000, int(value * PERIOD_US))))
        elif self.kind == "cgroup2":
            (self.controllers["memory"] / "memory.max").write_text(memory)
            with suppress(OSError):
                (self.controllers["memory"] / "memory.swap.max").write_text("0")
        else:
            (self.controllers["memory"] / "memory.limit_in_bytes").write_text(memory)
            with suppress(OSError):
                (self.controllers["memory"] / "memory.memsw.limit_in_bytes").write_text(memory)

    def oom_kills(self) -> int | None:
        """How many processes the kernel killed in here because the memory limit was reached."""
        if self.kind == "cgroup2":
            return self.number("memory", "memory.events", "oom_kill")
        return self.number("memory", "memory.oom_control", "oom_kill")

    def peak_memory_mb(self) -> float | None:
        """The most memory that was in use at once, the page cache included."""
        name = "memory.peak" if self.kind == "cgroup2" else "memory.max_usage_in_bytes"
        peak = self.number("memory", name)
        return None if peak is None else peak / MB

    def memory_mb(self) -> float | None:
        """The memory in use now."""
        name = "memory.current" if self.kind == "cgroup2" else "memory.usage_in_bytes"
        now = self.number("memory", name)
        return None if now is None else now / MB

    def cpu_time_s(self) -> float | None:
        """The CPU time of all that ever ran in here."""
        if self.kind == "cgroup2":
            used = self.number("cpu", "cpu.stat", "usage_usec")
            return None if used is None else used / 1e6
        used = self.number("cpuacct", "cpuacct.usage")
        return None if used is None else used / 1e9

    def periods(self) -> tuple[int | None, int | None]:
        """CPU periods, and how many of them were throttled."""
        return self.number("cpu", "cpu.stat", "nr_periods"), self.number("cpu", "cpu.stat", "nr_throttled")

    def remove(self) -> None:
        """Remove the group's directories; the kernel may need a moment after the last process ended."""
        until = time.monotonic() + FORGET_S
        for directory in set(self.controllers.values()):
            while True:
                try:
                    directory.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > until:
                        break
                    time.sleep(0.01)
                else:
                    break


def make(warden: int, places: Hierarchies | None = None) -> Cgroup | None:
    """A new group for a warden with the controllers that can be had, or None."""
    name = f"{PREFIX}{warden}-{secrets.token_hex(4)}"
    places = hierarchies() if places is None else places
    return _make_v1(name, places) or _make_v2(name, places)


def clean() -> int:
    """Remove the groups that killed harnesses left behind: those whose warden is gone; say how many."""
    places = hierarchies()
    parents = {*places.v1.values(), *((places.v2, places.v2.parent) if places.v2 is not None else ())}
    removed = 0
    for parent in parents:
        for directory in parent.glob(f"{PREFIX}*"):
            pid = directory.name.removeprefix(PREFIX).partition("-")[0]
            if pid.isdigit() and not Path("/proc", pid).exists():
                with suppress(OSError):
                    directory.rmdir()
                    removed += 1
    return removed


def _make_v1(name: str, places: Hierarchies) -> Cgroup | None:
    made: dict[str, Path] = {}
    for controller in ("memory", "cpu", "cpuacct", "pids"):
        parent = places.v1.get(controller)
        if parent is not None:
            with suppress(OSError):
                (parent / name).mkdir(exist_ok=True)  # two controllers may share a hierarchy
                made[controller] = parent / name
    return _usable(Cgroup("cgroup1", made)) if made else None


def _make_v2(name: str, places: Hierarchies) -> Cgroup | None:
    """A child of this process's own group, or a sibling: a group with processes in it can't hand controllers down."""
    if places.v2 is None:
        return None
    for parent in (places.v2, places.v2.parent):
        try:
            handed_down = (parent / "cgroup.subtree_control").read_text().split()
            wanted = [controller for controller in ("memory", "cpu", "pids") if controller in handed_down]
            if not wanted:
                continue
            (parent / name).mkdir()
        except OSError:
            continue
        group = _usable(Cgroup("cgroup2", dict.fromkeys(wanted, parent / name)))
        if group is not None:
            return group
    return None


def _usable(group: Cgroup) -> Cgroup | None:
    """The group when processes may be moved into it, else None with its directories removed."""
    if all(os.access(path / "cgroup.procs", os.W_OK) for path in group.controllers.values()):
        return group
    group.remove()
    return None
