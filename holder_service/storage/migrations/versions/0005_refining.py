"""Refined releases: each at most once."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Say of each release which other it refines; none of those that there are does."""
    op.add_column("releases", sa.Column("refines", sa.String(80)))
    op.create_index("releases_refined", "releases", ["refines"], unique=True)
