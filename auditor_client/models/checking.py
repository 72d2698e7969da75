"""Comparing what was read with the model's maker: the same decisions on thousands of invented records.

Every reader ends here. The maker (the fitted object, its library, or records that a file brings with it) decides about
invented records that sit on and beside every threshold; what was read has to decide alike. Where rounding may differ
(`terms`, `layers`), decisions have to be alike wherever the score is further from its threshold than the bound.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.inventing import Invented, invent
from auditor_client.models.read_model import Provenance, ReadModel
from auditor_client.models.tree import Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Schema
from shared.scores.arrays import TableColumns, score_records
from shared.scores.columns import DerivedColumn, extended
from shared.scores.documents import Choice, Document, Layers, RuleList, Terms, Trees

Numbers = NDArray[np.float64]

RECORDS_MIN: Final = 4_000
RECORDS_MAX: Final = 40_000
_STEPS_MAX: Final = 60_000_000
"""Steps of all records through all trees: a second or two."""


@dataclass(frozen=True, slots=True)
class MakersAnswers:
    """What a model's maker says of invented records.

    Attributes:
        favourable: Whether each is decided favourably, shape (records,).
        scores: By derived column, the maker's own number at the document's scale, shape (records,), or (records,
            categories) for a choice. None: the maker shows none.
        bounds: By derived column, how far from the document's number rounding may take the maker's, shape (records,). A
            column that is not there has to agree to the last bit.
    """

    favourable: NDArray[np.bool_]
    scores: Mapping[str, Numbers] = field(default_factory=dict)
    bounds: Mapping[str, Numbers] = field(default_factory=dict)


Ask = Callable[[Invented], MakersAnswers]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What comparing gave.

    Attributes:
        probes: How many invented records there were.
        differing: On how many the decision differs.
        outside: On how many it differs although the score is further from the threshold than rounding can take it, or
            on how many the score itself is further from the maker's than that.
        inside: How many are as near to the threshold as rounding could take them.
        bound: The largest bound; None if the scores have to agree to the last bit.
        largest: The largest difference of scores; None if the maker shows none.
    """

    probes: int
    differing: int
    outside: int
    inside: int
    bound: float | None
    largest: float | None


def checked(read: ReadModel, schema: Schema, ask: Ask, *, records: Invented | None = None) -> ReadModel:
    """Compare, and note in the provenance with how many records.

    Args:
        read: What was read; its provenance says by which reader, and whom it is compared with.
        schema: The dataset's declared columns.
        ask: The maker.
        records: Compare on these; by default on as many invented ones as are compared in some seconds.

    Raises:
        ModelRefused: They decide differently.
    """
    if records is None:
        records = invent(documents_of(read), schema, records_count(read), predicates=predicates_of(read.tree))
    agreement = compare(read, schema, ask, records)
    if agreement.outside:
        raise ModelRefused(
            f"What was read decides otherwise than the model itself on {agreement.outside} of "
            f"{agreement.probes} invented records, so the model cannot be read exactly. If it is made of unchanged "
            "parts, please report this."
        )
    provenance = read.provenance or Provenance("a model", "by hand")
    return replace(
        read,
        provenance=replace(
            provenance,
            probes=agreement.probes,
            differing=agreement.differing,
            bound=agreement.bound,
            largest=agreement.largest,
        ),
    )


def compare(read: ReadModel, schema: Schema, ask: Ask, records: Invented) -> Agreement:
    """Compare decisions and scores on some records."""
    answers = ask(records)
    values: dict[str, list[Any]] = {}
    scores = _Scores(records, schema)
    near, far, largest = np.zeros(records.count, bool), np.zeros(records.count, bool), None
    for column in read.columns:
        document, bound = _document(column), answers.bounds.get(column.name)
        values[column.name], ours = scores.values(document)
        if bound is not None and isinstance(document, Choice):
            near |= _gap(ours) <= 2 * bound
        elif bound is not None and column.name == read.score:
            near |= (np.abs(ours - np.array(read.thresholds)) <= bound[:, None]).any(axis=1)
        theirs = answers.scores.get(column.name)
        if theirs is not None:
            theirs = theirs.reshape(ours.shape)
            alike = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
            gaps = np.where(alike, 0.0, np.abs(ours - theirs)).max(axis=1)
            far |= ~(gaps <= (0.0 if bound is None else bound))
            largest = max(largest or 0.0, float(gaps.max(initial=0.0)))
    unlike = _decisions(read, schema, {**records.values, **values}) != answers.favourable
    return Agreement(
        probes=records.count,
        differing=int(unlike.sum()),
        outside=int(((unlike & ~near) | far).sum()),
        inside=int(near.sum()),
        bound=max((float(bound.max(initial=0.0)) for bound in answers.bounds.values()), default=None),
        largest=largest,
    )


def decisions(read: ReadModel, schema: Schema, records: Invented) -> NDArray[np.bool_]:
    """Whether what was read decides favourably, shape (records,)."""
    scores = _Scores(records, schema)
    values = {column.name: scores.values(_document(column))[0] for column in read.columns}
    return _decisions(read, schema, {**records.values, **values})


class _Scores:
    """Documents' values for some records; a part that several documents share is computed once."""

    def __init__(self, records: Invented, schema: Schema) -> None:
        self._records = records.count
        self._columns = TableColumns.of(records.values, schema) if records.values else None
        self._known: dict[int, tuple[Document, list[Any]]] = {}

    def values(self, document: Document) -> tuple[list[Any], Numbers]:
        """A document's values, and the numbers that are compared, shape (records, categories or 1 or 0)."""
        if not isinstance(document, Choice):
            values = self._of(document)
            none = np.empty((self._records, 0))
            return values, none if isinstance(document, RuleList) else np.array([values], np.float64).T  # None: NaN
        numbers = np.array([self._of(part) for part in document.of], np.float64).T
        chosen = np.array(document.categories, object)[np.argmax(numbers, axis=1)]
        chosen[np.isnan(numbers).any(axis=1)] = None
        return chosen.tolist(), numbers

    def _of(self, part: Document) -> list[Any]:
        if id(part) not in self._known:
            if self._columns is None:
                raise ValueError("A document needs columns.")
            self._known[id(part)] = part, score_records(part, self._columns)
        return self._known[id(part)][1]


def _decisions(read: ReadModel, schema: Schema, table: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Whether the tree decides favourably, shape (records,)."""
    columns = TableColumns.of(
        table, extended(schema, {column.name: column.column for column in read.columns}, reads={})
    )
    favourable = [rule.rule for rule in read.tree.rules() if rule.favourable]
    decided = np.zeros(columns.records, bool)
    for matching in columns.matching(favourable):
        decided |= matching
    return decided


def predicates_of(tree: Tree) -> set[Predicate]:
    """All tests of a tree."""
    return {predicate for rule in tree.rules() for predicate in rule.rule.all_of}


def records_count(read: ReadModel) -> int:
    """On how many records to compare: fewer, the longer a record takes."""
    steps = 1
    for document in documents_of(read):
        for part in document.of if isinstance(document, Choice) else (document,):
            match part:
                case Trees():
                    steps += sum(len(tree.tests).bit_length() * 2 + 1 for tree in part.trees)
                case Terms():
                    steps += len(part.terms)
                case Layers():
                    steps += sum(len(layer.weights) * len(layer.weights[0]) for layer in part.layers)
                case RuleList():
                    steps += len(part.cases)
    return min(max(_STEPS_MAX // steps, RECORDS_MIN), RECORDS_MAX)


def _document(column: DerivedColumn) -> Document:
    if isinstance(column.origin, str):
        raise TypeError("A linked column does not have a document.")
    return column.origin.score


def documents_of(read: ReadModel) -> list[Document]:
    """The score documents of all its derived columns."""
    return [_document(column) for column in read.columns]


def _gap(by_class: Numbers) -> Numbers:
    """Return how far the largest number is above the next, shape (records,)."""
    ordered = np.sort(by_class, axis=1)
    return ordered[:, -1] - ordered[:, -2]
