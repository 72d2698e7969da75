"""Alembic's entry: migrations always run over a connection that `Database.migrate` opened."""

from alembic import context

from holder_service.storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
