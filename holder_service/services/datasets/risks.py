"""`holder risk`: how few people stand behind a declaration; exact, so for the holder's own machine alone.

The counts go to whoever asked and nowhere else: no entry, log or metric has them. A file that is not loaded yet is
encoded into a folder that goes with the work on it, as `load --check` does.
"""

import tempfile
from pathlib import Path

from holder_service.domain.errors import Conflict, NoRecords
from holder_service.records.encoded import Records, load_records
from holder_service.records.engines import Engine
from holder_service.records.formats import Upload
from holder_service.records.local_engine import LocalEngine
from holder_service.records.options import RiskOptions
from holder_service.records.risk import Risk, risk_of
from holder_service.services.datasets.datasets import encoded_version, require_values
from holder_service.storage.datasets import Dataset
from shared.contract.schema import Schema


def risk_of_loaded(dataset: Dataset, engine: Engine, options: RiskOptions) -> Risk:
    """Look at the loaded records of a dataset.

    Raises:
        NoRecords: Nothing is loaded.
        Conflict: The records are on a cluster, which gives nobody single records; or they are shares.
        InvalidRequest: The options do not fit the dataset.
    """
    require_values(dataset, "Look at the register before it is split (--declaration, --records).")
    if dataset.version is None:
        raise NoRecords(
            f"The records of dataset {dataset.name!r} are not loaded. Give the file that you want to load (--records)."
        )
    if not isinstance(engine, LocalEngine):
        raise Conflict(
            "The records are on a cluster, which does not return records. Give the loaded file, or a "
            "part of it (--records)."
        )
    return risk_of(engine.records_of(encoded_version(dataset)), options)


def risk_of_file(
    upload: Upload, schema: Schema, records_max: int, options: RiskOptions, *, folder: Path | None
) -> Risk:
    """Look at a file of records before it is loaded; nothing of it is kept.

    Args:
        upload: The file.
        schema: The declared columns.
        records_max: How many people the declaration admits.
        options: What is asked.
        folder: Where the work on it is done, and swept away if this process is killed; `None` for the system's own.

    Raises:
        InvalidRecords: The file does not fit the declaration.
        InvalidRequest: The options do not fit the declaration.
        Conflict: The declaration is of shares.
    """
    if schema.shares is not None:
        raise Conflict("A file of shares has no sensitive values: give the register, and a declaration without shares.")
    with tempfile.TemporaryDirectory(dir=folder, prefix="holder-risk-", ignore_cleanup_errors=True) as name:
        encoded = Path(name) / "encoded"
        load_records(upload.path, upload.media_type, schema, records_max, encoded, form=upload.form)
        return risk_of(Records.open(encoded, schema), options)
