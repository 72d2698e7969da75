"""Losses in ρ: what an entry charges an account that adds up ρ."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Give entries a column for ρ; all that there are charge ε and δ, and have none."""
    op.add_column("entries", sa.Column("rho_nano", sa.BigInteger))
