"""The rows that `domain.table_facts` compares with what the ledger's entries say."""

import hashlib
from typing import Any

from sqlalchemy import Connection, select

from holder_service.storage import approvals, columns, datasets, metadata, signing_keys
from holder_service.storage.tables import accounts, api_keys

Row = dict[str, Any]


def rows(connection: Connection) -> dict[tuple[str, str], Row]:
    """By table and key: what each row has in the columns that entries speak of."""
    found: dict[tuple[str, str], Row] = {}
    for account in connection.execute(select(accounts)):
        found["accounts", account.name] = dict(account._mapping)
    for key in connection.execute(select(api_keys)):
        found["api_keys", key.id] = {**key._mapping, "secret_digest": hash_digest(key.secret_hash)}
    for signing_key in signing_keys.every(connection):
        found["signing_keys", signing_key.id] = signing_key.model_dump(mode="json")
    for population in datasets.every_population(connection):
        found["populations", population.name] = {
            name: getattr(population, name) for name in ("relation", "person_key", "merged_into", "approval_days")
        }
    schemas, rehearsals = datasets.schema_digests(connection), datasets.rehearsal_digests(connection)
    for dataset in datasets.every(connection):
        names = ("population", "records_max", "version", "version_last", "records_file", "people_file", "retired")
        found["datasets", dataset.name] = {
            **{name: getattr(dataset, name) for name in names},
            "split_id": dataset.split_id,
            "schema": schemas[dataset.name],
            "rehearsal": rehearsals[dataset.name],
        }
    for name, digest in metadata.digests(connection).items():
        found["dataset_metadata", name] = {"words": digest}
    for identity, column in columns.rows(connection):
        found["derived_columns", identity] = {"id": identity, **column}
    for identity, approval in approvals.rows(connection):
        found["approvals", identity] = approval
    return found


def hash_digest(secret_hash: bytes) -> str:
    """Return what an entry says of the hash that a key is kept by: enough to see that it is another one."""
    return hashlib.sha256(secret_hash).hexdigest()
