"""The ledger as administrators look at it: newest entries first, some of them, and balances over time."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, or_, select

from holder_service.domain.ledger import Balance, Entry, Kind
from holder_service.domain.spending import Spending
from holder_service.storage.ledger import balance_of_text, entry_of_row
from holder_service.storage.tables import entries

_STEPS: Final = (
    (timedelta(hours=4), len("2026-11-20T22:35")),
    (timedelta(days=10), len("2026-11-20T22")),
    (timedelta(days=400), len("2026-11-20")),
    (timedelta.max, len("2026-11")),
)
"""Up to which span of time balances are shown by minute, hour, day, month: by how many characters of the timestamp."""


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


def backwards(connection: Connection, which: EntryFilter, *, start: Entry | None = None) -> Iterator[Entry]:
    """All entries that pass a filter, from the newest or a given one back; they are read as they are taken."""
    found = newest(connection, which, before=None, limit=100) if start is None else [start]
    while found:
        yield from found
        found = newest(connection, which, before=found[-1].sequence, limit=100)


def in_order(
    connection: Connection, which: EntryFilter, *, after: int = 0, upto: int | None, limit: int | None = None
) -> list[Entry]:
    """Entries that pass a filter, oldest first, from after one sequence number up to another."""
    query = select(entries).where(entries.c.sequence > after, *which.conditions()).order_by(entries.c.sequence)
    if upto is not None:
        query = query.where(entries.c.sequence <= upto)
    return [entry_of_row(row) for row in connection.execute(query.limit(limit))]


def number_within(connection: Connection, span: timedelta, which: EntryFilter, *, now: datetime) -> int:
    """How many entries pass a filter among those since a time; none but those are read."""
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


def balances_over_time(connection: Connection, population: str) -> list[tuple[datetime, Balance]]:
    """A population's cap and spending as it was opened, and at the end of each step of time that changed them.

    A step is a minute, hour, day or month, by the span of time that there is: some hundreds of points show it all.
    """
    ends = select(entries.c.sequence, entries.c.at).where(entries.c.population == population).limit(1)
    first = connection.execute(ends.order_by(entries.c.sequence)).one_or_none()
    last = connection.execute(ends.order_by(entries.c.sequence.desc())).one_or_none()
    if first is None or last is None:
        return []
    span = abs(datetime.fromisoformat(last.at) - datetime.fromisoformat(first.at))  # clocks are set back at times
    characters = next(length for longest, length in _STEPS if span <= longest)
    of_step = (
        select(func.max(entries.c.sequence))
        .where(entries.c.population == population)
        .group_by(func.substr(entries.c.at, 1, characters))
    )
    shown = or_(entries.c.sequence == first.sequence, entries.c.sequence.in_(of_step))
    query = select(entries.c.at, entries.c.cap).where(shown).order_by(entries.c.sequence)
    return [
        (datetime.fromisoformat(row.at), balance_of_text(row.cap) or Balance()) for row in connection.execute(query)
    ]


def spent_by_purpose(connection: Connection) -> dict[tuple[str, str, str], Spending]:
    """What was charged in all, by population, auditor and purpose; the purpose is empty where none was said."""
    sums: dict[tuple[str, str, str], Spending] = {}
    # The database adds up; it knows purposes only within details, of which there are few.
    of = (entries.c.population, entries.c.auditor, entries.c.detail)
    amounts = (func.sum(entries.c[name]) for name in ("epsilon_nano", "delta_nano", "rho_nano"))
    query = (
        select(*of, func.count(), *amounts)
        .where(entries.c.kind == "charge")
        .group_by(*of, entries.c.rho_nano.is_(None))
    )
    for population, auditor, detail, charges, epsilon_nano, delta_nano, rho_nano in connection.execute(query):
        purpose = json.loads(detail).get("purpose", "") if '"purpose"' in detail else ""
        spending = sums.setdefault((population, auditor, purpose), Spending())
        spending.charges += charges
        if rho_nano is None:
            spending.epsilon_nano += int(epsilon_nano)
            spending.delta_nano += int(delta_nano)
        else:  # its δ says only how ρ is read
            spending.rho_nano += int(rho_nano)
    return dict(sorted(sums.items()))
