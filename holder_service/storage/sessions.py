"""Sessions in the console: the hash of each token, whose key or sign-in opened it, and until when. No token, no key."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from holder_service.storage.tables import completed_sign_ins, console_sessions


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session as it is kept; `expires` is ISO 8601 in UTC.

    A key opened it, or an issuer's token, in a role of an account.
    """

    token_hash: bytes
    expires: str
    key_id: str | None = None
    account: str | None = None
    role: str | None = None
    issuer: str | None = None


def find_session(connection: Connection, token_hash: bytes) -> StoredSession | None:
    """The session of a token's hash, if there is one, expired or not."""
    query = select(console_sessions).where(console_sessions.c.token_hash == token_hash)
    row = connection.execute(query).one_or_none()
    return None if row is None else StoredSession(**{**row._mapping, "token_hash": bytes(row.token_hash)})


def add(connection: Connection, session: StoredSession) -> None:
    connection.execute(insert(console_sessions), asdict(session))


def remove(connection: Connection, token_hash: bytes) -> None:
    connection.execute(delete(console_sessions).where(console_sessions.c.token_hash == token_hash))


def complete(connection: Connection, sign_in_hash: bytes, *, expires: str) -> bool:
    """Note that a sign-in is completed, until it could not be any more; whether it was not yet."""
    insertion = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    noted = insertion(completed_sign_ins).values(hash=sign_in_hash, expires=expires).on_conflict_do_nothing()
    # The number of rows is no answer: PostgreSQL's driver does not say it here.
    return connection.execute(noted.returning(completed_sign_ins.c.hash)).one_or_none() is not None


def remove_expired(connection: Connection, now: datetime) -> None:
    for table in (console_sessions, completed_sign_ins):
        connection.execute(delete(table).where(table.c.expires <= now.isoformat()))
