"""How far an experiment has come: its runs by arm, what they cost, who is still at it, and when it changed last."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json
from sqlalchemy import func, select

from steelyard.domain.record import JsonObject
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.leases import is_gone

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

_RUNS = schema.runs.c
_LEASE = schema.leases.c
RECENT = 20  # runs that the pace is taken from
MOST_ARMS = 200
MOST_COUNTED = 20_000


@dataclass(frozen=True)
class ArmProgress:
    """The runs of an arm that count or failed for an infrastructure reason; costs of replaced tries are in the sum."""

    arm: str
    runs: int
    passed: int
    infrastructure: int
    cost_usd: float
    unknown_cost: int
    seconds: float


@dataclass(frozen=True)
class Progress:
    """What is stored of an experiment, and how many cells somebody who lives is at."""

    arms: tuple[ArmProgress, ...] = ()
    working: int = 0
    tokens: int = 0
    pace_s: float | None = None  # seconds from one finished run to the next
    first_started: str | None = None
    last_finished: str | None = None
    last_seq: int = 0

    @property
    def done(self) -> int:
        """Cells that need not run again."""
        return sum(arm.runs for arm in self.arms)

    @property
    def infrastructure(self) -> int:
        """Cells whose newest try failed for an infrastructure reason."""
        return sum(arm.infrastructure for arm in self.arms)

    @property
    def cost_usd(self) -> float:
        """What all tries cost, as far as it is known."""
        return sum(arm.cost_usd for arm in self.arms)

    @property
    def unknown_cost(self) -> int:
        """Tries that did not say what they cost."""
        return sum(arm.unknown_cost for arm in self.arms)


def read_progress(database: Database, experiment: str, workspace: str | None = None) -> Progress:
    """How far an experiment has come; runs of other workspaces than the one that is named do not count."""
    mine = _mine(experiment, workspace)
    with database.read() as connection:
        arms = _arms(connection, mine)
        newest = connection.execute(
            select(_RUNS.seq, _RUNS.finished_at).where(*mine).order_by(_RUNS.seq.desc()).limit(RECENT)
        ).all()
        first, last, tokens = connection.execute(
            select(func.min(_RUNS.started_at), func.max(_RUNS.finished_at), func.sum(_RUNS.total_tokens)).where(*mine)
        ).one()
        working = _working(connection, experiment)
    return Progress(
        arms=tuple(arms),
        working=working,
        tokens=int(tokens or 0),
        pace_s=_pace([row.finished_at for row in newest]),
        first_started=first,
        last_finished=last,
        last_seq=newest[0].seq if newest else 0,
    )


def stamp(database: Database, experiments: Sequence[str]) -> tuple[int, ...]:
    """Numbers that differ whenever what a comparison of these experiments reads may differ; the first counts runs."""
    runs = select(func.count(), func.coalesce(func.max(_RUNS.seq), 0)).where(_RUNS.experiment.in_(experiments))
    with database.read() as connection:
        found = connection.execute(runs).one()
        newest = [select(func.max(table.c.seq)) for table in (schema.judgements, schema.gradings)]
        later = [connection.execute(query).scalar() or 0 for query in newest]
    return tuple(int(number) for number in (*found, *later))


def pulse(database: Database, experiment: str, workspace: str | None = None) -> tuple[int, int]:
    """The newest run's `seq`, and how many cells are being worked at: cheap, for those who ask every second."""
    newest = select(func.max(_RUNS.seq)).where(*_mine(experiment, workspace))
    with database.read() as connection:
        return int(connection.execute(newest).scalar() or 0), _working(connection, experiment)


@dataclass(frozen=True)
class Glance:
    """An experiment in a list: `more` says that there are so many runs that not all were counted.

    `cost_usd` is what is known of it; None when no run told.
    """

    finished: int
    cost_usd: float | None
    working: int
    more: bool
    last_finished: str | None = None


@dataclass(frozen=True)
class Shape:
    """What an experiment was planned as, and its settings."""

    tasks: int
    arms: int
    repeats: int
    settings: JsonObject

    @property
    def planned(self) -> int:
        """How many runs that makes."""
        return self.tasks * self.arms * self.repeats


def glance(database: Database, experiment: str) -> Glance:
    """The first few thousand runs of an experiment, counted: costs the same however many there are."""
    one = (
        select(_RUNS.cost_usd, _RUNS.replaced, _RUNS.infrastructure, _RUNS.finished_at)
        .where(_RUNS.experiment == experiment)
        .limit(MOST_COUNTED + 1)
        .subquery()
    )
    done = func.count().filter(one.c.replaced == 0, one.c.infrastructure == 0)
    query = select(func.count(), done, func.sum(one.c.cost_usd), func.max(one.c.finished_at)).select_from(one)
    with database.read() as connection:
        every, finished, spent, last = connection.execute(query).one()
        working = _working(connection, experiment)
    known = None if spent is None else float(spent)
    return Glance(int(finished), known, working, int(every) > MOST_COUNTED, last)


def shapes(database: Database, ids: Sequence[str]) -> dict[str, Shape]:
    """How each experiment was planned."""
    table = schema.experiments
    with database.read() as connection:
        found = connection.execute(select(table.c.id, table.c.record).where(table.c.id.in_(ids))).all()
    records = {row.id: from_json(row.record) for row in found}
    return {
        name: Shape(len(each["tasks"]), len(each["arms"]), int(each["repeats"]), each.get("settings") or {})
        for name, each in records.items()
    }


def _mine(experiment: str, workspace: str | None) -> "list[ColumnElement[bool]]":
    return [_RUNS.experiment == experiment, *([] if workspace is None else [_RUNS.workspace == workspace])]


def _arms(connection: "Connection", mine: "list[ColumnElement[bool]]") -> list[ArmProgress]:
    counts = _RUNS.replaced == 0
    ours = _RUNS.infrastructure == 1
    query = (
        select(
            _RUNS.arm,
            func.count().filter(counts, ~ours).label("runs"),
            func.count().filter(counts, ~ours, _RUNS.objective == "PASS").label("passed"),
            func.count().filter(counts, ours).label("infrastructure"),
            func.coalesce(func.sum(_RUNS.cost_usd), 0.0).label("cost"),
            (func.count() - func.count(_RUNS.cost_usd)).label("unknown"),
            func.coalesce(func.sum(_RUNS.wall_s), 0.0).label("seconds"),
        )
        .where(*mine)
        .group_by(_RUNS.arm)
        .order_by(_RUNS.arm)
        .limit(MOST_ARMS)
    )
    return [
        ArmProgress(
            arm=row.arm,
            runs=int(row.runs),
            passed=int(row.passed),
            infrastructure=int(row.infrastructure),
            cost_usd=float(row.cost),
            unknown_cost=int(row.unknown),
            seconds=float(row.seconds),
        )
        for row in connection.execute(query)
    ]


def _working(connection: "Connection", experiment: str) -> int:
    """Cells that somebody has claimed, lives, and has not finished."""
    now = time.time()
    query: Any = (
        select(_LEASE.owner, func.count().label("cells"))
        .where(_LEASE.experiment == experiment, _LEASE.expires_at > now)
        .group_by(_LEASE.owner)
    )
    return sum(row.cells for row in connection.execute(query) if not is_gone(row.owner))


def _pace(finished: list[str]) -> float | None:
    """Seconds from one run to the next among the newest; None with fewer than two."""
    if len(finished) < 2:
        return None
    times = sorted(datetime.fromisoformat(text) for text in finished)
    return (times[-1] - times[0]).total_seconds() / (len(times) - 1)


def summary(progress: Progress, planned: int | None, *, alive: bool = False) -> JsonObject:
    """Progress as programs read it; `planned` is None where nobody said, `alive` that somebody elsewhere is at it."""
    missing = None if planned is None else max(0, planned - progress.done)
    running = progress.working > 0 or (alive and bool(missing))
    state = "running" if running else "finished" if not missing else "stopped"
    eta = None
    if running and missing and progress.pace_s is not None:
        eta = round(progress.pace_s * missing, 1)
    return {
        "state": state,
        "planned": planned,
        "finished": progress.done,
        "missing": missing,
        "working": progress.working,
        "infrastructure_failures": progress.infrastructure,
        "cost_usd": round(progress.cost_usd, 6),
        "unknown_cost": progress.unknown_cost,
        "tokens": progress.tokens,
        "first_started": progress.first_started,
        "last_finished": progress.last_finished,
        "eta_s": eta,
    }
