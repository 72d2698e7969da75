"""Plans: what an auditor asks, in canonical form, and the identity that makes a retry free (2-privacy §3).

A *plan* is batches of cells; a *batch* is answered with one mechanism and one parameter. Equal
meaning is one plan: the constructors normalise, and `identity` is the SHA-256 of the canonical bytes
together with auditor, dataset and records version.

**How a plan may grow.** The identity of a plan that was answered makes its retry free, so it never changes
(`tests/contract`): no member changes its name, its meaning or its form, and none is taken out. A new member is
optional, and a plan without it means what it meant before. It has to be None where it has no value: what is None is
left out of the canonical document, and so of the identity. A default that is *filled in*, such as `draw`, is part of
every identity and can neither be added to nor changed.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StrictInt, model_validator

from shared.contract.repeated_predicates import counted, read_alike_once
from shared.contract.rules import Cell, Predicate
from shared.contract.schema import Group, Schema
from shared.contract.shares import Shares
from shared.kinds.quotes import QuoteBase
from shared.kinds.requests import ReleaseRequest
from shared.kinds.summaries import RequestSummary, SummaryFact, SummaryPart, draw_facts
from shared.privacy.amounts import NANO_PER_UNIT, Delta, Epsilon, Loss, Rho
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, Noise
from shared.wire import limits
from shared.wire.problems import InvalidPlan, PlanRefused, TooLarge, UnknownColumn
from shared.wire.request_model import ContractModel, RequestModel
from shared.wire.text import ColumnId, Name, ReleaseId, Text


class Laplace(RequestModel):
    """Ask for discrete Laplace noise: pure ε."""

    name: Literal["laplace"]
    """Which mechanism it is."""


class Gaussian(RequestModel):
    """Ask for discrete Gaussian noise: (ε, δ); or ρ, which the batch then names instead of ε."""

    name: Literal["gaussian"]
    """Which mechanism it is."""
    delta: Delta | None = Field(default=None, exclude_if=lambda delta: delta is None)
    """δ, from 0.000000001 to 0.001, as a decimal string; left out where the batch names ρ."""


class Exponential(RequestModel):
    """Ask for an answer from 0 to `upper`, likelier the nearer it is to the count: pure ε.

    `upper` is public and in people. It is never the true support: that is a count, which nobody may use for nothing.
    """

    name: Literal["exponential"]
    """Which mechanism it is."""
    upper: Annotated[StrictInt, Field(ge=1, le=limits.UPPER_MAX)]
    """The largest answer, in people."""


class RandomisedResponse(RequestModel):
    """Ask for the counts of reported groups, where every person's own was perturbed at its source.

    Nothing is added to the counts and nothing is charged: the loss was spent when the records were collected.
    """

    name: Literal["randomised_response"]
    """Which mechanism it is."""


Mechanism = Annotated[Laplace | Gaussian | Exponential | RandomisedResponse, Field(discriminator="name")]


def mechanism_names(schema: Schema) -> tuple[str, ...]:
    """The mechanisms that a plan about a dataset may name."""
    if schema.shares is not None:
        return ("laplace", "gaussian")
    perturbed = any(column.randomised_response is not None for column in schema.columns)
    return ("laplace", "gaussian", "exponential", *(["randomised_response"] if perturbed else []))


class Batch(RequestModel):
    """Cells that are answered with one mechanism at one ε; randomised response alone has no ε."""

    name: Text
    """Your name for it: the answer names it so. No two batches of a plan share one."""
    mechanism: Mechanism
    """How its counts are made noisy."""
    epsilon: Epsilon | None = None
    """ε of each class of disjoint cells, from 0.001 to 10, as a decimal string; none for randomised response.

    Where the plan refines a release, ε of that answer and this one together.
    """
    rho: Rho | None = Field(default=None, exclude_if=lambda rho: rho is None)
    """Of Gaussian noise instead of ε and δ: ρ of each class of disjoint cells, from 0.000001 to 10, as a decimal
    string. Only where the population's account adds up ρ."""
    cells: tuple[Cell, ...] = Field(min_length=1, max_length=limits.CELLS_PER_PLAN_MAX, fail_fast=True)
    """What is counted: a histogram over the groups for each."""

    @property
    def loss(self) -> Loss:
        """That of one class of disjoint cells, as it is asked for: in ε and δ, or in ρ."""
        if self.rho is not None:
            return Loss.of_rho(self.rho)
        return Loss(self.epsilon or 0, (self.mechanism.delta or 0) if isinstance(self.mechanism, Gaussian) else 0)

    def names_sensitive(self, schema: Schema) -> bool:
        """Whether a rule names a sensitive column, or one that follows from it: a change may move a person then."""
        return any(map(schema.follows_sensitive, self.columns))

    def summary(self) -> SummaryPart:
        """Return what it counts and how, in words."""
        named = self.mechanism.name.replace("_", " ").capitalize()
        upper = f", from 0 to {self.mechanism.upper}" if isinstance(self.mechanism, Exponential) else ""
        facts = [("Mechanism", named + upper)]
        if self.epsilon is not None or self.rho is not None:
            facts.append(("Privacy loss", f"{self.loss.symbols} for each class of disjoint cells"))
        counted_cells = f"{len(self.cells)} {'cell is' if len(self.cells) == 1 else 'cells are'} counted"
        return SummaryPart(self.name, tuple(facts), counted_cells, tuple((cell.id, cell.texts) for cell in self.cells))

    @cached_property
    def predicates(self) -> Sequence[tuple[Predicate, int]]:
        """Each predicate object of its rules once, in reading order, and how often it is there."""
        return counted(rule for cell in self.cells for rule in cell.any_of)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of the columns that its rules compare."""
        return frozenset([predicate.column for predicate, _ in self.predicates])

    def first_with(self, predicate: Predicate) -> int:
        """The index of the first cell that has a predicate, itself and not one that is equal."""
        return next(
            index
            for index, cell in enumerate(self.cells)
            if any(one is predicate for rule in cell.any_of for one in rule.all_of)
        )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if isinstance(self.mechanism, Gaussian):
            self._check_gaussian(self.mechanism)
        elif self.rho is not None:
            raise ValueError(f"Batch {self.name!r}: rho is of the mechanism 'gaussian' alone; name epsilon instead.")
        elif isinstance(self.mechanism, RandomisedResponse) != (self.epsilon is None):
            raise ValueError(
                f"Batch {self.name!r}: mechanism {self.mechanism.name!r} "
                + ("needs epsilon." if self.epsilon is None else "takes no epsilon, because it costs nothing.")
            )
        asked = self.mechanism
        if isinstance(asked, Exponential) and not asked.upper * self.loss.epsilon_nano >= NANO_PER_UNIT:
            raise ValueError(f"Batch {self.name!r}: upper must be at least 1/epsilon, or the answer says nothing.")
        _refuse_repeats((cell.id for cell in self.cells), f"batch {self.name!r} has two cells of one id")
        return self

    def _check_gaussian(self, asked: Gaussian) -> None:
        given = [one is not None for one in (self.epsilon, asked.delta, self.rho)]
        if given not in ([True, True, False], [False, False, True]):
            raise ValueError(
                f"Batch {self.name!r}: mechanism 'gaussian' needs epsilon and its delta, or rho alone instead of both."
            )


class Plan(ReleaseRequest):
    """Everything an auditor asks in one go: charged whole or refused whole."""

    kind: ClassVar[Literal["plan"]] = "plan"
    sensitive: tuple[Text, ...] = Field(min_length=1, max_length=limits.SENSITIVE_COLUMNS_PER_PLAN_MAX, fail_fast=True)
    """The sensitive columns to count by; their values together make the groups."""
    version: Annotated[StrictInt, Field(ge=1, le=limits.INTEGER_MAX)] | None = None
    """The version of the records that is meant; without it the current one."""
    draw: Annotated[StrictInt, Field(ge=1, le=limits.DRAW_MAX)] = 1
    """Another number asks for fresh noise, and is charged again; the same number gets the same answer at no cost."""
    columns: dict[Name, ColumnId] | None = Field(
        default=None,
        min_length=1,
        max_length=limits.DERIVED_COLUMNS_PER_PLAN_MAX,
        exclude_if=lambda columns: columns is None,  # whatever dumps a plan writes what earlier plans were
    )
    """Your derived columns that rules of the plan name: the id of each by its name."""
    refines: ReleaseId | None = Field(
        default=None, examples=["sha256:" + "0" * 64], exclude_if=lambda refines: refines is None
    )
    """The release of yours that this one refines: the same plan at a larger ε, which is what both then cost together.

    All else is that plan's, `draw` included; a batch may keep its ε, and then its answer. A release is refined once, of
    the current version.
    """
    batches: tuple[Batch, ...] = Field(min_length=1, max_length=limits.BATCHES_PER_PLAN_MAX, fail_fast=True)
    """What is asked; the losses of all batches add up."""

    @model_validator(mode="before")
    @classmethod
    def _read_alike_once(cls, data: Any) -> Any:
        if type(data) is not dict or type(data.get("batches")) is not list:
            return data
        return {**data, "batches": read_alike_once(data["batches"])}

    @model_validator(mode="after")
    def _check(self) -> Self:
        _refuse_repeats(self.sensitive, "a sensitive column is named twice")
        _refuse_repeats((batch.name for batch in self.batches), "two batches share a name")
        return self

    @property
    def derived_columns(self) -> Mapping[Name, ColumnId]:
        """The columns that `columns` lists."""
        return self.columns or {}

    def require_small(self) -> None:
        """Refuse a plan with more cells, rules, predicates or values than the public limits.

        Raises:
            TooLarge: Naming the limit.
        """
        cells = rules = predicates = values = 0
        for batch in self.batches:
            cells += len(batch.cells)
            rules += sum(len(cell.any_of) for cell in batch.cells)
            for predicate, times in batch.predicates:
                predicates += times
                values += times * len(predicate.values or ())
        for what, number, limit in (
            ("cells", cells, limits.CELLS_PER_PLAN_MAX),
            ("rules", rules, limits.RULES_PER_PLAN_MAX),
            ("predicates", predicates, limits.PREDICATES_PER_PLAN_MAX),
            ("values", values, limits.VALUES_PER_PLAN_MAX),
        ):
            if number > limit:
                raise TooLarge(what=what, limit=limit)

    def summary(self) -> RequestSummary:
        """Return what it counts, batch by batch."""
        refined = () if self.refines is None else (("Refines the release", self.refines),)
        parts = tuple(batch.summary() for batch in self.batches)
        question = f"Counts by {', '.join(self.sensitive)}"
        return RequestSummary(question, self.sensitive, (*refined, *draw_facts(self.draw)), parts)

    def check(self, schema: Schema) -> None:
        """Refuse a small plan (`require_small`) that does not fit a schema, its derived columns included.

        Looks at the plan and the declaration alone. Of several errors it raises the first in reading order.

        Raises:
            TooLarge, UnknownColumn, SensitiveColumn, InvalidPlan: with the path of the fault and what would fit.
        """
        for name in self.sensitive:
            column = schema.by_name.get(name)
            if column is None:
                raise UnknownColumn(column=name, path="sensitive")
            if not column.sensitive:
                raise InvalidPlan(f"Column {name!r} is not declared sensitive; nothing is counted by it.", "sensitive")
            if column.ordered and column.bands_from is None:
                raise InvalidPlan(
                    f"Column {name!r} does not have a finite list of values to count by. The holder's "
                    "administrator can declare bands of it (bands_from).",
                    "sensitive",
                )
        self._check_responses(schema)
        self.require_shareable(schema)
        counts = schema.group_count(self.sensitive) * sum(len(batch.cells) for batch in self.batches)
        if counts > limits.COUNTS_PER_PLAN_MAX:
            raise TooLarge(what="counts (cells times groups)", limit=limits.COUNTS_PER_PLAN_MAX)
        for index, batch in enumerate(self.batches):
            for predicate, _ in batch.predicates:
                try:
                    predicate.check(schema, "")
                except PlanRefused:
                    predicate.check(schema, f"batches[{index}].cells[{batch.first_with(predicate)}]")

    def require_shareable(self, schema: Schema) -> None:
        """Refuse what a half of a count cannot be answered by, where the schema has shares: only added noise adds up.

        Raises:
            InvalidPlan: Naming the batch and the mechanism, or `refines`.
        """
        if schema.shares is None:
            return
        for index, batch in enumerate(self.batches):
            if not isinstance(batch.mechanism, Laplace | Gaussian):
                raise InvalidPlan(
                    f"Each of two holders has a half of every count, and mechanism {batch.mechanism.name!r} adds no "
                    "noise that could be added to it. Name laplace or gaussian.",
                    f"batches[{index}].mechanism",
                )
        if self.refines is not None:
            raise InvalidPlan(
                "Answers in shares are not refined. Send the plan without `refines`, with another `draw`, and join "
                "both answers.",
                "refines",
            )

    def _check_responses(self, schema: Schema) -> None:
        """Refuse to count without noise by a column that was not perturbed at its source."""
        for index, batch in enumerate(self.batches):
            if isinstance(batch.mechanism, RandomisedResponse):
                for name in self.sensitive:
                    if schema.by_name[name].randomised_response is None:
                        raise InvalidPlan(
                            f"Column {name!r} was not perturbed by randomised response at its source, so its counts "
                            "need noise: name another mechanism.",
                            f"batches[{index}].mechanism",
                        )
                if batch.names_sensitive(schema):
                    raise InvalidPlan(
                        "Counts of reports get no noise, so their rules may name no sensitive column: that would show "
                        "its values. Name another mechanism.",
                        f"batches[{index}].mechanism",
                    )


class BatchQuote(ContractModel):
    """The price of one batch: how its cells compose, and the noise that each count would get."""

    name: str
    """The batch's name in the plan."""
    epsilon: str
    """ε that the batch costs, as a decimal string; where the plan refines a release, what it costs more."""
    delta: str
    """δ that the batch costs, as a decimal string."""
    rho: str | None = Field(default=None, exclude_if=lambda rho: rho is None)
    """ρ that the batch costs, as a decimal string, where the population's account adds up ρ; of a batch that was asked
    in ρ, `epsilon` is what it is read as at `delta`. Left out where ε and δ are added up."""
    composition: dict[str, int]
    """How its cells compose: `classes` is the number of classes of disjoint cells; each costs the batch's ε once."""
    groups: tuple[Group, ...]
    """All groups in order: of each the value of every sensitive column; null is the group of those whose is missing."""
    counted_groups: tuple[Group, ...] | None = None
    """The groups that have a count, where not all do: the others follow."""
    noise: Noise
    """The distribution of the noise on every count."""

    @property
    def facts(self) -> tuple[SummaryFact, ...]:
        """The text for people beside the batch."""
        facts = [("Classes of disjoint cells", str(self.composition["classes"])), ("Groups", str(len(self.groups)))]
        if isinstance(self.noise, DiscreteLaplaceNoise | DiscreteGaussianNoise):
            deviation = self.noise.variance**0.5
            facts.append(("Noise on each count", f"standard deviation {deviation:,.1f} people"))
        return tuple(facts)


class Quote(QuoteBase):
    """A plan's price: the same whatever the records are, and it touches neither records nor budget."""

    batches: tuple[BatchQuote, ...]
    """The price of each batch, in the plan's order."""
    shares: Shares | None = Field(default=None, exclude_if=lambda shares: shares is None)
    """Which half of every count an answer holds, where another holder has the other half; else left out."""

    @property
    def part_facts(self) -> Mapping[str, tuple[SummaryFact, ...]]:
        """What it says of each batch, by its name."""
        return {batch.name: batch.facts for batch in self.batches}


def _refuse_repeats(names: Any, what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what[0].upper()}{what[1:]}: {name!r}.")
        seen.add(name)
