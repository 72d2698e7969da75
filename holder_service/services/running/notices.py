"""The notices of now, gathered from the ledger, accounts and keys, and the log's lines about them.

A line is written once for each notice: within seconds of the commit that began it, which for a charge is its public
time; of what ends, once more each day. What was written is kept in a file of the home, so that no start writes it
again, and nothing that began while no holder ran is left out. The processes of a holder take turns by a lock on
a file; who dies between a line and the file has the line written once more.
"""

import json
import logging
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from holder_service.domain.errors import HolderError
from holder_service.domain.ledger import Balance, Entry, Kind
from holder_service.domain.notices import EndingKey, LooserLimit, OpenAccount, notices
from holder_service.files.durable import durable_file
from holder_service.records.files import RecordFiles
from holder_service.services.accounts.second_officers import open_proposals
from holder_service.services.ledger.after_commits import AfterCommits
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases import approvals
from holder_service.storage import accounts, datasets, ledger, ledger_views
from holder_service.storage.database import Connection
from holder_service.storage.ledger_views import EntryFilter
from shared.contract.notices import Notice, Thresholds

FILE: Final = "notices.json"
"""The file in the home that says which notices were logged, and on which day last."""
LOOKED_AGAIN_S: Final = 2.0
"""The shortest time between two looks: many charges in a row are looked at once."""
LOOKED_AT_LEAST_S: Final = 600.0
"""The longest: another process may have changed something, and a day begins."""
_log = logging.getLogger(__name__)


def now_of(store: LedgerStore, thresholds: Thresholds) -> tuple[Notice, ...]:
    """All notices of now; none of a rehearsal, or of people about whom every dataset is retired."""
    now = store.clock()
    waiting = approvals.waiting(store)
    with store.database.read() as connection:
        audited = {one.name for one in datasets.every(connection) if not one.retired}
        asked = [one for one in waiting if one.dataset in audited]
        changes = _looser_limits(connection, now - timedelta(days=thresholds.days))
        populations = {one.population for one in datasets.every(connection) if not one.retired}
        proposals = [one for one in open_proposals(connection, now=now) if one.event.population in populations]
        return notices(
            _open_accounts(connection), asked, _ending_keys(connection, now), thresholds, now,
            changes=changes, proposals=proposals,
        )  # fmt: skip


def _open_accounts(connection: Connection) -> list[OpenAccount]:
    asking = {one.name for one in accounts.every(connection) if one.role == "auditor" and not one.disabled}
    audited = {one.population for one in datasets.every(connection) if not one.retired and one.rehearsal is None}
    newest: dict[tuple[str, str | None], Entry] = {}
    newest.update(((name, None), entry) for name, entry in ledger.newest_of_populations(connection).items())
    newest.update((of, entry) for of, entry in ledger.newest_of_accounts(connection).items() if of[1] in asking)
    found = []
    for (name, auditor), entry in sorted(newest.items(), key=lambda one: (one[0][0], one[0][1] or "")):
        if name in audited:
            found.append(OpenAccount(name, auditor, entry, ledger_views.StoredHistory(connection, name, auditor)))
    return found


def _looser_limits(connection: Connection, since: datetime) -> list[LooserLimit]:
    """Return what officers loosened since a time, about people whom audits may be about."""
    audited = {one.population for one in datasets.every(connection) if not one.retired and one.rehearsal is None}

    def entered(kind: Kind) -> list[Entry]:
        found = ledger_views.in_order(connection, EntryFilter(kind=kind, since=since), upto=None)
        return [entry for entry in found if entry.event.population in audited]

    limits = [*entered("cap"), *entered("population")]
    earlier, newest = ledger_views.before_each(connection, limits), ledger.newest_of_populations(connection)
    found = []
    for entry in limits:
        before = earlier[entry.sequence].event.cap if entry.sequence in earlier else None
        found.append(LooserLimit(entry, before or Balance(), newest[entry.event.population or ""]))
    in_force = {entry.event.population: entry for entry in entered("approval-required")}
    found += [LooserLimit(entry, Balance(), entry) for entry in in_force.values()]
    return [one for one in found if one.is_looser]


def _ending_keys(connection: Connection, now: datetime) -> list[EndingKey]:
    closed = {one.name for one in accounts.every(connection) if one.disabled}
    return [
        EndingKey(key.id, key.account, datetime.fromisoformat(key.expires))
        for key in accounts.every_key(connection)
        if key.expires is not None and key.in_force(now) and key.account not in closed
    ]


class NoticeLog:
    """Writes a line for each notice, in a thread that looks after each commit and now and then."""

    def __init__(self, store: LedgerStore, files: RecordFiles, thresholds: Thresholds, home: Path) -> None:
        self._store = store
        self._files = files
        self._thresholds = thresholds
        self._file = home / FILE
        self._following = AfterCommits(
            store, self._look, name="notices", again_s=LOOKED_AGAIN_S, at_least_s=LOOKED_AT_LEAST_S
        )

    def start(self) -> None:
        """Look now, after each commit of this process, and now and then."""
        self._following.start()

    def close(self) -> None:
        """End; the next process finds what is not logged yet."""
        self._following.close()

    def look(self) -> None:
        """Write the lines that are due, unless another process is at it.

        Raises:
            Unavailable: The database does not answer.
            OSError: What was logged cannot be kept.
        """
        with self._files.noticing() as alone:
            if not alone:
                return
            today = self._store.clock().date().isoformat()
            before = self._logged()
            after = {}
            for notice in now_of(self._store, self._thresholds):
                last = before.get(notice.identity)
                if last is None or (notice.is_of_an_end and last != today):
                    _write(notice)
                    last = today
                after[notice.identity] = last
            if after != before:
                with durable_file(self._file) as file:
                    file.write(json.dumps(after).encode())

    def _look(self) -> None:
        try:
            self.look()
        except (OSError, HolderError, KeyError, TypeError, ValueError) as error:  # rows may be damaged
            _log.error("notices could not be logged", extra={"error": type(error).__name__})

    def _logged(self) -> dict[str, str]:
        """The day on which each notice was logged last, by its identity; nothing of a file that is damaged."""
        try:
            found = json.loads(self._file.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _write(notice: Notice) -> None:
    until = None if notice.until is None else notice.until.isoformat(timespec="seconds")
    _log.warning(
        "notice",
        extra={
            "notice": notice.kind, "population": notice.population, "account": notice.account,
            "key_id": notice.key_id, "request": notice.request, "spent_percent": notice.spent_percent, "until": until,
        },
    )  # fmt: skip
