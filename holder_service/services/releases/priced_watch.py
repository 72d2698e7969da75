"""A watch with its price and its mechanism: all that follows from request and declaration; and how far a verdict is."""

from dataclasses import dataclass, replace
from typing import Self

from holder_service.domain.deadlines import PlanSize, Work, require_bounded, work_ms
from holder_service.domain.verdict_distance import GroupCounts, steps_of, verdict_distance
from holder_service.mechanisms.sparse_vector import SparseVectorMechanism
from holder_service.records.engines import Counts
from holder_service.services.datasets.datasets import encoded_version
from holder_service.services.releases.priced import Miscalibrated, PricedPlan
from holder_service.storage.datasets import Dataset
from shared.contract.blocks import BlockLoss
from shared.contract.relations import NeighbouringRelation
from shared.kinds.releases import AnswerToRequest
from shared.kinds.watches import Watch, WatchNoise, WatchQuote, WatchSet
from shared.privacy.amounts import Loss
from shared.privacy.charges import AccountTerms, Charge
from shared.wire import limits
from shared.wire.problems import InvalidPlan

STEP_ADDITIONS = 1000
"""A small step of the search for the distance takes as long as so many additions of a learner (`PlanSize.added`)."""


@dataclass(frozen=True, slots=True)
class PricedWatch:
    """A valid watch with its price and noise; it does not depend on the records.

    Attributes:
        asked: Of the auditor.
        plan: The counts that each answer rests on; they leave in no form.
        mechanism: Says of each version's distance whether it has come to the margin.

    Raises:
        Miscalibrated: All answers together cost something else than the watch names.
    """

    asked: Watch
    plan: PricedPlan
    mechanism: SparseVectorMechanism

    def __post_init__(self) -> None:
        if self.mechanism.loss != self.asked.charge:
            raise Miscalibrated(f"Noise of a loss of {self.mechanism.loss} would be charged {self.asked.charge}.")

    @classmethod
    def of(
        cls,
        watch: Watch,
        dataset: Dataset,
        relation: NeighbouringRelation,
        *,
        terms: AccountTerms,
        set_with: WatchNoise | None = None,
    ) -> Self:
        """Check a watch against the dataset's columns, and calibrate its noise: that of new watches, or as it was set.

        Raises:
            PlanRefused: It does not fit the columns, one person may be in both of its cells, or it compares too few
                groups or too many.
            TooLarge: Counting for it would take too long.
        """
        if dataset.schema.block_domain is not None:
            raise InvalidPlan(
                "This dataset adds up losses by block of people, and a watch answers about people of blocks that are "
                "not declared yet. Ask with plans about the blocks that you mean.",
                "watch",
            )
        watch.check(dataset.schema)
        if dataset.schema.shares is not None:
            raise InvalidPlan(
                "This dataset does not offer watches: it holds shares, and no half of a count says how far a verdict "
                "is. Request counts of each version with a plan.",
                "verdict",
            )
        plan = PricedPlan.of(watch.counted(), dataset, relation, terms=terms)
        if len(plan.batches[0].classes) != 1:
            raise InvalidPlan(
                "The rules do not exclude that one person is in both cells. Change the rules of one cell "
                "so that they exclude those of the other.",
                "unfavourable",
            )
        if not 2 <= len(plan.groups) <= limits.GROUPS_PER_WATCH_MAX:
            raise InvalidPlan(
                f"A watch compares 2 to {limits.GROUPS_PER_WATCH_MAX} groups, and these columns make "
                f"{len(plan.groups)}. Name other columns.",
                "sensitive",
            )
        is_new = set_with is None or set_with.is_one_sided
        calibrated = SparseVectorMechanism.calibrated if is_new else SparseVectorMechanism.two_sided
        mechanism = calibrated(
            epsilon_nano=watch.charge.epsilon_nano, sensitivity=_sensitivity(relation, len(plan.groups))
        )
        priced = cls(watch, plan, mechanism)
        require_bounded(priced.size, records_max=dataset.records_max)
        return priced

    @property
    def dataset(self) -> Dataset:
        """What it is about."""
        return self.plan.dataset

    @property
    def relation(self) -> NeighbouringRelation:
        """Of the people that the dataset is about."""
        return self.plan.relation

    @property
    def charge(self) -> Loss:
        """What all of its answers cost together, in the terms of the account: of pure ε."""
        return Charge.pure(self.asked.charge.epsilon_nano).entered(self.terms)

    @property
    def terms(self) -> AccountTerms:
        """Of those people's account."""
        return self.plan.terms

    @property
    def block_losses(self) -> tuple[BlockLoss, ...]:
        """Nothing: a dataset with blocks has no watches."""
        return ()

    @property
    def refined(self) -> None:
        """Nothing: a watch is asked as a whole."""

    @property
    def sensitivity(self) -> int:
        """By how many people one person moves the distance at most."""
        return _sensitivity(self.relation, len(self.plan.groups))

    @property
    def size(self) -> PlanSize:
        """What the time of each answer follows from."""
        steps = steps_of(len(self.plan.groups), self.dataset.records_max)
        return replace(self.plan.size, added=self.plan.size.added + STEP_ADDITIONS * steps)

    @property
    def learns(self) -> bool:
        """False: the search for the distance is part of the counting."""
        return False

    def draw_noise(self) -> tuple[PlanSize, ...]:
        """Draw the noise of setting it and of one answer, and return its size."""
        self.mechanism.answered(self.mechanism.begun(self.asked.margin), 0)
        return (self.size,)

    def work_ms(self, factors: Work) -> Work:
        """How long setting it, or an answer of it, is supposed to take at most, part by part, in milliseconds."""
        return work_ms(self.size, records_max=self.dataset.people_max, factors=factors)

    def quote(self, version: int | None) -> WatchQuote:
        """Return what its quote says."""
        return WatchQuote(
            dataset=self.dataset.name, version=version, relation=self.relation.name, charge=self.charge,
            groups=self.plan.groups, sensitivity=self.sensitivity, noise=self.mechanism.noise,
        )  # fmt: skip

    def answer(self, head: AnswerToRequest, engine: Counts) -> WatchSet:
        """That it is set: nothing is counted for that."""
        return WatchSet(
            **dict(head),
            watch=self.asked,
            groups=self.plan.groups,
            sensitivity=self.sensitivity,
            noise=self.mechanism.noise,
        )

    def distance(self, engine: Counts) -> int:
        """Return how many people lie between the records and the other verdict: at most 0 where it is the other one.

        A true number: it goes into the mechanism and nowhere else.

        Raises:
            Unavailable, VersionGone: The records cannot be read.
        """
        [batch] = self.plan.batches
        counts = engine.count(encoded_version(self.dataset), batch.batch.cells, batch.classes, self.asked.sensitive)
        accepted, refused = counts.reveal_to_mechanism().tolist()
        groups = [GroupCounts(*one) for one in zip(accepted, refused, strict=True)]
        found = verdict_distance(groups, threshold_nano=self.asked.threshold, people_max=self.dataset.records_max)
        return found if self.asked.verdict == "meets" else 1 - found


def _sensitivity(relation: NeighbouringRelation, groups: int) -> int:
    """One person who comes or goes moves the distance by 1; who changes is one who goes and one who comes."""
    return relation.counts_that_change(groups, moved=True)
