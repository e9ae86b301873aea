"""The orders in which the pages show runs."""

from alembic import op

revision = "0005"
down_revision = "0004"

_SORTED = (
    "finished_at",
    "status",
    "objective",
    "failure_mode",
    "disagreement",
    "score",
    "cost_usd",
    "total_tokens",
    "tool_calls",
    "wall_s",
    "agent",
)


def upgrade() -> None:
    """Make the indexes."""
    for name in _SORTED:
        op.create_index(f"ix_runs_by_{name}", "runs", ["workspace", name, "seq"])
