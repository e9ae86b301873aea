"""Watching over time: scores by day, drift and trust, kept up in the transaction that stores the score.

A workspace is locked while one of its runs is scored, so counts are never lost, and an event has one cause.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select, text, update

from steelyard.domain.record import JsonObject
from steelyard.domain.run import Run
from steelyard.domain.score import Scorecard
from steelyard.formulas.drift import CONFIDENCE, DAYS, Drift, Sums, drift_of, may_have_drifted
from steelyard.formulas.trust import TRUSTED_FROM, is_good, trust_change
from steelyard.store import schema
from steelyard.store.outbox import event_row
from steelyard.store.postgres import find_all, is_postgres
from steelyard.store.rows import instant

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from steelyard.store.connection import Database

_DAY = schema.daily_scores.c
_TRUST = schema.arm_trust.c
_RUNS = schema.runs.c
_TIERS = ("Bronze", "Silver", "Gold", "Elite")

# Plain SQL that both databases know: the dialects' own inserts would load both.
_DAY_SQL = (
    "INSERT INTO daily_scores (workspace, arm, day, runs, total, squares, bronze, silver, gold, elite, p50_s, last_at) "
    "VALUES (:workspace, :arm, :day, :runs, :total, :squares, :bronze, :silver, :gold, :elite, :p50_s, :last_at) "
    "ON CONFLICT (workspace, arm, day) DO UPDATE SET runs = daily_scores.runs + excluded.runs, "
    "total = daily_scores.total + excluded.total, squares = daily_scores.squares + excluded.squares, "
    "bronze = daily_scores.bronze + excluded.bronze, silver = daily_scores.silver + excluded.silver, "
    "gold = daily_scores.gold + excluded.gold, elite = daily_scores.elite + excluded.elite, "
    "p50_s = CASE WHEN excluded.last_at >= daily_scores.last_at THEN excluded.p50_s ELSE daily_scores.p50_s END, "
    "last_at = CASE WHEN excluded.last_at >= daily_scores.last_at THEN excluded.last_at ELSE daily_scores.last_at END "
    "RETURNING runs"
)
# `before` is the streak as it was: one statement counts on and says what was counted from.
_TRUST_SQL = (
    "INSERT INTO arm_trust (workspace, arm, streak, before) VALUES (:workspace, :arm, :good, 0) "
    "ON CONFLICT (workspace, arm) DO UPDATE SET before = arm_trust.streak, "
    "streak = CASE WHEN excluded.streak > 0 THEN arm_trust.streak + 1 ELSE 0 END RETURNING before, streak"
)
_ADD_DAY, _COUNT_TRUST = text(_DAY_SQL), text(_TRUST_SQL)
# PostgreSQL does both in one round trip; SQLite, which has none to save, can't.
_COUNT_BOTH = text(
    f"WITH day AS ({_DAY_SQL}), trust AS ({_TRUST_SQL}) "  # noqa: S608  # two constants
    "SELECT day.runs, trust.before, trust.streak FROM day, trust"
)
_SET_TRUST = (
    update(schema.arm_trust)
    .where(_TRUST.workspace == bindparam("of_workspace"), _TRUST.arm == bindparam("of_arm"))
    .values(before=_TRUST.streak, streak=bindparam("counted"))
)
_STREAK = select(_TRUST.streak).where(_TRUST.workspace == bindparam("workspace"), _TRUST.arm == bindparam("arm"))
_WEEKS = select(_DAY.day, _DAY.runs, _DAY.total, _DAY.squares, _DAY.drifted).where(
    _DAY.workspace == bindparam("workspace"),
    _DAY.arm == bindparam("arm"),
    _DAY.day >= bindparam("first"),
    _DAY.day <= bindparam("last"),
)
_MARK_DRIFT = (
    update(schema.daily_scores)
    .where(
        _DAY.workspace == bindparam("of_workspace"), _DAY.arm == bindparam("of_arm"), _DAY.day == bindparam("of_day")
    )
    .values(drifted=bindparam("direction"))
)


@dataclass(frozen=True)
class Scored:
    """A score that was just stored: of which run, which version of it, and when."""

    run: Run
    card: Scorecard
    version: int
    at: str


def watch_new(connection: "Connection", scored: Sequence[Scored]) -> list[list[JsonObject]]:
    """Count new scores in their order; of each the events that tell what it changed: trust, drift."""
    if not is_postgres(connection):
        return [_told(connection, one, _count_new(connection, one), ()) for one in scored]
    found = find_all(connection, [(_COUNT_BOTH, _new_row(one)) for one in scored])
    return [_told(connection, one, found[place][0], scored[place + 1 :]) for place, one in enumerate(scored)]


def _new_row(scored: Scored) -> JsonObject:
    return {**_day_row(scored.run, scored.card, +1), "good": int(is_good(scored.card.tier))}


def _count_new(connection: "Connection", scored: Scored) -> tuple[int, int, int]:
    """Count one; the runs of its day, and its arm's streak before and after."""
    row = _new_row(scored)
    runs_today = connection.execute(_ADD_DAY, row).scalar_one()
    before, streak = connection.execute(_COUNT_TRUST, row).one()
    return runs_today, before, streak


def _told(
    connection: "Connection", scored: Scored, counted: tuple[int, int, int], later: Sequence[Scored]
) -> list[JsonObject]:
    runs_today, before, streak = counted
    told = _trust_events(scored, before, streak)
    return told + _drift_events(connection, scored, later) if _is_time_to_look(runs_today) else told


def watch_again(connection: "Connection", scored: Scored, previous: tuple[int, str]) -> list[JsonObject]:
    """A run has another score now: take the previous (score, tier) out of its day, put the new one in, look again."""
    run, card = scored.run, scored.card
    old_score, old_tier = previous
    if run.is_infrastructure or (old_score, old_tier) == (card.score, card.tier):
        return []
    _count(connection, run, card.model_copy(update={"score": old_score, "tier": old_tier}), -1)
    _count(connection, run, card, +1)
    told: list[JsonObject] = []
    if is_good(old_tier) != is_good(card.tier):
        before = connection.execute(_STREAK, _arm(run)).scalar() or 0
        after = _recount(connection, run)
        connection.execute(_SET_TRUST, {"of_workspace": run.workspace, "of_arm": run.arm, "counted": after})
        told = _trust_events(scored, before, after)
    return told + _drift_events(connection, scored)


def _is_time_to_look(runs_today: int) -> bool:
    """After each of a day's first runs, then whenever they have grown by a fiftieth: a busy day costs no more."""
    return runs_today < 100 or runs_today % (runs_today // 50) == 0


def _arm(run: Run) -> JsonObject:
    return {"workspace": run.workspace, "arm": run.arm}


def day_of(moment: str) -> str:
    """The UTC day of an instant."""
    return instant(moment)[:10]


def _count(connection: "Connection", run: Run, card: Scorecard, sign: int) -> None:
    """Put a score into its day, or with -1 take it out."""
    connection.execute(_ADD_DAY, _day_row(run, card, sign))


def _day_row(run: Run, card: Scorecard, sign: int) -> JsonObject:
    return {
        **_arm(run),
        "day": day_of(run.finished_at),
        "runs": sign,
        "total": sign * card.score,
        "squares": sign * card.score**2,
        **{name.lower(): sign * (card.tier == name) for name in _TIERS},
        "p50_s": card.inputs.get("p50_s"),
        "last_at": instant(run.finished_at),
    }


def _recount(connection: "Connection", run: Run) -> int:
    """The streak as the stored runs tell it now: those after the newest that was not good."""
    mine = (_RUNS.workspace == run.workspace, _RUNS.arm == run.arm, _RUNS.score.is_not(None), _RUNS.infrastructure == 0)
    bad = select(func.max(_RUNS.seq)).where(*mine, _RUNS.tier.not_in(("Gold", "Elite"))).scalar_subquery()
    counted = select(func.count()).select_from(schema.runs).where(*mine, _RUNS.seq > func.coalesce(bad, 0))
    return int(connection.execute(counted).scalar_one())


def _trust_events(scored: Scored, before: int, after: int) -> list[JsonObject]:
    change = trust_change(before, after)
    if change is None:
        return []
    counted = {"streak": after, "streak_before": before, "needed": TRUSTED_FROM}
    payload = {**_cause(scored), **counted, "tier": scored.card.tier}
    return [event_row(f"agent.trust.{change}", payload, scored.at)]


def _cause(scored: Scored) -> JsonObject:
    """What every event of watching tells: whose, and which score caused it."""
    return {**_arm(scored.run), "run_id": scored.run.run_id, "version": scored.version}


def _drift_events(connection: "Connection", scored: Scored, later: Sequence[Scored] = ()) -> list[JsonObject]:
    """Tell of a drift, each direction at most once in seven days: the same drift is not told with every run.

    `later` are scores that were counted already although they come after this one: they are left out.
    """
    day = day_of(scored.run.finished_at)
    first, middle = _window(day)
    rows = connection.execute(_WEEKS, {**_arm(scored.run), "first": first, "last": day}).all()
    early = [_taken_back(one) for one in later if _arm(one.run) == _arm(scored.run)]
    counted: list[Any] = [*rows, *(row for row in early if first <= row.day <= day)]
    this_week, last_week = (
        _sums(row for row in counted if row.day >= middle),
        _sums(row for row in counted if row.day < middle),
    )
    if not may_have_drifted(this_week, last_week):
        return []
    drift = drift_of(this_week, last_week)
    told = {row.drifted for row in rows if row.day >= middle}
    if drift.drifted is None or drift.drifted in told or "both" in told:
        return []
    mine = next(row.drifted for row in rows if row.day == day)
    marked = drift.drifted if mine is None else "both"
    at = {f"of_{name}": value for name, value in {**_arm(scored.run), "day": day}.items()}
    connection.execute(_MARK_DRIFT, {**at, "direction": marked})
    payload = {**_cause(scored), "as_of": day, **drift_document(drift)}
    return [event_row("agent.score.drifted", payload, scored.at)]


def _taken_back(scored: Scored) -> SimpleNamespace:
    """The row that takes a score out of its day's sums."""
    return SimpleNamespace(**_day_row(scored.run, scored.card, -1))


def _window(day: str) -> tuple[str, str]:
    """The first day of last week and the first day of this week, when this week ends with `day`."""
    last = date.fromisoformat(day)
    first, middle = (max(1, last.toordinal() - back) for back in (2 * DAYS - 1, DAYS - 1))
    return date.fromordinal(first).isoformat(), date.fromordinal(middle).isoformat()


def _sums(rows: Iterable[Any]) -> Sums:
    total = Sums()
    for row in rows:
        total = total.plus(Sums(row.runs, row.total, row.squares))
    return total


def drift_document(drift: Drift) -> JsonObject:
    """A drift as JSON: numbers rounded to what anybody reads."""
    return {
        "drifted": drift.drifted,
        "delta": _rounded(drift.delta),
        "interval": None if drift.interval is None else [_rounded(bound) for bound in drift.interval],
        "confidence": CONFIDENCE,
        "this_week": _week(drift.this_week),
        "last_week": _week(drift.last_week),
        "reason": drift.reason,
    }


def _week(sums: Sums) -> JsonObject:
    return {"runs": sums.runs, "mean": _rounded(sums.mean), "sd": _spread(sums)}


def _spread(sums: Sums) -> float | None:
    return None if sums.variance is None else _rounded(sums.variance**0.5)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def read_trend(database: "Database", workspace: str, *, until: str, days: int, arm: str | None = None) -> JsonObject:
    """The scores of a workspace by day, together and by arm, for `days` days up to and including `until`."""
    last = date.fromisoformat(until)
    first = (last - timedelta(days=min(days, last.toordinal()) - 1)).isoformat()
    query = select(schema.daily_scores).where(_DAY.workspace == workspace, _DAY.day >= first, _DAY.day <= until)
    if arm is not None:
        query = query.where(_DAY.arm == arm)
    with database.read() as connection:
        rows = [dict(row) for row in connection.execute(query.order_by(_DAY.day, _DAY.arm)).mappings() if row["runs"]]
    arms: dict[str, list[JsonObject]] = {}
    together: dict[str, list[JsonObject]] = {}
    for row in rows:
        arms.setdefault(row["arm"], []).append(point_of([row]))
        together.setdefault(row["day"], []).append(row)
    points = [point_of(group) for group in together.values()]
    return {"workspace": workspace, "since": first, "until": until, "days": points, "arms": arms}


def point_of(rows: list[JsonObject]) -> JsonObject:
    """One day: rows of one arm, or of all; the baseline is what the run that finished last was measured against."""
    sums = Sums(*(sum(row[name] for row in rows) for name in ("runs", "total", "squares")))
    newest = max(rows, key=lambda row: str(row["last_at"]))
    tiers = {name: sum(row[name.lower()] for row in rows) for name in _TIERS}
    point: JsonObject = {"day": newest["day"], **_week(sums), "tiers": tiers}
    return {**point, "baseline_p50_s": newest["p50_s"]}


def read_drift(database: "Database", workspace: str, *, as_of: str) -> JsonObject:
    """This week against the last, for each arm and for all together; the week ends with the day `as_of`."""
    first, middle = _window(as_of)
    query = select(schema.daily_scores).where(_DAY.workspace == workspace, _DAY.day >= first, _DAY.day <= as_of)
    with database.read() as connection:
        rows = connection.execute(query.order_by(_DAY.arm, _DAY.day)).all()
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row.arm, []).append(row)

    def compared(some: Iterable[Any]) -> JsonObject:
        kept = list(some)
        this, last = ([row for row in kept if (row.day >= middle) is new] for new in (True, False))
        return drift_document(drift_of(_sums(this), _sums(last)))

    arms = {arm: compared(group) for arm, group in groups.items()}
    return {"workspace": workspace, "as_of": as_of, **compared(rows), "arms": arms}


def read_trust(database: "Database", workspace: str) -> JsonObject:
    """How many runs in a row each arm has scored Gold or better."""
    query = select(_TRUST.arm, _TRUST.streak).where(_TRUST.workspace == workspace).order_by(_TRUST.arm)
    with database.read() as connection:
        rows = connection.execute(query).all()
    arms = {row.arm: {"streak": row.streak, "trusted": row.streak >= TRUSTED_FROM} for row in rows}
    return {"workspace": workspace, "needed": TRUSTED_FROM, "arms": arms}
