"""Trainings: releases that are models, in the table of all releases."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Say of each release what was asked; all that there are answer plans."""
    op.add_column("releases", sa.Column("kind", sa.String(16), nullable=False, server_default="plan"))
