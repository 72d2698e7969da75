"""The file of keyed hashes of everybody who was ever loaded into a dataset: its name, never a hash."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the name; datasets that were loaded before have none until they are loaded again."""
    op.add_column("datasets", sa.Column("people_file", sa.String(80)))
