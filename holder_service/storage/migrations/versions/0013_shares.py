"""Shares: the split that the records of a dataset come from, where another holder has the other half."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Give datasets a column for it; none that there is holds shares."""
    op.add_column("datasets", sa.Column("split_id", sa.String(32)))
