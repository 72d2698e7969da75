"""Kept trainings: the notes of a receipts directory with the answers that they are of."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from auditor_client.audits.training import TrainingResult
from auditor_client.errors import AuditorError, HolderLied, HolderUnavailable, ReceiptsDamaged
from auditor_client.exchange.receipts import KeptAnswer, Receipts
from auditor_client.findings.notes import Notes
from auditor_client.findings.rehearsals import of_dataset
from auditor_client.findings.training_notes import TrainingNote
from shared.kinds.trainings import TrainingRelease


@dataclass(frozen=True, slots=True)
class KeptTraining:
    """A training as it was decided, and its verified answer.

    Attributes:
        note: For which ratio, with which decisions.
        kept: The answer.
    """

    note: TrainingNote
    kept: KeptAnswer[TrainingRelease]

    @property
    def result(self) -> TrainingResult:
        """The model with all that is known of it, computed again."""
        return TrainingResult(self.note.trained(self.kept))


def kept_trainings(
    receipts: Receipts, *, dataset: str | None = None, model: str | None = None
) -> tuple[tuple[KeptTraining, ...], int]:
    """The trainings that a receipts directory has notes of, the earliest first, and how many have no good receipt.

    Of one dataset alone; of one model alone, by the beginning of the digest of its file. Those of rehearsals are among
    them if the rehearsal is named.
    """
    found, unreadable = list[KeptTraining](), 0
    for note in _notes(receipts.directory, dataset, model):
        try:
            found.append(KeptTraining(note, receipts.answer(TrainingRelease, note.release)))
        except (OSError, AuditorError):
            unreadable += 1
    return tuple(sorted(found, key=lambda one: (one.kept.release.created, one.note.ratio, one.note.name))), unreadable


def kept_training(receipts: Receipts, name: str) -> KeptTraining:
    """One of them, by the name of its note.

    Raises:
        ReceiptsDamaged: There is none, or it has no good receipt.
    """
    notes = Notes(receipts.directory, TrainingNote)
    if name not in notes.names():
        raise ReceiptsDamaged("This training is not among the saved ones.")
    note = notes.named(name)
    try:
        return KeptTraining(note, receipts.answer(TrainingRelease, note.release))
    except (OSError, HolderLied, HolderUnavailable) as error:
        raise ReceiptsDamaged(f"The receipt of this training is missing or does not hold: {error}") from error


def _notes(directory: Path, dataset: str | None, model: str | None) -> Iterator[TrainingNote]:
    for note in Notes(directory, TrainingNote).read():
        of_model = model is None or note.model.removeprefix("sha256:").startswith(model.removeprefix("sha256:"))
        if of_model and of_dataset(note.dataset, dataset):
            yield note
