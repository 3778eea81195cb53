"""Alembic runs this: migrations in the transaction that the storage has begun."""

from alembic import context

from ostinato.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
