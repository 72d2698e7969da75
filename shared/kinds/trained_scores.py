"""The scores over which a trained tree decides: whole points, added up (7-training §2, `fair_linear`)."""

from typing import Final

from shared.contract.schema import Column, Schema
from shared.kinds.trainings import TrainedTree
from shared.scores.columns import extended
from shared.scores.documents import Document, TableTerm, Terms

LABEL_SCORE: Final = "label_score"
GROUP_SCORE: Final = "group_score"
"""What scores for the label and for the worst-off group are called; with a number behind it if a column is."""
TRAINED_UNITS_MAX: Final = 8
"""A bin's points are within so many units of the logarithm: odds of 3 000 against the base rate's."""


def whole_score(name: str, document: Document) -> Column:
    """The integer column that a score of tables is: never missing, from its smallest to its largest total.

    Raises:
        ValueError: It adds anything but whole numbers of tables.
    """
    terms = document.terms if isinstance(document, Terms) and document.base == 0 else ()
    tables = [term.table for term in terms if isinstance(term, TableTerm)]
    if not terms or len(tables) < len(terms) or any(value % 1 != 0 for table in tables for value in table):
        raise ValueError("A trained score adds whole numbers of tables, and nothing else.")
    lowest, highest = (int(sum(map(end, tables))) for end in (min, max))
    return Column(name=name, type="integer", minimum=lowest, maximum=highest)


def with_scores(schema: Schema, model: TrainedTree) -> Schema:
    """A dataset's columns, and a trained tree's scores behind them.

    Raises:
        ValueError: A score is called like a column, or is none that adds whole numbers.
    """
    scores = {name: whole_score(name, document) for name, document in (model.scores or {}).items()}
    return extended(schema, scores, reads={})
