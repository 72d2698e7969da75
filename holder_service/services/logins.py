"""Sessions of administrators in the console: opened by a key, ended by time, by logging out, or with the key.

Neither token nor key is kept, only the token's hash and the key's id. So what the session may do is looked
up each time: a key that is withdrawn, expired, or whose account is disabled ends its sessions at once.
They are no entries of the ledger, and need no anchor: an administrator has to get in to record a restore.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from holder_service.domain.errors import Forbidden, Unauthenticated
from holder_service.services.access import Caller, authenticate, caller_of_key
from holder_service.services.ledger_store import LedgerStore
from holder_service.storage import sessions
from holder_service.storage.database import Connection
from holder_service.storage.sessions import StoredSession

SESSION_LIFETIME: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Session:
    """Who is logged in, by what token, and until when."""

    caller: Caller
    token: str = field(repr=False)
    expires: datetime


def log_in(store: LedgerStore, key_text: str) -> Session:
    """Open a session with an administrator's key.

    Raises:
        Unauthenticated: The key is malformed, unknown, withdrawn, expired, or its account is disabled.
        Forbidden: It is an auditor's.
    """
    caller = _administrator(authenticate(store, key_text))
    now = store.clock()
    session = Session(caller, secrets.token_urlsafe(32), now + SESSION_LIFETIME)

    def work(connection: Connection) -> None:
        sessions.remove_expired(connection, now)
        stored = StoredSession(_hash(session.token), caller.key_id, session.expires.isoformat())
        sessions.add(connection, stored)

    store.database.write(work)
    return session


def resume(store: LedgerStore, token: str) -> Session:
    """The session of a token.

    Raises:
        Unauthenticated: There is none, it has ended, or the key that opened it is no longer in force.
        Forbidden: The key is no administrator's.
    """
    stored = store.look_up(sessions.find_session, _hash(token))
    if stored is not None:
        expires = datetime.fromisoformat(stored.expires)
        if store.clock() < expires:
            return Session(_administrator(caller_of_key(store, stored.key_id)), token, expires)
    raise Unauthenticated


def log_out(store: LedgerStore, token: str) -> None:
    store.database.write(lambda connection: sessions.remove(connection, _hash(token)))


def _administrator(caller: Caller) -> Caller:
    if caller.role == "administrator":
        return caller
    raise Forbidden("The console takes an administrator's key, and this is none.")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
