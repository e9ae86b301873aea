"""Scenarios and tasks that are made over HTTP."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "scenarios",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
    )
    op.create_index("ix_scenarios_name", "scenarios", ["workspace", "name"], unique=True)
    op.create_index("ix_scenarios_workspace", "scenarios", ["workspace", "seq"])
    op.create_table(
        "workspace_tasks",
        sa.Column("seq", _counter, primary_key=True, autoincrement=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
    )
    op.create_index("ix_workspace_tasks_id", "workspace_tasks", ["workspace", "task_id"], unique=True)
    op.create_index("ix_workspace_tasks_workspace", "workspace_tasks", ["workspace", "seq"])
