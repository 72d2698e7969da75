"""Look entries of a kind up by an index, so that notices take no longer in a long ledger."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the index."""
    op.create_index("entries_by_kind", "entries", ["kind", "sequence"])
