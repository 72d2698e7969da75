"""Sessions of the holder's own people in the console: opened by a key or a sign-in, ended by time, logging out, or with
the key.

Neither token nor key is kept, only the token's hash, and the key's id or the account that the identity provider named.
So what the session may do is looked up each time: a key that is withdrawn or expired, an account that is disabled,
and another issuer in the settings end its sessions at once.
They are no entries of the ledger, and need no anchor: an administrator has to get in to record a restore.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from holder_service.domain.errors import Forbidden, Unauthenticated
from holder_service.identity.tokens import Identity, RefusedToken
from holder_service.services.accounts.access import STAFF, Caller, Proof, authenticate, caller_of
from holder_service.services.ledger.store import LedgerStore
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

    @property
    def signed_in(self) -> bool:
        """Whether it was opened at the identity provider, not by a key."""
        return isinstance(self.caller.proof, Identity)


def log_in(store: LedgerStore, key_text: str) -> Session:
    """Open a session with a key of one of the holder's own people.

    Raises:
        Unauthenticated: The key is malformed, unknown, withdrawn, expired, or its account is disabled.
        Forbidden: It is an auditor's, or for the metrics.
    """
    return _open(store, authenticate(store, key_text), store.clock() + SESSION_LIFETIME)


def sign_in(store: LedgerStore, identity: Identity) -> Session:
    """Open a session for whom the identity provider vouches, until its token expires at the latest.

    Raises:
        Unauthenticated: The token has expired.
        Forbidden: It opens no account, or none of the holder's own people.
    """
    return _open(store, caller_of(store, identity), min(identity.expires, store.clock() + SESSION_LIFETIME))


def complete_sign_in(store: LedgerStore, secret: str, *, expires: datetime) -> None:
    """Note that a browser came back from a sign-in, which it may do once.

    Raises:
        RefusedToken: It did already.
    """
    hashed = _hash(secret)
    if not store.database.write(lambda one: sessions.complete(one, hashed, expires=expires.isoformat())):
        raise RefusedToken("state")


def resume(store: LedgerStore, token: str, *, issuer: str | None) -> Session:
    """The session of a token; `issuer` is the one whose sign-ins count.

    Raises:
        Unauthenticated: There is none, it has ended, or the key that opened it is no longer in force.
        Forbidden: The account is disabled, or of no such role.
    """
    stored = store.look_up(sessions.find_session, _hash(token))
    if stored is not None:
        expires = datetime.fromisoformat(stored.expires)
        if store.clock() < expires and stored.issuer in (None, issuer):
            return Session(_of_staff(caller_of(store, _proof(stored, expires))), token, expires)
    raise Unauthenticated


def _open(store: LedgerStore, caller: Caller, expires: datetime) -> Session:
    session = Session(_of_staff(caller), secrets.token_urlsafe(32), expires)
    until, proof = expires.isoformat(), caller.proof
    if isinstance(proof, str):
        stored = StoredSession(_hash(session.token), until, key_id=proof)
    else:
        stored = StoredSession(_hash(session.token), until, None, caller.name, caller.role, proof.issuer)

    def work(connection: Connection) -> None:
        sessions.remove_expired(connection, store.clock())
        sessions.add(connection, stored)

    store.database.write(work)
    return session


def _proof(stored: StoredSession, expires: datetime) -> Proof:
    if stored.key_id is not None:
        return stored.key_id
    return Identity(str(stored.account), frozenset({str(stored.role)}), expires, str(stored.issuer))


def log_out(store: LedgerStore, token: str) -> None:
    store.database.write(lambda connection: sessions.remove(connection, _hash(token)))


def _of_staff(caller: Caller) -> Caller:
    if caller.role in STAFF:
        return caller
    raise Forbidden(
        f"The console requires an account with one of the roles {', '.join(STAFF)}; this account's "
        f"role is {caller.role}. Log in with another account."
    )


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
