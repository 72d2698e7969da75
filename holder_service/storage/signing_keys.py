"""The public halves of the holder's signing keys; none is ever deleted, so old receipts stay verifiable.

The one without an end is in force.
"""

import base64
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from holder_service.storage.prepared import Prepared
from holder_service.storage.tables import signing_keys
from shared.kinds.releases import Handover, SigningKey

_IN_FORCE = Prepared(
    select(signing_keys.c.id)
    .where(signing_keys.c.valid_to.is_(None))
    .order_by(signing_keys.c.valid_from.desc())
    .limit(1)
)
_FIND = select(signing_keys).where(signing_keys.c.id == bindparam("key_id"))


def every(connection: Connection) -> list[SigningKey]:
    query = select(signing_keys).order_by(signing_keys.c.valid_from, signing_keys.c.id)
    return [_key(row) for row in connection.execute(query)]


def in_force(connection: Connection) -> str | None:
    """The id of the key that signs now; None before the first."""
    key_id: str | None = _IN_FORCE.scalar(connection)
    return key_id


def find_signing_key(connection: Connection, key_id: str) -> SigningKey | None:
    """The key of an id, if it was ever published."""
    row = connection.execute(_FIND, {"key_id": key_id}).one_or_none()
    return None if row is None else _key(row)


def publish(connection: Connection, key: SigningKey) -> None:
    """Put a key in force, from now on alone: the one before ends when this one begins."""
    begins = key.valid_from.isoformat()
    connection.execute(update(signing_keys).where(signing_keys.c.valid_to.is_(None)), {"valid_to": begins})
    connection.execute(
        insert(signing_keys),
        {
            "id": key.id,
            "public_key": base64.b64decode(key.public_key),
            "valid_from": begins,
            "valid_to": None,
            "handed_over_by": key.handover.by if key.handover else None,
            "handover_signature": key.handover.signature if key.handover else None,
        },
    )


def _key(row: Row[Any]) -> SigningKey:
    handed_over = row.handed_over_by is not None
    return SigningKey(
        id=row.id,
        algorithm="ed25519",
        public_key=base64.b64encode(row.public_key).decode(),
        valid_from=datetime.fromisoformat(row.valid_from),
        valid_to=None if row.valid_to is None else datetime.fromisoformat(row.valid_to),
        handover=Handover(by=row.handed_over_by, signature=row.handover_signature) if handed_over else None,
    )
