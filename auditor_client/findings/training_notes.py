"""Notes of trainings: for which ratio a kept answer was decided, so that everything can be computed again.

They lie in `trainings/` of the receipts directory, named by their own digest, and say which leaves are favourable: what
a later version's search would find does not change what was written. As with notes of audits
(`auditor_client.findings.notes`), one that was kept reads, and has its name, for ever.
"""

from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.findings.decided_tree import reached_leaves
from auditor_client.findings.notes import NotedReading, SavedNote
from auditor_client.findings.training import Trained, trained
from shared.contract.datasets import DatasetDescription
from shared.kinds.trainings import TrainedTree, TrainingRelease

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.leaf_choices import BoolArray, ChoiceBounds

FORMAT: Final = "pafer-trained/1"


class TrainingNote(SavedNote):
    """A training as it was decided.

    Attributes:
        release: The identity of the answer.
        dataset: The declaration of the people whom it was learned from.
        ratio: The wanted one.
        reading: How the answer was read.
        favourable: The ids of the tree's leaves that decide favourably; none of a score.
        model: The SHA-256 of the model's file, "sha256:<hex>".
    """

    folder: ClassVar[str] = "trainings"

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
