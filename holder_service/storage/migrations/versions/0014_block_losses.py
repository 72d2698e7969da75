"""What accounts lost by block of people; nothing so far."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Make the table of sums by block."""
    op.create_table(
        "block_losses",
        sa.Column("population", sa.String(64), primary_key=True),
        sa.Column("auditor", sa.String(64), primary_key=True),
        sa.Column("level", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("block", sa.BigInteger, primary_key=True, autoincrement=False),
        *(
            sa.Column(f"{what}_{amount}_nano", sa.BigInteger, nullable=False)
            for what in ("added", "highest")
            for amount in ("epsilon", "delta", "rho")
        ),
    )
