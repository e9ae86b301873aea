"""Bringing an older database up to date, with Alembic; loaded only when there is something to do."""

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config

from steelyard.store.connection import Database, lock_schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(database: Database, to: str = "head") -> None:
    """Run the migrations that the database has not seen, all of them or none."""
    with database.write("upgrading the store") as connection:
        lock_schema(connection)
        command.upgrade(config(connection), to)


def config(connection: "Connection") -> Config:
    """Alembic's configuration for an open transaction."""
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made
