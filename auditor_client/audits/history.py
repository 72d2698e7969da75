"""Audits over time: what the kept receipts say of one dataset or one model, computed again (3-estimation §6)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from auditor_client.asking.request import PARITY
from auditor_client.audits.kept_trainings import KeptTraining, kept_trainings
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import finding, stored_answers
from auditor_client.audits.watching import kept_watches
from auditor_client.errors import A_DATA_FRAME, AuditorError, ReceiptsDamaged, needs
from auditor_client.exchange.receipts import Receipts
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.notes import Note, Notes, read_note
from auditor_client.findings.rehearsals import of_dataset
from auditor_client.report.history_data import HistoryData, history_data
from auditor_client.report.json_document import history_document
from auditor_client.report.terminal import history_lines
from auditor_client.report.view import Shown, View
from auditor_client.report.watch_gaps import KeptWatch

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class History(Shown):
    """Kept audits, the earliest first.

    Attributes:
        audits: Each as it would be shown today: the same answer, by the edition of the estimator that its note names.
        trainings: Kept trainings, the earliest first.
        watches: Those whose receipts are kept, with the answers that are.
        unreadable: How many notes have no receipt that can be read; `auditor verify` says more.
    """

    audits: tuple[AuditResult, ...]
    unreadable: int = 0
    trainings: tuple[KeptTraining, ...] = ()
    watches: tuple[KeptWatch, ...] = ()

    def __len__(self) -> int:
        return len(self.audits)

    def __iter__(self) -> Iterator[AuditResult]:
        return iter(self.audits)

    @cached_property
    def view(self) -> View[HistoryData]:
        """One line for each audit and metric, and for each training."""
        kept = [(one.note, one.kept) for one in self.trainings]
        data = partial(history_data, self.audits, kept, self.watches)
        document = partial(history_document, self.audits, self.unreadable, kept, self.watches)
        about = (*(one.question.dataset for one in self.audits), *(one.note.dataset for one in self.trainings))
        return View(about, "Audits over time", "30rem", "history.html.j2", data, history_lines, document)

    def to_frame(self) -> "pd.DataFrame":
        """One row for each audit, table by fewer sensitive columns, and metric, as a pandas DataFrame."""
        with needs(A_DATA_FRAME):
            from auditor_client.audits.frames import history_table  # noqa: PLC0415 - takes a second to import

        return history_table(self.audits)

    def __repr__(self) -> str:
        trainings = f", {len(self.trainings)} trainings" if self.trainings else ""
        words = f"{len(self)} {'audit' if len(self) == 1 else 'audits'}{trainings}"
        return f"<History: {self.view.marked(words)}>"


def stored_history(receipts: Receipts, *, dataset: str | None = None, model: str | None = None) -> History:
    """The audits and trainings that a receipts directory has notes of.

    Of one dataset alone; without a name, of all but rehearsals. Of one model alone: the beginning of its rules' or its
    file's digest, with "sha256:" or without.
    """
    kept, audits, unreadable = kept_answers(receipts), [], 0
    for note in Notes(receipts.directory, Note).read():
        digests = [digest.removeprefix("sha256:") for digest in (note.model.rules, note.model.file) if digest]
        wanted = model is None or any(digest.startswith(model.removeprefix("sha256:")) for digest in digests)
        if not wanted or not of_dataset(note.dataset, dataset):
            continue
        try:
            audits.append(noted_audit(note, kept))
        except AuditorError:
            unreadable += 1
    trainings, lacking = kept_trainings(receipts, dataset=dataset, model=model)
    in_order = tuple(sorted(audits, key=lambda audit: (audit.release.created, audit.metrics)))
    watches = () if model is not None else kept_watches(receipts, dataset)
    return History(in_order, unreadable + lacking, trainings, watches)


def kept_audit(path: Path) -> AuditResult:
    """One kept audit, computed again, by the file of its note or of its receipt.

    Raises:
        ReceiptsDamaged: It is none, its receipt is missing, or the receipt answers several models.
        EstimationRefused, QuestionRefused: The note and its receipt do not fit.
    """
    by_note = path.parent.name == Note.folder
    receipts = Receipts(path.parent.parent if by_note else path.parent)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReceiptsDamaged(f"{path} cannot be read: {error.strerror}. Name a receipt, or its note.") from error
    if by_note:
        notes: tuple[Note, ...] = (read_note(Note, content, path),)
    else:
        notes = tuple(note for note in Notes(receipts.directory, Note).read() if note.release == f"sha256:{path.stem}")
    if not notes:
        raise ReceiptsDamaged(f"No note in {receipts.directory} is of {path.name}: name the receipt of an audit.")
    if len({note.model.rules for note in notes}) > 1:
        files = ", ".join(f"{note.file_name}.json" for note in notes)
        raise ReceiptsDamaged(f"{path.name} answers audits of several models: name one of the notes, {files}.")
    note = max(notes, key=lambda one: PARITY in one.request.metrics)
    return noted_audit(note, kept_answers(receipts))


def noted_audit(note: Note, kept: Callable[[str], StoredAnswer]) -> AuditResult:
    """The audit that a note has, computed again from the kept answers.

    Raises:
        ReceiptsDamaged: Its receipt is missing.
        EstimationRefused, QuestionRefused: The note and its receipt do not fit.
    """
    return finding(note.question(), note.answer(kept), note.reading, about=note.about)


def kept_answers(receipts: Receipts) -> Callable[[str], StoredAnswer]:
    """What finds a kept answer by its release."""
    answers = {stored.release.id: stored for stored in stored_answers(receipts)}

    def kept(release: str) -> StoredAnswer:
        if release in answers:
            return answers[release]
        raise ReceiptsDamaged("A receipt is missing, or its signature does not hold: `auditor verify` says more.")

    return kept
