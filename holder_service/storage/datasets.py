"""Populations and datasets as declared, and which version of the records is current."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from holder_service.storage.tables import datasets, populations
from shared.contract.blocks import BlockDomain, BlockLoss, ChargedBlocks
from shared.contract.rehearsals import ENDING, Rehearsal
from shared.contract.relations import Relation
from shared.contract.schema import Schema
from shared.contract.shares import Shares
from shared.wire import canonical

_FIND = select(datasets).where(datasets.c.name == bindparam("called"))
_FIND_POPULATION = select(populations).where(populations.c.name == bindparam("called"))


@dataclass(frozen=True, slots=True)
class Population:
    """The people that a budget is about, and the relation in whose terms all its losses are.

    Attributes:
        person_key: `None` as long as all its datasets are aggregate tables.
        approval_days: How long a request that needs an approval stands; `None` where none is needed.
    """

    name: str
    relation: Relation
    person_key: str | None
    merged_into: str | None
    approval_days: int | None = None

    def may_join(self, other: "Population") -> bool:
        """Whether both can be one: in terms of one relation, and of one person key as far as they have any."""
        keys = {self.person_key, other.person_key} - {None}
        return self.relation == other.relation and len(keys) <= 1


@dataclass(frozen=True, slots=True)
class Dataset:
    """A declared dataset.

    Attributes:
        version: Of the records that are loaded now; None before the first load and after a retirement.
        version_last: The highest that ever was; a number never comes back, not even for a recreated dataset.
        records_file: The name of the encoded records' file; without a version it is of no more use, and the next
            load or the retirement takes it away.
        people_file: The name of the file with keyed hashes of everybody who was ever loaded; it outlives a retirement.
        rehearsal: How its people were invented, where they were: nothing about it is charged.
        split_id: The split that its records come from, where they are shares.
    """

    name: str
    population: str
    records_max: int
    schema: Schema
    version: int | None
    version_last: int
    records_file: str | None
    retired: bool
    people_file: str | None = None
    rehearsal: Rehearsal | None = None
    split_id: str | None = None

    @property
    def shares(self) -> Shares | None:
        """Which half of the sensitive values its records are; None where they have the values."""
        if self.schema.shares is None:
            return None
        return Shares(split_id=self.split_id if self.version else None, party=self.schema.shares.party)

    @property
    def rehearsal_of(self) -> str | None:
        """The dataset that it is a rehearsal of; None where its people are real."""
        return None if self.rehearsal is None else self.rehearsal.of

    @property
    def blocks(self) -> BlockDomain | None:
        """The blocks of people by which losses are added up; `None` without them, or where people are invented."""
        return self.schema.block_domain if self.rehearsal is None else None

    def charged_blocks(self, losses: tuple[BlockLoss, ...]) -> ChargedBlocks | None:
        """Return the charges of a request by block, as quotes and releases say them; `None` without blocks."""
        return None if self.blocks is None else self.blocks.described(losses)

    @property
    def people_max(self) -> int:
        """How many people the modelled work allows for: the declared maximum, or as many as were invented."""
        return self.records_max if self.rehearsal is None else self.rehearsal.people


def find_population(connection: Connection, name: str) -> Population | None:
    """The population of a name, if there is one."""
    row = connection.execute(_FIND_POPULATION, {"called": name}).one_or_none()
    return None if row is None else _population_of(row)


def every_population(connection: Connection) -> list[Population]:
    """All populations by name, merged ones included."""
    query = select(populations).order_by(populations.c.name)
    return [_population_of(row) for row in connection.execute(query)]


def _population_of(row: Row[Any]) -> Population:
    # Databases of earlier versions admit no null there, and no column's name is empty.
    return Population(**{**row._mapping, "person_key": row.person_key or None})


def put_population(connection: Connection, population: Population) -> None:
    """Record a population, new or changed."""
    values = {name: getattr(population, name) for name in Population.__slots__}
    values["person_key"] = population.person_key or ""
    if find_population(connection, population.name) is None:
        connection.execute(insert(populations), values)
    else:
        connection.execute(update(populations).where(populations.c.name == population.name), values)


def find_dataset(connection: Connection, name: str) -> Dataset | None:
    """The dataset of a name, retired ones included."""
    row = connection.execute(_FIND, {"called": name}).one_or_none()
    return None if row is None else dataset_of_row(row)


def every(connection: Connection, *, population: str | None = None) -> list[Dataset]:
    """All datasets by name, retired ones included, of one population if it is given."""
    query = select(datasets).order_by(datasets.c.name)
    if population is not None:
        query = query.where(datasets.c.population == population)
    return [dataset_of_row(row) for row in connection.execute(query)]


def files(connection: Connection) -> frozenset[str]:
    """The names of all files that datasets name."""
    query = select(datasets.c.records_file, datasets.c.people_file)
    return frozenset(name for row in connection.execute(query) for name in row if name is not None)


def put(connection: Connection, dataset: Dataset) -> None:
    """Record a dataset, new or changed."""
    values = {name: getattr(dataset, name) for name in Dataset.__slots__}
    values["schema"] = schema_text(dataset.schema)
    values["rehearsal"] = None if dataset.rehearsal is None else rehearsal_text(dataset.rehearsal)
    before = find_dataset(connection, dataset.name)
    if before is None:
        connection.execute(insert(datasets), values)
        return
    if before.schema == dataset.schema:  # a later version may write the same schema in other words; an entry has these
        del values["schema"]
    connection.execute(update(datasets).where(datasets.c.name == dataset.name), values)


def schema_text(schema: Schema) -> str:
    """A declaration's columns as they are kept."""
    return schema.model_dump_json()


def rehearsal_text(rehearsal: Rehearsal) -> str:
    """Return how the people of a rehearsal were invented, as it is kept."""
    return rehearsal.model_dump_json()


def rehearsal_in(connection: Connection, population: str | None) -> str | None:
    """The dataset that a population's people were invented for; None where they are real.

    No other population has a name that ends so, but those that are older than rehearsals.
    """
    if population is None or not population.endswith(ENDING):
        return None
    return next((one.rehearsal_of for one in every(connection, population=population) if one.rehearsal), None)


def rehearsal_digests(connection: Connection) -> dict[str, str | None]:
    """The digest of how the people of each dataset were invented, as that is kept; None where they are real."""
    return {
        row.name: None if row.rehearsal is None else canonical.sha256_name(row.rehearsal.encode())
        for row in connection.execute(select(datasets.c.name, datasets.c.rehearsal))
    }


def schema_digests(connection: Connection) -> dict[str, str]:
    """The digest of each dataset's declared columns, as they are kept."""
    return {
        row.name: canonical.sha256_name(row.schema.encode())
        for row in connection.execute(select(datasets.c.name, datasets.c.schema))
    }


def dataset_of_row(row: Any) -> Dataset:
    """The dataset that a row of the table holds, with or without more columns behind."""
    read = {"schema": _schema(row.schema), "rehearsal": None if row.rehearsal is None else _rehearsal(row.rehearsal)}
    return Dataset(**{**{name: getattr(row, name) for name in Dataset.__slots__}, **read})


@lru_cache(maxsize=256)
def _schema(text: str) -> Schema:
    """Read a stored declaration; kept by its text, because every request needs it and a schema is frozen."""
    return Schema.model_validate_json(text)


@lru_cache(maxsize=256)
def _rehearsal(text: str) -> Rehearsal:
    """Read how people were invented; kept by its text, as a declaration is."""
    return Rehearsal.model_validate_json(text)
