"""The local engine: encoded records in files of the holder's home, counted by this process."""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from holder_service.domain.errors import InvalidRecords, VersionGone
from holder_service.records import person_blocks
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.records.encoded import Records, encode_column, encode_records
from holder_service.records.engines import DerivedValues, EncodedVersion
from holder_service.records.file_urls import local_path
from holder_service.records.files import RecordFiles
from holder_service.records.formats import RecordsUrl, Upload
from holder_service.records.linked import LinkedValues
from holder_service.records.person_keys import count_shared
from holder_service.records.progress import Report, unseen
from holder_service.records.scoring import score_values
from holder_service.records.sources import files_of
from shared.contract.rules import Cell
from shared.contract.schema import Schema
from shared.scores.columns import DerivedColumn, ScoreOrigin

EXTENDED_MAX: Final = 32
"""So many combinations of a dataset's records with derived columns stay mapped."""
ENDED_AFTER_S: Final = 1.0
"""What a file's time is later than the end of the work on it, so that it has its name by its public time."""


class LocalEngine:
    """Counts files that this process has mapped: one version for each dataset, and some derived columns."""

    def __init__(self, files: RecordFiles) -> None:
        self._files = files
        self._open: dict[str, tuple[str, Records]] = {}
        self._extended: dict[tuple[str | None, ...], Records] = {}

    def start(self) -> None:
        """There is nothing to start."""

    def close(self) -> None:
        """There is nothing to let go of that does not go with the process."""

    def is_ready(self) -> bool:
        """Whether it would count now: always."""
        return True

    def sweep(self) -> int:
        """Everything is in the home."""
        return 0

    def check(self, source: Upload | RecordsUrl, schema: Schema, *, records_max: int, report: Report = unseen) -> None:
        """Encode a file into a folder that goes."""
        upload = _on_this_machine(source)
        self._files.incoming.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._files.incoming, ignore_cleanup_errors=True) as folder:
            encode_records(
                upload, schema, records_max, Path(folder) / "encoded", secret=self._files.secret, report=report
            )

    def load(
        self, source: Upload | RecordsUrl, schema: Schema, *, records_max: int, name: str, report: Report = unseen
    ) -> str | None:
        """Encode a file into one of the home, its hashes into another until they are joined."""
        upload = _on_this_machine(source)
        for folder in (self._files.records, self._files.incoming):
            folder.mkdir(parents=True, exist_ok=True)
        return encode_records(
            upload, schema, records_max, self._files.records / name,
            secret=self._files.secret, hashes=self._hashes(name), report=report,
        )  # fmt: skip

    def join(self, name: str, earlier: str | None) -> str:
        """Join the hashes that `load` left."""
        return self._files.join(self._hashes(name), earlier)

    def join_blocks(
        self, name: str, people: str, own: Path | None, others: Sequence[Path], *, per_person_max: int
    ) -> None:
        """Join the blocks that `load` left."""
        destination = self._files.people / f"{people}{person_blocks.ENDING}"
        person_blocks.join_blocks(self._blocks(name), own, others, destination, per_person_max=per_person_max)

    def forget(self, name: str) -> None:
        """Take the hashes of new records alone away."""
        self._hashes(name).unlink(missing_ok=True)
        self._blocks(name).unlink(missing_ok=True)

    def count(
        self, version: EncodedVersion, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
    ) -> TrueCounts:
        """Count in threads of this process."""
        return count_cells(self.records_of(version), cells, classes, sensitive, version.scored)

    def make_column(self, version: EncodedVersion, values: DerivedValues, *, apart: Callable[..., None]) -> None:
        """Write one more file, in a process of its own."""
        if version.name is None:
            raise VersionGone("The dataset's records were taken away.")
        self._files.derived.mkdir(exist_ok=True)
        apart(
            make_values,
            self._files.records / version.name,
            version.schema,
            values.document,
            None if values.linked is None else self._files.linked / values.linked,
            self._files.derived / values.name,
        )

    def count_shared(self, one: Sequence[str], other: Sequence[str]) -> int:
        """Compare sorted files."""
        return count_shared(*(tuple(self._files.people / name for name in names) for names in (one, other)))

    def records_of(self, version: EncodedVersion) -> Records:
        """The records of a version, with its derived columns.

        Raises:
            VersionGone: They were replaced, or a derived column was taken away, just now.
        """
        if not version.derived:
            return self._declared(version)
        names = version.name, *(one.name for one in version.derived)
        extended = self._extended.get(names)
        if extended is None:
            extended = self._declared(version)
            for column, name in version.derived:
                try:
                    extended = extended.with_column(column, self._files.derived / name)
                except FileNotFoundError:
                    raise VersionGone("A derived column was made anew or taken away just now; ask again.") from None
            if len(self._extended) >= EXTENDED_MAX:
                self._extended.clear()
            self._extended[names] = extended
        return extended

    def _declared(self, version: EncodedVersion) -> Records:
        if version.name is None:
            raise VersionGone("The dataset's records were taken away.")
        held = self._open.get(version.dataset)
        if held is None or held[0] != version.name:
            try:
                held = version.name, Records.open(self._files.records / version.name, version.schema)
            except FileNotFoundError:
                raise VersionGone("The records were replaced by a new version; ask again for that one.") from None
            self._open[version.dataset] = held
        return held[1]

    def _hashes(self, name: str) -> Path:
        return self._files.incoming / f"{name}-hashes"

    def _blocks(self, name: str) -> Path:
        return self._files.incoming / f"{name}-hashes{person_blocks.ENDING}"


def _on_this_machine(source: Upload | RecordsUrl) -> Upload:
    """A file that this process can read as it is.

    Raises:
        InvalidRecords: There is none at the URL, or there are several.
    """
    if isinstance(source, Upload):
        return source
    path, files = local_path(source.url), files_of(source.url)
    if path is None or len(files) != 1:
        raise InvalidRecords(
            "The local engine loads one file of its own machine: name that, or set HOLDER_ENGINE=spark for many."
        )
    return Upload(local_path(files[0].url) or path, files[0].media_type, source.form)


def make_values(records_file: Path, schema: Schema, document: str, linked: Path | None, destination: Path) -> None:
    """Make the file of a derived column's values; done apart.

    The file appears under its name all at once, with the time at which that was.

    Raises:
        FileNotFoundError: The records, or the linked values, were taken away.
    """
    records = Records.open(records_file, schema)
    asked = DerivedColumn.model_validate_json(document)
    unnamed = destination.with_name(f".{destination.name}.unnamed")
    unnamed.unlink(missing_ok=True)
    if linked is not None:
        LinkedValues.open(linked, asked.column).join(records, unnamed)
    elif isinstance(asked.origin, ScoreOrigin):
        encode_column(asked.column, score_values(asked.origin.score, asked.column, records), unnamed)
    ended_s = time.time() + ENDED_AFTER_S
    os.utime(unnamed, (ended_s, ended_s))
    unnamed.replace(destination)
