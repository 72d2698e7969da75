"""Which populations share people, so that an administrator can merge them (2-privacy §2).

A budget is about people. Two populations that overlap have two budgets about the same ones, and whoever
asks both learns about them twice as much as either cap says. Person keys are counted that were ever loaded
into both, whatever was retired since.

An administrator can load any keys. With exact figures they could find out who is in a register, one guess
after the other, and without an entry. So exact figures (`find_overlaps`) are for the holder's own machine, for
whoever may read its home anyway. Over the network an administrator looks at two populations
(`look_at_overlap`): what leaves is between which powers of ten a noisy count lies, and it is charged to the caps of
both, as an auditor's question would be.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

from pydantic import Field

from holder_service.domain.declared_blocks import require_no_blocks
from holder_service.domain.errors import Conflict
from holder_service.domain.ledger import Event
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.records.engines import Engine
from holder_service.records.files import RecordFiles
from holder_service.services.accounts.populations import schemas_of, unmerged
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import datasets, ledger
from holder_service.storage.datasets import Population
from shared.privacy.amounts import Loss
from shared.privacy.charges import Charge
from shared.wire.request_model import ContractModel

LOOK_LOSS: Final = Loss(200_000_000)
LOOK_CHARGE: Final = Charge.pure(LOOK_LOSS.epsilon_nano)
SHOWN_FROM: Final = 100
"""Twenty times the noise's scale: populations that share nobody are said to share somebody once in 10⁹ looks."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two populations that share person keys.

    Attributes:
        person_keys: The names of their key columns: numbers that two registers gave out are no same people.
        people: How many keys both have.
        mergeable: Whether relation and person key are the same, so that they can be merged.
    """

    populations: tuple[str, str]
    person_keys: tuple[str, str]
    people: int
    mergeable: bool


class OverlapLook(ContractModel):
    """What an administrator is shown of two populations."""

    populations: tuple[str, str]
    """Their names."""
    person_keys: tuple[str, str]
    """The names of their key columns: numbers that two registers gave out are no same people."""
    people_from: int
    """Where the band begins that their noisy number of common keys is in, in people; 0 for the lowest."""
    people_below: int
    """Where the band ends, in people."""
    mergeable: bool
    """Whether relation and person key are the same, so that they can be merged."""
    not_compared: tuple[str, ...]
    """Datasets of them that cannot be compared until they are loaded again."""
    without_keys: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Aggregate tables of them: nobody there has a key, so they are in no comparison; left out where there is none."""
    charged: Loss
    """What the look cost each of them."""


@dataclass(frozen=True, slots=True)
class OverlapReport:
    """All overlaps, the largest first.

    Attributes:
        not_compared: The datasets that cannot be compared until they are loaded again.
        without_keys: The aggregate tables, which are in no comparison.
    """

    overlaps: tuple[Overlap, ...]
    not_compared: tuple[str, ...]
    without_keys: tuple[str, ...]


def find_overlaps(store: LedgerStore, engine: Engine, files: RecordFiles) -> OverlapReport:
    """Compare every two populations that were not merged: exactly, so for the holder's own machine alone."""
    with files.joining():  # nobody replaces a file meanwhile
        with store.database.read() as connection:
            populations = [
                one
                for one in datasets.every_population(connection)
                if one.merged_into is None and datasets.rehearsal_in(connection, one.name) is None
            ]
        known = _people(store, files)
        found = [
            _overlap(one, other, known.files, engine)
            for one, other in combinations(populations, 2)
            if known.files[one.name] and known.files[other.name]
        ]
    found = sorted((overlap for overlap in found if overlap.people), key=lambda overlap: -overlap.people)
    missing, without = (
        tuple(name for names in some.values() for name in names) for some in (known.not_compared, known.without_keys)
    )
    return OverlapReport(tuple(found), missing, without)


def look_at_overlap(
    store: LedgerStore, engine: Engine, files: RecordFiles, *, actor: str, one: str, other: str
) -> OverlapLook:
    """Look whether two populations share people, for an administrator who is not at the holder's own machine.

    One person more or less, or replaced by another, moves the count by one at most: discrete Laplace noise of
    scale 1/ε costs each population ε. Both charges and entries are committed before anything is counted, and say who
    looked at what. Each look draws anew and is charged anew.

    Raises:
        NotFound: A population is unknown.
        Conflict: They are the same, one was merged already, nobody in one has a key, or a cap has less left than a look
            costs.
    """

    def charge(transaction: Transaction) -> tuple[Population, Population]:
        pair = unmerged(transaction.connection, one), unmerged(transaction.connection, other)
        if pair[0].name == pair[1].name:
            raise Conflict("Both populations are the same one. Name two different populations.")
        for population in pair:
            if population.person_key is None:
                raise Conflict(
                    f"Population {population.name!r} has only aggregate tables, so its people do not have keys. "
                    "If you know that both populations are about the same people, merge them."
                )
        require_no_blocks(*(schemas_of(transaction.connection, population.name) for population in pair))
        for population, partner in (pair, pair[::-1]):
            cap = ledger.population_balance(transaction.connection, population.name)
            loss = LOOK_CHARGE.entered(cap.terms)
            if not cap.affords(loss, transaction.now):
                raise Conflict(
                    f"A look costs {loss} of both caps, and the cap of {population.name!r} has less left. Run "
                    "`holder overlaps` on the holder's machine instead; it is free."
                )
            event = Event(
                "overlap-look", actor, population=population.name, loss=loss,
                cap=cap.charged(loss), detail={"with": partner.name},
            )  # fmt: skip
            transaction.append(event)
        return pair

    with files.joining():
        pair = store.commit(charge)
        known = _people(store, files)
        mechanism = LaplaceMechanism.calibrated(epsilon_nano=LOOK_LOSS.epsilon_nano, sensitivity=1)
        exact = _overlap(*pair, known.files, engine)
        low, high = _band(mechanism.release([exact.people])[0])
    missing, without = (
        tuple(name for population in pair for name in some[population.name])
        for some in (known.not_compared, known.without_keys)
    )
    return OverlapLook(
        populations=exact.populations, person_keys=exact.person_keys, people_from=low, people_below=high,
        mergeable=exact.mergeable, not_compared=missing, without_keys=without, charged=LOOK_LOSS,
    )  # fmt: skip


def _band(noisy: int) -> tuple[int, int]:
    """Between which powers of ten a noisy count lies; below `SHOWN_FROM` it is not said to be any."""
    if noisy < SHOWN_FROM:
        return 0, SHOWN_FROM
    low = 10 ** (len(str(noisy)) - 1)
    return low, 10 * low


class _KnownPeople(NamedTuple):
    """What is known of who is in populations, by population.

    Attributes:
        files: The names of files of hashes.
        not_compared: The names of the datasets whose file is not here.
        without_keys: The names of aggregate tables.
    """

    files: defaultdict[str, list[str]]
    not_compared: defaultdict[str, list[str]]
    without_keys: defaultdict[str, list[str]]


def _people(store: LedgerStore, files: RecordFiles) -> _KnownPeople:
    with store.database.read() as connection:
        loaded = [one for one in datasets.every(connection) if one.version_last > 0]
    known = _KnownPeople(defaultdict(list), defaultdict(list), defaultdict(list))
    for dataset in loaded:
        path = files.people_of(dataset.people_file)
        if path is not None:
            known.files[dataset.population].append(path.name)
        elif not dataset.schema.is_aggregate:
            known.not_compared[dataset.population].append(dataset.name)
        if dataset.schema.is_aggregate:
            known.without_keys[dataset.population].append(dataset.name)
    return known


def _overlap(one: Population, other: Population, people: dict[str, list[str]], engine: Engine) -> Overlap:
    return Overlap(
        (one.name, other.name),
        (str(one.person_key), str(other.person_key)),
        engine.count_shared(people[one.name], people[other.name]),
        one.may_join(other),
    )
