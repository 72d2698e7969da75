"""Sessions of administrators in the console."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table of sessions."""
    op.create_table(
        "console_sessions",
        sa.Column("token_hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("key_id", sa.String(16), sa.ForeignKey("api_keys.id"), nullable=False),
        sa.Column("expires", sa.String(40), nullable=False),
    )
