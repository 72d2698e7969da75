"""Engines: where the encoded records are, and who counts them (6-engines).

A service orders the work and never asks which engine does it. Every engine encodes with the same code
(`records.encoded`) and counts with the same tables (`records.counting`), so for the same records, plan and derived
columns the true counts are equal. What an engine makes has a name, which the database keeps, and in the holder's home
a file of that name (`records.files`): the records themselves, or what leads to them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from holder_service.records.counting import TrueCounts
from holder_service.records.formats import RecordsUrl, Upload
from holder_service.records.progress import Report, unseen
from holder_service.records.scored_chunks import ScoredColumn
from shared.contract.rules import Cell
from shared.contract.schema import Column, Schema


class DerivedFile(NamedTuple):
    """A derived column beside the records, and the name that its values have."""

    column: Column
    name: str


@dataclass(frozen=True, slots=True)
class EncodedVersion:
    """One version of a dataset's records, as an engine finds it again.

    Attributes:
        dataset: Its name.
        name: That of its encoded records; `None` if they were taken away.
        schema: The declared columns.
        derived: The derived columns beside them.
        scored: The scores that are worked out while counting.
    """

    dataset: str
    name: str | None
    schema: Schema
    derived: tuple[DerivedFile, ...] = ()
    scored: tuple[ScoredColumn, ...] = ()


class DerivedValues(NamedTuple):
    """What the values of a derived column are made from.

    Attributes:
        document: The column as its auditor asked for it.
        linked: The name of the file of its linked values; `None` for a score.
        name: What the values are to be called.
    """

    document: str
    linked: str | None
    name: str


class Counts(Protocol):
    """What counts encoded records."""

    def count(
        self, version: EncodedVersion, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
    ) -> TrueCounts:
        """Count, for every cell and group, the people whom the cell matches; see `counting.count_cells`.

        Raises:
            VersionGone: The records were replaced, or a derived column was taken away, just now.
            Unavailable: They cannot be counted now.
        """


class Engine(Counts, Protocol):
    """Where encoded records are, and who counts them; one for each process of a holder."""

    def start(self) -> None:
        """Make ready to work; returns at once. What an engine needs is started when it is used, if it was not here."""

    def close(self) -> None:
        """Break off what can be done again, and let go of everything."""

    def is_ready(self) -> bool:
        """Whether it would count now."""

    def sweep(self) -> int:
        """Take away what is kept elsewhere and no file of the home names; how much that was."""

    def check(self, source: Upload | RecordsUrl, schema: Schema, *, records_max: int, report: Report = unseen) -> None:
        """Check a file as `load` does, and keep nothing.

        Raises:
            InvalidRecords: The file does not fit.
        """

    def load(
        self, source: Upload | RecordsUrl, schema: Schema, *, records_max: int, name: str, report: Report = unseen
    ) -> str | None:
        """Check a file and encode it: all of it, or nothing is left.

        Args:
            source: The file, or files.
            schema: The dataset's declared columns.
            records_max: How many people the dataset admits.
            name: A new name for the encoded records; the caller holds `RecordFiles.in_use`.
            report: Is called with how far it is, as far as the engine knows.

        Returns:
            The id of the split that the file comes from; `None` of a file that holds the sensitive values themselves.

        Raises:
            InvalidRecords: Naming the line or record, the column and what is expected there; never a value, nor how
                many records there are.
        """

    def join(self, name: str, earlier: str | None) -> str:
        """Put the keyed hashes of everybody in new records together with a dataset's earlier ones; they have keys.

        Args:
            name: Of the new records, which `load` has just encoded; the caller holds `RecordFiles.joining`.
            earlier: The name of the earlier hashes.

        Returns:
            The name of all of them, whole and durable.
        """

    def join_blocks(
        self, name: str, people: str, own: Path | None, others: Sequence[Path], *, per_person_max: int
    ) -> None:
        """Put the blocks of everybody in new records together with a dataset's earlier ones, beside its hashes.

        Args:
            name: Of the new records, as for `join`.
            people: The name that `join` gave.
            own: The file of the dataset's earlier blocks.
            others: Those of the population's other datasets.
            per_person_max: In how many blocks one person may be.

        Raises:
            TooManyBlocks: Somebody would be in more.
            Conflict: This engine does not keep people's blocks.
        """

    def forget(self, name: str) -> None:
        """Take away what `load` left for `join`, whatever became of the load."""

    def make_column(self, version: EncodedVersion, values: DerivedValues, *, apart: Callable[..., None]) -> None:
        """Make the values of a derived column: all of them, or nothing is left.

        They are there once the holder's home has a file of their name, whose time is when that was.

        Args:
            version: The records; declared columns.
            values: What they are made from.
            apart: Calls a function of a module in a process of its own, where nothing waits for it.

        Raises:
            Unavailable: They cannot be made now.
        """

    def count_shared(self, one: Sequence[str], other: Sequence[str]) -> int:
        """Return how many people two sets of named hashes have in common.

        Raises:
            FileNotFoundError: One of them is gone.
        """
