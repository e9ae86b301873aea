"""Who is working on which cell, so that two `--resume` at once never run the same one twice.

A lease ends when its run is stored, when its owner lets go, when it was not renewed for a minute, or, where that can
be seen (Linux, same machine, same process namespace), when the process that took it is gone: `--resume` right after
a `kill -9` waits for nobody.
"""

import os
from pathlib import Path

from sqlalchemy import delete, update

from steelyard.domain.run import Cell
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import RefusedError
from steelyard.store.statements import ADD_LEASE, END_LEASE, FIND_LEASE, FINISHED, TAKE_LEASE

LEASE_S = 60.0
_LEASE = schema.leases.c


def owner_name(token: str) -> str:
    """A name for this process that tells others on this machine whether it still lives; `token` makes it unique."""
    return f"{_here()}|{os.getpid()}|{_started(os.getpid())}|{token}"


def claim(database: Database, experiment: str, cell: Cell, owner: str, now: float) -> bool:
    """Take a cell: False when it is finished already or somebody else who lives is at it."""
    at = {"experiment": experiment, **cell.model_dump()}
    try:
        with database.write(f"claiming {cell.task_id} × {cell.arm} × {cell.repeat}") as connection:
            found = connection.execute(FIND_LEASE, at).first()
            if found is not None and found.owner != owner and found.expires_at > now and not _is_gone(found.owner):
                return False
            taken = {"owner": owner, "expires_at": now + LEASE_S}
            if found is None:
                connection.execute(ADD_LEASE, {**at, **taken})
            else:
                connection.execute(TAKE_LEASE, {**taken, **{f"of_{name}": value for name, value in at.items()}})
            # Only now: a run is stored and its lease ended in one step, so a lease that is free tells the truth here.
            if connection.execute(FINISHED, at).first():
                connection.execute(END_LEASE, at)
                return False
            return True
    except RefusedError:
        return False  # somebody took it in the same moment


def renew(database: Database, owner: str, now: float) -> None:
    """Keep all leases of an owner for another minute; to be called every twenty seconds or so."""
    with database.write("renewing claims") as connection:
        connection.execute(update(schema.leases).where(_LEASE.owner == owner).values(expires_at=now + LEASE_S))


def release(database: Database, owner: str) -> None:
    """Let go of everything an owner holds."""
    with database.write("releasing claims") as connection:
        connection.execute(delete(schema.leases).where(_LEASE.owner == owner))


def _is_gone(owner: str) -> bool:
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
