"""Sessions in the console: the hash of each token, whose key opened it, and until when. No token, no key."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from holder_service.storage.tables import console_sessions


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session as it is kept; `expires` is ISO 8601 in UTC."""

    token_hash: bytes
    key_id: str
    expires: str


def find_session(connection: Connection, token_hash: bytes) -> StoredSession | None:
    """The session of a token's hash, if there is one, expired or not."""
    query = select(console_sessions).where(console_sessions.c.token_hash == token_hash)
    row = connection.execute(query).one_or_none()
    return None if row is None else StoredSession(bytes(row.token_hash), row.key_id, row.expires)


def add(connection: Connection, session: StoredSession) -> None:
    connection.execute(insert(console_sessions), asdict(session))


def remove(connection: Connection, token_hash: bytes) -> None:
    connection.execute(delete(console_sessions).where(console_sessions.c.token_hash == token_hash))


def remove_expired(connection: Connection, now: datetime) -> None:
    connection.execute(delete(console_sessions).where(console_sessions.c.expires <= now.isoformat()))
