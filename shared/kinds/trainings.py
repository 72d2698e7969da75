"""Trainings: a model that the holder learns from its records, asked and charged like a plan (7-training §1).

A *training* names an algorithm, the label that its model is to predict, the features that it may use and the groups
between which it is to be fair. Everything that follows from the records passes through noise inside the holder; the
*steps* say which noise, and how ε is divided among them. A step is a class of disjoint cells counted once or several
times, so that the losses of all steps add up to ε.

A training grows as a plan does (`shared.kinds.plans`): its identity makes a retry free, so no member changes, and a
new one is optional and None where it has no value.
"""

import math
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import Field, StrictFloat, StrictInt, model_validator

from shared.contract.bands import check_bands, plain_starts
from shared.contract.rules import Cell, require_nameable
from shared.contract.schema import Column, Group, Schema
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import AnswerToRequest, Signed
from shared.kinds.requests import ReleaseRequest
from shared.kinds.summaries import RequestSummary, SummaryPart, draw_facts
from shared.privacy.amounts import NANO_PER_UNIT, Epsilon, Factor, Loss, Probability, Share
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.scores.documents import Axis, Document
from shared.wire import limits
from shared.wire.identities import KindName
from shared.wire.problems import InvalidPlan, UnknownColumn
from shared.wire.request_model import ContractModel, RequestModel
from shared.wire.text import Name, Text


class TrainingFeature(RequestModel):
    """A column that a model may use, and the bins that it is used in; a missing value is a bin of its own."""

    column: Text
    """Its name."""
    cuts: tuple[StrictInt | StrictFloat, ...] | None = Field(
        default=None, min_length=1, max_length=limits.CUTS_PER_FEATURE_MAX, fail_fast=True
    )
    """Of an ordered column, where bins begin, ascending: below the first is a bin too. Public, never read off data."""

    def __str__(self) -> str:
        return "bins from " + ", ".join(map(str, self.cuts)) if self.cuts else "each of its values"

    def bins(self, column: Column) -> int:
        """How many bins it has: one for each value of a boolean or category, and one more if it may be missing."""
        return (len(self.cuts or ()) + 1 if column.ordered else len(column.values)) + column.nullable

    def axis(self, column: Column) -> Axis:
        """Its bins as the places of a score's table, in the same order.

        A place begins above a number, and a bin at one: just below it, of integers a whole number below.
        """
        if self.cuts is None:
            return Axis(column=self.column, values=column.values, missing=column.nullable)
        whole = column.type == "integer"
        below = (float(math.ceil(cut) - 1) if whole else math.nextafter(cut, -math.inf) for cut in self.cuts)
        return Axis(column=self.column, cuts=tuple(below), missing=column.nullable)

    def check(self, schema: Schema, path: str) -> None:
        """Refuse a feature that does not fit the declared columns.

        Raises:
            UnknownColumn, SensitiveColumn, InvalidPlan: with the path of the fault and what would fit.
        """
        column = schema.by_name.get(self.column)
        if column is None:
            raise UnknownColumn(column=self.column, path=path)
        require_nameable(self.column, schema, path)
        if column.label:
            raise InvalidPlan(f"Column {self.column!r} is the label: a model predicts it and may not use it.", path)
        if column.ordered != (self.cuts is not None):
            raise InvalidPlan(
                f"Column {self.column!r} is ordered: say where its bins begin (`cuts`)."
                if column.ordered
                else f"Column {self.column!r} is not ordered: leave `cuts` out.",
                path,
            )
        try:
            check_bands(self.cuts or (), integers=column.type == "integer", low=column.low, high=column.high)
        except ValueError as error:
            raise InvalidPlan(f"Column {self.column!r}: {error}", path) from None

    @model_validator(mode="after")
    def _plain(self) -> Self:
        if self.cuts is not None:
            object.__setattr__(self, "cuts", plain_starts(self.cuts))
        return self


class FairTree(RequestModel):
    """A complete binary tree; its leaves are counted by label and group, so that they can decide fairly."""

    name: Literal["fair_tree"]
    """Which algorithm it is."""
    depth: Annotated[StrictInt, Field(ge=1, le=limits.TRAINED_DEPTH_MAX)] = 4
    """The number of splits on every path."""
    groups: Probability | None = Field(default=None, exclude_if=lambda groups: groups is None)
    """The part of ε that finding the group with the highest rate of the label gets, as a decimal string; else 0.05."""
    splits: Probability = Field(default=NANO_PER_UNIT // 2, json_schema_extra={"default": "0.5"})
    """The part of ε that choosing the splits gets, as a decimal string; the leaves' counts get the rest."""

    @property
    def groups_nano(self) -> int:
        """The part of ε for the groups, in nano-units."""
        return NANO_PER_UNIT // 20 if self.groups is None else self.groups

    @model_validator(mode="after")
    def _leaves_something(self) -> Self:
        if not self.groups_nano + self.splits < NANO_PER_UNIT:
            raise ValueError("Leave a part of epsilon for the leaves: `groups` and `splits` together are less than 1.")
        return self


class PrivateFairTree(RequestModel):
    """A tree by noisy information gain, in which people who are nearly the same count alike; it reads no groups."""

    name: Literal["private_fair_tree"]
    """Which algorithm it is."""
    depth: Annotated[StrictInt, Field(ge=1, le=limits.TRAINED_DEPTH_MAX)] = 4
    """The number of splits on the longest path."""
    splits: Probability = Field(default=NANO_PER_UNIT // 2, json_schema_extra={"default": "0.5"})
    """The part of ε that the levels get, as a decimal string; the leaves' counts get the rest."""
    similarity: Share = Field(default=NANO_PER_UNIT // 10, json_schema_extra={"default": "0.1"})
    """Bins of an ordered column whose positions between 0 and 1 differ by at most so much are similar (τ)."""


class Pflr(RequestModel):
    """Logistic regression by its noisy polynomial of degree 2, with a penalty on covariance with the group."""

    name: Literal["pflr"]
    """Which algorithm it is."""
    penalty: Factor = Field(default=NANO_PER_UNIT, json_schema_extra={"default": "1"})
    """What a unit of covariance costs beside the loss (α), as a decimal string; with 0, fairness is left out."""
    threshold: Factor = Field(default=0, json_schema_extra={"default": "0"})
    """The covariance that costs nothing (τ), in people, as a decimal string."""


class PflrStar(RequestModel):
    """The same polynomial, to whose linear part the noisy covariance with the group is added."""

    name: Literal["pflr_star"]
    """Which algorithm it is."""
    fairness: Probability = Field(default=NANO_PER_UNIT // 2, json_schema_extra={"default": "0.5"})
    """The part of ε that the covariance gets, as a decimal string; the polynomial gets the rest."""
    lowered: Annotated[StrictInt, Field(ge=0, le=1)] = 1
    """The index of the group that counts as s = 1, in declared order: its scores are lowered against the other's."""


def _tenths_of_percents(*shares: int) -> tuple[int, ...]:
    return tuple(share * NANO_PER_UNIT // 1000 for share in shares)


class FairLinear(RequestModel):
    """Two scores of whole points, for the label and for the worst-off group; their bands are counted together."""

    name: Literal["fair_linear"]
    """Which algorithm it is."""
    points: Annotated[StrictInt, Field(ge=1, le=limits.POINTS_PER_UNIT_MAX)] = 10
    """Points for each unit of a logarithm of odds."""
    tables: Probability = Field(default=400_000_000, json_schema_extra={"default": "0.4"})
    """The part of ε that counting the features' bins gets, as a decimal string; counting the bands gets the rest."""
    label_quantiles: tuple[Probability, ...] = Field(
        default=_tenths_of_percents(600, 700, 800, 870, 920, 960), min_length=1, max_length=limits.QUANTILES_MAX,
        json_schema_extra={"default": ["0.6", "0.7", "0.8", "0.87", "0.92", "0.96"]},
    )  # fmt: skip
    """Behind which shares of people bands of the label's score begin, ascending, as decimal strings."""
    group_quantiles: tuple[Probability, ...] = Field(
        default=_tenths_of_percents(300, 500, 700, 850), min_length=1, max_length=limits.QUANTILES_MAX,
        json_schema_extra={"default": ["0.3", "0.5", "0.7", "0.85"]},
    )  # fmt: skip
    """The same of the group's score."""

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for shares in (self.label_quantiles, self.group_quantiles):
            if list(shares) != sorted(set(shares)):
                raise ValueError("List quantiles in ascending order, each once.")
        return self


_Algorithm = TypeVar("_Algorithm", FairTree, PrivateFairTree, Pflr, PflrStar, FairLinear)
Algorithm = Annotated[FairTree | PrivateFairTree | Pflr | PflrStar | FairLinear, Field(discriminator="name")]


class Training(ReleaseRequest):
    """A model that an auditor asks for: charged whole or refused whole."""

    kind: ClassVar[Literal["training"]] = "training"
    algorithm: Algorithm
    """How it is learned."""
    label: Text
    """The declared label, which the model is to predict; true is the favourable outcome."""
    sensitive: tuple[Text, ...] = Field(min_length=1, max_length=limits.SENSITIVE_COLUMNS_PER_PLAN_MAX, fail_fast=True)
    """The sensitive columns whose values together make the groups; the model never reads them."""
    features: tuple[TrainingFeature, ...] = Field(
        min_length=1, max_length=limits.FEATURES_PER_TRAINING_MAX, fail_fast=True
    )
    """The columns that the model may use."""
    epsilon: Epsilon
    """ε of the whole training, from 0.001 to 10, as a decimal string."""
    version: Annotated[StrictInt, Field(ge=1, le=limits.INTEGER_MAX)] | None = None
    """The version of the records that is meant; without it the current one."""
    draw: Annotated[StrictInt, Field(ge=1, le=limits.DRAW_MAX)] = 1
    """Another number asks for fresh noise, and is charged again; the same number gets the same answer at no cost."""

    def algorithm_as(self, kind: type[_Algorithm]) -> _Algorithm:
        """Its algorithm, which has to be of that kind.

        Raises:
            TypeError: It is of another.
        """
        if not isinstance(self.algorithm, kind):
            raise TypeError(f"The algorithm {self.algorithm.name!r} is not one of {kind.__name__}.")
        return self.algorithm

    @property
    def charge(self) -> Loss:
        """The price of a release, unless it was answered before."""
        return Loss(self.epsilon)

    def require_small(self) -> None:
        """Refuse nothing: its own type bounds it."""

    def summary(self) -> RequestSummary:
        """Return what is learned from which columns, and how."""
        facts = (
            ("Learned by", self.algorithm.name.replace("_", " ")),
            ("Predicts", self.label),
            ("Privacy loss", self.charge.symbols),
        )
        cuts = tuple((feature.column, (str(feature),)) for feature in self.features)
        part = SummaryPart(f"A model of {self.label}", facts, "The columns that it may read", cuts)
        read = ", ".join(feature.column for feature in self.features)
        question = f"Learns {self.label} from {read}, for groups by {', '.join(self.sensitive)}"
        return RequestSummary(question, self.sensitive, draw_facts(self.draw), (part,))

    def check(self, schema: Schema) -> None:
        """Refuse a training that does not fit a schema; looks at nothing else.

        Raises:
            UnknownColumn, SensitiveColumn, InvalidPlan: with the path of the fault and what would fit.
        """
        label = schema.by_name.get(self.label)
        if label is None:
            raise UnknownColumn(column=self.label, path="label")
        if not label.label or label.nullable:
            raise InvalidPlan(f"Column {self.label!r} is not declared as a label that is never missing.", "label")
        for name in self.sensitive:
            column = schema.by_name.get(name)
            if column is None:
                raise UnknownColumn(column=name, path="sensitive")
            if not column.sensitive or not column.group_values:
                raise InvalidPlan(f"Column {name!r} makes no groups: name a sensitive one with values.", "sensitive")
            if column.randomised_response is not None:
                raise InvalidPlan(
                    f"Column {name!r} was perturbed at its source: its reports are not the groups that a model is to "
                    "be fair to. Name another column.",
                    "sensitive",
                )
        for index, feature in enumerate(self.features):
            feature.check(schema, f"features[{index}]")

    @model_validator(mode="after")
    def _check(self) -> Self:
        for what, names in (("sensitive", self.sensitive), ("features", [one.column for one in self.features])):
            if len(set(names)) != len(names):
                raise ValueError(f"A column is named twice in `{what}`.")
        return self


class TrainingStep(ContractModel):
    """One look at the records: what it costs and which noise it gets."""

    name: str
    """What it is for."""
    measures: Literal["counts", "choices", "sums"]
    """Noisy counts of cells, splits chosen by noisy scores, or noisy sums of weighted counts."""
    epsilon: str
    """ε that it costs, as a decimal string."""
    classes: int
    """Into how many classes of disjoint cells its cells fall at most; counts divide ε evenly among them."""
    scale: float
    """Of the noise: in people, for sums in their unit."""


class TrainingQuote(QuoteBase):
    """A training's price: the same whatever the records are, and it touches neither records nor budget."""

    steps: tuple[TrainingStep, ...]
    """How ε is divided, in order."""


class TrainedLeaf(ContractModel):
    """A leaf of a trained tree."""

    cell: Cell
    """Who comes to it: the rules of its id."""
    favourable: bool
    """What it decides by itself: whether more of its people, as counted, have the label than not."""


class TrainedTree(ContractModel):
    """A tree whose leaves exclude each other and cover everybody."""

    kind: Literal["tree"] = "tree"
    """Which kind of model it is."""
    leaves: tuple[TrainedLeaf, ...]
    """All of them."""
    scores: dict[Name, Document] | None = Field(default=None, exclude_if=lambda scores: scores is None)
    """The scores that rules of leaves name beside declared columns, as derived columns have them."""


class TrainedScore(ContractModel):
    """A score and the threshold from which on it is favourable."""

    kind: Literal["score"] = "score"
    """Which kind of model it is."""
    document: Document
    """How the score follows from the features, as derived columns have it."""
    at_least: float
    """Who has at least this score is decided favourably."""


class LeafHistogram(ContractModel):
    """The noisy numbers of people in one leaf."""

    id: str
    """The leaf's cell."""
    positive: tuple[int, ...]
    """Those with the label, for each group; noise may make a number negative."""
    negative: tuple[int, ...]
    """Those without it."""


class TrainedCounts(ContractModel):
    """The counts of a trained model's leaves: all that is needed to let them decide otherwise."""

    groups: tuple[Group, ...]
    """All groups in order: of each the value of every sensitive column."""
    noise: DiscreteLaplaceNoise
    """On every number."""
    leaves: tuple[LeafHistogram, ...]
    """In the model's order."""


class TrainingAnswer(AnswerToRequest):
    """The release of a training before its charge is entered."""

    kind: ClassVar[KindName] = Training.kind

    training: Training
    """The training in canonical form, pinned to the version."""
    steps: tuple[TrainingStep, ...]
    """How ε was divided, in order."""
    model: Annotated[TrainedTree | TrainedScore, Field(discriminator="kind")]
    """What was learned."""
    counts: TrainedCounts | None = None
    """Of a tree that is to be decided by its leaves' counts, these."""


class TrainingRelease(TrainingAnswer, Signed):
    """The answer to a training. Fields that this version does not know are ignored."""
