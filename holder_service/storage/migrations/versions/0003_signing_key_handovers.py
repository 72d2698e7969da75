"""What the signing key before said of the next one."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add who handed over, and the signature; the keys that there are were handed over by none."""
    op.add_column("signing_keys", sa.Column("handed_over_by", sa.String(32)))
    op.add_column("signing_keys", sa.Column("handover_signature", sa.String(120)))
