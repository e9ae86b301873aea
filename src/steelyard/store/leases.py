"""Who is working on which cell, so that two `--resume` at once never run the same one twice.

A lease ends when its run is stored, when its owner lets go, when it was not renewed for a minute, or, where that can
be seen (Linux, same machine, same process namespace), when the process that took it is gone: `--resume` right after
a `kill -9` waits for nobody.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select, update

from steelyard.domain.record import JsonObject
from steelyard.domain.run import Cell
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import RefusedError
from steelyard.store.statements import ADD_LEASE, END_LEASE, FINISHED, TAKE_LEASE

LEASE_S = 60.0
_LEASE = schema.leases.c


def owner_name(token: str) -> str:
    """A name for this process that tells others on this machine whether it still lives; `token` makes it unique."""
    return f"{_here()}|{os.getpid()}|{_started(os.getpid())}|{token}"


def claim(database: Database, experiment: str, cells: Sequence[Cell], owner: str, now: float) -> set[Cell]:
    """Take cells in one step; those that are finished already, or that somebody else who lives is at, are not ours."""
    try:
        with database.write(f"claiming {len(cells)} cells of {experiment}") as connection:
            held = {
                _cell(row): row
                for row in connection.execute(
                    select(schema.leases).where(_LEASE.experiment == experiment).with_for_update()
                )
            }
            taken = [cell for cell in cells if cell not in held or _is_free(held[cell], owner, now)]
            again = [cell for cell in taken if cell in held]
            if again:
                connection.execute(TAKE_LEASE, [{**_at(experiment, cell, "of_"), **_by(owner, now)} for cell in again])
            new = [cell for cell in taken if cell not in held]
            if new:
                connection.execute(ADD_LEASE, [{**_at(experiment, cell), **_by(owner, now)} for cell in new])
            # Only now: a run is stored and its lease ended in one step, so a lease that is free tells the truth here.
            finished = {_cell(row) for row in connection.execute(FINISHED, {"experiment": experiment})}
            for cell in finished.intersection(taken):
                connection.execute(END_LEASE, _at(experiment, cell))
            return set(taken) - finished
    except RefusedError:
        return set()  # somebody took one in the same moment


def _cell(row: Any) -> Cell:
    return Cell(task_id=row.task_id, arm=row.arm, repeat=row.repeat)


def _at(experiment: str, cell: Cell, prefix: str = "") -> JsonObject:
    return {f"{prefix}{name}": value for name, value in {"experiment": experiment, **cell.model_dump()}.items()}


def _by(owner: str, now: float) -> JsonObject:
    return {"owner": owner, "expires_at": now + LEASE_S}


def _is_free(lease: Any, owner: str, now: float) -> bool:
    return bool(lease.owner == owner or lease.expires_at <= now or is_gone(lease.owner))


def renew(database: Database, owner: str, now: float) -> None:
    """Keep all leases of an owner for another minute; to be called every twenty seconds or so."""
    with database.write("renewing claims") as connection:
        connection.execute(update(schema.leases).where(_LEASE.owner == owner).values(expires_at=now + LEASE_S))


def release(database: Database, owner: str) -> None:
    """Let go of everything an owner holds."""
    with database.write("releasing claims") as connection:
        connection.execute(delete(schema.leases).where(_LEASE.owner == owner))


def is_gone(owner: str) -> bool:
    """Whether the owner was a process that we would see if it still ran, and do not see."""
    here, _, rest = owner.partition("|")
    pid, _, rest = rest.partition("|")
    started = rest.partition("|")[0]
    return bool(here) and here == _here() and pid.isdigit() and started != "" and _started(int(pid)) != started


def _here() -> str:
    """This boot of this machine and this process namespace; empty where that can't be known."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process started, in ticks since boot; empty when there is none."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    fields = status.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]  # a zombie works on nothing
