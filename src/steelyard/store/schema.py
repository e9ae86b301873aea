"""The tables. What is filtered or sorted has a column of its own; the rest of a record is one canonical JSON text.

`runs.seq` counts runs in the order in which they were stored: it is the cursor of every page and the meaning of
"before" in the latency baseline. Instants are ISO 8601 texts in UTC, all of one width, so that they sort as texts.
"""

from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    event,
)

VERSION = "0006"  # the last revision under migrations/versions; a test holds the two together

metadata = MetaData()
_counter = BigInteger().with_variant(Integer(), "sqlite")  # SQLite counts by itself only in an INTEGER PRIMARY KEY


def _text(name: str, *, null: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null)


def _whole(name: str, *, null: bool = True) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def _number(name: str, *, null: bool = True) -> Column[float]:
    return Column(name, Float(53), nullable=null)


def _count() -> Column[int]:
    return Column("seq", _counter, primary_key=True, autoincrement=True)


workspaces = Table("workspaces", metadata, Column("id", Text, primary_key=True), _text("weights", null=True))

experiments = Table(
    "experiments",
    metadata,
    _count(),
    Column("id", Text, nullable=False, unique=True),
    _text("workspace"),
    _text("created_at"),
    _text("suite_path", null=True),
    _text("record"),
    Index("ix_experiments_workspace", "workspace", "seq"),
)

tasks = Table("tasks", metadata, Column("sha256", String(64), primary_key=True), _text("task_id"), _text("snapshot"))

SORTED = (
    "finished_at",
    "status",
    "objective",
    "failure_mode",
    "disagreement",
    "score",
    "composite",
    "cost_usd",
    "total_tokens",
    "tool_calls",
    "wall_s",
    "agent",
)

runs = Table(
    "runs",
    metadata,
    _count(),
    Column("run_id", Text, nullable=False, unique=True),
    _text("workspace"),
    _text("experiment"),
    _text("task_id"),
    _text("arm"),
    _whole("repeat", null=False),
    _whole("attempt", null=False),
    _whole("replaced", null=False),
    _text("task_sha256"),
    _text("status"),
    _text("outcome"),
    _text("error_class", null=True),
    _whole("infrastructure", null=False),
    _text("objective"),
    _text("judge"),
    _text("failure_mode", null=True),
    _text("run_gate"),
    _text("disagreement", null=True),
    _whole("checks_passed", null=False),
    _whole("checks_total", null=False),
    _number("mean_score"),
    _number("judge01"),
    _whole("score"),
    _text("tier"),
    _number("wall_s", null=False),
    _number("cost_usd"),
    _whole("input_tokens"),
    _whole("output_tokens"),
    _whole("cache_read_tokens"),
    _whole("cache_write_tokens"),
    _whole("total_tokens"),
    _whole("steps"),
    _whole("tool_calls"),
    _whole("files_changed", null=False),
    _text("agent"),
    _text("agent_version", null=True),
    _text("model", null=True),
    _text("tags"),
    _text("started_at"),
    _text("finished_at"),
    _text("record"),
    _number("composite"),  # before the cost adjustment, which needs a pair
    Index("ix_runs_workspace", "workspace", "seq"),
    Index("ix_runs_baseline", "workspace", "outcome", "infrastructure", "seq"),
    Index("ix_runs_experiment", "experiment", "seq"),
    Index("ix_runs_cell", "experiment", "task_id", "arm", "repeat"),
    Index("ix_runs_task", "workspace", "task_id", "seq"),
    Index("ix_runs_arm", "workspace", "arm", "seq"),
    Index("ix_runs_tier", "workspace", "tier", "seq"),
    Index("ix_runs_judge", "workspace", "judge", "seq"),
    Index("ix_runs_finished", "finished_at"),
    # The orders that the pages offer, and the filters that have no index above.
    *(Index(f"ix_runs_by_{name}", "workspace", name, "seq") for name in SORTED),
)

agent_run_scores = Table(
    "agent_run_scores",
    metadata,
    _text("run_id"),
    _whole("version", null=False),
    _whole("score", null=False),
    _text("tier"),
    _text("formula_version"),
    _whole("completion", null=False),
    _whole("error_rate", null=False),
    _whole("latency", null=False),
    _whole("resource_efficiency", null=False),
    _text("weights"),
    _text("defaulted_axes"),
    _text("inputs"),
    _text("scored_at"),
    PrimaryKeyConstraint("run_id", "version"),
)

judgements = Table(
    "judgements",
    metadata,
    _count(),
    _text("run_id"),
    _text("verdict"),
    _text("scored_at"),
    _text("record"),
    Index("ix_judgements_run", "run_id", "seq"),
)

gradings = Table(
    "gradings",
    metadata,
    _count(),
    _text("run_id"),
    _text("objective"),
    _text("graded_at"),
    _text("record"),
    Index("ix_gradings_run", "run_id", "seq"),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("sha256", String(64), primary_key=True),
    _whole("bytes", null=False),
    _whole("stored_bytes", null=False),
)

run_artifacts = Table(
    "run_artifacts",
    metadata,
    _text("run_id"),
    _text("name"),
    Column("sha256", String(64), nullable=False),
    PrimaryKeyConstraint("run_id", "name"),
    Index("ix_run_artifacts_sha256", "sha256"),
)

outbox = Table(
    "outbox",
    metadata,
    _count(),
    Column("event_id", Text, nullable=False, unique=True),
    _text("kind"),
    _text("workspace"),
    _text("run_id", null=True),
    _text("created_at"),
    _text("payload"),
    sqlite_autoincrement=True,  # a place is never given twice: `deliveries` would take a new event for an old one
)

deliveries = Table(
    "deliveries", metadata, _text("sink"), _whole("seq", null=False), PrimaryKeyConstraint("sink", "seq")
)

# Where events go, who delivers there now, and how that went.
sinks = Table(
    "sinks",
    metadata,
    Column("name", Text, primary_key=True),
    _text("owner", null=True),
    _number("expires_at", null=False),
    _whole("failures", null=False),
    _text("last_error", null=True),
    _text("last_delivered_at", null=True),
    _whole("delivered", null=False),
    _whole("dropped", null=False),
    _whole("refused", null=False),
)

# Scores by day, added up as they are stored: what trend and drift are made of, however many runs there are.
daily_scores = Table(
    "daily_scores",
    metadata,
    _text("workspace"),
    _text("arm"),
    _text("day"),
    _whole("runs", null=False),
    _whole("total", null=False),
    _whole("squares", null=False),
    _whole("bronze", null=False),
    _whole("silver", null=False),
    _whole("gold", null=False),
    _whole("elite", null=False),
    _number("p50_s"),
    _text("last_at"),
    _text("drifted", null=True),
    PrimaryKeyConstraint("workspace", "arm", "day"),
)

arm_trust = Table(
    "arm_trust",
    metadata,
    _text("workspace"),
    _text("arm"),
    _whole("streak", null=False),
    _whole("before", null=False),
    PrimaryKeyConstraint("workspace", "arm"),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    _text("workspace"),
    _text("name"),
    Column("hash", Text, nullable=False, unique=True),
    _text("scopes"),
    _text("created_at"),
    _text("expires_at", null=True),
    _text("last_used_at", null=True),
    _text("revoked_at", null=True),
)

# What people make over HTTP. A scenario may be edited; the task made of it keeps its own frozen snapshot (`tasks`).
scenarios = Table(
    "scenarios",
    metadata,
    _count(),
    _text("workspace"),
    _text("name"),
    _whole("revision", null=False),
    _text("created_at"),
    _text("updated_at"),
    _text("record"),
    Index("ix_scenarios_name", "workspace", "name", unique=True),
    Index("ix_scenarios_workspace", "workspace", "seq"),
)

workspace_tasks = Table(
    "workspace_tasks",
    metadata,
    _count(),
    _text("workspace"),
    _text("task_id"),
    Column("sha256", String(64), nullable=False),
    _text("created_at"),
    Index("ix_workspace_tasks_id", "workspace", "task_id", unique=True),
    Index("ix_workspace_tasks_workspace", "workspace", "seq"),
)

leases = Table(
    "leases",
    metadata,
    _text("experiment"),
    _text("task_id"),
    _text("arm"),
    _whole("repeat", null=False),
    _text("owner"),
    _number("expires_at", null=False),
    PrimaryKeyConstraint("experiment", "task_id", "arm", "repeat"),
    Index("ix_leases_owner", "owner"),
)

versions = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),  # as Alembic makes it
)


def _only_for(dialect: str, statement: str) -> Any:
    make: Any = DDL  # SQLAlchemy has no types for it
    return make(statement).execute_if(dialect=dialect)


# Looking a run up by the start of its id is a range scan: in SQLite by itself, in PostgreSQL with this kind of index.
# Plain DDL, because an `Index` with PostgreSQL's options would load that dialect wherever SQLite is used.
for _table, _column in ((runs, "run_id"), (experiments, "id")):
    _prefix_index = f"CREATE INDEX ix_{_table.name}_prefix ON {_table.name} ({_column} text_pattern_ops)"
    event.listen(_table, "after_create", _only_for("postgresql", _prefix_index))

# A score row never changes: rescoring adds a row. The database itself says no.
SCORES_ARE_FIXED: dict[str, tuple[str, ...]] = {
    "sqlite": (
        (
            "CREATE TRIGGER agent_run_scores_fixed BEFORE UPDATE ON agent_run_scores "
            "BEGIN SELECT RAISE(ABORT, 'a score row never changes'); END"
        ),
    ),
    "postgresql": (
        (
            "CREATE FUNCTION steelyard_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'a score row never changes'; END $$"
        ),
        (
            "CREATE TRIGGER agent_run_scores_fixed BEFORE UPDATE ON agent_run_scores "
            "FOR EACH ROW EXECUTE FUNCTION steelyard_refuse_change()"
        ),
    ),
}


for _dialect, _statements in SCORES_ARE_FIXED.items():
    for _statement in _statements:
        event.listen(agent_run_scores, "after_create", _only_for(_dialect, _statement))

Row = dict[str, Any]
