"""docker: a container of its own for every sandbox; the tree is copied in and out, nothing of the host is mounted."""

import os
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.domain.usage import Resources
from steelyard.errors import InfraError, boundary
from steelyard.sandboxes import docker_owner
from steelyard.sandboxes.base import Command, ExecResult, Sandbox, SandboxProvider, SandboxSpec
from steelyard.sandboxes.docker_container import MB, Container
from steelyard.sandboxes.docker_engine import Engine, EngineError, default_host, engine_trouble
from steelyard.sandboxes.docker_exec import run
from steelyard.sandboxes.docker_files import ContainerFiles
from steelyard.sandboxes.docker_images import DEFAULT_IMAGE, HOME, PLACES, TMP, TREE, USER, Images
from steelyard.sandboxes.process import Reason

KEEPER = "65534:65534"  # runs what keeps the container open: commands, as another user, can't end it
# It reads from this harness until that is no more: then the container ends with all that runs in it.
KEEP_OPEN = ["/bin/sh", "-c", "read _"]
DEFAULT_PIDS = 4096
OWN_PIDS = 16  # for the init process, the keeper, and starting and ending commands
PERIOD_US = 100_000
KILLED = 137
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def container_config(spec: SandboxSpec, image: str) -> dict[str, Any]:
    """What the engine is asked for: no rights, no host files, limits, an init process, our labels."""
    limits = spec.limits
    host: dict[str, Any] = {
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "PidsLimit": (limits.pids or DEFAULT_PIDS) + OWN_PIDS,
        "Init": True,
        "IpcMode": "private",
        "LogConfig": {"Type": "none"},
        "RestartPolicy": {"Name": "no"},
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
    }
    if not limits.network:
        host["NetworkMode"] = "none"
    if limits.memory_mb is not None:
        host["Memory"] = host["MemorySwap"] = limits.memory_mb * MB
    if limits.cpus is not None:
        host["CpuPeriod"], host["CpuQuota"] = PERIOD_US, max(1000, int(limits.cpus * PERIOD_US))
    return {
        "Image": image,
        "Entrypoint": KEEP_OPEN,
        "Cmd": [],
        "User": KEEPER,
        "OpenStdin": True,
        "StdinOnce": True,
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": docker_owner.labels(spec.run_id),
        "HostConfig": host,
    }


class DockerSandbox(Sandbox):
    """A container that commands are run in, one after the other or at once, as a user without any rights."""

    tree, home, tmp = TREE, HOME, TMP

    def __init__(self, spec: SandboxSpec, engine: Engine, image: dict[str, Any]) -> None:
        self.spec, self.engine = spec, engine
        self.host_tree = spec.tree.absolute()
        self.closed = False
        self._closing = threading.Lock()
        self._last = Resources()
        given = dict(entry.partition("=")[::2] for entry in (image.get("Config") or {}).get("Env") or [])
        self._path = given.get("PATH") or PATH
        self.ident = ""
        self._lifeline: socket.socket | None = None
        try:
            self._open(image)
        except BaseException:
            self._remove()
            raise

    def _open(self, image: dict[str, Any]) -> None:
        """Make the container, copy the tree in, start it."""
        with engine_trouble("making the container"):
            made = self.engine.ask("POST", "/containers/create", body=container_config(self.spec, image["Id"]))
        self.ident = made["Id"]
        self.notes = tuple(f"Docker: {said}" for said in made.get("Warnings") or [] if "limit" in said.lower())
        self.files = ContainerFiles(self.engine, self.ident, PLACES, USER)
        self.spec.scratch.mkdir(parents=True, exist_ok=True)
        self.host_tree.mkdir(parents=True, exist_ok=True)
        if any(self.host_tree.iterdir()):
            self.files.put_tree(self.host_tree, TREE, self.spec.scratch)
        with engine_trouble("starting the container"):
            if self.engine.is_near:
                self._lifeline, _ = self.engine.hijack(f"/containers/{self.ident}/attach?stream=1&stdin=1", {})
            self.engine.ask("POST", f"/containers/{self.ident}/start")
        user = f"{USER.uid}:{USER.gid}"
        self.container = Container(self.engine, self.ident, user, self.spec.limits)

    def exec(self, command: Command) -> ExecResult:
        """Run a command to its end; nothing it started is left running when its time ran out."""
        self._must_be_open()
        env = {"PATH": self._path, "HOME": HOME, "TMPDIR": TMP, "LANG": "C.UTF-8", **self.spec.env, **command.env}
        before = self.container.oom_kills()
        tick = self._over_disk if self.spec.limits.disk_mb is not None else None
        result = run(self.container, replace(command, cwd=command.cwd or TREE), env, tick)
        after = self.container.oom_kills()
        if before is not None and after is not None and after > before and result.exit_code != 0:
            result = replace(result, out_of_memory=True)
        return replace(result, over_disk=True) if tick is not None and tick() is not None else result

    def _must_be_open(self) -> None:
        if self.closed:
            raise InfraError("sandbox_error", "the sandbox is closed")

    def _over_disk(self) -> Reason | None:
        """Whether all that was written in the container is more than the quota."""
        quota = self.spec.limits.disk_mb
        with engine_trouble("measuring the container's files"):
            told = self.engine.ask("GET", f"/containers/{self.ident}/json", {"size": "1"})
        return "disk" if quota is not None and (told.get("SizeRw") or 0) > quota * MB else None

    def read(self, path: str, limit: int = 16 * 1024 * 1024) -> bytes | None:
        """A regular file's first bytes; None when there is none."""
        self._must_be_open()
        return self.files.read(path, limit)

    def write(self, path: str, data: bytes) -> None:
        """Write a file, making its directories."""
        self._must_be_open()
        self.files.write(path, data)

    def kill_all(self) -> int:
        """Kill every process that was started in here; say how many."""
        if self.closed:
            return 0
        with engine_trouble("killing the container's processes"):
            return self.container.kill()

    def meter(self) -> Resources:
        """What was consumed so far."""
        return self._last if self.closed else self.container.resources()

    def collect_tree(self) -> Path:
        """A copy of the tree on the host, made anew at every call."""
        self._must_be_open()
        self.files.fetch_tree(TREE, self.host_tree)
        return self.host_tree

    def push(self, paths: list[str]) -> None:
        """Bring these paths of the collected tree into the container; those that are gone there are removed here."""
        self._must_be_open()
        there = [path for path in paths if os.path.lexists(self.host_tree / path)]
        gone = [path for path in paths if not os.path.lexists(self.host_tree / path)]
        if gone:
            remove = Command(("/bin/sh", "-c", 'for path; do rm -rf -- "./$path"; done', "sh", *gone), 600.0)
            done = self.exec(remove)
            if done.exit_code != 0:
                raise InfraError("sandbox_error", f"removing files in the container: {done.tail(300)}")
        if there:
            self.files.put_paths(self.host_tree, there, TREE, self.spec.scratch)

    def close(self) -> None:
        """Remove the container with all that it holds."""
        with self._closing:
            if self.closed:
                return
            with suppress(InfraError, EngineError):
                self._last = self.container.resources()
            self.closed = True
            self._remove()

    def _remove(self) -> None:
        try:
            if self.ident:
                docker_owner.remove(self.engine, self.ident)
        finally:
            if self._lifeline is not None:
                self._lifeline.close()


class DockerProvider(SandboxProvider):
    """Makes Docker sandboxes; containers that killed harnesses left behind are removed before the first one."""

    type = "docker"
    isolates = True

    def __init__(self, image: str | None = None, host: str | None = None) -> None:
        self.engine = Engine(host or default_host())
        self.images = Images(self.engine, image or DEFAULT_IMAGE)
        self._reaped = False
        self._lock = threading.Lock()

    def check(self) -> str | None:
        """Whether an engine answers that this user may use."""
        try:
            with engine_trouble(f"the Docker engine at {self.engine.host}"):
                version = self.engine.ask("GET", "/version")
        except InfraError as error:
            return str(error)
        kind = (version or {}).get("Os", "linux")
        return None if kind == "linux" else f"the engine runs {kind} containers; Steelyard needs Linux ones"

    def _reap_once(self) -> None:
        with self._lock:
            if not self._reaped:
                self._reaped = True
                docker_owner.reap(self.engine)

    def clean(self) -> int:
        """Remove containers that killed harnesses left behind."""
        try:
            with engine_trouble("removing containers"):
                return docker_owner.reap(self.engine)
        except InfraError:
            return 0  # no engine, no containers

    def open(self, spec: SandboxSpec) -> Sandbox:
        """A new sandbox."""
        with boundary("sandbox_error", "opening the docker sandbox"):
            with engine_trouble("removing containers of killed runs"):
                self._reap_once()
            found = self.images.find(spec.image, spec.dockerfile)
            sandbox = DockerSandbox(spec, self.engine, self.images.ready(found))
            name = "Dockerfile" if spec.dockerfile is not None else spec.image or self.images.default
            sandbox.image = f"{name}@{found['Id']}"
            return sandbox
