"""What people read: the metadata of datasets, and the display names of accounts."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table of metadata, and the column of display names, both empty."""
    op.create_table(
        "dataset_metadata",
        sa.Column("dataset", sa.String(64), sa.ForeignKey("datasets.name"), primary_key=True),
        sa.Column("words", sa.Text, nullable=False),
    )
    op.add_column("accounts", sa.Column("display_name", sa.String(200)))
