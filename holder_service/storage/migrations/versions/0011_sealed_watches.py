"""Sealed watches: no threshold in clear; each release of a watch names it."""

import json
from collections.abc import Callable

import sqlalchemy as sa
from alembic import context, op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Seal the thresholds that are there, and file answers by their watch."""
    op.add_column("watches", sa.Column("sealed", sa.LargeBinary))
    connection = op.get_bind()
    watches = sa.table(
        "watches", sa.column("id"), sa.column("noisy_threshold"), sa.column("changed", sa.Boolean), sa.column("sealed")
    )
    seal: Callable[[str, int, bool], bytes] | None = context.config.attributes.get("seal")
    for identity, threshold, changed in connection.execute(
        sa.select(watches.c.id, watches.c.noisy_threshold, watches.c.changed)
    ).all():
        if seal is None:
            raise RuntimeError("Watches cannot be sealed without the secret of the holder's home.")
        sealed = seal(identity, int(threshold), bool(changed))
        connection.execute(sa.update(watches).where(watches.c.id == identity).values(sealed=sealed))
    with op.batch_alter_table("watches") as table:
        table.drop_column("noisy_threshold")
        table.alter_column("sealed", existing_type=sa.LargeBinary, nullable=False)
    op.create_index("watches_by_auditor", "watches", ["auditor", "dataset", "sequence"])
    op.add_column("releases", sa.Column("watch", sa.String(80)))
    releases = sa.table("releases", sa.column("id"), sa.column("kind"), sa.column("body"), sa.column("watch"))
    answers = sa.select(releases.c.id, releases.c.body).where(releases.c.kind == "watch_answer")
    for identity, body in connection.execute(answers).all():
        watch = json.loads(bytes(body))["watch_answer"]["watch"]
        connection.execute(sa.update(releases).where(releases.c.id == identity).values(watch=watch))
    op.create_index("releases_by_watch", "releases", ["watch", "sequence"])
