"""Datasets: declared, opened to be counted, retired (2-privacy §2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from holder_service.domain.declared_blocks import entered_blocks, require_one_block_column, require_promise
from holder_service.domain.errors import (
    AlreadyCharged,
    Conflict,
    InvalidRequest,
    NotFound,
)
from holder_service.domain.ledger import Balance, Event
from holder_service.domain.sensitive_columns import require_one_set
from holder_service.records.engines import DerivedFile, EncodedVersion
from holder_service.records.faults import FAULTS_MAX
from holder_service.records.files import RecordFiles
from holder_service.services.accounts.populations import population_for, record_population, schemas_of, with_cap
from holder_service.services.datasets.column_jobs import delete_unfit, remove_files
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import columns as derived_columns
from holder_service.storage import datasets, ledger, metadata
from holder_service.storage.columns import StoredColumn
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.ledger import AccountState
from shared.contract.datasets import DatasetDeclaration
from shared.contract.metadata import DatasetMetadata
from shared.contract.rehearsals import ENDING, rehearsal_name
from shared.contract.schema import Schema
from shared.privacy.amounts import NANO_PER_UNIT, format_nano
from shared.wire import canonical


def require_dataset(connection: Connection, name: str, *, or_retired: bool = False) -> Dataset:
    """A dataset that is declared, and not retired unless that is allowed.

    Raises:
        NotFound: There is none.
    """
    dataset = datasets.find_dataset(connection, name)
    if dataset is None or (dataset.retired and not or_retired):
        raise no_dataset(name)
    return dataset


def require_state(connection: Connection, name: str, auditor: str, *, or_retired: bool = False) -> AccountState:
    """The same with what its plans are charged against.

    Raises:
        NotFound: As for `require_dataset`.
    """
    state = ledger.account_state(connection, name, auditor)
    if state is None or (state.dataset.retired and not or_retired):
        raise no_dataset(name)
    return state


def no_dataset(name: str) -> NotFound:
    """There is none of that name for whoever asks."""
    return NotFound(f"The dataset {name!r} does not exist. GET /v1/datasets, or `holder admin datasets`, lists them.")


def read_dataset(store: LedgerStore, name: str) -> Dataset:
    """The dataset of a name.

    Raises:
        NotFound: There is none.
    """
    with store.database.read() as connection:
        return require_dataset(connection, name)


def every_dataset(store: LedgerStore) -> list[Dataset]:
    """All datasets that are declared and not retired, by name."""
    with store.database.read() as connection:
        return [dataset for dataset in datasets.every(connection) if not dataset.retired]


@dataclass(frozen=True, slots=True)
class Declared:
    """A dataset as declared, and what about it an administrator ought to think over."""

    dataset: Dataset
    warnings: tuple[str, ...]


def require_values(dataset: Dataset, what: str) -> None:
    """Refuse what no half of the sensitive values can answer.

    Raises:
        Conflict: The dataset holds shares; `what` is a sentence about that.
    """
    if dataset.schema.shares is not None:
        raise Conflict(f"Dataset {dataset.name!r} holds shares: another holder has the other half. {what}")


def require_real(dataset: Dataset, what: str) -> None:
    """Refuse to do with invented people what is for real ones.

    Raises:
        Conflict: The dataset is a rehearsal; `what` is a sentence about rehearsals.
    """
    if dataset.rehearsal is not None:
        raise Conflict(f"Dataset {dataset.name!r} is a rehearsal of {dataset.rehearsal.of!r}. {what}")


def warnings_about(dataset: Dataset, cap: Balance) -> tuple[str, ...]:
    """What is allowed about a dataset and its population's cap, and weakens the promise all the same."""
    if cap.limit.delta_nano * dataset.records_max < NANO_PER_UNIT:
        return ()
    warning = (
        f"The cap's delta, {format_nano(cap.limit.delta_nano)}, is not below 1/records_max "
        f"(1/{dataset.records_max}): with such a delta the guarantee does not exclude that a "
        "person's whole record is revealed. Lower the cap's delta."
    )
    return (warning,)


def declare(
    store: LedgerStore, *, actor: str, name: str, declaration: DatasetDeclaration, files: RecordFiles, sets_cap: bool
) -> Declared:
    """Declare a dataset, or change of it what may change.

    Changed columns or a smaller `records_max` make the loaded records unusable: they have to be loaded
    again, as a new version. Derived columns that follow from what changed go. Metadata that are in the declaration are
    written; without them those stay that fit it.

    Args:
        sets_cap: Whether the actor may set a cap; who may not opens a population without one, of which nothing is
            released until somebody else sets it.

    Raises:
        InvalidRequest: A new population comes without a cap.
        Forbidden: It states another cap than there is, and the actor may set none.
        AlreadyCharged: Relation, person key, kind of account, what a row is, or the population's sensitive columns
            would change after a charge.
        Conflict: It would move to another population, change what its population's other datasets rest on, have
            columns that they contradict, or hold another half than was loaded.
    """

    def work(transaction: Transaction) -> tuple[Declared, Sequence[StoredColumn]]:
        unfit: Sequence[StoredColumn] = ()
        written = metadata.of_dataset(transaction.connection, name)
        before = datasets.find_dataset(transaction.connection, name)
        _require_free_name(name, before)
        population = population_for(transaction, name, declaration, before)
        _require_rows_alike(transaction.connection, declaration.table, before)
        _require_one_half(declaration.table, before)
        record_population(
            transaction, actor, population, with_cap(transaction, population, declaration, sets_cap), name
        )
        schema = declaration.table
        present = schemas_of(transaction.connection, population)
        _require_one_block_column(transaction.connection, population, present, name, schema)
        require_one_set(
            declaration.relation, {**present, name: schema},
            charged=[present] if ledger.was_charged(transaction.connection, population) else [],
        )  # fmt: skip
        after = Dataset(
            name=name, population=population, records_max=declaration.records_max, schema=schema, retired=False,
            version=None, version_last=before.version_last if before else 0,
            records_file=before.records_file if before else None,
            people_file=before.people_file if before else None,
            split_id=before.split_id if before else None,
        )  # fmt: skip
        # The deadline that hides how many records there are is made for `records_max`: there may not be more.
        if (
            before is not None
            and _encoded_alike(before.schema, schema)
            and before.records_max <= declaration.records_max
        ):
            after = replace(after, version=before.version)
        cap = ledger.population_balance(transaction.connection, population)
        require_promise(cap.limit, {name: schema})
        if after != before:
            datasets.put(transaction.connection, after)
            transaction.append(
                Event(
                    "dataset", actor, population=population, dataset=name, cap=cap,
                    detail={
                        "declaration": canonical.digest(declaration.model_dump(mode="json", exclude={"metadata"})),
                        "schema": canonical.sha256_name(datasets.schema_text(schema).encode()),
                        "records_max": after.records_max,
                        "version": after.version,
                        **entered_blocks(after.blocks),
                    },
                )
            )  # fmt: skip
            if before is not None:
                unfit = delete_unfit(transaction, before, after, actor=actor)
        words = written.fitted(schema) if declaration.metadata is None else declaration.metadata
        if words != written:
            write_words(transaction, actor, after, words)
        warnings = (*warnings_about(after, cap), *_named_like_one(after), *_of_rehearsal(transaction.connection, after))
        return Declared(after, warnings), unfit

    with files.in_use():
        declared, gone = store.commit(work)
        remove_files(files, gone)
    return declared


def describe(store: LedgerStore, *, actor: str, name: str, words: DatasetMetadata) -> None:
    """Write the metadata of a dataset anew; nothing else about it changes (docs/adr/0029).

    Raises:
        NotFound: There is no such dataset.
        InvalidRequest: They are about a column or a value that it does not declare.
    """

    def work(transaction: Transaction) -> None:
        dataset = require_dataset(transaction.connection, name)
        errors = [{"field": path, "detail": why} for path, why in islice(words.faults(dataset.schema), FAULTS_MAX)]
        if errors:
            raise InvalidRequest(errors[0]["detail"], errors=errors)
        if words != metadata.of_dataset(transaction.connection, name):
            write_words(transaction, actor, dataset, words)

    store.commit(work)


def metadata_of(store: LedgerStore, name: str) -> DatasetMetadata:
    """What is written about a dataset."""
    return store.look_up(metadata.of_dataset, name)


def titles(store: LedgerStore) -> dict[str, str]:
    """What people read instead of a dataset's name, of those that have a title."""
    return {name: words.title for name, words in store.look_up(metadata.every).items() if words.title}


def retire(store: LedgerStore, *, actor: str, name: str, files: RecordFiles) -> None:
    """Take a dataset, its records and its derived columns away. What was spent stays spent.

    The budget follows the people: the keyed hashes of who they were stay too, so that a population in which they come
    back is found. The dataset's rehearsal is retired with it: its answers can be verified and read for ever, but nobody
    rehearses what cannot be asked.

    Raises:
        NotFound: There is no such dataset.
    """

    def work(transaction: Transaction) -> list[tuple[str | None, Sequence[StoredColumn]]]:
        real = require_dataset(transaction.connection, name)
        rehearsal = _its_rehearsal(transaction.connection, real)
        return [_end(transaction, actor, dataset) for dataset in (real, rehearsal) if dataset is not None]

    with files.in_use():
        for records_file, gone in store.commit(work):
            files.remove(records=records_file)
            remove_files(files, gone)


def _end(transaction: Transaction, actor: str, dataset: Dataset) -> tuple[str | None, Sequence[StoredColumn]]:
    """Enter that a dataset is retired; gives what is to be taken away: its records' file, and its derived columns."""
    gone = derived_columns.of_dataset(transaction.connection, dataset.name)
    for column in gone:
        derived_columns.remove(transaction.connection, column.id)
    datasets.put(transaction.connection, replace(dataset, version=None, records_file=None, retired=True))
    transaction.append(
        Event(
            "retirement", actor, population=dataset.population, dataset=dataset.name,
            cap=ledger.population_balance(transaction.connection, dataset.population),
        )
    )  # fmt: skip
    return dataset.records_file, gone


def encoded_version(dataset: Dataset, columns: Sequence[StoredColumn] = ()) -> EncodedVersion:
    """The current records of a dataset with some of its derived columns, as an engine finds them."""
    derived = tuple(DerivedFile(column.definition.column, str(column.values_file)) for column in columns)
    return EncodedVersion(dataset.name, dataset.records_file, dataset.schema, derived)


def _require_free_name(name: str, before: Dataset | None) -> None:
    """Refuse to declare what is, or could be taken for, a rehearsal; but a dataset that is older than these goes on."""
    if before is not None:
        require_real(before, "It follows from that one's declaration: publish the rehearsal again instead.")
    elif name.endswith(ENDING):
        raise InvalidRequest(f"Names that end in {ENDING!r} are reserved for rehearsals. Choose another name.")


def _require_one_block_column(
    connection: Connection, population: str, present: Mapping[str, Schema], name: str, after: Schema
) -> None:
    """Refuse blocks that the population's other datasets, its records or its charges contradict.

    Raises:
        Conflict: They do.
    """
    loaded = any(one.version_last > 0 for one in datasets.every(connection, population=population))
    fixed = loaded or (bool(present) and ledger.was_charged(connection, population))
    require_one_block_column(present, name, after, fixed=fixed)


def _named_like_one(dataset: Dataset) -> tuple[str, ...]:
    """That real people have the name of a rehearsal, where a dataset is older than these."""
    if not dataset.name.endswith(ENDING):
        return ()
    warning = (
        f"The name {dataset.name!r} looks like that of a rehearsal, but its people are real and "
        "requests are charged. To avoid confusion, declare the same dataset under another name in "
        "the same population, load its records there, and retire this one."
    )
    return (warning,)


def _its_rehearsal(connection: Connection, dataset: Dataset) -> Dataset | None:
    """The rehearsal of a dataset, if one is published."""
    rehearsal = datasets.find_dataset(connection, rehearsal_name(dataset.name))
    if rehearsal is None or rehearsal.retired or rehearsal.rehearsal_of != dataset.name:
        return None
    return rehearsal


def _of_rehearsal(connection: Connection, dataset: Dataset) -> tuple[str, ...]:
    """That a dataset's rehearsal is of an earlier declaration, where it is."""
    rehearsal = _its_rehearsal(connection, dataset)
    if rehearsal is None or (rehearsal.schema, rehearsal.records_max) == (dataset.schema, dataset.records_max):
        return ()
    return (f"The rehearsal {rehearsal.name!r} uses the previous declaration. Publish it again.",)


def write_words(transaction: Transaction, actor: str, dataset: Dataset, words: DatasetMetadata) -> None:
    """Write what people read of a dataset, as an entry."""
    digest = metadata.put(transaction.connection, dataset.name, words)
    cap = ledger.population_balance(transaction.connection, dataset.population)
    transaction.append(
        Event("metadata", actor, population=dataset.population, dataset=dataset.name, cap=cap, detail={"words": digest})
    )


def _encoded_alike(before: Schema, after: Schema) -> bool:
    """Whether records that were loaded for one declaration are as they would be for another."""
    return (before.row_column, before.is_aggregate, before.columns, before.shares) == (
        after.row_column, after.is_aggregate, after.columns, after.shares,
    )  # fmt: skip


def _require_rows_alike(connection: Connection, after: Schema, before: Dataset | None) -> None:
    """Refuse to make an aggregate table of a dataset whose rows were people when it was charged, and the reverse."""
    if before is None or before.schema.is_aggregate == after.is_aggregate:
        return
    if ledger.was_charged(connection, before.population):
        raise AlreadyCharged(
            "Losses were charged, so it is fixed whether a row of this dataset represents one person or several. "
            "Declare another dataset of the same population."
        )


def _require_one_half(after: Schema, before: Dataset | None) -> None:
    """Refuse to make another half, or values, of what was loaded: one place would then have had both."""
    if before is None or before.version_last == 0 or before.schema.shares == after.shares:
        return
    held = "sensitive values" if before.schema.shares is None else f"the half of party {before.schema.shares.party}"
    raise Conflict(
        f"Records of dataset {before.name!r} were loaded with {held}, so `shares` can no longer change. Declare "
        "another dataset, of the same population if the people are the same."
    )
