"""What administrators look at: populations with their balances, spending over time, the state of store and anchor."""

from dataclasses import dataclass

from holder_service.domain.errors import NotFound
from holder_service.domain.ledger import Balance, Entry
from holder_service.services.ledger_store import LedgerStore
from holder_service.storage import datasets, ledger, ledger_views
from holder_service.storage.datasets import Dataset, Population
from holder_service.storage.ledger_views import EntryFilter
from shared.releases import LedgerPosition


@dataclass(frozen=True, slots=True)
class PopulationState:
    """A population, its datasets that are not retired, its cap, and every auditor's balance with it."""

    population: Population
    datasets: tuple[Dataset, ...]
    cap: Balance
    accounts: dict[str, Balance]


@dataclass(frozen=True, slots=True)
class StoreState:
    """Ledger head and anchor, None for an anchor that is lost; and whether they agree."""

    head: LedgerPosition
    anchored: LedgerPosition | None
    may_release: bool


def every_population(store: LedgerStore) -> list[PopulationState]:
    """All populations that were not merged into another, by name."""
    with store.database.read() as connection:
        found = [population for population in datasets.every_population(connection) if population.merged_into is None]
        return [
            PopulationState(
                population,
                tuple(one for one in datasets.every(connection, population=population.name) if not one.retired),
                ledger.population_balance(connection, population.name),
                ledger.accounts_of(connection, population.name),
            )
            for population in found
        ]


def newest_entries(store: LedgerStore, which: EntryFilter, *, before: int | None, limit: int) -> list[Entry]:
    """Entries that pass a filter, newest first, from below a sequence number on."""
    return store.look_up(ledger_views.newest, which, before=before, limit=limit)


def entry(store: LedgerStore, sequence: int) -> Entry:
    """One entry.

    Raises:
        NotFound: There is none.
    """
    found = store.look_up(ledger.entry_at, sequence)
    if found is None:
        raise NotFound(f"The ledger has no entry {sequence}.")
    return found


def store_state(store: LedgerStore) -> StoreState:
    """Where ledger and anchor stand.

    Raises:
        Unavailable: One of them does not answer.
    """
    anchored, may_release = store.anchored(), store.is_anchored()
    with store.database.read() as connection:
        return StoreState(ledger.head(connection), anchored, may_release)
