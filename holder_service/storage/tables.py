"""The tables of the holder's database, for SQLite and PostgreSQL alike; `migrations/` makes them."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)

metadata = MetaData()

accounts = Table(
    "accounts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("created", String(40), nullable=False),
    Column("disabled", Boolean, nullable=False, default=False),
    Column("display_name", String(200)),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("account", String(64), ForeignKey("accounts.name"), nullable=False, index=True),
    Column("secret_hash", LargeBinary(32), nullable=False),
    Column("created", String(40), nullable=False),
    Column("expires", String(40)),
    Column("withdrawn", String(40)),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("public_key", LargeBinary(32), nullable=False),
    Column("valid_from", String(40), nullable=False),
    Column("valid_to", String(40)),
    Column("handed_over_by", String(32)),
    Column("handover_signature", String(120)),
)

populations = Table(
    "populations",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("relation", String(32), nullable=False),
    Column("person_key", String(200), nullable=False),
    Column("merged_into", String(64), ForeignKey("populations.name")),
    Column("approval_days", SmallInteger),
)

datasets = Table(
    "datasets",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("population", String(64), ForeignKey("populations.name"), nullable=False, index=True),
    Column("records_max", BigInteger, nullable=False),
    Column("schema", Text, nullable=False),
    Column("version", BigInteger),
    Column("version_last", BigInteger, nullable=False, default=0),
    Column("records_file", String(80)),
    Column("retired", Boolean, nullable=False, default=False),
    Column("people_file", String(80)),
    Column("rehearsal", Text),
    Column("split_id", String(32)),
)

dataset_metadata = Table(
    "dataset_metadata",
    metadata,
    Column("dataset", String(64), ForeignKey("datasets.name"), primary_key=True),
    Column("words", Text, nullable=False),
)

entries = Table(
    "entries",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("actor", String(64), nullable=False),
    Column("population", String(64)),
    Column("dataset", String(64)),
    Column("auditor", String(64)),
    Column("subject", String(200)),
    Column("answer", String(80)),
    Column("epsilon_nano", BigInteger, nullable=False),
    Column("delta_nano", BigInteger, nullable=False),
    Column("rho_nano", BigInteger),
    Column("cap", Text),
    Column("account", Text),
    Column("detail", Text, nullable=False),
    Column("nonce", String(32), nullable=False),
    Column("previous", String(80), nullable=False),
    Column("hash", String(80), nullable=False),
    Index("entries_by_population", "population", "sequence"),
    Index("entries_by_account", "population", "auditor", "sequence"),
    Index("entries_by_kind", "kind", "sequence"),
)

block_losses = Table(
    "block_losses",
    metadata,
    Column("population", String(64), primary_key=True),
    Column("auditor", String(64), primary_key=True),
    Column("level", SmallInteger, primary_key=True, autoincrement=False),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    *(
        Column(f"{what}_{amount}_nano", BigInteger, nullable=False)
        for what in ("added", "highest")
        for amount in ("epsilon", "delta", "rho")
    ),
)

ledger_head = Table(
    "ledger_head",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", String(80), nullable=False),
)

releases = Table(
    "releases",
    metadata,
    Column("id", String(80), primary_key=True),
    Column("auditor", String(64), ForeignKey("accounts.name"), nullable=False),
    Column("dataset", String(64), ForeignKey("datasets.name"), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("sequence", BigInteger, ForeignKey("entries.sequence"), nullable=False),
    Column("created", String(40), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("kind", String(16), nullable=False, server_default="plan"),
    Column("refines", String(80)),
    Column("watch", String(80)),
    Index("releases_refined", "refines", unique=True),
    Index("releases_by_auditor", "auditor", "dataset", "sequence"),
    Index("releases_by_watch", "watch", "sequence"),
)

watches = Table(
    "watches",
    metadata,
    Column("id", String(80), ForeignKey("releases.id"), primary_key=True),
    Column("auditor", String(64), ForeignKey("accounts.name"), nullable=False),
    Column("dataset", String(64), ForeignKey("datasets.name"), nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("changed", Boolean, nullable=False),
    Column("work_ms", BigInteger, nullable=False),
    Column("version", BigInteger),
    Column("begun", String(40)),
    Column("due", String(40)),
    Index("watches_by_dataset", "dataset"),
    Index("watches_by_auditor", "auditor", "dataset", "sequence"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", String(80), primary_key=True),
    Column("sequence", BigInteger, ForeignKey("entries.sequence"), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("auditor", String(64), ForeignKey("accounts.name"), nullable=False),
    Column("dataset", String(64), ForeignKey("datasets.name"), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("relation", String(32), nullable=False),
    Column("purpose", String(200)),
    Column("epsilon_nano", BigInteger, nullable=False),
    Column("delta_nano", BigInteger, nullable=False),
    Column("rho_nano", BigInteger),
    Column("requested", String(40), nullable=False),
    Column("expires", String(40), nullable=False),
    Column("state", String(16), nullable=False),
    Column("decision", BigInteger, ForeignKey("entries.sequence")),
    Column("decided", String(40)),
    Column("decided_by", String(64)),
    Column("reason", String(200)),
    Column("document", LargeBinary),
    Index("approvals_by_auditor", "auditor", "dataset", "sequence"),
    Index("approvals_by_state", "state", "sequence"),
)

console_sessions = Table(
    "console_sessions",
    metadata,
    Column("token_hash", LargeBinary(32), primary_key=True),
    Column("key_id", String(16), ForeignKey("api_keys.id")),
    Column("account", String(64), ForeignKey("accounts.name")),
    Column("role", String(16)),
    Column("issuer", Text),
    Column("expires", String(40), nullable=False),
)
completed_sign_ins = Table(
    "completed_sign_ins",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("expires", String(40), nullable=False),
)

derived_columns = Table(
    "derived_columns",
    metadata,
    Column("id", String(80), primary_key=True),
    Column("auditor", String(64), ForeignKey("accounts.name"), nullable=False),
    Column("dataset", String(64), ForeignKey("datasets.name"), nullable=False),
    Column("definition", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("created", String(40), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("steps", BigInteger, nullable=False),
    Column("linked_file", String(80)),
    Column("version", BigInteger),
    Column("begun", String(40)),
    Column("due", String(40)),
    Column("values_file", String(80)),
    Index("derived_columns_by_auditor", "dataset", "auditor"),
)
