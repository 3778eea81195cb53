"""Alembic runs this: migrations in the transaction that the storage has begun."""

from alembic import context

from ostinato.storage.schema import metadata

connection = context.config.attributes["connection"]
if connection.dialect.name == "postgresql":
    from sqlalchemy import text

    connection.execute(text("SELECT pg_advisory_xact_lock(7411283)"))  # two processes do not migrate at once
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
context.run_migrations()
