"""Accounts and keys: opened, shown once, withdrawn; each is a ledger entry (4-interface).

A key opens an account, and so does a token of the identity provider that names it (docs/adr/0056). Whatever was shown,
`require_in_force` decides what it opens, each time anew.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from holder_service.domain.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unauthenticated
from holder_service.domain.ledger import COMMAND_LINE, Event
from holder_service.identity.tokens import Identity
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import accounts
from holder_service.storage.accounts import Account, ApiKey
from holder_service.storage.database import Connection
from holder_service.storage.table_rows import hash_digest
from shared.contract.datasets import NewAuditor, Role
from shared.wire.text import NAME_PATTERN

Proof = str | Identity
"""What a caller showed: a key, by its id, once its secret was compared; or whom a token vouches for."""
KEY_BEGINS: Final = "pafer_"
NO_ACCOUNT: Final = (
    "Your identity provider vouches for you, and that opens no account of this holder. Ask its administrator: "
    "{account} has to be open, and of a role that your token has too."
)
STAFF: Final[tuple[Role, ...]] = ("administrator", "data-steward", "budget-officer", "viewer")
"""The roles of the holder's own people, who see what its ledger and declarations say, and log in to the console."""
_KEY: Final = re.compile(r"pafer_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as their key or their token says."""

    name: str
    role: Role
    proof: Proof


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key; its text is shown this once and kept nowhere."""

    account: str
    key_id: str
    text: str = field(repr=False)


def authenticate(store: LedgerStore, key_text: str) -> Caller:
    """Find out who calls.

    Raises:
        Unauthenticated: The key is malformed, unknown, withdrawn, expired, or its account is disabled.
    """
    match = _KEY.fullmatch(key_text)
    if match is None:
        raise Unauthenticated
    found = store.look_up(accounts.find_key, match[1])
    if found is not None and hmac.compare_digest(_secret_hash(match[2]), found[0].secret_hash):
        return _caller_by_key(*found, now=store.clock())
    raise Unauthenticated


def caller_of(store: LedgerStore, proof: Proof) -> Caller:
    """Return who calls with what was shown and checked before.

    Raises:
        Unauthenticated, Forbidden: As `require_in_force`.
    """
    return store.look_up(require_in_force, proof, now=store.clock())


def open_account(store: LedgerStore, *, actor: str, new: NewAuditor) -> IssuedKey:
    """Open an account with its first key.

    Raises:
        InvalidRequest: The ledger names the command line so.
        Conflict: The name is taken; an account is never reused for somebody else.
    """
    if new.name.casefold() == COMMAND_LINE:
        raise InvalidRequest(
            f"The name {COMMAND_LINE!r} is reserved for the holder's own command line. Choose another name.",
            field="name",
        )

    def work(transaction: Transaction) -> IssuedKey:
        if accounts.find_account(transaction.connection, new.name) is not None:
            raise Conflict(
                f"The account {new.name!r} already exists. Choose another name, or issue the account another key."
            )
        account = Account(
            new.name, new.role, transaction.now.isoformat(), disabled=False, display_name=new.display_name
        )
        accounts.add(transaction.connection, account)
        shown = {} if new.display_name is None else {"display_name": new.display_name}
        transaction.append(Event("account", actor, auditor=None, subject=new.name, detail={"role": new.role, **shown}))
        return _issue(transaction, actor, new.name, new.expires)

    return store.commit(work)


def issue_key(store: LedgerStore, *, actor: str, account: str, expires: datetime | None) -> IssuedKey:
    """Give an account a further key, so that keys can be rotated without a gap.

    Raises:
        NotFound: The account is unknown.
    """

    def work(transaction: Transaction) -> IssuedKey:
        _require_account(transaction.connection, account)
        return _issue(transaction, actor, account, expires)

    return store.commit(work)


def withdraw_key(store: LedgerStore, *, actor: str, account: str, key_id: str) -> None:
    """Make a key invalid at once; withdrawing it again changes nothing.

    Raises:
        NotFound: The key is unknown, or another account's.
        Conflict: It is the last key of the last administrator, who would be locked out.
    """

    def work(transaction: Transaction) -> None:
        key = next((key for key in accounts.keys_of(transaction.connection, account) if key.id == key_id), None)
        if key is None:
            raise NotFound(f"Account {account!r} does not have the key {key_id!r}. Look up the keys of the account.")
        if key.withdrawn is None:
            accounts.withdraw_key(transaction.connection, key_id, at=transaction.now.isoformat())
            _refuse_lockout(transaction)
            transaction.append(Event("key-withdrawn", actor, subject=key_id, detail={"account": account}))

    store.commit(work)


def set_disabled(store: LedgerStore, *, actor: str, account: str, disabled: bool) -> None:
    """Stop an account from calling at all, or let it call again.

    Raises:
        NotFound: The account is unknown.
        Conflict: It is the last administrator that can call.
    """

    def work(transaction: Transaction) -> None:
        if _require_account(transaction.connection, account).disabled != disabled:
            accounts.set_disabled(transaction.connection, account, disabled=disabled)
            _refuse_lockout(transaction)
            transaction.append(Event("account", actor, subject=account, detail={"disabled": disabled}))

    store.commit(work)


def set_display_name(store: LedgerStore, *, actor: str, account: str, display_name: str | None) -> None:
    """Change what people read of an account, or take it away. Its name stays, and with it all that names it.

    Raises:
        NotFound: The account is unknown.
    """

    def work(transaction: Transaction) -> None:
        if _require_account(transaction.connection, account).display_name != display_name:
            accounts.set_display_name(transaction.connection, account, display_name)
            transaction.append(Event("account", actor, subject=account, detail={"display_name": display_name}))

    store.commit(work)


def every_account(store: LedgerStore) -> list[tuple[Account, list[ApiKey]]]:
    """All accounts with their keys (never the keys' secrets)."""
    with store.database.read() as connection:
        return [(account, accounts.keys_of(connection, account.name)) for account in accounts.every(connection)]


def read_account(store: LedgerStore, name: str) -> tuple[Account, list[ApiKey]]:
    """An account with its keys (never the keys' secrets).

    Raises:
        NotFound: The account is unknown.
    """
    with store.database.read() as connection:
        return _require_account(connection, name), accounts.keys_of(connection, name)


def display_names(store: LedgerStore) -> dict[str, str]:
    """Return what people read beside an account's name, of the accounts that have something."""
    shown = {account.name: account.display_name for account in store.look_up(accounts.every)}
    return {name: words for name, words in shown.items() if words}


def _issue(transaction: Transaction, actor: str, account: str, expires: datetime | None) -> IssuedKey:
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    until = None if expires is None else expires.isoformat()
    key = ApiKey(key_id, account, _secret_hash(secret), transaction.now.isoformat(), until, withdrawn=None)
    accounts.add_key(transaction.connection, key)
    detail = {"account": account, "expires": until, "secret_digest": hash_digest(key.secret_hash)}
    transaction.append(Event("key", actor, subject=key_id, detail=detail))
    return IssuedKey(account, key_id, f"pafer_{key_id}_{secret}")


def require_in_force(connection: Connection, proof: Proof, *, now: datetime) -> Caller:
    """Return whose account is opened now by what was shown.

    Raises:
        Unauthenticated: The key is unknown, was withdrawn or has expired, or its account is disabled; or the token has
            expired.
        Forbidden: The token names no account, one that is disabled, or one whose role it has not.
    """
    if isinstance(proof, str):
        found = accounts.find_key(connection, proof)
        if found is None:
            raise Unauthenticated
        return _caller_by_key(*found, now=now)
    if not now < proof.expires:
        raise Unauthenticated
    named = re.fullmatch(NAME_PATTERN, proof.account)
    account = accounts.find_account(connection, proof.account) if named else None  # a store takes not every text
    if account is None or account.disabled or account.role not in proof.roles:
        raise Forbidden(
            NO_ACCOUNT.format(
                account=f"the account {proof.account!r}" if named else "an account of another name than yours"
            )
        )
    return Caller(account.name, account.role, proof)


def _caller_by_key(key: ApiKey, account: Account, *, now: datetime) -> Caller:
    if key.in_force(now) and not account.disabled:
        return Caller(account.name, account.role, key.id)
    raise Unauthenticated


def _require_account(connection: Connection, name: str) -> Account:
    found = accounts.find_account(connection, name)
    if found is None:
        raise NotFound(f"The account {name!r} does not exist. Open it first, or look at the list of accounts.")
    return found


def _refuse_lockout(transaction: Transaction) -> None:
    """Refuse a change after which no administrator could call any more."""
    connection = transaction.connection
    every = accounts.every(connection)
    names = [account.name for account in every if account.role == "administrator" and not account.disabled]
    keys = [key for name in names for key in accounts.keys_of(connection, name)]
    if not any(key.in_force(transaction.now) for key in keys):
        raise Conflict("This would leave no administrator who can log in. Issue another administrator's key first.")


def _secret_hash(secret: str) -> bytes:
    """A key has 256 random bits, so a plain hash is enough to keep it by (docs/adr/0005)."""
    return hashlib.sha256(secret.encode()).digest()
