"""Publishes checkpoints of the ledger's log in the background, and has them cosigned by witnesses.

A release never waits for it: its entry is in a checkpoint some seconds after the answer left. The processes of a
holder take turns by a lock on a file, and the published checkpoint is a file of the home.

A ledger that lost entries without a recorded restore, or whose entries were changed, gets no further checkpoint: the
published one is a second anchor. A checkpoint with fewer cosignatures than the published one replaces it only if more
than half of the witnesses cosigned. While none answers, the log therefore ends where it was witnessed last.
"""

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Final

from holder_service.services.ledger.after_commits import AfterCommits
from holder_service.services.ledger.log import LedgerLog
from holder_service.services.ledger.store import LedgerStore
from holder_service.settings.holder import Witness
from holder_service.witnessing.calls import NotCosigned, WitnessCalls
from shared.log.checkpoints import Checkpoint
from shared.log.notes import Signature, SignedNote

PUBLISHED_AGAIN_S: Final = 1.0
"""The shortest time between two checkpoints: many entries in a row are published at once."""
PUBLISHED_AT_LEAST_S: Final = 30.0
"""The longest time until the witnesses are asked again that did not cosign, and entries of other processes found."""
ANSWERED_S: Final = 15.0
"""How long a checkpoint waits for the cosignatures of its witnesses."""
_log = logging.getLogger(__name__)


class LogPublisher:
    """Publishes in a thread that works after each commit and now and then."""

    def __init__(self, store: LedgerStore, log: LedgerLog, witnesses: Sequence[Witness], file: Path) -> None:
        self._store = store
        self._ledger_log = log
        self._witnesses = tuple(witnesses)
        self._lock_file = file.with_name(f"{file.name}.lock")
        self._calls = WitnessCalls()
        self._following = AfterCommits(
            store, self._publish, name="log", again_s=PUBLISHED_AGAIN_S, at_least_s=PUBLISHED_AT_LEAST_S
        )

    def start(self) -> None:
        """Publish now, after each commit of this process, and now and then."""
        self._following.start()

    def close(self) -> None:
        """End; the next process publishes what is not published yet."""
        self._following.close()
        self._calls.close()

    def publish(self) -> None:
        """Publish a checkpoint of the ledger as it is, unless it is published or another process is at it.

        Raises:
            HolderError: The database does not answer, or the signing key is missing.
            OSError: The checkpoint cannot be written.
        """
        with self._alone() as alone:
            if not alone or not self._store.is_anchored():
                return
            before = self._ledger_log.published()
            if before is not None and not self._ledger_log.has(Checkpoint.parse(before.text)):
                _log.error("the ledger lacks entries of its published log")
                return
            checkpoint = self._ledger_log.newest()
            if before is not None and before.text == checkpoint.text and not self._lacking(before):
                return
            note = self._ledger_log.signed(checkpoint)
            cosignatures = self._cosigned(note, before)
            if before is not None and len(cosignatures) < self._required(before):
                return
            self._ledger_log.publish(SignedNote(note.text, (*note.signatures, *cosignatures)))

    def _cosigned(self, note: SignedNote, before: SignedNote | None) -> list[Signature]:
        """The cosignatures of all witnesses who cosign; who already did is not asked again."""
        cosignatures: dict[str, Signature] = {}

        def ask(witness: Witness) -> None:
            cosignature = self._cosignature(witness, note, before)
            if cosignature is not None:
                cosignatures[witness.key.name] = cosignature

        # Daemons: a witness that answers a byte now and then must hold up neither the log nor the process's end.
        threads = [Thread(target=ask, args=(witness,), daemon=True) for witness in self._witnesses]
        for thread in threads:
            thread.start()
        until_s = time.monotonic() + ANSWERED_S
        for thread in threads:
            thread.join(max(until_s - time.monotonic(), 0))
        found = dict(cosignatures)
        return [found[witness.key.name] for witness in self._witnesses if witness.key.name in found]

    def _required(self, before: SignedNote) -> int:
        """How many cosignatures a checkpoint needs to replace one: as many, but at most half of the witnesses."""
        had = sum(any(witness.key.names(one) for one in before.signatures) for witness in self._witnesses)
        return min(had, len(self._witnesses) // 2 + 1)

    def _cosignature(self, witness: Witness, note: SignedNote, before: SignedNote | None) -> Signature | None:
        earlier = None if before is None else next((one for one in before.signatures if witness.key.names(one)), None)
        if before is not None and earlier is not None and before.text == note.text:
            return earlier
        old_size = 0 if before is None or earlier is None else Checkpoint.parse(before.text).size
        try:
            return self._calls.cosign(witness, note, old_size=old_size, consistency=self._ledger_log.consistency)
        except NotCosigned as error:
            _log.warning("witness did not cosign", extra={"witness": witness.key.name, "reason": error.reason})
            return None

    def _lacking(self, note: SignedNote) -> bool:
        """Whether a witness did not cosign a note."""
        return not all(any(witness.key.names(one) for one in note.signatures) for witness in self._witnesses)

    def _publish(self) -> None:
        try:
            self.publish()
        except Exception as error:  # noqa: BLE001 - a damaged ledger must not end the thread that says so
            _log.error("the ledger's log could not be published", extra={"error": type(error).__name__})

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether no other process publishes, and none does in the meantime."""
        lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(lock)
