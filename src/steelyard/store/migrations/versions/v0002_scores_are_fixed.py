"""A score row never changes: the database itself refuses."""

from alembic import op

revision = "0002"
down_revision = "0001"

_REFUSE = {
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


def upgrade() -> None:
    """Put the trigger in place."""
    for statement in _REFUSE[op.get_bind().dialect.name]:
        op.execute(statement)
