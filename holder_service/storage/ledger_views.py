"""The ledger as administrators look at it: newest entries first, some of them, and balances over time."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, or_, select

from holder_service.domain.ledger import Balance, Entry, Kind
from holder_service.storage.ledger import balance_of_text, entry_of_row
from holder_service.storage.tables import entries

_STEPS: Final = (
    (timedelta(hours=4), len("2026-11-20T22:35")),
    (timedelta(days=10), len("2026-11-20T22")),
    (timedelta(days=400), len("2026-11-20")),
    (timedelta.max, len("2026-11")),
)
"""Up to which span of time balances are shown by minute, hour, day, month: how much of the time's text tells."""


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries: of a kind, about a population, by or about an account; None means any."""

    kind: Kind | None = None
    population: str | None = None
    account: str | None = None


def newest(connection: Connection, which: EntryFilter, *, before: int | None, limit: int) -> list[Entry]:
    """The newest entries that pass a filter, newest first, from below a sequence number on."""
    query = select(entries).order_by(entries.c.sequence.desc()).limit(limit)
    if before is not None:
        query = query.where(entries.c.sequence < before)
    if which.kind is not None:
        query = query.where(entries.c.kind == which.kind)
    if which.population is not None:
        query = query.where(entries.c.population == which.population)
    if which.account is not None:
        # A key's entry names its account in the detail alone.
        named = f'"account": {json.dumps(which.account)}'
        query = query.where(
            or_(
                entries.c.auditor == which.account, entries.c.actor == which.account,
                entries.c.subject == which.account, entries.c.detail.contains(named, autoescape=True),
            )
        )  # fmt: skip
    return [entry_of_row(row) for row in connection.execute(query)]


def balances_over_time(connection: Connection, population: str) -> list[tuple[datetime, Balance]]:
    """A population's cap and spending as it was opened, and at the end of each step of time that changed them.

    A step is a minute, hour, day or month, by the span of time that there is: some hundreds of points tell it all.
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
