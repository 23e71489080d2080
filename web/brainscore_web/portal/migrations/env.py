"""Connect Alembic to the database that is migrated."""

from __future__ import annotations

from alembic import context

from brainscore_web.portal.tables import Base, open_engine

with open_engine(context.config.attributes["url"]).connect() as connection:
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
