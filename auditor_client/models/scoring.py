"""A classifier as numbers and what its maker makes of them, and the `ReadModel` that follows (5-decisions §2).

A monotone link (logistic, calibration, a tuned threshold) is not applied by a document. The threshold is moved into the
score's own scale instead: the maker's own arithmetic decides about single doubles, and the first that is favourable is
searched in the order of the doubles' bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import Line
from auditor_client.models.inventing import Invented
from auditor_client.models.preprocessing import quietly
from auditor_client.models.read_model import SCORE, ReadModel, above, among
from auditor_client.models.readers.links import least, negated
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn, ScoreOrigin
from shared.scores.documents import (
    Choice,
    Document,
    Layers,
    Terms,
    Trees,
    may_be_missing,
)

Numbers = NDArray[np.float64]

DECISION: Final = "decision"
"""The name of the derived column of a choice, unless the dataset declares one of that name."""

_DOUBLES: Final = Line(Column(name="score", type="number"))
_LARGEST: Final = float(np.finfo(np.float64).max)
_AROUND: Final = 4096
"""So many doubles on either side of a moved threshold are asked about."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """A classifier as numbers and what its maker makes of them.

    Attributes:
        classes: What it can decide.
        documents: One number, or one for each class.
        decide: The maker's decision for such numbers, shape (records, documents): the class's index, shape (records,).
        probabilities: The maker's probabilities for such numbers, shape (records, classes); None if it has none.
        margins: The maker's decision function for such numbers, shape (records,) between two classes; None if it has
            none.
        own: The maker's own numbers for what comes out of the steps before it; None if it does not show them.
        bounds: How far they may be from the documents' by rounding, for invented records; shape (records,). None: they
            agree to the last bit.
        complementary: Whether there are two numbers that add up to 1 and were never rounded. Then one of them is above
            1/2 where it is the larger; otherwise, rounding may make both of them 1/2, or neither.
    """

    classes: Sequence[Any]
    documents: tuple[Trees | Terms | Layers, ...]
    decide: Callable[[Numbers], NDArray[np.intp]]
    probabilities: Callable[[Numbers], Numbers] | None = None
    margins: Callable[[Numbers], Numbers] | None = None
    own: Callable[[Any], Numbers] | None = None
    bounds: Callable[[Invented], Numbers] | None = None
    complementary: bool = False

    def alone(self, index: int) -> "Scoring":
        """By the number of one of two classes, for what looks at no other; a model of a single number as it is."""
        if len(self.documents) == 1:
            return self
        own, probabilities = self.own, self.probabilities

        def both(numbers: Numbers) -> Numbers:
            return np.column_stack([1 - numbers[:, 0], numbers[:, 0]][:: 1 if index else -1])

        return replace(
            self,
            documents=(self.documents[index],),
            decide=lambda numbers: self.decide(both(numbers)),
            probabilities=None if probabilities is None else lambda numbers: probabilities(both(numbers)),
            own=None if own is None else lambda matrix: own(matrix)[:, [index]],
        )

    def above(self, threshold: float, favourable: Sequence[Any]) -> "Scoring":
        """Favourable is a probability above a threshold, whatever the model itself decides.

        Raises:
            ModelRefused: There are not two classes, or no probability.
        """
        if len(self.classes) != 2 or self.probabilities is None:
            raise ModelRefused(
                "The model does not have a single probability to compare with a threshold. Leave `above` out."
            )
        index = list(self.classes).index(favourable[0])
        alone = self.alone(index)
        probabilities = alone.probabilities

        def decide(numbers: Numbers) -> NDArray[np.intp]:
            over = probabilities(numbers)[:, index] > threshold  # type: ignore[misc]  # it is there
            return np.where(over, index, 1 - index)

        return replace(alone, decide=decide)


def by_label(predict: Callable[[Any], Any], classes: Any) -> Callable[[Numbers], NDArray[np.intp]]:
    """A maker's `predict` of labels as one of the classes' indices."""
    index = {label: number for number, label in enumerate(np.asarray(classes).tolist())}
    return lambda numbers: np.array([index[label] for label in np.asarray(predict(numbers)).tolist()], np.intp)


@dataclass(frozen=True, slots=True)
class ReadScoring:
    """A classifier's `ReadModel`; whose numbers they are, and which, with which sign, each derived column is."""

    model: ReadModel
    scoring: Scoring
    numbers: Mapping[str, Callable[[Numbers], Numbers]]


def read(scoring: Scoring, favourable: Sequence[Any], schema: Schema) -> ReadScoring:
    """The derived columns of a classifier, and the tree over them.

    Args:
        scoring: The classifier.
        favourable: Some, but not all, of its classes.
        schema: The dataset's declared columns.

    Raises:
        ModelRefused: It decides the same about everybody, or is not monotone in its number.
    """
    unfavourable = [label for label in scoring.classes if label not in favourable]
    words = (" or ".join(map(str, favourable)), " or ".join(map(str, unfavourable)))
    chosen = np.array([label in favourable for label in scoring.classes])
    first = int(np.flatnonzero(chosen)[0])
    if scoring.complementary:
        scoring = scoring.alone(first)
    if len(scoring.documents) == 1:
        return _by_threshold(scoring, lambda numbers: chosen[scoring.decide(numbers)], words, schema)
    categories = [str(label) for label in scoring.classes]
    decision = free_name(DECISION, schema)
    choice = Choice(kind="choice", categories=tuple(categories), of=scoring.documents)
    columns = [_column(decision, choice, schema, categories)]
    numbers: dict[str, Callable[[Numbers], Numbers]] = {decision: lambda own: own}
    score = None
    if len(categories) == 2:
        # The mean probability has no threshold that says the decision to the last bit, but is worth asking about.
        score = free_name(SCORE, schema)
        columns.append(_column(score, scoring.documents[first], schema))
        numbers[score] = lambda own: own[:, first]
    tree = among(decision, categories, [str(label) for label in favourable])
    return ReadScoring(ReadModel(tree, tuple(columns), score), scoring, numbers)


def free_name(name: str, schema: Schema) -> str:
    """A name for a derived column: no declared column has it."""
    while name in schema.by_name or name == schema.row_column:
        name += "_"
    return name


def _by_threshold(
    scoring: Scoring,
    favourable: Callable[[Numbers], NDArray[np.bool_]],
    words: tuple[str, str],
    schema: Schema,
) -> ReadScoring:
    [document] = scoring.documents

    def ask(values: Numbers) -> NDArray[np.bool_]:
        decisions: NDArray[np.bool_] = quietly(favourable, values[:, None])
        return decisions

    lowest, highest = ask(np.array([-_LARGEST, _LARGEST])).tolist()
    if lowest == highest:
        raise ModelRefused(f"The model decides {words[0 if lowest else 1]} about everybody: there is nothing to ask.")
    if lowest:
        document = negated(document)
    sign = -1 if lowest else 1
    last, first = moved_threshold(lambda values: ask(sign * values))
    name = free_name(SCORE, schema)
    strict = len(repr(last)) <= len(repr(first))  # above 0, but from 0.6 on
    tree = above(name, last if strict else first, favourable=words, strict=strict)
    model = ReadModel(tree, (_column(name, document, schema),), name, (last,))
    return ReadScoring(model, scoring, {name: lambda own: sign * own[:, 0]})


def moved_threshold(favourable: Callable[[Numbers], NDArray[np.bool_]]) -> tuple[float, float]:
    """Return where a maker's decision about a number changes, to the last bit.

    Args:
        favourable: The decision about some numbers, by the maker's own arithmetic: not about the smallest number of a
            document, and about the largest.

    Returns:
        The last number that is not favourable, and the first one that is; no double lies in between.

    Raises:
        ModelRefused: Near the threshold the decision rises and falls.
    """
    first = least(lambda number: bool(favourable(np.array([number]))[0]), "float64")
    key = _DOUBLES.key(first)
    keys = np.arange(key - _AROUND, key + _AROUND, dtype=np.uint64)
    if (favourable(_DOUBLES.values(keys)) != (keys >= np.uint64(key))).any():
        raise ModelRefused(
            "Near its threshold the model's decision rises and falls with its score, so a single threshold does "
            "not exist."
        )
    return float(_DOUBLES.value(key - 1)), first


def _column(name: str, document: Document, schema: Schema, categories: Sequence[str] | None = None) -> DerivedColumn:
    return DerivedColumn.model_validate(
        {
            "name": name,
            "type": "number" if categories is None else "category",
            "categories": categories,
            "nullable": may_be_missing(document, schema),
            "from": ScoreOrigin(score=document),
        }
    )
