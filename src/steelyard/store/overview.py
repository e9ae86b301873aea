"""Workspaces side by side: how each scored lately, whether it drifted, and what latency is measured against."""

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from steelyard.domain.record import JsonObject
from steelyard.formulas.drift import DAYS, Sums, drift_of
from steelyard.store import schema
from steelyard.store.watching import drift_document, point_of

if TYPE_CHECKING:
    from steelyard.store.connection import Database

_DAY = schema.daily_scores.c


def read_overview(
    database: "Database", workspace: str | None, *, until: str, days: int, after: str | None = None, limit: int = 50
) -> list[JsonObject]:
    """A page of workspaces by name, with the scores of `days` days up to and including `until`."""
    first = _back(until, max(days, 2 * DAYS))
    name = schema.workspaces.c.id
    names = select(name).order_by(name).limit(limit)
    if workspace is not None:
        names = names.where(name == workspace)
    if after is not None:
        names = names.where(name > after)
    with database.read() as connection:
        found = list(connection.execute(names).scalars())
        mine = _DAY.workspace.in_(found)
        scored = select(schema.daily_scores).where(mine, _DAY.day >= first, _DAY.day <= until, _DAY.runs > 0)
        rows = [dict(row) for row in connection.execute(scored.order_by(_DAY.day)).mappings()]
        newest = select(_DAY.workspace, func.max(_DAY.day)).where(mine, _DAY.runs > 0).group_by(_DAY.workspace)
        last: dict[str, str] = dict(tuple(row) for row in connection.execute(newest))
    groups: dict[str, list[JsonObject]] = {name: [] for name in found}
    for row in rows:
        groups[row["workspace"]].append(row)
    return [_summary(name, group, last.get(name), until, days) for name, group in groups.items()]


def last_day(database: "Database", workspace: str) -> str | None:
    """The last day on which a run of a workspace was scored; None when there is none."""
    with database.read() as connection:
        query = select(func.max(_DAY.day)).where(_DAY.workspace == workspace, _DAY.runs > 0)
        found: str | None = connection.execute(query).scalar()
    return found


def _summary(name: str, rows: list[JsonObject], last: str | None, until: str, days: int) -> JsonObject:
    first, middle, before = (_back(until, back) for back in (days, DAYS, 2 * DAYS))
    shown = [row for row in rows if row["day"] >= first]
    by_day: dict[str, list[JsonObject]] = {}
    for row in shown:
        by_day.setdefault(row["day"], []).append(row)
    this = _sums(row for row in rows if row["day"] >= middle)
    previous = _sums(row for row in rows if before <= row["day"] < middle)
    total = point_of(shown) if shown else None
    return {
        "workspace": name,
        "runs": total["runs"] if total else 0,
        "arms": len({row["arm"] for row in shown}),
        "mean": total["mean"] if total else None,
        "tiers": total["tiers"] if total else dict.fromkeys(("Bronze", "Silver", "Gold", "Elite"), 0),
        "baseline_p50_s": total["baseline_p50_s"] if total else None,
        "last_day": last,
        "drift": drift_document(drift_of(this, previous)),
        "days": [point_of(group) for group in by_day.values()],
    }


def _back(until: str, days: int) -> str:
    """The first of `days` days that end with `until`; the calendar begins with the year 1."""
    return date.fromordinal(max(1, date.fromisoformat(until).toordinal() - days + 1)).isoformat()


def _sums(rows: Iterable[Any]) -> Sums:
    """What is kept of the scores of days."""
    total = Sums()
    for row in rows:
        total = total.plus(Sums(row["runs"], row["total"], row["squares"]))
    return total
