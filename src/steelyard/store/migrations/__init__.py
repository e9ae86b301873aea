"""Alembic's migrations, shipped with the package. A revision is a four-digit number, so that revisions sort."""
