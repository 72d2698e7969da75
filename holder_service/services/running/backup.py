"""A back-up of what a holder cannot do without: database, signing keys, secret, records, derived columns, hashed keys.

It is one folder, laid out as the home is, whatever database the holder has: one on a server is copied into a file, row
by row. The folder's list has the digest of every file, so that damage is found before it is needed (`services.drill`).
Not the anchor: it has to show that a database was rolled back, so it must not be rolled back with it.
"""

import hashlib
import json
import re
import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from holder_service.domain.errors import Conflict, NotFound
from holder_service.files.durable import durable_file
from holder_service.files.private import make_home
from holder_service.keys.watch_seals import WatchSeals
from holder_service.records import person_blocks
from holder_service.services.running.holder import Holder, sealing
from holder_service.settings.holder import Settings
from holder_service.storage import columns, datasets, ledger
from holder_service.storage.copying import copy_rows
from holder_service.storage.database import Database
from shared.kinds.releases import LedgerPosition

DATABASE: Final = "holder.sqlite"
LIST: Final = "backup.json"
REVISION_WITHOUT_LIST: Final = "0001"
"""The tables of version 0.1, whose back-ups have no list; whatever has others and no list lost it, or is a home."""
LAST: Final = "last-backup"
"""The file in the home that says when the last back-ups were made."""
SHOWN_AFTER: Final = timedelta(hours=1)
_NAMED_BY_TIME: Final = "%Y%m%dT%H%M%SZ"
_FAULTS_SAID_MAX: Final = 5


class BackUp(BaseModel):
    """What a back-up is: when it was made, by which version, up to which entry, and the digest of each of its files."""

    model_config = ConfigDict(frozen=True)

    format: Literal["pafer-backup/1"] = "pafer-backup/1"
    made: AwareDatetime
    version: str
    ledger: LedgerPosition
    files: dict[str, str]


def back_up(holder: Holder, folder: Path) -> None:
    """Copy everything into a new folder, laid out as the holder's home is.

    Loads wait meanwhile, so that database and files fit together; releases go on.

    What one left that was killed, of this name or named by the time, is taken away first.

    Raises:
        Conflict: Another one is being made.
        FileExistsError: The folder is there already.
        OSError: Something cannot be copied; no folder is left.
    """
    with holder.files.backing_up() as alone:
        if not alone:
            raise Conflict("Another back-up of this holder is running. Wait until it is complete.")
        if folder.exists():
            raise FileExistsError(17, "already exists; name a new folder", str(folder))
        partial = folder.with_name(f".{folder.name}.partial")
        for left in (partial, *folder.parent.glob(".*Z.partial")):
            if left == partial or _is_named_by_time(left.name[1:].removesuffix(".partial")):
                shutil.rmtree(left, ignore_errors=True)
        _make(holder, folder, partial)


def _make(holder: Holder, folder: Path, partial: Path) -> None:
    made = datetime.now(UTC)
    partial.mkdir(mode=0o700)
    try:
        with holder.files.alone():
            head = _copy_database(holder.store.database, partial / DATABASE)
            named = holder.store.look_up(datasets.files) | holder.store.look_up(columns.files)
            settings = holder.settings
            for source in (settings.records, settings.people, settings.derived, settings.linked):
                (partial / source.name).mkdir()
                for file in source.iterdir() if source.is_dir() else ():
                    if file.name.removesuffix(person_blocks.ENDING) in named:
                        shutil.copy2(file, partial / source.name / file.name)
        shutil.copytree(settings.signing_keys, partial / settings.signing_keys.name)
        for file in (settings.person_secret, settings.watch_secret, settings.spark_folder):
            if file.exists():
                shutil.copy2(file, partial / file.name)
        digests = {name: _digest(partial / name) for name in _files(partial)}
        listed = BackUp(made=made, version=version("pafer"), ledger=head, files=digests)
        with durable_file(partial / LIST) as written:
            written.write(listed.model_dump_json(indent=1).encode())
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _note_time(settings.home, made)


def back_up_into(holder: Holder, folder: Path, *, keep: int) -> Path:
    """Make a back-up in a folder of them, named by the time, and take away all but the newest.

    Raises:
        Conflict: The folder is a back-up or a home itself, or another back-up is being made.
        OSError: Something cannot be copied.
    """
    if _is_one(folder):
        raise Conflict(f"{folder} is itself a back-up or a home. With --keep, name a folder that contains back-ups.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = folder / datetime.now(UTC).strftime(_NAMED_BY_TIME)
    back_up(holder, new)
    for old in _named_by_time(folder)[:-keep]:
        shutil.rmtree(old)
    return new


def newest(folder: Path) -> Path:
    """The newest back-up of a folder of them; a back-up is its own.

    Raises:
        NotFound: It does not exist.
    """
    if _is_one(folder):
        return folder
    found = _named_by_time(folder) if folder.is_dir() else []
    if not found:
        raise NotFound(f"{folder} does not contain a back-up. Name a folder that `holder backup` made.")
    return found[-1]


def read_list(folder: Path) -> BackUp | None:
    """A back-up's list; none has one of version 0.1, or one whose list is lost.

    Raises:
        Conflict: It cannot be read.
    """
    try:
        return BackUp.model_validate_json((folder / LIST).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise Conflict(
            f"{folder / LIST} is damaged, or was written by a later version of this program. Use "
            "another back-up or that version."
        ) from None


def faults(folder: Path, listed: BackUp) -> list[str]:
    """Return which files are not as they were listed."""
    present = _files(folder)
    return [
        f"{name} is {'missing' if name not in present else 'damaged'}"
        for name, digest in sorted(listed.files.items())
        if name not in present or _digest(folder / name) != digest
    ]


def restore(folder: Path, settings: Settings) -> str | None:
    """Put a back-up into an empty home and an empty database, and bring its tables to this version.

    Returns:
        The revision of the tables in the back-up.

    Raises:
        NotFound: It has no database.
        Conflict: Home or database hold something, or files are not as they were listed; nothing was changed.
        OpenHome: The home is open to others.
    """
    listed = read_list(folder)
    found = [] if listed is None else faults(folder, listed)
    if found:
        raise Conflict(f"The back-up is damaged. Nothing was restored. Damage: {'; '.join(found[:_FAULTS_SAID_MAX])}.")
    if not (folder / DATABASE).is_file():
        raise NotFound(f"{folder / DATABASE} does not exist. Name a folder that `holder backup` made.")
    make_home(settings.home)
    if any(path != settings.anchor.absolute() for path in settings.home.absolute().iterdir()):
        raise Conflict(f"{settings.home} is not empty. Move everything except the anchor out of it.")
    _require_empty(settings.database_url)
    for name in _files(folder) if listed is None else listed.files:
        if name not in (DATABASE, LIST):
            (settings.home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, settings.home / name)
    return _restore_database(folder / DATABASE, settings)


def shown_time(home: Path, now: datetime) -> datetime | None:
    """When the last back-up was begun, of those that were begun an hour ago or longer.

    How long one takes depends on how many records there are: so nobody sees when it ended, unless that took an hour.
    """
    times = [made for made in _noted_times(home) if now - made >= SHOWN_AFTER]
    return max(times, default=None)


def _copy_database(source: Database, file: Path) -> LedgerPosition:
    """Copy a database into a new file; gives the newest entry in it."""
    if source.kind == "SQLite":
        source.copy_file(file)
    with closing(Database(f"sqlite:///{file.absolute()}")) as copy:
        if source.kind != "SQLite":
            copy.migrate()
            copy_rows(source, copy)
        with copy.read() as connection:
            return ledger.head(connection)


def _require_empty(url: str) -> None:
    if url.startswith("sqlite:///"):
        if Path(url.removeprefix("sqlite:///")).exists():
            raise Conflict("The database's file already exists. Move it away.")
        return
    with closing(Database(url)) as database:
        if database.revision() is not None:
            raise Conflict("The database is not empty. Set HOLDER_DATABASE_URL to an empty database.")


def _restore_database(copy: Path, settings: Settings) -> str | None:
    on_a_server = not settings.database_url.startswith("sqlite:///")
    file = settings.home / f".{DATABASE}" if on_a_server else Path(settings.database_url.removeprefix("sqlite:///"))
    shutil.copyfile(copy, file)  # without its mode: a back-up may be kept read-only
    with closing(Database(f"sqlite:///{file.absolute()}")) as restored:
        revision = restored.revision()
        WatchSeals.create(settings.watch_secret)  # a back-up of an earlier version has none
        restored.migrate(seal=sealing(WatchSeals.load(settings.watch_secret)))
        if on_a_server:
            with closing(Database(settings.database_url)) as target:
                target.migrate()
                copy_rows(restored, target)
    if on_a_server:
        file.unlink()
    return revision


def _files(folder: Path) -> list[str]:
    """All files of a folder and below, by their paths in it."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"


def _named_by_time(folder: Path) -> list[Path]:
    """The back-ups of a folder that are named by their time, oldest first."""
    return sorted(path for path in folder.iterdir() if _is_named_by_time(path.name))


def _is_named_by_time(name: str) -> bool:
    return re.fullmatch(r"\d{8}T\d{6}Z", name) is not None


def _is_one(folder: Path) -> bool:
    """Whether a folder has what a back-up has, and is none of back-ups."""
    return any((folder / name).exists() for name in (LIST, DATABASE))


def _noted_times(home: Path) -> list[datetime]:
    try:
        return [datetime.fromisoformat(made) for made in json.loads((home / LAST).read_text())]
    except (OSError, ValueError):  # not there, damaged, or written by a user whose files are closed to this one
        return []


def _note_time(home: Path, made: datetime) -> None:
    before = shown_time(home, made)
    times = [made] if before is None else [before, made]
    with durable_file(home / LAST) as file:
        file.write(json.dumps([one.isoformat() for one in times]).encode())
