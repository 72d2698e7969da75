"""In which blocks each person ever was, by keyed hash: kept beside a dataset's hashes of its people (spec 10 §4).

A file holds pairs of a person's hash and a block's number, each pair once, sorted: first all hashes (64 bits), then the
numbers in the same order (64 bits, signed). It holds everybody who was ever loaded into a dataset: a person who was
taken away stays in their blocks, because what was spent about these stays spent. The pairs of a population are those of
all its datasets. Memory is bounded: people are worked through range by range of their hashes.
"""

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.files.durable import immutable_file
from holder_service.records.staging import StagedFile
from shared.contract.blocks import BlockDomain
from shared.contract.schema import Schema

_STEP: Final = 2**20
"""So many people of each file, about, are in memory at once."""
_COPIED_BYTES: Final = 2**20
ENDING: Final = ".blocks"
"""What the name of a file of pairs has behind the name of the dataset's file of people."""

_Hashes = npt.NDArray[np.uint64]
_Numbers = npt.NDArray[np.int64]


class TooManyBlocks(Exception):
    """People of new records would be in more blocks than one person may be.

    Attributes:
        records: The places of these records in the file, from 0, ascending.
    """

    def __init__(self, records: _Numbers) -> None:
        super().__init__("People would be in more blocks than one person may be.")
        self.records = records


@dataclass(frozen=True, slots=True)
class _Pairs:
    """People and blocks, shape (pairs,) each; mapped. Those of a dataset are sorted by person, new ones are not."""

    people: _Hashes
    blocks: _Numbers

    @classmethod
    def open(cls, path: Path) -> "_Pairs":
        if not path.stat().st_size:
            return cls(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
        words = np.memmap(path, dtype=np.uint64, mode="r").reshape(2, -1)
        return cls(words[0], words[1].view(np.int64))

    def between(self, low: int, high: int) -> tuple[_Hashes, _Numbers]:
        """Those of people whose hash is at least `low` and below `high`."""
        start = int(np.searchsorted(self.people, np.uint64(low)))
        end = len(self.people) if high >= 2**64 else int(np.searchsorted(self.people, np.uint64(high)))
        return self.people[start:end], self.blocks[start:end]


def write_new(schema: Schema, domain: BlockDomain, staged: StagedFile, path: Path) -> None:
    """Write the person and the block of each new record, in file order: first all hashes, then all blocks."""
    values = staged.values[[column.name for column in schema.columns].index(domain.column)]
    with path.open("wb") as file:
        np.asarray(staged.keys.hashes).tofile(file)
        for start in range(0, len(values), _STEP):
            values[start : start + _STEP].astype(np.int64).tofile(file)


def join_blocks(new: Path, own: Path | None, others: Sequence[Path], destination: Path, *, per_person_max: int) -> None:
    """Check new records against everybody's earlier blocks, and write a dataset's pairs with the new ones.

    Args:
        new: What `write_new` left.
        own: The dataset's earlier pairs.
        others: The pairs of the population's other datasets.
        destination: Where the dataset's pairs appear, whole and durable.
        per_person_max: In how many blocks one person may be.

    Raises:
        TooManyBlocks: Somebody would be in more; nothing was written.
    """
    added_now = _Pairs.open(new)
    people, blocks = added_now.people, added_now.blocks
    mine = [] if own is None else [_Pairs.open(own)]
    elsewhere = [_Pairs.open(path) for path in others]
    unfit: list[_Numbers] = []
    with immutable_file(destination) as file, tempfile.TemporaryFile(dir=destination.parent) as numbers:
        for low, high in _ranges([len(people), *(len(pairs.people) for pairs in (*mine, *elsewhere))]):
            records = _between(people, low, high)
            added = people[records], blocks[records]
            kept = _distinct([added, *(pairs.between(low, high) for pairs in mine)])
            everywhere = _distinct([kept, *(pairs.between(low, high) for pairs in elsewhere)])
            found, counts = np.unique(everywhere[0], return_counts=True)
            crowded = found[counts > per_person_max]
            unfit.append(records[np.isin(added[0], crowded)])
            kept[0].tofile(file)
            kept[1].tofile(numbers)
        refused = np.sort(np.concatenate(unfit)) if unfit else np.empty(0, np.int64)
        if len(refused):
            raise TooManyBlocks(refused)
        numbers.seek(0)
        while part := numbers.read(_COPIED_BYTES):
            file.write(part)


def _ranges(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of hashes that hold about `_STEP` people of each file."""
    count = max(max(lengths) // _STEP, 1)
    bounds = [index * 2**64 // count for index in range(count + 1)]
    yield from itertools.pairwise(bounds)


def _between(people: _Hashes, low: int, high: int) -> _Numbers:
    """The places of records whose person's hash is in a range, ascending."""
    found = []
    for start in range(0, len(people), _STEP):
        part = np.asarray(people[start : start + _STEP])
        inside = part >= np.uint64(low)
        if high < 2**64:
            inside &= part < np.uint64(high)
        found.append(start + np.flatnonzero(inside))
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, np.int64)


def _distinct(parts: Sequence[tuple[Any, Any]]) -> tuple[_Hashes, _Numbers]:
    """All pairs of some parts, sorted by person and block, each once."""
    people = np.concatenate([np.asarray(part[0], dtype=np.uint64) for part in parts])
    blocks = np.concatenate([np.asarray(part[1], dtype=np.int64) for part in parts])
    order = np.lexsort((blocks, people))
    people, blocks = people[order], blocks[order]
    first = np.ones(len(people), dtype=bool)
    first[1:] = (people[1:] != people[:-1]) | (blocks[1:] != blocks[:-1])
    return people[first], blocks[first]
