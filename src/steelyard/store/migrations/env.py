"""Alembic asks this file how to run: inside the transaction that Steelyard has opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True, render_as_batch=True)
context.run_migrations()
