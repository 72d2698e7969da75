"""A plan with its price and its noise: all of a release that follows from plan and declaration, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from holder_service.domain.block_charges import block_losses, blocks_of_classes
from holder_service.domain.deadlines import PlanSize, Work, require_bounded, work_ms
from holder_service.domain.errors import Conflict
from holder_service.domain.pricing import BatchPrice, entered, price
from holder_service.mechanisms.base import Mechanism, noisy_words
from holder_service.mechanisms.calibration import mechanism_of
from holder_service.mechanisms.refining import refined as refined_mechanism
from holder_service.records.engines import Counts
from holder_service.records.shares import words_per_person
from holder_service.services.datasets.datasets import encoded_version
from holder_service.services.releases.refining import Refined
from holder_service.storage.columns import StoredColumn
from holder_service.storage.datasets import Dataset
from shared.contract.blocks import BlockDomain, BlockLoss, largest
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell
from shared.contract.schema import Group, Schema
from shared.kinds.plans import BatchQuote, Plan, Quote
from shared.kinds.refining import require_refines
from shared.kinds.releases import Answer, AnswerToRequest, ReleasedBatch, ReleasedCell
from shared.privacy.amounts import NO_LOSS, Loss, format_nano
from shared.privacy.charges import AccountTerms, Charge
from shared.scores.columns import extended
from shared.wire.problems import InvalidPlan


class Miscalibrated(RuntimeError):
    """A mechanism costs something else than is charged for it: a fault of the holder's, so nothing is answered."""


@dataclass(frozen=True, slots=True)
class PricedBatch(BatchPrice):
    """What one batch costs, and the mechanism that answers each class of its cells.

    Attributes:
        mechanism: Calibrated to the loss that the batch names: its own, with all that it refines.
        counted_groups: The groups that are counted: `None` for all.

    Raises:
        Miscalibrated: The mechanism's own loss is not what the batch names.
    """

    mechanism: Mechanism
    counted_groups: tuple[Group, ...] | None

    @property
    def charge(self) -> Charge:
        """What it is charged over all of its classes: in ρ each class by the noise that it gets, once."""
        return self.charge_of_class * len(self.classes)

    @property
    def charge_of_class(self) -> Charge:
        """What each of its classes is charged."""
        return Charge(self.loss_of_class if self.batch.rho is None else None, self.mechanism.rho_nano)

    def quoted(self, groups: tuple[Group, ...], terms: AccountTerms) -> BatchQuote:
        """Return what a quote and a release say of it, but for the counts.

        Args:
            groups: Of the plan.
            terms: Of the population's account.
        """
        in_rho = self.charge.entered(terms) if terms.kind == "zcdp" else None
        shown = self.charge.stated or in_rho or NO_LOSS
        return BatchQuote(
            name=self.batch.name,
            epsilon=format_nano(shown.epsilon_nano),
            delta=format_nano(shown.delta_nano),
            rho=None if in_rho is None else format_nano(self.charge.rho_nano),
            composition={"classes": len(self.classes)},
            groups=groups,
            counted_groups=self.counted_groups,
            noise=self.mechanism.noise,
        )

    def __post_init__(self) -> None:
        if self.mechanism.loss != self.batch.loss:
            raise Miscalibrated(f"Noise of a loss of {self.mechanism.loss} would be charged {self.batch.loss}.")


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """A valid plan with its price and noise; it does not depend on the records.

    Attributes:
        asked: Of the auditor.
        dataset: What it is about.
        relation: Of the people that the dataset is about.
        terms: Of those people's account.
        groups: Of the plan's sensitive columns, in their order.
        charge: What the plan costs, whole, in these terms; where it refines a release, what it costs more. Of a dataset
            with blocks, the most that any block loses.
        block_losses: What each block of people loses, by ascending ranges; empty where the dataset has no blocks.
        batches: In the plan's order.
        size: What the deadline follows from.
        columns: The derived columns that the plan names, in its order.
        refined: The release that it refines.
    """

    asked: Plan
    dataset: Dataset
    relation: NeighbouringRelation
    terms: AccountTerms
    groups: tuple[Group, ...]
    charge: Loss
    batches: tuple[PricedBatch, ...]
    size: PlanSize
    columns: tuple[StoredColumn, ...] = ()
    refined: Refined | None = None
    block_losses: tuple[BlockLoss, ...] = ()

    @classmethod
    def of(
        cls,
        plan: Plan,
        dataset: Dataset,
        relation: NeighbouringRelation,
        columns: tuple[StoredColumn, ...] = (),
        refined: Refined | None = None,
        *,
        terms: AccountTerms,
    ) -> Self:
        """Check a plan against the dataset's columns and its derived ones, price it, and calibrate its noise.

        Args:
            plan: Of the auditor; of a size that `require_small` takes.
            dataset: What it is about.
            relation: Of the people that the dataset is about.
            columns: The derived ones that the plan names.
            refined: The release that it refines, about the same version.
            terms: Of those people's account.

        Raises:
            PlanRefused: It does not fit the columns or the account, its price exceeds what an amount can say, or it is
                not what it refines at a larger ε.
            TooLarge: Pricing or counting it would take too long.
            Conflict: The dataset was declared otherwise since the release that it refines.
        """
        schema = _schema(dataset, columns)
        plan.check(schema)
        groups = schema.groups(plan.sensitive)
        if refined is not None:
            _require_sum(terms)
            require_refines(plan, refined.plan)
        cost = price(plan, schema, refined=None if refined is None else refined.plan)
        size = PlanSize.of(
            cost, len(groups), band_cuts=_band_cuts(schema, plan.sensitive), sensitive=plan.sensitive,
            derived={column.definition.column.name for column in columns}, refining=refined is not None,
        )  # fmt: skip
        if schema.shares is not None:
            size = replace(size, shared=words_per_person(schema) * size.classes)
        require_bounded(size, records_max=dataset.records_max)
        batches = tuple(
            PricedBatch(
                one.batch, one.classes, one.loss, one.loss_of_class,
                mechanism_of(one.batch, relation=relation, schema=schema, sensitive=plan.sensitive),
                relation.counted_groups(groups, moved=one.batch.names_sensitive(schema)),
            )
            for one in cost.batches
        )  # fmt: skip
        charge = entered(plan, [batch.charge for batch in batches], terms)
        by_block: tuple[BlockLoss, ...] = ()
        if (domain := dataset.schema.block_domain) is not None:
            by_block = _block_losses(batches, dataset.schema, domain, terms)
            charge = largest(by_block, charge * 0)
        if refined is not None:
            before = cls.of(refined.plan, dataset, relation, columns, terms=terms)
            answered = (
                (one, earlier, earlier.quoted(groups, terms), of_earlier)
                for one, earlier, of_earlier in zip(batches, before.batches, refined.batches, strict=True)
            )
            batches = tuple(_refining(*one) for one in answered)
        return cls(plan, dataset, relation, terms, groups, charge, batches, size, columns, refined, by_block)

    @property
    def learns(self) -> bool:
        """False: counts are all that is taken of the records."""
        return False

    def draw_noise(self) -> tuple[PlanSize, ...]:
        """Draw as much noise as an answer gets, and return the plan's size."""
        for batch in self.batches:
            batch.mechanism.release([0] * (len(batch.batch.cells) * len(self.groups)))
        return (self.size,)

    def work_ms(self, factors: Work) -> Work:
        """Return how long the work on it is supposed to take at most, part by part, in milliseconds."""
        return work_ms(self.size, records_max=self.dataset.people_max, factors=factors)

    def quote(self, version: int | None) -> Quote:
        """Return what its quote says."""
        return Quote(
            dataset=self.dataset.name, version=version, relation=self.relation.name, charge=self.charge,
            blocks=self.dataset.charged_blocks(self.block_losses),
            batches=tuple(batch.quoted(self.groups, self.terms) for batch in self.batches), shares=self.dataset.shares,
        )  # fmt: skip

    def answer(self, head: AnswerToRequest, engine: Counts) -> Answer:
        """Count every batch and add its noise."""
        return Answer(**dict(head), plan=self.asked, batches=self._noisy_batches(engine), shares=self.dataset.shares)

    def _noisy_batches(self, engine: Counts) -> tuple[ReleasedBatch, ...]:
        version = encoded_version(self.dataset, self.columns)
        released = []
        for batch in self.batches:
            cells, groups = batch.batch.cells, len(batch.counted_groups or self.groups)
            true_counts = engine.count(version, cells, batch.classes, self.asked.sensitive)
            counted = true_counts.reveal_to_mechanism()[:, :groups].ravel().tolist()
            if self.dataset.schema.shares is None:
                answered = _cells(cells, "counts", batch.mechanism.release(counted))
            else:
                answered = _cells(cells, "shares", noisy_words(batch.mechanism, counted))
            released.append(ReleasedBatch.of(batch.quoted(self.groups, self.terms), answered))
        return tuple(released)


def _cells(cells: Sequence[Cell], member: str, noisy: Sequence[int | str]) -> tuple[ReleasedCell, ...]:
    """The noisy numbers of some cells, each cell's under the member of its answer."""
    groups = len(noisy) // len(cells)
    return tuple(
        ReleasedCell.model_validate({"id": cell.id, member: tuple(noisy[index * groups : (index + 1) * groups])})
        for index, cell in enumerate(cells)
    )


def _block_losses(
    batches: Sequence[PricedBatch], schema: Schema, domain: BlockDomain, terms: AccountTerms
) -> tuple[BlockLoss, ...]:
    """What a plan's batches lose by block."""
    return block_losses(
        [(one.charge_of_class, blocks_of_classes(one.batch.cells, one.classes, schema, domain)) for one in batches],
        terms,
    )


def _require_sum(terms: AccountTerms) -> None:
    """Refuse to refine where ρ is added up: the difference would be too little (docs/adr/0048-refining.md)."""
    if terms.kind == "zcdp":
        raise InvalidPlan(
            "This population's account adds up rho, and only epsilon accounts support refining. "
            "Request another answer with Gaussian noise, and join both.",
            "refines",
        )


def _refining(batch: PricedBatch, before: PricedBatch, quoted: BatchQuote, answered: ReleasedBatch) -> PricedBatch:
    """A batch that is answered again, finer, and in keeping with what it was answered.

    Args:
        batch: As it is asked now.
        before: As it was asked, priced as it would be today.
        quoted: What would be said of that today.
        answered: What was answered.

    Raises:
        Conflict: Something else was counted then, or with other noise.
    """
    alike = {"cells", "epsilon", "delta"}  # what it cost was less, if it refined another
    if quoted.model_dump(exclude=alike) != answered.model_dump(exclude=alike):
        raise Conflict(
            "The dataset's declaration changed after the release that `refines` names, so its noise is not known "
            "now. Send the request without `refines`."
        )
    answers = tuple(count for cell in answered.cells for count in cell.counts)
    return replace(batch, mechanism=refined_mechanism(batch.mechanism, before.mechanism, answers))


def _band_cuts(schema: Schema, sensitive: Sequence[str]) -> list[int]:
    """Return how often each column is cut whose bands are groups; once more where missing values are a group."""
    columns = [schema.by_name[name] for name in sensitive]
    return [len(column.bands_from) + column.nullable for column in columns if column.bands_from is not None]


def _schema(dataset: Dataset, columns: tuple[StoredColumn, ...]) -> Schema:
    """The declared columns and the derived ones behind them; a name that is declared no derived column has."""
    if not columns:
        return dataset.schema
    try:
        return extended(
            dataset.schema,
            {column.definition.column.name: column.definition.column for column in columns},
            reads={column.definition.column.name: column.definition.reads for column in columns},
        )
    except ValueError:
        raise InvalidPlan(
            "More than one column is a label, and a request has only one. Leave out a derived column that is a label.",
            "columns",
        ) from None
