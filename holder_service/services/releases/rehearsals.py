"""Answers about invented people: what they would cost, and that nothing is charged for them (docs/adr/0052)."""

from dataclasses import replace

from holder_service.domain.ledger import Event
from holder_service.services.ledger.store import LedgerStore
from holder_service.storage import datasets
from holder_service.storage.datasets import Dataset
from shared.contract.rehearsals import Rehearsed
from shared.privacy.amounts import Loss


def is_rehearsal(store: LedgerStore, name: str) -> bool | None:
    """Whether a dataset's people are invented; `None` if there is no dataset of that name."""
    with store.database.read() as connection:
        found = datasets.find_dataset(connection, name)
    return None if found is None else found.rehearsal is not None


def charged(dataset: Dataset, price: Loss) -> Loss:
    """What an answer about a dataset is charged: its price; of the same kind nothing, where the people are invented."""
    return price if dataset.rehearsal is None else price * 0


def rehearsed(dataset: Dataset, price: Loss) -> Rehearsed | None:
    """What an answer about a dataset says of being rehearsed, and what it would cost; None where people are real."""
    return None if dataset.rehearsal_of is None else Rehearsed(of=dataset.rehearsal_of, would_cost=price)


def answered(dataset: Dataset, charge: Event) -> Event:
    """Return what is entered for an answer: the charge, or that it was a rehearsal, which changes nobody's balance."""
    return charge if dataset.rehearsal is None else replace(charge, kind="rehearsal", auditor=None, account=None)
