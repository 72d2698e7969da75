"""Sums over the whole ledger, of which each look reads only the entries that are new.

Entries never change, so what the entries up to some number add up to is known once it was added up. A look first
compares the hash of the last entry that it knows with the database's: if a restore or a rollback changed the history,
everything is added up again. What other processes entered meanwhile is read like all new entries, so no sum is ever
older than the look.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from holder_service.domain.ledger import Balance
from holder_service.domain.spending import Spending
from holder_service.storage import ledger, ledger_views
from holder_service.storage.database import Connection
from holder_service.storage.ledger_views import BalanceAt, SpentOf
from shared.kinds.releases import LedgerPosition


@dataclass(frozen=True, slots=True)
class _Spent:
    """What was charged up to an entry, by population, auditor and purpose."""

    upto: LedgerPosition = ledger.EMPTY
    sums: Mapping[SpentOf, Spending] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _StepEnds:
    """A population's balance at the end of each step of time up to an entry."""

    upto: LedgerPosition = ledger.EMPTY
    characters: int = 0
    ends: Mapping[str, BalanceAt] = field(default_factory=dict)


class LedgerSums:
    """What one process has added up of a ledger."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._spent = _Spent()
        self._steps: dict[str, _StepEnds] = {}

    def spent_by_purpose(self, connection: Connection) -> dict[SpentOf, Spending]:
        """Return what was charged in all, by population, auditor and purpose; "" is no purpose."""
        with self._guard:
            head = ledger.head(connection)
            known = self._spent if _is_prefix(connection, self._spent.upto) else _Spent()
            sums = {of: replace(spending) for of, spending in known.sums.items()}
            added = ledger_views.spent_by_purpose(connection, after=known.upto.sequence, upto=head.sequence)
            for of, spending in added.items():
                sums.setdefault(of, Spending()).join(spending)
            self._spent = _Spent(head, sums)
        return {of: replace(spending) for of, spending in sorted(sums.items())}

    def balances_over_time(self, connection: Connection, population: str) -> list[tuple[datetime, Balance]]:
        """Return a population's cap and spending at its opening, and at the end of each step of time that changed them.

        A step is a minute, hour, day or month, by the span of time that there is: some hundreds of points show it all.
        """
        with self._guard:
            head = ledger.head(connection)
            first, characters = ledger_views.first_balance(connection, population)
            if first is None:
                return []
            known = self._steps.get(population, _StepEnds())
            if known.characters != characters or not _is_prefix(connection, known.upto):
                known = _StepEnds()
            added = ledger_views.last_balances(
                connection, population, characters=characters, after=known.upto.sequence, upto=head.sequence
            )
            ends = {**known.ends, **{balance.at[:characters]: balance for balance in added}}
            self._steps[population] = _StepEnds(head, characters, ends)
        points = {balance.sequence: balance for balance in (first, *ends.values())}
        return [points[sequence].point for sequence in sorted(points)]


def _is_prefix(connection: Connection, known: LedgerPosition) -> bool:
    """Whether the ledger still has all entries up to a position, as they were."""
    return ledger.hash_at(connection, known.sequence) == known.hash
