"""Notes of trainings: for which ratio a kept answer was decided, so that everything can be computed again.

They lie in `trainings/` of the receipts directory, named by their own digest, and say which leaves are favourable: what
a later version's search would find does not change what was written. As with notes of audits
(`auditor_client.findings.notes`), one that was kept reads, and has its name, for ever.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from auditor_client.errors import AuditorError, ReceiptsDamaged
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.findings.decided_tree import reached_leaves
from auditor_client.findings.notes import NotedReading, write_note
from auditor_client.findings.training import Trained, trained
from shared.contract.datasets import DatasetDescription
from shared.kinds.trainings import TrainedTree, TrainingRelease
from shared.wire.canonical import digest

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.leaf_choices import BoolArray, ChoiceBounds

FORMAT: Final = "pafer-trained/1"


class TrainingNote(BaseModel):
    """A training as it was decided.

    Attributes:
        release: The identity of the answer.
        dataset: The declaration of the people whom it was learned from.
        ratio: The wanted one.
        reading: How the answer was read.
        favourable: The ids of the tree's leaves that decide favourably; none of a score.
        model: The SHA-256 of the model's file, "sha256:<hex>".
    """

    model_config = ConfigDict(frozen=True)

    format: Literal["pafer-trained/1"] = FORMAT
    release: str
    dataset: DatasetDescription
    ratio: float
    reading: NotedReading
    favourable: tuple[str, ...]
    model: str

    @classmethod
    def of(cls, one: Trained, model: str) -> Self:
        """The note of a trained model whose file has that digest."""
        return cls(
            release=one.release.id, dataset=one.dataset, ratio=one.wanted, reading=one.reading,
            favourable=_favourable(one), model=model,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The note's digest, "sha256:<hex>"."""
        return digest(self.model_dump(mode="json"))

    @property
    def file_name(self) -> str:
        """What the note's file is called, without its ending."""
        return self.name.removeprefix("sha256:")

    def trained(self, kept: KeptAnswer[TrainingRelease]) -> Trained:
        """The trained model again, with the decisions that the note names.

        Raises:
            QuestionRefused, EstimationRefused: The answer does not fit the note.
        """
        model = kept.release.model
        reached = reached_leaves(model, self.dataset) if isinstance(model, TrainedTree) else {}

        def decided(bounds: "ChoiceBounds") -> "tuple[BoolArray, bool] | None":
            from auditor_client.estimation.fair_choice import taken_before  # noqa: PLC0415 - takes a second to import

            if not isinstance(model, TrainedTree):
                return None
            return taken_before(bounds, [model.leaves[index].cell.id in self.favourable for index in reached])

        return trained(self.dataset, kept, ratio=self.ratio, reading=self.reading, reused=True, search=decided)


def _favourable(one: Trained) -> tuple[str, ...]:
    """The leaves that decide favourably, of those that somebody can come to."""
    model = one.release.model
    if not isinstance(model, TrainedTree):
        return ()
    decided = [leaf.favourable for leaf in (one.tree.leaves if one.tree else one.learned)]
    reached = reached_leaves(model, one.dataset)
    return tuple(model.leaves[index].cell.id for index, favourable in zip(reached, decided, strict=True) if favourable)


def read_training_note(content: bytes, name: Any) -> TrainingNote:
    """A note from its bytes.

    Raises:
        ReceiptsDamaged: They are none.
    """
    try:
        return TrainingNote.model_validate_json(content)
    except (ValidationError, AuditorError) as error:
        raise ReceiptsDamaged(f"The note {name} cannot be read. Restore it from a copy, or remove it.") from error


class TrainingNotes:
    """The notes of trainings in one receipts directory."""

    def __init__(self, receipts: Path) -> None:
        self.directory = receipts / "trainings"

    def keep(self, note: TrainingNote) -> Path:
        """Write a note; the same note is the same file.

        Raises:
            ReceiptsDamaged: It cannot be written.
        """
        return write_note(self.directory / f"{note.file_name}.json", note)

    def read(self) -> tuple[TrainingNote, ...]:
        """All notes, in the order of their names; none where there is no directory yet."""
        return tuple(read_training_note(path.read_bytes(), path) for path in sorted(self.directory.glob("*.json")))
