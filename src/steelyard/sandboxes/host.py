"""What sandboxes on this machine's own kernel share: a warden, private directories, a meter, limits."""

import threading
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path

from steelyard.domain.usage import Resources
from steelyard.errors import InfraError
from steelyard.sandboxes import cgroup
from steelyard.sandboxes.base import Command, ExecResult, Sandbox, SandboxSpec
from steelyard.sandboxes.files import Places, ensure_directory, remove
from steelyard.sandboxes.meter import Meter, deleted_mb
from steelyard.sandboxes.process import Ended, Launch, Reason, run
from steelyard.sandboxes.wardens import POOL, Warden

TICK_S = 0.5
KILLED = 137


class HostSandbox(Sandbox):
    """A sandbox whose processes descend from a warden; how a command is wrapped is left to its subclasses."""

    own_processes = 1  # the warden

    def __init__(self, spec: SandboxSpec, places: Places) -> None:
        self.spec, self.places = spec, places
        self.tree, self.home, self.tmp, *_ = places.places
        self.closed = False
        self._lock = threading.Lock()
        self.warden, self.cgroup, self.notes = self._confine()
        self.metered = Meter(spec.limits, self.cgroup)

    def _confine(self) -> tuple[Warden, cgroup.Cgroup | None, tuple[str, ...]]:
        """A warden, in a control group of its own when a limit asks for one."""
        try:
            for directory in self.places.places.values():
                ensure_directory(directory)
        except OSError as error:
            raise InfraError("sandbox_error", f"cannot make the sandbox's directories: {error}") from error
        limits = self.spec.limits
        asked = [name for name in ("memory_mb", "cpus", "pids") if getattr(limits, name) is not None]
        warden = POOL.take()
        group = cgroup.make(warden.pid) if asked else None
        missing = asked if group is None else group.limit(limits, self.own_processes)
        if group is not None:
            try:
                group.add(warden.pid)
            except OSError:
                group.remove()
                group, missing = None, asked
        notes = tuple(f"limits.{name} is not enforced: no control group can be made here" for name in missing)
        return warden, group, notes

    @abstractmethod
    def launch(self, command: Command) -> Launch:
        """The command as it is started on the host."""

    def finish(self, ended: Ended) -> ExecResult:
        """The result, once it is known how the wrapper ended."""
        return ended.result

    def exec(self, command: Command) -> ExecResult:
        """Run a command to its end; nothing it started is left running when its time ran out."""
        if self.closed:
            raise InfraError("sandbox_error", "the sandbox is closed")
        ensure_directory(self.places.places[self.tree])
        launch = self.launch(command)
        if self.spec.limits.disk_mb is not None or self.metered.samples:
            launch = replace(launch, tick=self._tick, tick_s=TICK_S)
        before = self.cgroup.oom_kills() if self.cgroup is not None else None
        ended = run(self.warden, launch, command)
        self.metered.add(ended.used)
        after = self.cgroup.oom_kills() if self.cgroup is not None else None
        starved = before is not None and after is not None and after > before
        if ended.failure is not None and starved:
            return replace(ended.result, exit_code=KILLED, out_of_memory=True)
        if ended.failure is not None:
            raise InfraError("sandbox_error", ended.failure)
        result = self.finish(ended)
        if starved and result.exit_code != 0:
            result = replace(result, out_of_memory=True)
        return replace(result, over_disk=True) if self._over_disk() else result

    def _tick(self, _now: float) -> Reason | None:
        """Look at a running command: its memory where nobody else does, its files where there is a quota."""
        if self.metered.samples:
            self.metered.sample(self.warden.pid)
        return "disk" if self._over_disk(running=True) else None

    def _over_disk(self, *, running: bool = False) -> bool:
        quota = self.spec.limits.disk_mb
        if quota is None:
            return False
        used = self.places.used_mb()
        if running and used <= quota:
            used += deleted_mb(self.warden.pid, self.places.places[self.tree])
        return used > quota

    def read(self, path: str, limit: int = 16 * 1024 * 1024) -> bytes | None:
        """A regular file's first bytes; None when there is none."""
        return self.places.read(path, limit)

    def write(self, path: str, data: bytes) -> None:
        """Write a file, making its directories."""
        self.places.write(path, data)

    def kill_all(self) -> int:
        """Kill every process that was started in here; say how many."""
        if self.closed:
            return 0
        killed = self.warden.kill()
        self.metered.add(killed.used)
        return killed.count

    def meter(self) -> Resources:
        """What was consumed so far."""
        return self.last_resources if self.closed else self.metered.resources()

    def collect_tree(self) -> Path:
        """The tree's own host directory."""
        tree = self.places.places[self.tree]
        ensure_directory(tree)
        return tree

    def close(self) -> None:
        """Kill everything, give the warden back, remove home and temporary files."""
        with self._lock:
            if self.closed:
                return
            try:
                self.kill_all()
                self.last_resources = self.metered.resources()
            except InfraError:
                self.last_resources = self.metered.resources()
                self.warden.abandon()
            else:
                self._release()
            finally:
                self.closed = True
                if self.cgroup is not None:
                    self.cgroup.remove()
                remove([self.places.places[self.home], self.places.places[self.tmp]])

    def _release(self) -> None:
        """A warden that was put into a control group has to go with it."""
        if self.cgroup is None:
            POOL.give_back(self.warden)
        else:
            self.warden.stop()
