"""What administrators look at: populations with their balances, spending over time, the state of store and anchor."""

from dataclasses import dataclass
from typing import Final

from holder_service.domain.errors import NotFound
from holder_service.domain.ledger import Balance, Entry
from holder_service.services.ledger.store import LedgerStore
from holder_service.storage import datasets, ledger, ledger_views
from holder_service.storage.datasets import Dataset, Population
from holder_service.storage.ledger_views import EntryFilter
from shared.kinds.releases import LedgerPosition
from shared.privacy.amounts import DELTA_READ_NANO, NANO_PER_UNIT, Loss
from shared.privacy.capacity import AskedNoise, gaussian_times, laplace_times, rho_nano_read_as
from shared.privacy.noise import DiscreteLaplaceNoise

AUDITS_NANO: Final = tuple(NANO_PER_UNIT // part for part in (100, 50, 20, 10, 2))
"""Of which ε it is said how many audits a cap holds."""


@dataclass(frozen=True, slots=True)
class PopulationState:
    """A population, its datasets that are not retired, its cap, and every auditor's balance with it.

    Attributes:
        rehearsal_of: The dataset that its people were invented for; None where they are real.
    """

    population: Population
    datasets: tuple[Dataset, ...]
    cap: Balance
    accounts: dict[str, Balance]
    rehearsal_of: str | None


@dataclass(frozen=True, slots=True)
class StoreState:
    """Ledger head and anchor, None for an anchor that is lost; and whether they agree."""

    head: LedgerPosition
    anchored: LedgerPosition | None
    may_release: bool


@dataclass(frozen=True, slots=True)
class CapSize:
    """How many audits of one ε a cap holds, by what its account adds up; in ρ with Laplace noise, and with Gaussian.

    The Gaussian noise has the variance of the Laplace noise, and so gives intervals as wide.
    """

    epsilon_nano: int
    in_epsilon: int
    in_rho: int
    in_rho_gaussian: int


def cap_sizes(cap: Loss) -> tuple[Loss, tuple[CapSize, ...]]:
    """The cap in ρ that is read as a cap at its δ, or at 10⁻⁶, and how many audits either kind holds."""
    delta_nano = cap.delta_nano or DELTA_READ_NANO
    in_rho = cap if cap.kind == "zcdp" else Loss.of_rho(rho_nano_read_as(cap.epsilon_nano, delta_nano), delta_nano)
    sizes = []
    for epsilon_nano in AUDITS_NANO:
        asked = (AskedNoise(DiscreteLaplaceNoise(scale=NANO_PER_UNIT / epsilon_nano).variance),)
        in_epsilon = laplace_times(asked, Loss(cap.epsilon_nano))
        sizes.append(CapSize(epsilon_nano, in_epsilon, laplace_times(asked, in_rho), gaussian_times(asked, in_rho)))
    return in_rho, tuple(sizes)


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
                datasets.rehearsal_in(connection, population.name),
            )
            for population in found
        ]


def newest_entries(store: LedgerStore, which: EntryFilter, *, before: int | None, limit: int) -> list[Entry]:
    """Entries that pass a filter, newest first, from below a sequence number on."""
    return store.look_up(ledger_views.newest, which, before=before, limit=limit)


def entry(store: LedgerStore, sequence: int) -> Entry:
    """One entry.

    Raises:
        NotFound: It does not exist.
    """
    found = store.look_up(ledger.entry_at, sequence)
    if found is None:
        raise NotFound(f"The ledger does not have an entry {sequence}. Use a number up to that of its head.")
    return found


def store_state(store: LedgerStore) -> StoreState:
    """Return where ledger and anchor stand.

    Raises:
        Unavailable: One of them does not answer.
    """
    anchored, may_release = store.anchored(), store.is_anchored()
    with store.database.read() as connection:
        return StoreState(ledger.head(connection), anchored, may_release)
