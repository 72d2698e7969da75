"""Which populations share people, so that an administrator can merge them (2-privacy §2).

A budget is about people. Two populations that overlap have two budgets about the same ones, and whoever
asks both learns about them twice as much as either cap says. The report counts person keys that were ever
loaded into both, whatever was retired since; it is for administrators alone, and no log or metric has it.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from holder_service.records.files import RecordFiles
from holder_service.records.person_keys import count_shared
from holder_service.services.bookkeeping import Books
from holder_service.storage import datasets
from holder_service.storage.datasets import Population


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two populations that share person keys.

    Attributes:
        populations: Their names.
        person_keys: The names of their key columns: numbers that two registers gave out are no same people.
        people: How many keys both have.
        mergeable: Whether relation and person key are the same, so that they can be merged.
    """

    populations: tuple[str, str]
    person_keys: tuple[str, str]
    people: int
    mergeable: bool


@dataclass(frozen=True, slots=True)
class OverlapReport:
    """All overlaps, the largest first, and the datasets that cannot be compared until they are loaded again."""

    overlaps: tuple[Overlap, ...]
    not_compared: tuple[str, ...]


def find_overlaps(books: Books, files: RecordFiles) -> OverlapReport:
    """Compare every two populations that were not merged."""
    with files.joining():  # nobody replaces a file meanwhile
        with books.database.read() as connection:
            populations = [one for one in datasets.every_population(connection) if one.merged_into is None]
            loaded = [one for one in datasets.every(connection) if one.version_last > 0]
        people: defaultdict[str, list[Path]] = defaultdict(list)
        not_compared = []
        for dataset in loaded:
            path = files.people_of(dataset.people_file)
            if path is None:
                not_compared.append(dataset.name)
            else:
                people[dataset.population].append(path)
        found = [
            _overlap(one, other, people)
            for one, other in combinations(populations, 2)
            if people[one.name] and people[other.name]
        ]
    found = sorted((overlap for overlap in found if overlap.people), key=lambda overlap: -overlap.people)
    return OverlapReport(tuple(found), tuple(not_compared))


def _overlap(one: Population, other: Population, people: dict[str, list[Path]]) -> Overlap:
    return Overlap(
        (one.name, other.name),
        (one.person_key, other.person_key),
        count_shared(tuple(people[one.name]), tuple(people[other.name])),
        (one.relation, one.person_key) == (other.relation, other.person_key),
    )
