"""The ledger's entries in the database: append under the head's lock, look balances up, read in order."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, func, insert, or_, select, true, update

from holder_service.domain.ledger import GENESIS, Balance, Entry, Event, Kind, loss_columns
from holder_service.storage.datasets import Dataset, dataset_of_row
from holder_service.storage.prepared import Prepared
from holder_service.storage.releases import StoredRelease
from holder_service.storage.tables import accounts, datasets, entries, ledger_head, populations, releases
from shared.contract.relations import NeighbouringRelation
from shared.kinds.releases import LedgerPosition
from shared.privacy.amounts import Loss
from shared.wire import nonces

READ_AT_ONCE: Final = 1000
READ_WITH_RELEASES: Final = 250
"""Releases may be large, and so many are in memory at once."""
RELEASING: Final[tuple[Kind, ...]] = ("charge", "rehearsal", "watch-skipped")
"""The kinds of entries that have a release."""
_PLAIN: Final = (
    "kind", "actor", "population", "dataset", "auditor", "subject", "answer", "epsilon_nano", "delta_nano", "rho_nano",
)  # fmt: skip
_WRITTEN: Final = ("cap", "account", "detail")
"""Columns that hold JSON."""
EMPTY: Final = LedgerPosition(sequence=0, hash=GENESIS)
"""The head of a ledger without entries."""
_HEAD = select(ledger_head.c.sequence, ledger_head.c.hash)
_MOVE_HEAD = Prepared(
    update(ledger_head).where(ledger_head.c.id == 1).values(sequence=bindparam("sequence"), hash=bindparam("hash"))
)
_INSERT = Prepared(insert(entries))
_LOCK = Prepared(
    select(
        ledger_head.c.sequence,
        ledger_head.c.hash,
        select(entries.c.hash).where(entries.c.sequence == bindparam("at")).scalar_subquery().label("hash_at"),
    )
    .where(ledger_head.c.id == 1)
    .with_for_update(of=ledger_head)
)
_HASH_AT = Prepared(select(entries.c.hash).where(entries.c.sequence == bindparam("at")))
_HASHES = Prepared(
    select(entries.c.hash)
    .where(entries.c.sequence.between(bindparam("first"), bindparam("last")))
    .order_by(entries.c.sequence)
)
_AT = Prepared(select(entries.c.at).where(entries.c.sequence == bindparam("sequence")))
_NEWEST_RESTORE = select(entries.c.hash).where(entries.c.kind == "restore").order_by(entries.c.sequence.desc()).limit(1)
_ENTRIES_AFTER = Prepared(
    select(entries).where(entries.c.sequence > bindparam("after")).order_by(entries.c.sequence).limit(READ_AT_ONCE)
)
_ENTRIES_WITH_RELEASES = Prepared(
    select(entries, *(releases.c[name].label(f"release_{name}") for name in StoredRelease.__slots__))
    .outerjoin(releases, (releases.c.id == entries.c.subject) & or_(*(entries.c.kind == kind for kind in RELEASING)))
    .where(entries.c.sequence > bindparam("after"))
    .order_by(entries.c.sequence)
    .limit(READ_WITH_RELEASES)
)
_POPULATION_BALANCE = (
    select(entries.c.cap).where(entries.c.population == bindparam("of")).order_by(entries.c.sequence.desc()).limit(1)
)
_ACCOUNT_BALANCE = (
    select(entries.c.account)
    .where(entries.c.population == bindparam("of"), entries.c.auditor == bindparam("who"))
    .order_by(entries.c.sequence.desc())
    .limit(1)
)

_SEQUENCE_OF_POPULATION = (
    select(entries.c.sequence)
    .where(entries.c.population == populations.c.name)
    .order_by(entries.c.sequence.desc())
    .limit(1)
    .correlate(populations)
    .scalar_subquery()
)
_SEQUENCE_OF_ACCOUNT = (
    select(entries.c.sequence)
    .where(entries.c.population == populations.c.name, entries.c.auditor == accounts.c.name)
    .order_by(entries.c.sequence.desc())
    .limit(1)
    .correlate(populations, accounts)
    .scalar_subquery()
)
_NEWEST = select(entries.c.cap).where(entries.c.population == datasets.c.population).order_by(entries.c.sequence.desc())
_ACCOUNT_STATE = Prepared(
    select(
        datasets,
        populations.c.relation,
        populations.c.approval_days,
        _NEWEST.limit(1).scalar_subquery().label("cap_now"),
        _NEWEST.with_only_columns(entries.c.account)
        .where(entries.c.auditor == bindparam("who"))
        .limit(1)
        .scalar_subquery()
        .label("account_now"),
    )
    .join(populations, populations.c.name == datasets.c.population)
    .where(datasets.c.name == bindparam("called"))
)


@dataclass(frozen=True, slots=True)
class AccountState:
    """What a plan is charged against: its dataset, the population's relation and cap, the auditor's account with it.

    Attributes:
        auditor: Whose account it is.
        approval_days: How long a request stands, where an approval is needed; `None` where it is not.
    """

    dataset: Dataset
    auditor: str
    relation: NeighbouringRelation
    account: Balance
    cap: Balance
    approval_days: int | None = None


def head(connection: Connection) -> LedgerPosition:
    """The newest entry; 0 and the genesis hash of an empty ledger."""
    row = connection.execute(_HEAD).one_or_none()
    return LedgerPosition(sequence=row.sequence, hash=row.hash) if row else EMPTY


def hashes(connection: Connection, first: int, last: int) -> list[bytes]:
    """The hashes of the entries from one sequence number to another, inclusive, 32 bytes each."""
    found = _HASHES.all(connection, first=first, last=last)
    return [bytes.fromhex(entry_hash.removeprefix("sha256:")) for (entry_hash,) in found]


def time_of(connection: Connection, sequence: int) -> datetime | None:
    """When the entry of a sequence number was made, if there is one."""
    found = _AT.scalar(connection, sequence=sequence)
    return None if found is None else datetime.fromisoformat(found)


def newest_restore(connection: Connection) -> str | None:
    """The hash of the newest entry that records a restore; None if none is recorded."""
    found: str | None = connection.execute(_NEWEST_RESTORE).scalar()
    return found


def lock(connection: Connection, *, hash_at: int) -> tuple[LedgerPosition, str | None]:
    """Take the ledger's lock, before anything else in a transaction of `Database.write`, until it commits.

    Returns:
        The head, which nobody else can move now; and the hash of the entry of a sequence number that was
        committed before, as `hash_at` gives it.
    """
    row = _LOCK.one_or_none(connection, at=hash_at)
    if row is None:
        return EMPTY, None
    return LedgerPosition(sequence=row.sequence, hash=row.hash), GENESIS if hash_at == 0 else row.hash_at


def append(connection: Connection, event: Event, *, now: datetime, after: LedgerPosition) -> Entry:
    """Put an event at the end of the chain, behind `after`. Only under the ledger's lock, and then `move_head`."""
    entry = Entry.chained(
        sequence=after.sequence + 1, at=now.isoformat(), event=event, nonce=nonces.draw_nonce(), previous=after.hash
    )
    _INSERT.run(
        connection,
        sequence=entry.sequence, at=entry.at, nonce=entry.nonce, previous=entry.previous, hash=entry.hash,
        kind=event.kind, actor=event.actor, population=event.population, dataset=event.dataset,
        auditor=event.auditor, subject=event.subject, answer=event.answer,
        **loss_columns(event.loss),
        cap=_balance_text(event.cap), account=_balance_text(event.account),
        detail=json.dumps(event.detail, sort_keys=True),
    )  # fmt: skip
    return entry


def move_head(connection: Connection, head: LedgerPosition) -> None:
    """Have the ledger end with an entry: the last that a transaction appended, before it commits."""
    _MOVE_HEAD.run(connection, sequence=head.sequence, hash=head.hash)


def population_balance(connection: Connection, population: str) -> Balance:
    """The population's cap and what was charged against it, as its newest entry has them."""
    return balance_of_text(connection.execute(_POPULATION_BALANCE, {"of": population}).scalar()) or Balance()


def account_balance(connection: Connection, population: str, auditor: str) -> Balance:
    """An auditor's limit and spending with a population, as the account's newest entry has them."""
    found = connection.execute(_ACCOUNT_BALANCE, {"of": population, "who": auditor}).scalar()
    return balance_of_text(found) or Balance()


def account_state(connection: Connection, dataset: str, auditor: str) -> AccountState | None:
    """What an auditor's plans about a dataset are charged against, as it is now, in one statement; None if unknown."""
    row = _ACCOUNT_STATE.one_or_none(connection, called=dataset, who=auditor)
    if row is None:
        return None
    account, cap = balance_of_text(row.account_now), balance_of_text(row.cap_now)
    approval_days = row.approval_days
    relation = NeighbouringRelation(row.relation)
    found = dataset_of_row(row)
    if found.rehearsal is not None:
        account = cap  # everybody may ask about it, and nothing is charged
        approval_days = None
    return AccountState(found, auditor, relation, account or Balance(), cap or Balance(), approval_days)


def accounts_of(connection: Connection, population: str) -> dict[str, Balance]:
    """Every auditor's balance with a population, by name."""
    found = newest_of_accounts(connection, population=population)
    return {auditor: entry.event.account or Balance() for (_, auditor), entry in found.items()}


def newest_of_populations(connection: Connection) -> dict[str, Entry]:
    """The newest entry about each population, in one statement, by the population's name and in that order."""
    newest = select(_SEQUENCE_OF_POPULATION).select_from(populations)
    query = select(entries).where(entries.c.sequence.in_(newest)).order_by(entries.c.population)
    return {row.population: entry_of_row(row) for row in connection.execute(query)}


def newest_of_accounts(connection: Connection, *, population: str | None = None) -> dict[tuple[str, str], Entry]:
    """The newest entry about each auditor's account with each population, or with one, in one statement.

    Each account is looked up by itself in the index: that takes no longer in a long ledger.

    Returns:
        Them by population and auditor, in this order; without auditors about whom there is no entry.
    """
    newest = select(_SEQUENCE_OF_ACCOUNT).select_from(populations.join(accounts, true()))
    if population is not None:
        newest = newest.where(populations.c.name == population)
    query = select(entries).where(entries.c.sequence.in_(newest)).order_by(entries.c.population, entries.c.auditor)
    return {(row.population, row.auditor): entry_of_row(row) for row in connection.execute(query)}


def was_charged(connection: Connection, population: str) -> bool:
    """Whether anything may ever have been released in terms of the population's relation, at a loss of zero too.

    A restore lost the newest entries: of a dataset that was declared before it nobody knows what was released.
    """
    balance = population_balance(connection, population)
    answered = select(releases.c.id).join(datasets).where(datasets.c.population == population).limit(1)
    last_restore = select(func.max(entries.c.sequence)).where(entries.c.kind == "restore").scalar_subquery()
    restored = (
        select(entries.c.sequence)
        .join(datasets, datasets.c.name == entries.c.dataset)
        .where(datasets.c.population == population, entries.c.kind == "dataset", entries.c.sequence < last_restore)
        .limit(1)
    )
    return not balance.spent.is_nothing or any(connection.execute(query).first() for query in (answered, restored))


def datasets_of_split(connection: Connection, split_id: str) -> list[str]:
    """Return the names of the datasets into which a half of a split was ever loaded, whatever they hold now."""
    loads_of_split = entries.c.detail.contains(f'"{split_id}"')  # random, and nothing else is named by it
    query = select(entries.c.dataset).where(entries.c.kind == "records", loads_of_split).distinct()
    return sorted(connection.scalars(query))


def restored_after(connection: Connection, sequence: int) -> bool:
    """Whether a restore was recorded behind an entry."""
    query = select(entries.c.sequence).where(entries.c.sequence > sequence, entries.c.kind == "restore").limit(1)
    return connection.execute(query).first() is not None


def entry_at(connection: Connection, sequence: int) -> Entry | None:
    """The entry of a sequence number, if there is one."""
    row = connection.execute(select(entries).where(entries.c.sequence == sequence)).one_or_none()
    return None if row is None else entry_of_row(row)


def hash_at(connection: Connection, sequence: int) -> str | None:
    """The hash of the entry of a sequence number; the genesis hash of 0."""
    if sequence == 0:
        return GENESIS
    found: str | None = _HASH_AT.scalar(connection, at=sequence)
    return found


def read_entries(connection: Connection, *, after: int = 0) -> Iterator[Entry]:
    """Entries in order, from the one after a sequence number on."""
    while rows := _ENTRIES_AFTER.all(connection, after=after):
        for row in rows:
            yield entry_of_row(row)
        after = rows[-1].sequence


def read_with_releases(connection: Connection, *, after: int = 0) -> Iterator[tuple[Entry, StoredRelease | None]]:
    """The same, each with the release that it names, if its kind has one and that is stored."""
    while rows := _ENTRIES_WITH_RELEASES.all(connection, after=after):
        for row in rows:
            release = row[len(entries.c) :]
            yield entry_of_row(row), None if row.release_id is None else StoredRelease(*release)
        after = rows[-1].sequence


def entry_of_row(row: Row[Any]) -> Entry:
    """The entry that a row of the table holds."""
    event = Event(
        kind=row.kind, actor=row.actor, population=row.population, dataset=row.dataset, auditor=row.auditor,
        subject=row.subject, answer=row.answer, loss=Loss(row.epsilon_nano, row.delta_nano, row.rho_nano),
        cap=balance_of_text(row.cap), account=balance_of_text(row.account), detail=json.loads(row.detail),
    )  # fmt: skip
    return Entry(row.sequence, row.at, event, row.nonce, row.previous, row.hash)


def document_of_row(row: Row[Any]) -> dict[str, Any]:
    """The document of the entry that a row holds, as `Entry.document` has it, but with balances as they are stored."""
    document: dict[str, Any] = {"sequence": row.sequence, "at": row.at, "nonce": row.nonce, "previous": row.previous}
    for name in _PLAIN:
        if (value := getattr(row, name)) is not None:
            document[name] = value
    for name in _WRITTEN:
        if (text := getattr(row, name)) is not None:
            document[name] = json.loads(text)
    document["hash"] = row.hash
    return document


def _balance_text(balance: Balance | None) -> str | None:
    return None if balance is None else json.dumps(balance.document(), sort_keys=True)


def balance_of_text(text: str | None) -> Balance | None:
    """The balance that an entry's column holds."""
    return None if text is None else Balance.of_document(json.loads(text))
