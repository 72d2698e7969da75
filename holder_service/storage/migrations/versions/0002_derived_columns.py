"""Derived columns: what auditors add to datasets, and the files that hold their values."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create their table."""
    op.create_table(
        "derived_columns",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("auditor", sa.String(64), sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("dataset", sa.String(64), sa.ForeignKey("datasets.name"), nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("steps", sa.BigInteger, nullable=False),
        sa.Column("linked_file", sa.String(80)),
        sa.Column("version", sa.BigInteger),
        sa.Column("begun", sa.String(40)),
        sa.Column("due", sa.String(40)),
        sa.Column("values_file", sa.String(80)),
    )
    op.create_index("derived_columns_by_auditor", "derived_columns", ["dataset", "auditor"])
