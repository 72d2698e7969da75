"""Approvals: requests that wait for a second person, and which populations need them."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the table; no population of before needs an approval, and kinds of entries may be longer."""
    op.add_column("populations", sa.Column("approval_days", sa.SmallInteger))
    if op.get_context().dialect.name != "sqlite":  # which bounds no text
        op.alter_column("entries", "kind", type_=sa.String(32), existing_nullable=False)
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("sequence", sa.BigInteger, sa.ForeignKey("entries.sequence"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("auditor", sa.String(64), sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("dataset", sa.String(64), sa.ForeignKey("datasets.name"), nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("relation", sa.String(32), nullable=False),
        sa.Column("purpose", sa.String(200)),
        sa.Column("epsilon_nano", sa.BigInteger, nullable=False),
        sa.Column("delta_nano", sa.BigInteger, nullable=False),
        sa.Column("rho_nano", sa.BigInteger),
        sa.Column("requested", sa.String(40), nullable=False),
        sa.Column("expires", sa.String(40), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("decision", sa.BigInteger, sa.ForeignKey("entries.sequence")),
        sa.Column("decided", sa.String(40)),
        sa.Column("decided_by", sa.String(64)),
        sa.Column("reason", sa.String(200)),
        sa.Column("document", sa.LargeBinary),
    )
    op.create_index("approvals_by_auditor", "approvals", ["auditor", "dataset", "sequence"])
    op.create_index("approvals_by_state", "approvals", ["state", "sequence"])
