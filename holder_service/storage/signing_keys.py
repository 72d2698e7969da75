"""The public halves of the holder's signing keys; none is ever deleted, so old receipts stay verifiable."""

import base64
from datetime import datetime

from sqlalchemy import Connection, insert, select

from holder_service.storage.tables import signing_keys
from shared.releases import SigningKey


def every(connection: Connection) -> list[SigningKey]:
    """All keys, oldest first."""
    return [
        SigningKey(
            id=row.id,
            algorithm="ed25519",
            public_key=base64.b64encode(row.public_key).decode(),
            valid_from=row.valid_from,
            valid_to=row.valid_to,
        )
        for row in connection.execute(select(signing_keys).order_by(signing_keys.c.valid_from))
    ]


def add(connection: Connection, *, key_id: str, public_key: bytes, valid_from: datetime) -> None:
    """Publish a key."""
    connection.execute(
        insert(signing_keys),
        {"id": key_id, "public_key": public_key, "valid_from": valid_from.isoformat(), "valid_to": None},
    )
