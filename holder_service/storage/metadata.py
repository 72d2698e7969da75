"""The metadata of datasets: apart from the datasets, because nothing that is priced or counted may follow from them."""

from sqlalchemy import Connection, bindparam, insert, select, update

from holder_service.storage.tables import dataset_metadata
from shared.contract.metadata import DatasetMetadata
from shared.wire import canonical

NOTHING = DatasetMetadata()
_FIND = select(dataset_metadata.c.words).where(dataset_metadata.c.dataset == bindparam("called"))


def of_dataset(connection: Connection, dataset: str) -> DatasetMetadata:
    """Return what is written about a dataset; nothing by default."""
    words = connection.execute(_FIND, {"called": dataset}).scalar()
    return NOTHING if words is None else DatasetMetadata.model_validate_json(words)


def every(connection: Connection) -> dict[str, DatasetMetadata]:
    """Return what is written about each dataset that anything is written about, by its name."""
    rows = connection.execute(select(dataset_metadata))
    return {row.dataset: DatasetMetadata.model_validate_json(row.words) for row in rows}


def put(connection: Connection, dataset: str, metadata: DatasetMetadata) -> str:
    """Keep what is written about a dataset; gives the digest by which an entry names it."""
    words = metadata.text()
    changed = update(dataset_metadata).where(dataset_metadata.c.dataset == dataset).values(words=words)
    if connection.execute(changed).rowcount == 0:
        connection.execute(insert(dataset_metadata), {"dataset": dataset, "words": words})
    return canonical.sha256_name(words.encode())


def digests(connection: Connection) -> dict[str, str]:
    """The digest of what is written about each dataset, as it is kept."""
    return {
        row.dataset: canonical.sha256_name(row.words.encode()) for row in connection.execute(select(dataset_metadata))
    }
