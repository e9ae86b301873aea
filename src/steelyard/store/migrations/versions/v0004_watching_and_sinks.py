"""Where events go and how that went; scores by day; trust. A place in the outbox is never given twice."""

import json
from datetime import date
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_GOOD = ("Gold", "Elite")


def upgrade() -> None:
    """Make the tables, and add up the scores that are there."""
    _tables()
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _count_on()
    connection.execute(sa.text("DELETE FROM deliveries WHERE seq NOT IN (SELECT seq FROM outbox)"))
    _add_up(connection)


def _tables() -> None:
    op.create_table(
        "sinks",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.Float(53), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("last_delivered_at", sa.Text(), nullable=True),
        sa.Column("delivered", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "daily_scores",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("workspace", "arm", "day")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("runs", "total", "squares")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("bronze", "silver", "gold", "elite")),
        sa.Column("p50_s", sa.Float(53), nullable=True),
        sa.Column("last_at", sa.Text(), nullable=False),
        sa.Column("drifted", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("workspace", "arm", "day"),
    )
    op.create_table(
        "arm_trust",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("streak", sa.BigInteger(), nullable=False),
        sa.Column("before", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "arm"),
    )


def _count_on() -> None:
    """SQLite gives the place of a removed row again unless the table says AUTOINCREMENT."""
    op.execute("ALTER TABLE outbox RENAME TO outbox_before")
    op.create_table(
        "outbox",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("event_id", sa.Text(), nullable=False, unique=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sqlite_autoincrement=True,
    )
    columns = "seq, event_id, kind, workspace, run_id, created_at, payload"
    op.execute(f"INSERT INTO outbox ({columns}) SELECT {columns} FROM outbox_before ORDER BY seq")  # noqa: S608  # ours
    op.execute("DROP TABLE outbox_before")


def _add_up(connection: sa.Connection) -> None:
    """The days and streaks of the runs that are stored, in their order."""
    query = sa.text(
        "SELECT r.workspace, r.arm, r.finished_at, r.score, r.tier, s.inputs FROM runs r "
        "JOIN agent_run_scores s ON s.run_id = r.run_id AND s.version = 1 "
        "WHERE r.infrastructure = 0 AND r.score IS NOT NULL ORDER BY r.seq"
    )
    days: dict[tuple[str, str, str], dict[str, Any]] = {}
    streaks: dict[tuple[str, str], int] = {}
    for row in connection.execute(query, execution_options={"yield_per": 500}):
        at = (row.workspace, row.arm, date.fromisoformat(row.finished_at[:10]).isoformat())
        names = ("runs", "total", "squares", "bronze", "silver", "gold", "elite")
        day = days.setdefault(at, {**dict.fromkeys(names, 0), "p50_s": None, "last_at": ""})
        day["runs"] += 1
        day["total"] += row.score
        day["squares"] += row.score**2
        day[row.tier.lower()] += 1
        if row.finished_at >= day["last_at"]:
            day |= {"last_at": row.finished_at, "p50_s": json.loads(row.inputs).get("p50_s")}
        arm = (row.workspace, row.arm)
        streaks[arm] = streaks.get(arm, 0) + 1 if row.tier in _GOOD else 0
    named = [dict(zip(("workspace", "arm", "day"), at, strict=True)) | day for at, day in days.items()]
    _insert(connection, "daily_scores", named)
    counted = [{"workspace": at[0], "arm": at[1], "streak": n, "before": n} for at, n in streaks.items()]
    _insert(connection, "arm_trust", counted)


def _insert(connection: sa.Connection, table: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        columns = list(rows[0])
        statement = sa.insert(sa.table(table, *map(sa.column, columns)))
        connection.execute(statement, rows)
