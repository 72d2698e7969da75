"""Rehearsals: how the people of a dataset were invented, where they were."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Give datasets a column for it; all that there are have real people, and nothing in it."""
    op.add_column("datasets", sa.Column("rehearsal", sa.Text))
