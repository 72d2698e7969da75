"""The transparency report: what was released about a dataset, to whom, when and at what loss; to be published.

It publishes of a release its time, auditor, version, sensitive attributes, mechanisms, loss and purpose, of a training
its algorithm too, of a decision that it was made, and sums of losses. Two plans that are alike in these are alike in
the report: neither their identities nor the digests of answers are in it, nor how many cells a plan had, a limit, or
what is left of one. Entries are named by their hashes, which the entries' nonces keep from confirming more
(docs/adr/0016).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from holder_service.domain.errors import NotFound
from holder_service.domain.ledger import Balance, Entry, Kind
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases.holder_kind import PublishedMethod
from holder_service.services.releases.holder_kinds import HOLDER_KINDS
from holder_service.storage import datasets, ledger, ledger_views, metadata, releases
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset, Population
from holder_service.storage.ledger import READ_AT_ONCE
from holder_service.storage.ledger_views import EntryFilter
from holder_service.storage.releases import StoredRelease
from shared.contract.meaning import Meaning, meaning
from shared.contract.metadata import DatasetMetadata
from shared.kinds.registry import kind_of_entry
from shared.kinds.releases import LedgerPosition
from shared.privacy.amounts import NO_LOSS, Loss

DECISIONS: Final[tuple[Kind, ...]] = (
    "population", "cap", "budget", "merge", "dataset", "records", "retirement", "restore", "signing-key",
    "overlap-look", "metadata", "approval-required",
)  # fmt: skip
"""Kinds of entries that say what was decided about the dataset's people, or that bear on trust in the ledger."""


@dataclass(frozen=True, slots=True)
class ReportedRelease:
    """A release: its entry, the records' version, by what attributes people were counted, and how it was made.

    Attributes:
        refines: The number of the entry of the release that it refines, if it refines one.
        purpose: What it was asked for, in the auditor's words.
    """

    entry: Entry
    version: int
    sensitive: tuple[str, ...]
    method: PublishedMethod
    refines: int | None = None

    @property
    def purpose(self) -> str | None:
        return self.entry.event.detail.get("purpose")


@dataclass(frozen=True, slots=True)
class TransparencyReport:
    """Everything about one dataset that is published.

    Attributes:
        made: When, and `head` is the ledger's head then.
        organisation: Who holds the records, if the holder says so.
        words: What people read of the dataset, as administrators wrote it; without a number of people.
        others: The population's other datasets, retired ones included.
        spent: The loss of the releases about this dataset alone.
        population_spent: That of all releases about the population's people, merged ones included; with blocks, what
            one person lost of it at most.
        meaning: What everything that was released about the population means for one of its people.
        decisions: Entries of the kinds `DECISIONS`, oldest first.
    """

    made: datetime
    head: LedgerPosition
    organisation: str | None
    dataset: Dataset
    words: DatasetMetadata
    population: Population
    others: tuple[str, ...]
    spent: Loss
    population_spent: Loss
    meaning: Meaning
    releases: tuple[ReportedRelease, ...]
    decisions: tuple[Entry, ...]

    @property
    def restored(self) -> bool:
        """Whether the database was ever put back, so that the sums may lack releases."""
        return any(entry.event.kind == "restore" for entry in self.decisions)


def transparency_report(store: LedgerStore, dataset: str, *, organisation: str | None) -> TransparencyReport:
    """Report on a dataset, retired or not.

    Args:
        organisation: Who holds the records, if the holder says so.

    Raises:
        NotFound: There never was one of that name.
    """
    with store.database.read() as connection:
        declared = datasets.find_dataset(connection, dataset)
        population = None if declared is None else datasets.find_population(connection, declared.population)
        if declared is None or population is None:
            raise NotFound(f"There never was a dataset {dataset!r}.")
        head = ledger.head(connection)
        answers: Kind = "charge" if declared.rehearsal is None else "rehearsal"
        charges = ledger_views.in_order(connection, EntryFilter(kind=answers, dataset=dataset), upto=head.sequence)
        others = [one for one in datasets.every(connection, population=population.name) if one.name != dataset]
        balance = ledger.population_balance(connection, population.name)
        return TransparencyReport(
            made=store.clock(),
            head=head,
            organisation=organisation,
            dataset=declared,
            words=metadata.of_dataset(connection, dataset).model_copy(update={"people": None}),
            population=population,
            others=tuple(one.name for one in others),
            spent=sum((one.event.loss for one in charges), NO_LOSS),
            population_spent=_of_one_person(balance, declared),
            meaning=_meaning(population, balance, declared, others),
            releases=tuple(
                _reported(
                    connection, [entry for entry in charges if kind_of_entry(entry.event.detail).request is not None]
                )
            ),
            decisions=tuple(_decisions(connection, declared, upto=head.sequence)),
        )


def _meaning(population: Population, balance: Balance, dataset: Dataset, others: Sequence[Dataset]) -> Meaning:
    """Return what was charged, and the reports of every column that may be counted as it is, asked for or not."""
    reported = {column.name: column for column in dataset.schema.columns} | {
        f"{column.name} in {other.name}": column for other in others for column in other.schema.columns
    }
    return meaning(population.relation, _of_one_person(balance, dataset), reported)


def _of_one_person(balance: Balance, dataset: Dataset) -> Loss:
    """Return what one person lost at most: with blocks, the most of any block, in as many as a person may be in."""
    return balance.spent if dataset.blocks is None else balance.spent * dataset.blocks.per_person_max


def _decisions(connection: Connection, dataset: Dataset, *, upto: int) -> Iterator[Entry]:
    """What was decided about the dataset, its population and those that joined it; and restores and signing keys."""
    lineage = {dataset.population}
    pending = [one for one in datasets.every_population(connection) if one.merged_into is not None]
    while joined := {one.name for one in pending if one.merged_into in lineage} - lineage:
        lineage |= joined
    found = [entry for kind in DECISIONS for entry in ledger_views.in_order(connection, EntryFilter(kind), upto=upto)]
    for entry in sorted(found, key=lambda entry: entry.sequence):
        event = entry.event
        # A budget is granted by way of some dataset of the population, and is one for all of them.
        about_this = event.dataset in (None, dataset.name) or event.kind == "budget"
        if event.population is None or (event.population in lineage and about_this):
            yield entry


def _reported(connection: Connection, charges: Sequence[Entry]) -> Iterator[ReportedRelease]:
    """Yield what is reported of each charge; the releases are read many at a time."""
    for start in range(0, len(charges), READ_AT_ONCE):
        part = charges[start : start + READ_AT_ONCE]
        names = {entry.event.subject or "" for entry in part}
        names |= {str(entry.event.detail["refines"]) for entry in part if "refines" in entry.event.detail}
        found = releases.find_releases(connection, sorted(names))
        yield from (_reported_one(entry, found) for entry in part)


def _reported_one(entry: Entry, found: Mapping[str, StoredRelease]) -> ReportedRelease:
    stored = found.get(entry.event.subject or "")
    if stored is None:
        raise NotFound(f"The release of entry {entry.sequence} is not stored. Run `holder ledger verify` for details.")
    release = json.loads(stored.body)
    method = HOLDER_KINDS[stored.kind].published(release)
    refined = found.get(str(entry.event.detail.get("refines")))
    return ReportedRelease(
        entry=entry,
        version=stored.version,
        sensitive=tuple(release[stored.kind]["sensitive"]),
        method=method,
        refines=None if refined is None else refined.sequence,
    )
