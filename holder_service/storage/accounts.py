"""Accounts and their API keys. A key is shown once and kept as its SHA-256 (docs/adr/0005)."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select, update

from holder_service.storage.prepared import Prepared
from holder_service.storage.tables import accounts, api_keys
from shared.contract.datasets import Role

_FIND_KEY = Prepared(
    select(api_keys, accounts.c.role, accounts.c.created.label("opened"), accounts.c.disabled, accounts.c.display_name)
    .join(accounts, accounts.c.name == api_keys.c.account)
    .where(api_keys.c.id == bindparam("key_id"))
)


@dataclass(frozen=True, slots=True)
class Account:
    """An account in one of the roles of `shared.contract.datasets.Role`. People read `display_name`, if it is set."""

    name: str
    role: Role
    created: str
    disabled: bool
    display_name: str | None = None


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept; times are ISO 8601 in UTC."""

    id: str
    account: str
    secret_hash: bytes
    created: str
    expires: str | None
    withdrawn: str | None

    def in_force(self, now: datetime) -> bool:
        """Whether it was not withdrawn and has not expired."""
        return self.withdrawn is None and (self.expires is None or now < datetime.fromisoformat(self.expires))


def find_account(connection: Connection, name: str) -> Account | None:
    row = connection.execute(select(accounts).where(accounts.c.name == name)).one_or_none()
    return None if row is None else Account(**row._mapping)


def every(connection: Connection) -> list[Account]:
    return [Account(**row._mapping) for row in connection.execute(select(accounts).order_by(accounts.c.name))]


def add(connection: Connection, account: Account) -> None:
    connection.execute(insert(accounts), asdict(account))


def set_disabled(connection: Connection, name: str, *, disabled: bool) -> None:
    """Close an account's keys all at once, or open them again."""
    connection.execute(update(accounts).where(accounts.c.name == name), {"disabled": disabled})


def set_display_name(connection: Connection, name: str, display_name: str | None) -> None:
    """Change what people read of an account."""
    connection.execute(update(accounts).where(accounts.c.name == name), {"display_name": display_name})


def find_key(connection: Connection, key_id: str) -> tuple[ApiKey, Account] | None:
    """A key by its public part, with the account that it is of."""
    row = _FIND_KEY.one_or_none(connection, key_id=key_id)
    if row is None:
        return None
    key = ApiKey(row.id, row.account, bytes(row.secret_hash), row.created, row.expires, row.withdrawn)
    return key, Account(row.account, row.role, row.opened, row.disabled, row.display_name)


def keys_of(connection: Connection, account: str) -> list[ApiKey]:
    query = select(api_keys).where(api_keys.c.account == account).order_by(api_keys.c.created, api_keys.c.id)
    return [ApiKey(**row._mapping) for row in connection.execute(query)]


def every_key(connection: Connection) -> list[ApiKey]:
    """All keys of all accounts, by whose they are and when they were issued."""
    order = api_keys.c.account, api_keys.c.created, api_keys.c.id
    return [ApiKey(**row._mapping) for row in connection.execute(select(api_keys).order_by(*order))]


def add_key(connection: Connection, key: ApiKey) -> None:
    connection.execute(insert(api_keys), asdict(key))


def withdraw_key(connection: Connection, key_id: str, *, at: str) -> None:
    """Make a key invalid from now on."""
    connection.execute(update(api_keys).where(api_keys.c.id == key_id), {"withdrawn": at})
