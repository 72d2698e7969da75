"""The ledger as administrators look at it: newest entries first, some of them, and balances over time."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from holder_service.domain.ledger import Balance, Entry, Kind
from holder_service.domain.spending import Spending
from holder_service.storage.ledger import balance_of_text, document_of_row, entry_of_row
from holder_service.storage.tables import entries

_STEPS: Final = (
    (timedelta(hours=4), len("2026-11-20T22:35")),
    (timedelta(days=10), len("2026-11-20T22")),
    (timedelta(days=400), len("2026-11-20")),
    (timedelta.max, len("2026-11")),
)
"""Up to which span of time balances are shown by minute, hour, day, month: by how many characters of the timestamp."""


SpentOf = tuple[str, str, str]
"""Population, auditor and purpose."""
_LIMITING: Final[tuple[Kind, ...]] = ("population", "cap", "budget", "merge")
"""The kinds of entries that may state another limit than the entry before about the same account."""


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries; None means any.

    Attributes:
        kind, population, dataset, auditor: What the entry is of and about.
        account: By or about it, as actor, auditor, subject or owner of a key.
        since, until: Of that time or later; before that time; in UTC.
        actor: Whose doing it is.
        subject: What it concerns, such as a key's id.
    """

    kind: Kind | None = None
    population: str | None = None
    dataset: str | None = None
    auditor: str | None = None
    account: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    actor: str | None = None
    subject: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        wanted = {
            name: getattr(self, name) for name in ("kind", "population", "dataset", "auditor", "actor", "subject")
        }
        found: list[ColumnElement[bool]] = [
            entries.c[name] == value for name, value in wanted.items() if value is not None
        ]
        if self.account is not None:
            # A key's entry names its account in the detail alone.
            named = f'"account": {json.dumps(self.account)}'
            found.append(
                or_(
                    entries.c.auditor == self.account, entries.c.actor == self.account,
                    entries.c.subject == self.account, entries.c.detail.contains(named, autoescape=True),
                )
            )  # fmt: skip
        # Times are kept as ISO 8601 in UTC: the texts sort as the times do.
        if self.since is not None:
            found.append(entries.c.at >= self.since.isoformat())
        if self.until is not None:
            found.append(entries.c.at < self.until.isoformat())
        return found


def newest(connection: Connection, which: EntryFilter, *, before: int | None, limit: int) -> list[Entry]:
    """The newest entries that pass a filter, newest first, from below a sequence number on."""
    query = select(entries).where(*which.conditions()).order_by(entries.c.sequence.desc()).limit(limit)
    if before is not None:
        query = query.where(entries.c.sequence < before)
    return [entry_of_row(row) for row in connection.execute(query)]


def before_each(connection: Connection, those: Iterable[Entry]) -> dict[int, Entry]:
    """The entry before each one about the same population, in one statement, by the sequence of the later one."""
    later, earlier = entries.alias(), entries.alias()
    same = earlier.c.population == later.c.population, earlier.c.sequence < later.c.sequence
    before = select(func.max(earlier.c.sequence)).where(*same).scalar_subquery()
    pairs = select(later.c.sequence.label("later"), before.label("before"))
    found = pairs.where(later.c.sequence.in_([one.sequence for one in those])).subquery()
    query = select(found.c.later, entries).join(found, entries.c.sequence == found.c.before)
    return {row.later: entry_of_row(row) for row in connection.execute(query)}


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The entries about a population, or about an auditor's account with it, as the database has them."""

    connection: Connection
    population: str
    auditor: str | None

    def back(self) -> Iterator[Entry]:
        """Return all of them, newest first; they are read as they are taken."""
        found = newest(self.connection, self._filter, before=None, limit=100)
        while found:
            yield from found
            found = newest(self.connection, self._filter, before=found[-1].sequence, limit=100)

    def limits(self) -> list[Entry]:
        """Return those that may state another limit than the one before, newest first."""
        kinds = [kind for kind in _LIMITING if self.auditor is not None or kind != "budget"]
        # Few entries are of these kinds. `coalesce` keeps the database from looking through all of the account's.
        wanted = [entries.c.kind.in_(kinds), func.coalesce(entries.c.population, "") == self.population]
        if self.auditor is not None:
            wanted.append(func.coalesce(entries.c.auditor, "") == self.auditor)
        query = select(entries).where(*wanted).order_by(entries.c.sequence.desc())
        return [entry_of_row(row) for row in self.connection.execute(query)]

    def upto(self, sequence: int) -> Entry | None:
        """Return the newest that has this sequence number or a lower one."""
        found = newest(self.connection, self._filter, before=sequence + 1, limit=1)
        return found[0] if found else None

    @property
    def _filter(self) -> EntryFilter:
        return EntryFilter(population=self.population, auditor=self.auditor)


def in_order(
    connection: Connection, which: EntryFilter, *, after: int = 0, upto: int | None, limit: int | None = None
) -> list[Entry]:
    """Entries that pass a filter, oldest first, from after one sequence number up to another."""
    return [entry_of_row(row) for row in connection.execute(_in_order(which, after, upto, limit))]


def documents_in_order(
    connection: Connection, which: EntryFilter, *, after: int, upto: int, limit: int
) -> list[dict[str, Any]]:
    """The documents of the same entries, made several times faster."""
    return [document_of_row(row) for row in connection.execute(_in_order(which, after, upto, limit))]


def _in_order(which: EntryFilter, after: int, upto: int | None, limit: int | None) -> Select[Any]:
    query = select(entries).where(entries.c.sequence > after, *which.conditions()).order_by(entries.c.sequence)
    if upto is not None:
        query = query.where(entries.c.sequence <= upto)
    return query.limit(limit)


def number_within(connection: Connection, span: timedelta, which: EntryFilter, *, now: datetime) -> int:
    """Return how many entries pass a filter among those since a time; none but those are read."""
    before = (
        select(entries.c.sequence)
        .where(entries.c.at <= (now - span).isoformat())
        .order_by(entries.c.sequence.desc())
        .limit(1)
        .scalar_subquery()
    )
    since = entries.c.sequence > func.coalesce(before, 0)
    found = connection.execute(select(func.count()).select_from(entries).where(since, *which.conditions()))
    return int(found.scalar_one())


def latest_time(connection: Connection) -> datetime:
    """The latest time that an entry names, for the clocks of several machines differ; year 1 of an empty ledger."""
    latest = connection.execute(select(func.max(entries.c.at))).scalar()
    return datetime.min.replace(tzinfo=UTC) if latest is None else datetime.fromisoformat(latest)


@dataclass(frozen=True, slots=True)
class BalanceAt:
    """A population's balance after an entry about it."""

    sequence: int
    at: str
    cap: str | None

    @property
    def point(self) -> tuple[datetime, Balance]:
        """When it was, and what it was."""
        return datetime.fromisoformat(self.at), balance_of_text(self.cap) or Balance()


def first_balance(connection: Connection, population: str) -> tuple[BalanceAt | None, int]:
    """Return a population's first balance, None without entries, and the length of a step of time.

    A step is a minute, hour, day or month, by the span from the first entry to the last. It is given by how many
    characters of a timestamp name it.
    """
    ends = select(entries.c.sequence, entries.c.at, entries.c.cap).where(entries.c.population == population).limit(1)
    first = connection.execute(ends.order_by(entries.c.sequence)).one_or_none()
    last = connection.execute(ends.order_by(entries.c.sequence.desc())).one_or_none()
    if first is None or last is None:
        return None, 0
    span = abs(datetime.fromisoformat(last.at) - datetime.fromisoformat(first.at))  # clocks are set back at times
    return BalanceAt(*first), next(length for longest, length in _STEPS if span <= longest)


def last_balances(
    connection: Connection, population: str, *, characters: int, after: int, upto: int
) -> Iterator[BalanceAt]:
    """Return a population's last balance in each step of time, of the entries after one sequence number up to another.

    Args:
        characters: How many characters of a timestamp name a step.
    """
    of_step = (
        select(func.max(entries.c.sequence))
        .where(entries.c.population == population, entries.c.sequence > after, entries.c.sequence <= upto)
        .group_by(func.substr(entries.c.at, 1, characters))
    )
    query = select(entries.c.sequence, entries.c.at, entries.c.cap).where(entries.c.sequence.in_(of_step))
    for row in connection.execute(query.order_by(entries.c.sequence)):
        yield BalanceAt(*row)


def spent_by_purpose(connection: Connection, *, after: int, upto: int) -> dict[SpentOf, Spending]:
    """Return what entries charged, after one sequence number up to another; the purpose "" is none."""
    sums: dict[SpentOf, Spending] = {}
    # The database adds up; it knows purposes only within details, of which there are few.
    of = (entries.c.population, entries.c.auditor, entries.c.detail)
    amounts = (func.sum(entries.c[name]) for name in ("epsilon_nano", "delta_nano", "rho_nano"))
    query = (
        select(*of, func.count(), *amounts)
        .where(entries.c.kind == "charge", entries.c.sequence > after, entries.c.sequence <= upto)
        .group_by(*of, entries.c.rho_nano.is_(None))
    )
    for population, auditor, detail, charges, epsilon_nano, delta_nano, rho_nano in connection.execute(query):
        purpose = json.loads(detail).get("purpose", "") if '"purpose"' in detail else ""
        in_epsilon = rho_nano is None  # the δ of a charge in ρ says only how ρ is read
        sums.setdefault((population, auditor, purpose), Spending()).join(
            Spending(
                charges,
                int(epsilon_nano) if in_epsilon else 0,
                int(delta_nano) if in_epsilon else 0,
                int(rho_nano or 0),
            )
        )
    return sums
