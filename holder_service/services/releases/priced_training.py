"""A training with its price, its steps and their noise: all of a release that follows from request and declaration."""

from dataclasses import dataclass
from typing import Final, Self

from holder_service.domain.deadlines import PlanSize, Work, require_bounded, work_ms
from holder_service.learning.learners import LEARNERS
from holder_service.learning.measuring import LearningStep, Measuring
from holder_service.records.engines import Counts
from holder_service.services.datasets.datasets import encoded_version
from holder_service.services.releases.priced import Miscalibrated
from holder_service.storage.datasets import Dataset
from shared.contract.blocks import BlockLoss
from shared.contract.relations import NeighbouringRelation
from shared.kinds.releases import AnswerToRequest
from shared.kinds.trainings import Training, TrainingAnswer, TrainingQuote
from shared.privacy.amounts import NO_LOSS, Loss, format_nano
from shared.privacy.charges import NO_CHARGE, AccountTerms
from shared.wire import limits
from shared.wire.problems import InvalidPlan

CANDIDATES: Final = 8
"""A node has at least so many, as is supposed when noise is drawn for itself."""


@dataclass(frozen=True, slots=True)
class PricedTraining:
    """A valid training with its price and noise; it does not depend on the records.

    Attributes:
        asked: Of the auditor.
        dataset: What it is about.
        relation: Of the people that the dataset is about.
        terms: Of those people's account.
        steps: In the order in which the learner takes them.

    Raises:
        Miscalibrated: A step's noise costs more than it says, or the steps do not come to what the training costs.
    """

    asked: Training
    dataset: Dataset
    relation: NeighbouringRelation
    steps: tuple[LearningStep, ...]
    terms: AccountTerms

    def __post_init__(self) -> None:
        said = sum((Loss(step.epsilon_nano) for step in self.steps), NO_LOSS)
        if said != self.asked.charge:
            raise Miscalibrated(f"Steps with a loss of {said} would be charged {self.asked.charge}.")
        for step in self.steps:
            if not (
                step.loss(self.relation).fits_in(Loss(step.epsilon_nano))
                and step.rho_nano(self.relation) <= step.charge.rho_nano
            ):
                raise Miscalibrated(f"Step {step.name!r}: noise of a loss of {step.loss(self.relation)} is too little.")

    @classmethod
    def of(cls, training: Training, dataset: Dataset, relation: NeighbouringRelation, *, terms: AccountTerms) -> Self:
        """Check a training against the dataset's columns, divide its ε, and calibrate its noise.

        Raises:
            PlanRefused: It does not fit the columns, or ε is too little for so many steps.
            TooLarge: Counting for it would take too long.
        """
        training.check(dataset.schema)
        if dataset.schema.shares is not None:
            raise InvalidPlan(
                "This dataset does not offer trainings: it holds shares, and a half of a count teaches nothing. "
                "Request counts with a plan.",
                "algorithm",
            )
        if relation.name == "sensitive_attribute":
            raise InvalidPlan(
                "This dataset does not offer trainings: its relation is `sensitive_attribute`, and the "
                "noise of trainings protects whole records. Request counts with a plan.",
                "algorithm",
            )
        steps = LEARNERS[training.algorithm.name].steps(training, dataset.schema)
        _require_epsilon(steps)
        require_bounded(*[step.size for step in steps], records_max=dataset.records_max)
        return cls(training, dataset, relation, steps, terms)

    @property
    def refined(self) -> None:
        """None: a model is learned anew, by other choices."""

    @property
    def charge(self) -> Loss:
        """What the training costs, whole: its steps, added up. In ρ that is less than ε²/2."""
        return sum((step.charge for step in self.steps), NO_CHARGE).entered(self.terms)

    @property
    def block_losses(self) -> tuple[BlockLoss, ...]:
        """Of every declared block, all that the training costs: it learns from everybody."""
        domain = self.dataset.schema.block_domain
        return () if domain is None else domain.everywhere(self.charge)

    @property
    def learns(self) -> bool:
        """True: a learner chooses what is counted next."""
        return True

    def draw_noise(self) -> tuple[PlanSize, ...]:
        """Draw as much noise as all steps get, and return the size of each."""
        for step in self.steps:
            if step.measures == "choices":
                # Of each cell that is scored there is a candidate, and not fewer; all nodes have some.
                choices = step.size.counts["choice"] // CANDIDATES
                step.choice(self.relation).choose([[0] * CANDIDATES] * choices)
            else:
                step.noise(self.relation).release([0] * step.size.counts["laplace"])
        return tuple(step.size for step in self.steps)

    def work_ms(self, factors: Work) -> Work:
        """How long all steps are supposed to take at most, whatever each finds, part by part, in milliseconds."""
        return work_ms(*[step.size for step in self.steps], records_max=self.dataset.people_max, factors=factors)

    def quote(self, version: int | None) -> TrainingQuote:
        """Return what its quote says."""
        return TrainingQuote(
            dataset=self.dataset.name, version=version, relation=self.relation.name, charge=self.charge,
            blocks=self.dataset.charged_blocks(self.block_losses),
            steps=tuple(step.quoted(self.relation) for step in self.steps),
        )  # fmt: skip

    def answer(self, head: AnswerToRequest, engine: Counts) -> TrainingAnswer:
        """Have the learner take its steps, each once."""
        schema = self.dataset.schema
        measuring = Measuring(engine, encoded_version(self.dataset), schema, self.relation, self.steps)
        model, counts = LEARNERS[self.asked.algorithm.name].learn(self.asked, schema, measuring)
        return TrainingAnswer(
            **dict(head), training=self.asked, steps=tuple(step.quoted(self.relation) for step in self.steps),
            model=model, counts=counts,
        )  # fmt: skip


def _require_epsilon(steps: tuple[LearningStep, ...]) -> None:
    """Refuse steps with so little ε that they would find nothing but noise."""
    least = min(step.least_epsilon_nano for step in steps)
    if not least >= limits.STEP_EPSILON_NANO_MIN:
        raise InvalidPlan(
            f"A step of the training would get epsilon {format_nano(least)}; the minimum is "
            f"{format_nano(limits.STEP_EPSILON_NANO_MIN)}. Raise epsilon, divide it differently, or "
            "request fewer steps.",
            "epsilon",
        )
