"""The first tables: accounts, keys, populations, datasets, the ledger, the releases and the console's sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table, and the head of an empty ledger."""
    op.create_table(
        "accounts",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("account", sa.String(64), sa.ForeignKey("accounts.name"), nullable=False, index=True),
        sa.Column("secret_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("expires", sa.String(40)),
        sa.Column("withdrawn", sa.String(40)),
    )
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("public_key", sa.LargeBinary(32), nullable=False),
        sa.Column("valid_from", sa.String(40), nullable=False),
        sa.Column("valid_to", sa.String(40)),
        sa.Column("handed_over_by", sa.String(32)),
        sa.Column("handover_signature", sa.String(120)),
    )
    op.create_table(
        "populations",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("relation", sa.String(32), nullable=False),
        sa.Column("person_key", sa.String(200), nullable=False),
        sa.Column("merged_into", sa.String(64), sa.ForeignKey("populations.name")),
    )
    op.create_table(
        "datasets",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("population", sa.String(64), sa.ForeignKey("populations.name"), nullable=False, index=True),
        sa.Column("records_max", sa.BigInteger, nullable=False),
        sa.Column("schema", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger),
        sa.Column("version_last", sa.BigInteger, nullable=False),
        sa.Column("records_file", sa.String(80)),
        sa.Column("retired", sa.Boolean, nullable=False),
        sa.Column("people_file", sa.String(80)),
    )
    op.create_table(
        "entries",
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("population", sa.String(64)),
        sa.Column("dataset", sa.String(64)),
        sa.Column("auditor", sa.String(64)),
        sa.Column("subject", sa.String(200)),
        sa.Column("answer", sa.String(80)),
        sa.Column("epsilon_nano", sa.BigInteger, nullable=False),
        sa.Column("delta_nano", sa.BigInteger, nullable=False),
        sa.Column("cap", sa.Text),
        sa.Column("account", sa.Text),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("nonce", sa.String(32), nullable=False),
        sa.Column("previous", sa.String(80), nullable=False),
        sa.Column("hash", sa.String(80), nullable=False),
    )
    op.create_index("entries_by_population", "entries", ["population", "sequence"])
    op.create_index("entries_by_account", "entries", ["population", "auditor", "sequence"])
    head = op.create_table(
        "ledger_head",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(80), nullable=False),
    )
    op.bulk_insert(head, [{"id": 1, "sequence": 0, "hash": "sha256:" + "0" * 64}])
    op.create_table(
        "releases",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("auditor", sa.String(64), sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("dataset", sa.String(64), sa.ForeignKey("datasets.name"), nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("sequence", sa.BigInteger, sa.ForeignKey("entries.sequence"), nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("releases_by_auditor", "releases", ["auditor", "dataset", "sequence"])
    op.create_table(
        "console_sessions",
        sa.Column("token_hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("key_id", sa.String(16), sa.ForeignKey("api_keys.id"), nullable=False),
        sa.Column("expires", sa.String(40), nullable=False),
    )
