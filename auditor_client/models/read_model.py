"""What reading a model gives, whatever it was: a tree to ask about, the columns it needs, and how it was read.

A model that is a tree or a list over the dataset's own columns is that tree. Any other becomes a score document,
which the holder evaluates as a derived column, and a tree of one split: the score on either side of a threshold, or
the category. So everything after the reader sees a tree.
"""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import Field

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import Domain
from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema, Value
from shared.scores.columns import DerivedColumn, extended
from shared.wire.problems import PlanRefused

SCORE: Final = "score"
"""The name of the derived column that a model's score gets, unless the dataset declares one of that name."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a reader is asked for, other than the model.

    Attributes:
        schema: The dataset's declared columns.
        favourable: The classes that count as favourable; None where the model
            itself says which, or predicts a number.
        columns: The dataset's column for each of the model's inputs, in the model's order; None where the model
            names them.
        above: Favourable is a score above this, in the maker's own scale (a probability, say); None for the
            decision as the model itself makes it.
        input_dtypes: See `sklearn_tree.read_tree`.
    """

    schema: Schema
    favourable: Collection[Any] | None = None
    columns: Sequence[str] | None = None
    above: float | None = None
    input_dtypes: Mapping[str, str] = field(default_factory=dict)

    @property
    def score(self) -> str:
        """A name for the model's score: no declared column has it."""
        taken = {self.schema.row_column, *self.schema.by_name}
        return next(name for name in _score_names() if name not in taken)


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a model was read, for its report. It is kept in notes: another field is left out where it has no value.

    Attributes:
        description: What was read, in a reader's words: "a gradient-boosted model of 300 trees, LightGBM 4.6".
        reader: Which reader read it: "lightgbm".
        compared_with: Whose predictions the document was compared with: "LightGBM 4.6"; None if nothing could be.
        probes: On how many invented records they were compared.
        differing: On how many of them the decision differed; 0 but for `terms` and `layers`.
        bound: The largest difference between score and the maker's own that rounding may make; None without one.
        largest: The largest difference that was found, in the score's own scale; None if not compared.
        rehearsal_of: The dataset whose rehearsal the model was made in, of invented people; None of other models.
        inputs: The column and the model's own name of each input that the auditor gave another name than the model.
        fractional: Integer columns that the model splits mostly where splits of whole numbers are not.
    """

    description: str
    reader: str
    compared_with: str | None = None
    probes: int = 0
    differing: int = 0
    bound: float | None = None
    largest: float | None = None
    rehearsal_of: Annotated[str | None, Field(exclude_if=lambda of: of is None)] = None
    inputs: Annotated[tuple[tuple[str, str], ...], Field(exclude_if=lambda named: not named)] = ()
    fractional: Annotated[tuple[str, ...], Field(exclude_if=lambda names: not names)] = ()


@dataclass(frozen=True, slots=True)
class ReadModel:
    """A model as the client sees it.

    Attributes:
        tree: Over the dataset's columns and `columns`.
        columns: The derived columns that the holder has to have; none for a tree or list over declared columns.
        score: Among `columns`, the name of the number that is compared with a threshold; None without one.
        thresholds: Of that number: above them, at the document's own scale, decisions are favourable.
        decided: Predicates that hold of the people whom the model decides about, and of nobody else; none for
            everybody. Where a score or a decision may be missing, that it is not.
        provenance: How it was read; None for a tree built by hand.
    """

    tree: Tree
    columns: tuple[DerivedColumn, ...] = ()
    score: str | None = None
    thresholds: tuple[float, ...] = ()
    decided: tuple[Predicate, ...] = ()
    provenance: Provenance | None = None

    def check(self, schema: Schema) -> None:
        """Refuse a model that does not fit a dataset's declared columns.

        Raises:
            ModelRefused: A derived column does not fit, or the tree does not decide about everybody once.
        """
        try:
            for column in self.columns:
                column.check(schema)
            columns = {column.name: column.column for column in self.columns}
            reads = {column.name: column.reads for column in self.columns}
            self.tree.check(extended(schema, columns, reads=reads), self.decided)
        except PlanRefused as error:
            raise ModelRefused(f"The model does not fit the dataset: {error}") from error
        if len(columns) != len(self.columns):
            raise ModelRefused("Two derived columns of the model share a name: give each its own.")


def above(column: str, threshold: float, *, favourable: tuple[str, str], strict: bool = True) -> Tree:
    """The tree of a score: favourable above a threshold.

    Args:
        column: The score's name.
        threshold: At the document's own scale; a finite number.
        favourable: The decision above the threshold, and the one at or below it.
        strict: Whether the threshold itself is below.
    """
    if not math.isfinite(threshold):
        raise ValueError("A threshold is a finite number.")
    over, under = ("gt", "le") if strict else ("ge", "lt")
    return _two_ways(
        (Predicate.model_validate({"column": column, "op": over, "value": threshold}),),
        (Predicate.model_validate({"column": column, "op": under, "value": threshold}),),
        favourable,
    )


def among(column: str, categories: Sequence[str], favourable: Sequence[str]) -> Tree:
    """The tree of a category: favourable where it is one of some."""
    return of_values(Column(name=column, type="category", categories=tuple(categories)), favourable)


def of_values(column: Column, favourable: Collection[Value]) -> Tree:
    """The tree of a boolean or category column: favourable where it is one of some values, but not of all.

    Whoever has no value is not decided about.
    """
    domain = Domain(column)
    favourable_atoms = sum(1 << index for index, value in enumerate(column.values) if value in favourable)
    yes, no = sorted(domain.ways(favourable_atoms, domain.everything & ~domain.missing), key=lambda way: not way.left)
    words = [
        " or ".join(
            str(value).lower() if isinstance(value, bool) else value for value in column.values if chosen(value)
        )
        for chosen in (favourable.__contains__, lambda value: value not in favourable)
    ]
    return _two_ways(yes.predicates, no.predicates, (words[0], words[1]))


def decided(column: Column) -> tuple[Predicate, ...]:
    """The predicates of a `ReadModel` that decides about those who have a value in a column."""
    return (Predicate(column=column.name, op="not_missing"),) if column.nullable else ()


def _score_names() -> itertools.chain[str]:
    return itertools.chain((SCORE,), (f"{SCORE}-{number}" for number in itertools.count(2)))


def _two_ways(yes: tuple[Predicate, ...], no: tuple[Predicate, ...], decisions: tuple[str, str]) -> Tree:
    return Tree(
        Split(
            "decision",
            (
                Branch(yes, Leaf("favourable", decisions[0], favourable=True)),
                Branch(no, Leaf("unfavourable", decisions[1], favourable=False)),
            ),
        )
    )
