"""The restore drill: a back-up is restored into a folder that goes again, and everything in it is verified.

The live holder is not touched, nor the back-up. What is said of it is public: no size, no count of people.
"""

import tempfile
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from holder_service.domain.errors import HolderError, Unavailable
from holder_service.files.private import OpenHome, keep_new_files_private, require_closed
from holder_service.files.set_up_errors import SetUpError
from holder_service.records import person_blocks
from holder_service.records.encoded import OtherEncoding, Records
from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.running.backup import (
    DATABASE,
    LIST,
    REVISION_WITHOUT_LIST,
    BackUp,
    faults,
    read_list,
    restore,
)
from holder_service.services.running.holder import Holder
from holder_service.settings.holder import Settings
from holder_service.storage import columns, datasets, ledger
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Database
from shared.kinds.releases import LedgerPosition

NO_LIST: Final = (
    "It was made by version 0.1, which kept no list of files: damage to records that still can be opened is not found."
)


@dataclass(frozen=True, slots=True)
class RestoreDrill:
    """What restoring a back-up showed.

    Attributes:
        made: When it was begun; None without a list.
        version: Of the program that made it.
        entries: The number of the newest entry in it.
        signing_keys: The ids of the private keys in it.
        datasets: The datasets that are not retired, and the version of each one's records.
        load_again: Of them those whose records another version encoded, so that this one cannot count them.
        faults: All that is wrong.
        remarks: What could not be verified.
    """

    made: datetime | None = None
    version: str | None = None
    entries: int | None = None
    head: str | None = None
    signing_keys: tuple[str, ...] = ()
    datasets: dict[str, int] = field(default_factory=dict)
    load_again: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def drill(folder: Path, *, now: datetime, max_age: timedelta | None = None) -> RestoreDrill:
    """Restore a back-up into a folder for temporary files (`TMPDIR`), verify it there, and take the folder away.

    Args:
        max_age: It is a fault if the back-up is older.

    Raises:
        Conflict: Its list cannot be read.
    """
    keep_new_files_private()
    listed = read_list(folder)
    shown = _listed(listed)
    found = [] if listed is None else faults(folder, listed)
    try:
        require_closed(folder)
    except OpenHome as error:
        found.append(str(error).rstrip("."))
    if max_age is not None and (listed is None or now - listed.made > max_age):
        found.append(f"it is older than {max_age // timedelta(hours=1)} hours")
    if not (folder / DATABASE).is_file() and listed is None:
        found.append(f"{DATABASE} is missing")
    if found:
        return replace(shown, faults=tuple(found))
    with tempfile.TemporaryDirectory(prefix="pafer-drill-") as scratch:
        home = Path(scratch) / "home"
        settings = Settings(home, f"sqlite:///{home / DATABASE}", Path(scratch) / "anchor")
        try:
            if restore(folder, settings) != REVISION_WITHOUT_LIST and listed is None:
                return RestoreDrill(faults=(f"{LIST} is missing",))
            return _verified(settings, shown, listed)
        except (HolderError, SetUpError) as error:
            return replace(shown, faults=(_outside(str(error), scratch),))


def _listed(listed: BackUp | None) -> RestoreDrill:
    if listed is None:
        return RestoreDrill(remarks=(NO_LIST,))
    return RestoreDrill(made=listed.made, version=listed.version)


def _verified(settings: Settings, shown: RestoreDrill, listed: BackUp | None) -> RestoreDrill:
    """Open the restored holder, with an anchor of its newest entry, and verify all that it has."""
    head = _head(settings)
    Anchor(settings.anchor).create(head)
    with closing(Holder.open(settings)) as holder:
        found = []
        ledger_found = ledger_reading.verify(holder.store, seals=holder.seals)
        if not ledger_found.intact:
            found.append(f"the ledger is broken at entry {ledger_found.broken_at}: {ledger_found.reason}")
        if listed is not None and listed.ledger != head:
            found.append("the database ends at another entry than the list says")
        keys = tuple(holder.signing.folder.ids())
        for key in keys:
            holder.signing.folder.load(key)
        offered = [one for one in holder.store.look_up(datasets.every) if not one.retired]
        found += _missing_files(holder)
        on_a_cluster = settings.spark_folder.exists()
        load_again, damaged = ([], []) if on_a_cluster else _opened(settings, offered)
        found += damaged
    remarks = ("Its records are in the cluster's store, which has a back-up of its own.",) if on_a_cluster else ()
    return replace(
        shown, entries=head.sequence, head=head.hash, signing_keys=keys,
        datasets={one.name: one.version for one in offered if one.version is not None},
        load_again=tuple(load_again), faults=tuple(found), remarks=shown.remarks + remarks,
    )  # fmt: skip


def _head(settings: Settings) -> LedgerPosition:
    with closing(Database(settings.database_url)) as database, database.read() as connection:
        return ledger.head(connection)


def _missing_files(holder: Holder) -> list[str]:
    """Return what the database names and the back-up lacks; values of derived columns are made again."""
    settings, missing = holder.settings, []
    for one in holder.store.look_up(datasets.every):
        wanted = [(settings.people, one.people_file)]
        if one.blocks is not None and one.people_file is not None:
            wanted.append((settings.people, one.people_file + person_blocks.ENDING))
        if one.version is not None:
            wanted.append((settings.records, one.records_file))
        missing += [
            f"the {folder.name} of {one.name} are missing"
            for folder, name in wanted
            if name and not (folder / name).exists()
        ]
    with holder.store.database.read() as connection:
        linked = columns.linked_files(connection)
    missing += [f"the linked values of {name} are missing" for name in linked if not (settings.linked / name).exists()]
    return missing


def _opened(settings: Settings, offered: list[datasets.Dataset]) -> tuple[list[str], list[str]]:
    """Return which datasets' records were encoded by another version, and which are damaged."""
    load_again, damaged = [], []
    for one in offered:
        if one.version is None or one.records_file is None or not (settings.records / one.records_file).exists():
            continue
        try:
            Records.open(settings.records / one.records_file, one.schema)
        except OtherEncoding:
            load_again.append(one.name)
        except Unavailable:
            damaged.append(f"the records of {one.name} are damaged")
    return load_again, damaged


def _outside(text: str, scratch: str) -> str:
    """A text without the folder that is gone by the time it is read."""
    return text.replace(f"{scratch}/home/", "").replace(f"{scratch}/", "").rstrip(".")
