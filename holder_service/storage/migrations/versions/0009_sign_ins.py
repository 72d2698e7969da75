"""Sign-ins by an identity provider: sessions that a token opened, and which sign-ins are completed.

Sessions last an hour at most and are no entries of the ledger: the table is made anew, and who was in logs in again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the tables."""
    op.drop_table("console_sessions")
    op.create_table(
        "console_sessions",
        sa.Column("token_hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("key_id", sa.String(16), sa.ForeignKey("api_keys.id")),
        sa.Column("account", sa.String(64), sa.ForeignKey("accounts.name")),
        sa.Column("role", sa.String(16)),
        sa.Column("issuer", sa.Text),
        sa.Column("expires", sa.String(40), nullable=False),
    )
    op.create_table(
        "completed_sign_ins",
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("expires", sa.String(40), nullable=False),
    )
