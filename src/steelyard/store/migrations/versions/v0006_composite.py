"""The composite of a run before the cost adjustment, as a column that runs can be sorted by."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_OBJECTIVE = "CASE WHEN checks_total > 0 THEN checks_passed * 1.0 / checks_total ELSE 1.0 END"
_BASE = f"CASE WHEN judge01 IS NULL THEN {_OBJECTIVE} ELSE 0.6 * ({_OBJECTIVE}) + 0.4 * judge01 END"


def upgrade() -> None:
    """Add it, fill it from what is known, and index it."""
    op.add_column("runs", sa.Column("composite", sa.Float(53), nullable=True))
    op.execute(f"UPDATE runs SET composite = CAST(ROUND(CAST({_BASE} AS NUMERIC), 6) AS DOUBLE PRECISION)")  # noqa: S608  # our own constants
    op.create_index("ix_runs_by_composite", "runs", ["workspace", "composite", "seq"])
