"""A training before it is asked: settled, and priced (7-training §1)."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from auditor_client.exchange.client_kinds import PricedTraining
from auditor_client.report.rehearsal import charge_words, rehearsal_line
from auditor_client.report.training_data import StepLine, step_line
from auditor_client.tables import Table
from auditor_client.text import loss_words, readable
from shared.contract.datasets import Budget, DatasetDescription
from shared.kinds.trainings import PrivateFairTree, Training, TrainingQuote

_APPROVED_FIRST: Final = (
    "A budget officer of the holder has to approve it before it is answered; until then nothing is charged."
)


@dataclass(frozen=True, repr=False)
class PlannedTraining:
    """A training before it is asked.

    Attributes:
        priced: What would be asked, pinned to a version of the records, with its price and what each part of it buys.
        budget: The auditor's account.
        receipt: Where its answer is, or would be, kept.
    """

    priced: PricedTraining
    budget: Budget
    receipt: Path

    @property
    def dataset(self) -> DatasetDescription:
        """Of whom."""
        return self.priced.context.dataset

    @property
    def training(self) -> Training:
        """What would be asked."""
        return self.priced.request

    @property
    def quote(self) -> TrainingQuote:
        """What the holder would charge."""
        return self.priced.quote

    @property
    def kept(self) -> bool:
        """Whether the answer is kept, so that asking spends nothing."""
        return self.receipt.exists()

    @property
    def fits(self) -> bool:
        """Whether the budget suffices."""
        return self.kept or self.quote.charge.fits_in(self.budget.left)

    @property
    def steps(self) -> tuple[StepLine, ...]:
        """What each part of ε buys, and how large its noise is, in people."""
        by_group = not isinstance(self.training.algorithm, PrivateFairTree)
        return tuple(step_line(step, by_group=by_group) for step in self.quote.steps)

    @property
    def words(self) -> str:
        """What is done next, with its price, in one line."""
        steps = ", ".join(f"{step.name} ε = {step.epsilon}" for step in self.quote.steps)
        return f"Training for {loss_words(self.quote.charge)}: {steps}"

    @cached_property
    def table(self) -> Table:
        """The price, what is left, and what each part of it buys."""
        rehearsal, left = self.dataset.rehearsal, loss_words(self.budget.left)
        balance = "Its answer is kept, so asking again spends nothing." if self.kept else f"{left} is left."
        return Table(
            (
                *([] if rehearsal is None else [rehearsal_line(rehearsal)]),
                f"A training by {self.training.algorithm.name} on {self.dataset.name}, version {self.quote.version}, "
                f"costs {charge_words(self.quote)}. {'' if rehearsal else balance}".rstrip(),
                *([_APPROVED_FIRST] if self.dataset.approval is not None and not self.kept else []),
                *([] if self.fits else ["That is more than is left: lower epsilon, or ask the holder for more."]),
            ),
            ("Part", "What it buys", "ε", "Scale of the noise"),
            tuple((step.name, str(step.buys), str(step.epsilon), str(step.noise)) for step in self.steps),
        )

    def to_document(self) -> dict[str, Any]:
        """What would be asked, its price and what is left, as JSON values."""
        return {
            "training": self.training.document(),
            "quote": self.quote.model_dump(mode="json", exclude_none=True),
            "kept": self.kept,
            "budget": self.budget.model_dump(mode="json"),
        }

    def __repr__(self) -> str:
        return f"<PlannedTraining: {readable(' '.join(self.table.sentences))}>"

    def _repr_html_(self) -> str:
        return self.table.to_html()
