"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _workspaces()
    _experiments()
    _tasks()
    _runs()
    _agent_run_scores()
    _judgements()
    _gradings()
    _artifacts()
    _run_artifacts()
    _outbox()
    _deliveries()
    _api_tokens()
    _leases()


def _workspaces() -> None:
    op.create_table(
        "workspaces",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("weights", sa.Text(), nullable=True),
    )


def _experiments() -> None:
    op.create_table(
        "experiments",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text(), nullable=False, unique=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("suite_path", sa.Text(), nullable=True),
        sa.Column("record", sa.Text(), nullable=False),
    )
    op.create_index("ix_experiments_workspace", "experiments", ["workspace", "seq"])
    if op.get_bind().dialect.name == "postgresql":
        op.create_index("ix_experiments_prefix", "experiments", ["id"], postgresql_ops={"id": "text_pattern_ops"})


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text(), nullable=False, unique=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("experiment", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("repeat", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("replaced", sa.BigInteger(), nullable=False),
        sa.Column("task_sha256", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("error_class", sa.Text(), nullable=True),
        sa.Column("infrastructure", sa.BigInteger(), nullable=False),
        sa.Column("objective", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("failure_mode", sa.Text(), nullable=True),
        sa.Column("run_gate", sa.Text(), nullable=False),
        sa.Column("disagreement", sa.Text(), nullable=True),
        sa.Column("checks_passed", sa.BigInteger(), nullable=False),
        sa.Column("checks_total", sa.BigInteger(), nullable=False),
        sa.Column("mean_score", sa.Float(53), nullable=True),
        sa.Column("judge01", sa.Float(53), nullable=True),
        sa.Column("score", sa.BigInteger(), nullable=True),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("wall_s", sa.Float(53), nullable=False),
        sa.Column("cost_usd", sa.Float(53), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=True),
        sa.Column("total_tokens", sa.BigInteger(), nullable=True),
        sa.Column("steps", sa.BigInteger(), nullable=True),
        sa.Column("tool_calls", sa.BigInteger(), nullable=True),
        sa.Column("files_changed", sa.BigInteger(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
    )
    op.create_index("ix_runs_arm", "runs", ["workspace", "arm", "seq"])
    op.create_index("ix_runs_baseline", "runs", ["workspace", "outcome", "infrastructure", "seq"])
    op.create_index("ix_runs_cell", "runs", ["experiment", "task_id", "arm", "repeat"])
    op.create_index("ix_runs_experiment", "runs", ["experiment", "seq"])
    op.create_index("ix_runs_finished", "runs", ["finished_at"])
    op.create_index("ix_runs_judge", "runs", ["workspace", "judge", "seq"])
    op.create_index("ix_runs_task", "runs", ["workspace", "task_id", "seq"])
    op.create_index("ix_runs_tier", "runs", ["workspace", "tier", "seq"])
    op.create_index("ix_runs_workspace", "runs", ["workspace", "seq"])
    if op.get_bind().dialect.name == "postgresql":
        op.create_index("ix_runs_prefix", "runs", ["run_id"], postgresql_ops={"run_id": "text_pattern_ops"})


def _agent_run_scores() -> None:
    op.create_table(
        "agent_run_scores",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("score", sa.BigInteger(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("formula_version", sa.Text(), nullable=False),
        sa.Column("completion", sa.BigInteger(), nullable=False),
        sa.Column("error_rate", sa.BigInteger(), nullable=False),
        sa.Column("latency", sa.BigInteger(), nullable=False),
        sa.Column("resource_efficiency", sa.BigInteger(), nullable=False),
        sa.Column("weights", sa.Text(), nullable=False),
        sa.Column("defaulted_axes", sa.Text(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("scored_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "version"),
    )


def _judgements() -> None:
    op.create_table(
        "judgements",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("scored_at", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
    )
    op.create_index("ix_judgements_run", "judgements", ["run_id", "seq"])


def _gradings() -> None:
    op.create_table(
        "gradings",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("objective", sa.Text(), nullable=False),
        sa.Column("graded_at", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
    )
    op.create_index("ix_gradings_run", "gradings", ["run_id", "seq"])


def _artifacts() -> None:
    op.create_table(
        "artifacts",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
    )


def _run_artifacts() -> None:
    op.create_table(
        "run_artifacts",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "name"),
    )
    op.create_index("ix_run_artifacts_sha256", "run_artifacts", ["sha256"])


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("event_id", sa.Text(), nullable=False, unique=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
    )


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("sink", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sink", "seq"),
    )


def _api_tokens() -> None:
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False, unique=True),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Text(), nullable=True),
        sa.Column("last_used_at", sa.Text(), nullable=True),
        sa.Column("revoked_at", sa.Text(), nullable=True),
    )


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("experiment", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("repeat", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("experiment", "task_id", "arm", "repeat"),
    )
    op.create_index("ix_leases_owner", "leases", ["owner"])
