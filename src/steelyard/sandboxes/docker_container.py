"""A running container: who runs in it, how they are signalled and killed, what they used.

Nothing that runs inside is believed: who is there and what was used is read from this machine's kernel where the engine
is a local one, else from the engine.
"""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.domain.suite import Limits
from steelyard.domain.usage import Resources
from steelyard.errors import InfraError
from steelyard.sandboxes.cgroup import Cgroup, parse_hierarchies
from steelyard.sandboxes.docker_engine import Engine, EngineError, engine_trouble

MB = 1024 * 1024
KILL_S = 20.0  # for killing from inside; afterwards the whole container is restarted
ROUND_S = 1.0
OWN = 2  # the init process and the one that keeps the container open


@dataclass(frozen=True, slots=True)
class Process:
    """A process in the container: its numbers on the host, its parent's, and its own inside."""

    pid: int
    parent: int
    inside: int
    uid: str


class Container:
    """One started container. May be used from any thread."""

    def __init__(self, engine: Engine, ident: str, user: str, limits: Limits) -> None:
        self.engine, self.ident, self.user, self.limits = engine, ident, user, limits
        self.running: set[str] = set()
        self._killing = threading.RLock()
        self._before = Resources()
        self._find()

    def _find(self) -> None:
        """Where the container's first process and its control group are on this machine, if they are."""
        with engine_trouble("looking at the container"):
            state = self.state()
        if not state.get("Running"):
            why = state.get("Error") or "it ended at once; its image needs /bin/sh"
            raise InfraError("sandbox_error", f"the container did not start: {why}")
        self.init = int(state["Pid"])
        self.cgroup = find_cgroup(self.init, self.ident)
        self.init_uid = next((one.uid for one in self._local() if one.pid == self.init), None)
        if self.init_uid is None:
            self.cgroup = None

    def state(self) -> dict[str, Any]:
        """The engine's word on how the container is."""
        found: dict[str, Any] = self.engine.ask("GET", f"/containers/{self.ident}/json")["State"]
        return found

    def look(self, exec_id: str) -> dict[str, Any]:
        """The engine's word on how a command is."""
        found: dict[str, Any] = self.engine.ask("GET", f"/exec/{exec_id}/json")
        return found

    def _local(self) -> list[Process]:
        """All processes in the container's control group."""
        if self.cgroup is None:
            return []
        try:
            group = next(iter(self.cgroup.controllers.values())) / "cgroup.procs"
            pids = [int(word) for word in group.read_text().split()]
        except OSError:
            return []
        found = []
        for pid in pids:
            with suppress(OSError, KeyError, IndexError, ValueError):
                lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
                told = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                inside = int(told["NSpid"].split()[-1])
                found.append(Process(pid, int(told["PPid"]), inside, told["Uid"].split()[0]))
        return found

    def others(self, spared: set[int]) -> list[Process]:
        """Who runs in here besides our own two processes and the families of the spared ones."""
        found = self._local()
        kept = {one.pid for one in found if one.uid == self.init_uid} | family(found, spared)
        return [one for one in found if one.pid not in kept]

    def count(self) -> int:
        """How many processes run in here that are not our own."""
        if self.cgroup is not None:
            return len(self.others(set()))
        with engine_trouble("listing the container's processes"):
            rows = self.engine.ask("GET", f"/containers/{self.ident}/top", listing(self.engine))["Processes"]
        return max(0, len(rows) - OWN)

    def signal(self, name: str, pids: list[int] | None = None) -> None:
        """Send a signal from inside, as the user in there: to these, by their numbers inside, or to all of them."""
        words = [str(pid) for pid in pids] if pids is not None else ["-1"]
        command = {
            "Cmd": ["/bin/sh", "-c", 'name=$1; shift; kill -s "$name" -- "$@"', "sh", name, *words],
            "User": self.user,
        }
        made = self.engine.ask("POST", f"/containers/{self.ident}/exec", body=command)
        self.engine.ask("POST", f"/exec/{made['Id']}/start", body={"Detach": True})

    def ask_to_end(self, exec_id: str, name: str) -> None:
        """Send a polite signal to a command and what descends from it."""
        with suppress(EngineError, InfraError):
            if self.cgroup is None:
                self.signal(name)
                return
            found = self._local()
            mine = family(found, {int(self.look(exec_id).get("Pid") or 0)})
            if pids := [one.inside for one in found if one.pid in mine]:
                self.signal(name, pids)

    def kill(self, exec_id: str | None = None) -> int:
        """Kill everything, or all but the other commands that are running; say how many processes that were.

        With an engine on another machine nobody can be spared.
        """
        with self._killing:
            spared = self._roots(self.running - {exec_id}) if exec_id is not None and self.cgroup is not None else set()
            count = len(self.others(spared)) if spared else self.count()
            if count == 0:
                return 0
            until = time.monotonic() + KILL_S
            try:
                while time.monotonic() < until:
                    victims = [one.inside for one in self.others(spared)] if spared else None
                    self.signal("KILL", victims)
                    if self._gone(spared):
                        return count
            except EngineError:
                pass  # no process can be started in there any more, for example because there are too many
            self.restart()
            return count

    def _roots(self, exec_ids: set[str]) -> set[int]:
        """The first processes of running commands; those that are just being started are waited for."""
        found = set()
        for ident in exec_ids:
            until = time.monotonic() + KILL_S
            with suppress(EngineError):
                while (told := self.look(ident)).get("ExitCode") is None and not told.get("Pid"):
                    if time.monotonic() > until:
                        break
                    time.sleep(0.01)
                if told.get("Running"):
                    found.add(int(told["Pid"]))
        return found

    def _gone(self, spared: set[int]) -> bool:
        until = time.monotonic() + ROUND_S
        pause = 0.002
        while self.others(spared) if spared else self.count():
            if time.monotonic() > until:
                return False
            time.sleep(pause)
            pause = min(0.05, pause * 2)
        return True

    def restart(self) -> None:
        """End all processes from outside; the files stay as they are."""
        self._before = self.resources()
        with engine_trouble("restarting the container"):
            self.engine.ask("POST", f"/containers/{self.ident}/restart", {"t": "0"})
        self._find()
        if self.count():
            raise InfraError("sandbox_error", "processes of the container can't be killed")

    def oom_kills(self) -> int | None:
        """How many processes the kernel killed for memory, where it can be known."""
        if self.cgroup is not None:
            return self.cgroup.oom_kills()
        with suppress(EngineError, InfraError):
            return int(bool(self.state().get("OOMKilled")))
        return None

    def resources(self) -> Resources:
        """What was used so far, what was used before a restart included."""
        now = self._from_cgroup() if self.cgroup is not None else self._from_engine()
        return together(self._before, now)

    def _from_cgroup(self) -> Resources:
        group = self.cgroup
        assert group is not None  # noqa: S101  # asked by the caller
        periods, throttled = group.periods()
        return Resources(
            peak_memory_mb=group.peak_memory_mb(),
            memory_limit_mb=self.limits.memory_mb,
            cpu_time_s=group.cpu_time_s(),
            cpu_periods=periods,
            cpu_throttled_periods=throttled,
            oom_kills=group.oom_kills(),
            source=group.kind,
        )

    def _from_engine(self) -> Resources:
        """The engine's own measurements: with cgroup version 2 it keeps no peak."""
        try:
            query = {"stream": "false", "one-shot": "true"}
            told = self.engine.ask("GET", f"/containers/{self.ident}/stats", query) or {}
        except (EngineError, InfraError):
            return Resources(memory_limit_mb=self.limits.memory_mb)
        cpu, memory = told.get("cpu_stats") or {}, told.get("memory_stats") or {}
        throttling = cpu.get("throttling_data") or {}
        used, peak = (cpu.get("cpu_usage") or {}).get("total_usage"), memory.get("max_usage")
        return Resources(
            peak_memory_mb=peak / MB if peak else None,
            memory_limit_mb=self.limits.memory_mb,
            cpu_time_s=used / 1e9 if used else None,
            cpu_periods=throttling.get("periods") if self.limits.cpus else None,
            cpu_throttled_periods=throttling.get("throttled_periods") if self.limits.cpus else None,
            oom_kills=self.oom_kills(),
            source="docker",
        )


@cache
def listing(engine: Engine) -> dict[str, str]:
    """How an engine is asked who runs in a container: Podman would by default run the image's `ps` in there."""
    parts = engine.ask("GET", "/version").get("Components") or []
    return {"ps_args": "pid"} if any("podman" in str(part.get("Name")).lower() for part in parts) else {}


def family(processes: list[Process], roots: set[int]) -> set[int]:
    """The roots and all that descends from them."""
    below: dict[int, list[int]] = {}
    for one in processes:
        below.setdefault(one.parent, []).append(one.pid)
    found, waiting = set[int](), list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += below.get(pid, [])
    return found


def find_cgroup(pid: int, container: str) -> Cgroup | None:
    """The control group of a container's first process, when that process is one of this machine's."""
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    places = parse_hierarchies(mounts, groups)
    v1 = {name: places.v1[name] for name in ("memory", "cpu", "cpuacct") if name in places.v1}
    if "memory" in v1:
        found = Cgroup("cgroup1", v1)
    elif places.v2 is not None:
        found = Cgroup("cgroup2", dict.fromkeys(("memory", "cpu"), places.v2))
    else:
        return None
    return found if all(container[:12] in str(path) for path in found.controllers.values()) else None


def together(one: Resources, two: Resources) -> Resources:
    """What was used before and after a restart; an empty `one` adds nothing."""
    if one == Resources():
        return two

    def add(name: str) -> Any:
        parts = [getattr(part, name) for part in (one, two) if getattr(part, name) is not None]
        return None if not parts else max(parts) if name == "peak_memory_mb" else sum(parts)

    names = ("peak_memory_mb", "cpu_time_s", "cpu_periods", "cpu_throttled_periods", "oom_kills")
    return two.model_copy(update={name: add(name) for name in names})
