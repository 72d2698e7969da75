"""Watches: what the holder keeps of each between two answers."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table; no watch is set yet."""
    op.create_table(
        "watches",
        sa.Column("id", sa.String(80), sa.ForeignKey("releases.id"), primary_key=True),
        sa.Column("auditor", sa.String(64), sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("dataset", sa.String(64), sa.ForeignKey("datasets.name"), nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("noisy_threshold", sa.BigInteger, nullable=False),
        sa.Column("changed", sa.Boolean, nullable=False),
        sa.Column("work_ms", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger),
        sa.Column("begun", sa.String(40)),
        sa.Column("due", sa.String(40)),
    )
    op.create_index("watches_by_dataset", "watches", ["dataset"])
