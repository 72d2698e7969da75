"""The kept audits, each computed once for as long as the desk runs: a page cannot wait for all of them."""

import threading
from pathlib import Path
from typing import Final

from auditor_client.audits.history import kept_answers, noted_audit
from auditor_client.audits.result import AuditResult
from auditor_client.errors import AuditorError, ReceiptsDamaged
from auditor_client.exchange.receipts import Receipts
from auditor_client.findings.notes import Note, Notes

_LACKING: Final = "Its receipt is missing or does not fit its note."


class KeptAudits:
    """The audits that a receipts directory has notes of, by the names of their notes."""

    def __init__(self, directory: Path) -> None:
        self.receipts = Receipts(directory)
        self._notes = Notes(directory, Note)
        self._computed: dict[str, AuditResult | str] = {}
        self._lock = threading.Lock()
        self._filling = threading.Event()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all notes."""
        return self._notes.names()

    def audit(self, name: str) -> AuditResult:
        """One audit.

        Raises:
            ReceiptsDamaged: There is no note of that name, or its receipt is missing.
            EstimationRefused, QuestionRefused: The note and its receipt do not fit.
        """
        if name not in self.names:
            raise ReceiptsDamaged("This audit is not among the saved ones.")
        with self._lock:
            found = self._computed.get(name)
        if isinstance(found, AuditResult):
            return found
        note = self._notes.named(name)
        audit = noted_audit(note, kept_answers(self.receipts))
        with self._lock:
            self._computed[name] = audit
        return audit

    def notes_of(self, file: str) -> tuple[Note, ...]:
        """The notes of audits of a model, by the digest of its file."""
        return tuple(note for note in self._notes.read() if note.model.file == file)

    def computed(self) -> tuple[dict[str, AuditResult], dict[str, str], int]:
        """The audits that are computed, the earliest first; why others cannot be; how many are yet to come.

        Those are begun to be computed.
        """
        names = self.names
        with self._lock:
            known = {name: self._computed[name] for name in names if name in self._computed}
        audits = {name: one for name, one in known.items() if isinstance(one, AuditResult)}
        faults = {name: one for name, one in known.items() if isinstance(one, str)}
        missing = [name for name in names if name not in known]
        if missing and not self._filling.is_set():
            self._filling.set()
            threading.Thread(target=self._fill, args=(missing,), daemon=True).start()
        in_order = sorted(audits.items(), key=lambda item: (item[1].release.created, item[1].metrics))
        return dict(in_order), faults, len(missing)

    def _fill(self, names: list[str]) -> None:
        try:
            kept = kept_answers(self.receipts)
            for name in names:
                found: AuditResult | str
                try:
                    found = noted_audit(self._notes.named(name), kept)
                except AuditorError as error:
                    found = str(error) or _LACKING
                with self._lock:
                    self._computed.setdefault(name, found)
        finally:
            self._filling.clear()
