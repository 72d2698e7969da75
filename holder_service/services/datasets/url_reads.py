"""Files that the holder reads by their URL: the caller did not send them, so the answer says little of them.

Whoever sends a file knows what its lines hold, so errors may name lines and columns. By URL they would answer whatever
the caller asks by a declaration: which people are no "Male", or older than 62. So a caller learns whether everything
fits, and if not how many kinds of error there are. The errors themselves are in a file of the holder's home, for
whoever may read the records anyway. Even one bit is a bit: each read is a ledger entry before a byte is read, and few
reads are made of one root within a day (docs/adr/0062).
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from holder_service.domain.errors import InvalidRecords, InvalidRequest, NotFound
from holder_service.domain.ledger import Event
from holder_service.files.durable import durable_file
from holder_service.records.formats import RecordsUrl
from holder_service.records.progress import Phase, Report
from holder_service.records.sources import admitted
from holder_service.services.datasets.datasets import require_dataset
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.settings.holder import RecordsRoot
from holder_service.storage import datasets, ledger
from shared.wire import canonical

SAVED_MAX: Final = 100
"""Files of errors in the home; the oldest are removed."""


@dataclass(frozen=True, slots=True)
class UrlRead:
    """A read that is entered in the ledger.

    Attributes:
        entry: The number of its ledger entry.
        source: What is read, in the form in which the roots are.
    """

    entry: int
    source: RecordsUrl


def begin(
    store: LedgerStore,
    *,
    actor: str,
    dataset: str,
    source: RecordsUrl,
    check: bool,
    roots: tuple[RecordsRoot, ...],
    per_day: int,
) -> UrlRead:
    """Enter that files at a URL are read for a dataset, before any of them is.

    Args:
        check: Whether they are only checked.
        roots: What the operator allows.
        per_day: How many reads there may be of one root within a day, whoever reads.

    Raises:
        NotFound: There is no such dataset.
        InvalidRequest: The operator does not allow the URL for this dataset.
        Conflict: There were too many reads.
    """

    def work(transaction: Transaction) -> UrlRead:
        found = require_dataset(transaction.connection, dataset)
        url, root = require_admitted(source.url, roots, dataset=dataset)
        transaction.require_few(
            "records-read", subject=root.url, maximum=per_day,
            refusal=f"Files below {root.url} were read {per_day} times within a day, the maximum "
            "(HOLDER_RECORDS_READS_PER_DAY). Load them tomorrow, or send the file.",
        )  # fmt: skip
        detail = {
            "url": url, "check": check, "records_max": found.records_max,
            "schema": canonical.sha256_name(datasets.schema_text(found.schema).encode()),
            "format": source.form.model_dump(mode="json", exclude_defaults=True),
        }  # fmt: skip
        entry = transaction.append(
            Event(
                "records-read", actor, population=found.population, dataset=dataset, subject=root.url,
                cap=ledger.population_balance(transaction.connection, found.population), detail=detail,
            )
        )  # fmt: skip
        return UrlRead(entry.sequence, source._replace(url=url))

    return store.commit(work)


def require_admitted(url: str, roots: tuple[RecordsRoot, ...], *, dataset: str) -> tuple[str, RecordsRoot]:
    """The URL of files that the holder may read for a dataset, and the root that it is under.

    Raises:
        InvalidRequest: The operator allows no such URL.
    """
    own = tuple(root for root in roots if root.dataset in (None, dataset))
    found = admitted(url, own)
    if found is None:
        allowed = (
            "no folder, because HOLDER_RECORDS_ROOTS is empty"
            if not own
            else f"these folders: {', '.join(root.url for root in own)}"
        )
        raise InvalidRequest(f"The holder loads only from {allowed}. Give the URL of a file there, or send the file.")
    return found


@contextmanager
def errors_kept_at_home(read: UrlRead, folder: Path, *, now: datetime) -> Iterator[None]:
    """Write what is wrong with files into a file of the home, and refuse them without a word of it.

    Raises:
        InvalidRecords: The files do not fit; says how many kinds of error there are.
    """
    try:
        yield
    except InvalidRecords as refusal:
        errors = refusal.fields.get("errors") or [{"field": "file", "detail": refusal.detail}]
    except OSError as error:
        errors = [{"field": "file", "detail": f"The file cannot be read: {error.strerror or type(error).__name__}."}]
    else:
        return
    _save(read, folder, errors, now)
    kinds = len({error["detail"] for error in errors})
    raise InvalidRecords(
        f"The files at this URL do not fit the declaration: there {'is' if kinds == 1 else 'are'} {kinds} "
        f"kind{'' if kinds == 1 else 's'} of error. The holder does not tell callers what is in files that they did "
        f"not send. On the holder's machine, run `holder load-errors {read.entry}` to see lines and columns.",
        kinds=kinds, entry=read.entry,
    )  # fmt: skip


def errors_of(folder: Path, entry: int) -> dict[str, Any]:
    """What was wrong with the files of a read, for whoever may read the home.

    Raises:
        NotFound: That read found no error, or its file was removed.
    """
    try:
        found: dict[str, Any] = json.loads((folder / f"{entry}.json").read_bytes())
    except FileNotFoundError:
        kept = ", ".join(map(str, _entries(folder)[-10:])) or "none"
        raise NotFound(
            f"The read in entry {entry} does not have errors. The latest reads with errors: {kept}."
        ) from None
    return found


def without_sizes(report: Report) -> Report:
    """A report that names what a load does and not how much of it is done, which follows from the size of the files."""

    def say(phase: Phase, done: int = 0, of: int = 0) -> None:
        report(phase if phase == "joining-keys" else "reading")

    return say


def wait_for_coarse_time(
    begun_s: float, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] = time.sleep
) -> None:
    """Wait until a power of two of seconds has passed, so that a time tells a size as roughly as that."""
    passed_s, until_s = clock() - begun_s, 1.0
    while until_s < passed_s:
        until_s *= 2
    sleep(until_s - passed_s)


def _save(read: UrlRead, folder: Path, errors: list[dict[str, str]], now: datetime) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    document = {"entry": read.entry, "at": now.isoformat(), "url": read.source.url, "errors": errors}
    with durable_file(folder / f"{read.entry}.json") as file:
        file.write(json.dumps(document, ensure_ascii=False).encode())
    for entry in _entries(folder)[:-SAVED_MAX]:
        (folder / f"{entry}.json").unlink(missing_ok=True)


def _entries(folder: Path) -> list[int]:
    """The reads that have a file of errors, oldest first."""
    return sorted(int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal())
