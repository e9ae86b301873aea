"""Workspaces: the weights they score with and the wall times they measure latency against."""

from typing import TYPE_CHECKING

from sqlalchemy import select, update

from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.score import Weights
from steelyard.errors import InputError
from steelyard.formulas.scorecard import DEFAULT_WEIGHTS
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.statements import HISTORY, LOCK_WORKSPACE, WEIGHTS, insert_new

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

_END = 2**63 - 1  # after every run
_TOLERANCE = 1e-4


def lock_workspace(connection: "Connection", workspace: str) -> Weights:
    """Let one transaction at a time score in a workspace ("the runs before this one" has one meaning); its weights."""
    found = connection.execute(LOCK_WORKSPACE, {"workspace": workspace}).first()
    if found is None:
        insert_new(connection, schema.workspaces, [{"id": workspace}])
        found = connection.execute(LOCK_WORKSPACE, {"workspace": workspace}).one()
    return weights_of(found.weights)


def baseline_history(connection: "Connection", workspace: str, before: int | None = None) -> list[float]:
    """The wall times of the last 20 COMPLETED runs of a workspace, oldest first; `before` a run's `seq`."""
    return list(connection.execute(*history_asked(workspace, before)).scalars())[::-1]


def history_asked(workspace: str, before: int | None = None) -> "tuple[Select[float], JsonObject]":
    """The statement that finds them, newest first, and what it is given."""
    return HISTORY, {"workspace": workspace, "before": _END if before is None else before}


def read_weights(connection: "Connection", workspace: str) -> Weights:
    """The weights a workspace scores with; the formula's own when none were set."""
    return weights_of(connection.execute(WEIGHTS, {"workspace": workspace}).scalar())


def weights_of(stored: str | None) -> Weights:
    """Weights from the column that holds them; the formula's own when none were set."""
    return DEFAULT_WEIGHTS if stored is None else Weights.model_validate_json(stored)


def check_weights(values: Weights | JsonObject) -> Weights:
    """Weights that may be used: each at least 0, together 1 within 0.0001; else an `InputError`."""
    given = values.model_dump() if isinstance(values, Weights) else dict(values)
    known = list(Weights.model_fields)
    unknown = sorted(set(given) - set(known))
    if unknown or len(given) != len(known):
        raise InputError(f"weights need exactly the axes {', '.join(known)}; given: {', '.join(map(str, given))}")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 + _TOLERANCE:
            raise InputError(f"weight {name} is {value!r}; a number from 0 to 1 is allowed")
    total = sum(given.values())
    if abs(total - 1) > _TOLERANCE:
        raise InputError(f"weights add up to {total:.6g}; they must add up to 1 (within {_TOLERANCE})")
    return Weights(**{name: float(value) for name, value in given.items()})


def set_weights(database: Database, workspace: str, values: Weights | JsonObject) -> Weights:
    """Score with these weights from now on; earlier scores keep theirs. None of it when they are not allowed."""
    weights = check_weights(values)
    table = schema.workspaces
    with database.write(f"setting the weights of workspace {workspace}") as connection:
        lock_workspace(connection, workspace)
        text = canonical_json(weights.model_dump())
        connection.execute(update(table).where(table.c.id == workspace).values(weights=text))
    return weights


def workspace_names(connection: "Connection") -> list[str]:
    """Every workspace that has anything stored."""
    return list(connection.execute(select(schema.workspaces.c.id).order_by(schema.workspaces.c.id)).scalars())


def has_workspace(connection: "Connection", workspace: str) -> bool:
    """Whether a workspace has anything stored."""
    table = schema.workspaces
    return connection.execute(select(table.c.id).where(table.c.id == workspace)).first() is not None
