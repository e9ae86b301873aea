"""Whose a container is: labels that outlive a killed harness, and the removal of what such harnesses left."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from steelyard.sandboxes.docker_engine import Engine, EngineError

LABEL = "steelyard.sandbox"
OWNER = "steelyard.owner"
RUN = "steelyard.run"


@cache
def _here() -> tuple[str, str, str]:
    """This machine, this start of it, and this process's view of process numbers."""

    def read(path: str) -> str:
        try:
            return Path(path).read_text().strip()
        except OSError:
            return ""

    try:
        view = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        view = ""
    return read("/etc/machine-id"), read("/proc/sys/kernel/random/boot_id"), view


def started(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None when there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def labels(run_id: str) -> dict[str, str]:
    """What this harness writes on its containers."""
    owner = json.dumps([*_here(), os.getpid(), started(os.getpid())])
    return {LABEL: "1", OWNER: owner, RUN: run_id}


def is_orphan(container_labels: Mapping[str, str]) -> bool:
    """Whether the harness that made a container is gone for certain; what another machine made is not ours to judge."""
    try:
        machine, boot, view, pid, start = json.loads(container_labels[OWNER])
        pid = int(pid)
    except (KeyError, TypeError, ValueError):
        return False
    my_machine, my_boot, my_view = _here()
    if boot != my_boot:
        return bool(my_machine and machine == my_machine)
    return bool(view == my_view and started(pid) != start)


def reap(engine: Engine) -> int:
    """Remove the containers of killed harnesses; say how many."""
    filters = json.dumps({"label": [LABEL]})
    found = engine.ask("GET", "/containers/json", {"all": "1", "filters": filters}) or []
    removed = 0
    for container in found:
        if is_orphan(container.get("Labels") or {}):
            removed += remove(engine, container["Id"])
    return removed


def remove(engine: Engine, container: str) -> bool:
    """Kill and remove a container with its volumes; False when it was gone already."""
    with suppress(EngineError):
        engine.ask("DELETE", f"/containers/{container}", {"force": "1", "v": "1"})
        return True
    return False
