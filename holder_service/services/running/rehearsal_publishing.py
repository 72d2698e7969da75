"""A rehearsal of a declared dataset is published: its people are invented and loaded, by one call (docs/adr/0052).

Of the dataset that is rehearsed nothing is read but its row: what was declared. Its records, their version and their
number go into nothing here.
"""

import secrets
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from holder_service.domain.errors import Conflict, InvalidRequest
from holder_service.domain.ledger import Balance, Event
from holder_service.records.faults import FAULTS_MAX
from holder_service.records.invented import write_invented
from holder_service.services.datasets.column_jobs import delete_unfit, remove_files
from holder_service.services.datasets.datasets import require_dataset, require_real, require_values, write_words
from holder_service.services.ledger.store import Transaction
from holder_service.services.running.holder import Holder
from holder_service.services.running.loads import load_into
from holder_service.storage import datasets, ledger, metadata
from holder_service.storage.columns import StoredColumn
from holder_service.storage.datasets import Dataset, Population
from shared.contract.metadata import DatasetMetadata
from shared.contract.rehearsals import Rehearsal, RehearsalRequest, rehearsal_name, unlimited
from shared.wire import canonical, limits


class PublishedRehearsal(NamedTuple):
    """A rehearsal as auditors now find it."""

    dataset: str
    rehearsal: Rehearsal
    version: int


def publish(holder: Holder, *, actor: str, name: str, request: RehearsalRequest) -> PublishedRehearsal:
    """Invent the people of a dataset's rehearsal and load them; anew, where there was one.

    Raises:
        NotFound: The dataset does not exist.
        InvalidRequest: The marginals do not fit its declaration.
        Conflict: It is a rehearsal itself; or a dataset of real people has the name that its rehearsal would have.
    """
    with holder.files.in_use():
        dataset, gone = holder.store.commit(lambda transaction: _declare(transaction, actor, name, request))
        remove_files(holder.files, gone)
        if dataset.rehearsal is None:
            raise RuntimeError("A rehearsal was declared as a dataset of real people.")
        file = holder.files.incoming / secrets.token_hex(16)
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            upload = write_invented(file, dataset.schema, dataset.rehearsal)
            version = load_into(
                dataset, holder.store, actor=actor, upload=upload, engine=holder.engine, files=holder.files,
                pace=holder.pace,
            )  # fmt: skip
        finally:
            file.unlink(missing_ok=True)
    holder.wake()
    return PublishedRehearsal(dataset.name, dataset.rehearsal, version)


def _declare(
    transaction: Transaction, actor: str, of: str, request: RehearsalRequest
) -> tuple[Dataset, Sequence[StoredColumn]]:
    """Declare the rehearsal of a dataset as that one is declared; its records are to be loaded."""
    connection = transaction.connection
    real = require_dataset(connection, of)
    require_real(real, "Name the dataset of real people that is to be rehearsed.")
    require_values(real, "It has no rehearsal. Declare a dataset without shares to rehearse on.")
    faults = islice(request.faults(real.schema, records_max=real.records_max), FAULTS_MAX)
    errors = [{"field": path, "detail": why} for path, why in faults]
    if errors:
        raise InvalidRequest(errors[0]["detail"], errors=errors)
    name = _free_name(transaction, real)
    before = datasets.find_dataset(connection, name)
    people_of_real = datasets.find_population(connection, real.population)
    if people_of_real is None:
        raise RuntimeError(f"Dataset {of!r} does not have a population.")
    after = Dataset(
        name=name, population=name, records_max=real.records_max, schema=real.schema, retired=False, version=None,
        version_last=before.version_last if before else 0,
        records_file=before.records_file if before else None,
        people_file=before.people_file if before else None,
        rehearsal=Rehearsal(
            of=of,
            people=request.people or min(limits.INVENTED_PEOPLE_DEFAULT, real.records_max),
            seed=request.seed or secrets.token_hex(16),
            marginals=request.marginals,
        ),
    )  # fmt: skip
    population = Population(name, people_of_real.relation, real.schema.person_key, merged_into=None)
    datasets.put_population(connection, population)
    datasets.put(connection, after)
    _enter(transaction, actor, after, population, ledger.population_balance(connection, real.population))
    gone = () if before is None else delete_unfit(transaction, before, after, actor=actor)
    words = _words(metadata.of_dataset(connection, of), after)
    if words != metadata.of_dataset(connection, name):
        write_words(transaction, actor, after, words)
    return after, gone


def _free_name(transaction: Transaction, real: Dataset) -> str:
    """The name of a dataset's rehearsal, which no real people have."""
    name = rehearsal_name(real.name)
    if len(name) > limits.NAME_CHARACTERS_MAX:
        longest = limits.NAME_CHARACTERS_MAX - len(rehearsal_name(""))
        raise Conflict(
            f"The name {real.name!r} is too long for a rehearsal: a dataset with a rehearsal has at "
            f"most {longest} characters. Declare it under a shorter name."
        )
    taken = datasets.find_dataset(transaction.connection, name)
    people = datasets.every(transaction.connection, population=name)
    population = datasets.find_population(transaction.connection, name)
    known = any(one.rehearsal_of == real.name for one in people)
    if (taken is not None and taken.rehearsal_of != real.name) or (population is not None and not known):
        raise Conflict(
            f"A dataset or population of real people has the name {name!r}, so {real.name!r} cannot "
            "have a rehearsal. Declare the same dataset under another name in the population "
            f"{real.population!r}, and publish a rehearsal of that one."
        )
    return name


def _enter(transaction: Transaction, actor: str, after: Dataset, population: Population, of_real: Balance) -> None:
    """Enter what is declared; the cap adds up what the real people's does, and nothing ever comes to it."""
    cap = Balance(limit=unlimited(of_real.terms))
    transaction.append(
        Event(
            "population", actor, population=population.name, cap=cap,
            detail={"relation": population.relation, "person_key": population.person_key},
        )
    )  # fmt: skip
    schema, rehearsal = after.schema, after.rehearsal
    detail = {
        "schema": canonical.sha256_name(datasets.schema_text(schema).encode()),
        "records_max": after.records_max,
        "version": after.version,
        "rehearsal": rehearsal and canonical.sha256_name(datasets.rehearsal_text(rehearsal).encode()),
    }
    transaction.append(
        Event("dataset", actor, population=population.name, dataset=after.name, cap=cap, detail=detail)
    )  # fmt: skip


def _words(real: DatasetMetadata, rehearsal: Dataset) -> DatasetMetadata:
    """Return what people read of a rehearsal: the real columns' words, and that nobody in it exists."""
    of = rehearsal.rehearsal_of
    title = f"Rehearsal of {real.title or of}: invented people"
    return DatasetMetadata(
        title=title[: limits.TEXT_CHARACTERS_MAX],
        description=f"A rehearsal of the dataset {of}. Nobody in it exists: its people are invented from what is "
        "declared about the real ones, and from nothing else. No figure about them says anything about anybody.",
        source=f"Invented from the declaration of {of}",
        contact=real.contact,
        columns=real.columns,
    )  # fmt: skip
