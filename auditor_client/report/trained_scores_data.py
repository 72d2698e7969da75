"""The scores of a trained model, as data: what each bin of each feature is worth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from auditor_client.dataset_words import DatasetWords
from auditor_client.rule_words import Condition
from shared.contract.rules import Predicate, Rule
from shared.kinds.trained_scores import LABEL_SCORE
from shared.kinds.trainings import TrainedScore, TrainedTree
from shared.scores.documents import Axis, Document, RuleTerm, TableTerm, Terms
from shared.wire.wording import plain, said, signed


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One bin and what it is worth in each score; without conditions, everybody."""

    conditions: tuple[Condition, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The points of the bins in one score or in two."""

    explanation: str
    titles: tuple[str, ...]
    lines: tuple[ScoreLine, ...]


def score_table(model: TrainedTree | TrainedScore, words: DatasetWords) -> ScoreTable | None:
    """The points of a model's bins; None if it decides by no score.

    Args:
        model: As the holder answered it, verified.
        words: Of the dataset, with the model's scores among its columns.
    """
    if isinstance(model, TrainedScore):
        explanation = said(
            "People with {least} points or more in total get the favourable decision.", least=plain(model.at_least)
        )
        return ScoreTable(explanation, (said("Worth"),), tuple(_of_rules(model.document, words)))
    if not model.scores:
        return None
    explanation = said("The points of all columns are added up. The leaves of the tree are bands of these sums.")
    titles = tuple(
        said("For the label") if name.startswith(LABEL_SCORE) else said("For the worst-off group")
        for name in model.scores
    )
    return ScoreTable(explanation, titles, tuple(_of_tables(model.scores, words)))


def _of_rules(document: Document, words: DatasetWords) -> Iterator[ScoreLine]:
    """A score that adds a number for each rule, behind what everybody has."""
    if not isinstance(document, Terms):
        return
    yield ScoreLine((), (_signed(document.base),))
    for term in document.terms:
        if isinstance(term, RuleTerm):
            yield ScoreLine(words.rule(term.rule), (_signed(term.value),))


def _of_tables(scores: Mapping[str, Document], words: DatasetWords) -> Iterator[ScoreLine]:
    """Scores that add points of the same bins; bins that are worth nothing in any are left out."""
    tables = [_tables(document) for document in scores.values()]
    for terms in zip(*tables, strict=True):
        bins = zip(_bins(terms[0].axes[0]), *(term.table for term in terms), strict=True)
        for of_bin, *values in bins:
            if any(values):
                yield ScoreLine(words.rule(Rule(all_of=of_bin)), tuple(map(_signed, values)))


def _tables(document: Document) -> Sequence[TableTerm]:
    terms = document.terms if isinstance(document, Terms) else ()
    return [term for term in terms if isinstance(term, TableTerm)]


def _bins(axis: Axis) -> Iterator[tuple[Predicate, ...]]:
    """Yield who is in each bin of an axis, in its order; the missing last."""
    name = axis.column
    for value in axis.values or ():
        yield (Predicate(column=name, op="eq", value=value),)
    if axis.cuts is not None:
        above = [Predicate(column=name, op="gt", value=cut) for cut in axis.cuts]
        below = [Predicate(column=name, op="le", value=cut) for cut in axis.cuts]
        yield (below[0],)
        yield from zip(above, below[1:], strict=False)
        yield (above[-1],)
    if axis.missing:
        yield (Predicate(column=name, op="is_missing"),)


def _signed(number: float) -> str:
    return signed(plain(number, 3))
