"""What reading a model gives, whatever it was: a tree to ask about, the columns it needs, and how it was read.

A model that is a tree or a list over the dataset's own columns is that tree. Any other becomes a score document,
which the holder evaluates as a derived column, and a tree of one split: the score on either side of a threshold, or
the category. So everything after the reader sees a tree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.columns import DerivedColumn
from shared.rules import Predicate

SCORE = "score"
"""The name of the derived column that a model's score gets, unless the dataset declares one of that name."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a model was read, for its report.

    Attributes:
        description: What was read, in a reader's words: "a gradient-boosted model of 300 trees, LightGBM 4.6".
        reader: Which reader read it: "lightgbm".
        compared_with: Whose predictions the document was compared with: "LightGBM 4.6"; None if nothing could be.
        probes: On how many invented records they were compared.
        differing: On how many of them the decision differed; 0 but for `terms` and `layers`.
        bound: The largest difference between score and the maker's own that rounding may make; None if there is none.
        largest: The largest difference that was found, in the score's own scale; None if not compared.
    """

    description: str
    reader: str
    compared_with: str | None = None
    probes: int = 0
    differing: int = 0
    bound: float | None = None
    largest: float | None = None


@dataclass(frozen=True, slots=True)
class ReadModel:
    """A model as the client sees it.

    Attributes:
        tree: Over the dataset's columns and `columns`.
        columns: The derived columns that the holder has to have; none for a tree or list over declared columns.
        score: Among `columns`, the name of the number that is compared with a threshold; None if there is none.
        thresholds: Of that number: above them, at the document's own scale, decisions are favourable.
        provenance: How it was read; None for a tree built by hand.
    """

    tree: Tree
    columns: tuple[DerivedColumn, ...] = ()
    score: str | None = None
    thresholds: tuple[float, ...] = field(default=())
    provenance: Provenance | None = None


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
        Predicate.model_validate({"column": column, "op": over, "value": threshold}),
        Predicate.model_validate({"column": column, "op": under, "value": threshold}),
        favourable,
    )


def among(column: str, categories: Sequence[str], favourable: Sequence[str]) -> Tree:
    """The tree of a category: favourable where it is one of some."""
    others = [category for category in categories if category not in favourable]
    return _two_ways(
        Predicate.model_validate({"column": column, "op": "in", "values": list(favourable)}),
        Predicate.model_validate({"column": column, "op": "in", "values": others}),
        (" or ".join(favourable), " or ".join(others)),
    )


def _two_ways(yes: Predicate, no: Predicate, decisions: tuple[str, str]) -> Tree:
    return Tree(
        Split(
            "decision",
            (
                Branch((yes,), Leaf("favourable", decisions[0], favourable=True)),
                Branch((no,), Leaf("unfavourable", decisions[1], favourable=False)),
            ),
        )
    )
