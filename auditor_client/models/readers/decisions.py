"""From a score document to a model that decides: classes, thresholds, and one tree as its rules."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import Ask, MakersAnswers, checked
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.inventing import Invented
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel, above, among, decided
from auditor_client.models.readers.links import least, negated
from auditor_client.models.readers.tree_tables import tree_of_rules
from auditor_client.models.tree import Leaf, Tree
from shared.scores.columns import DerivedColumn, ScoreOrigin
from shared.scores.documents import Choice, Layers, RuleList, Terms, Trees, may_be_missing, values_of

_GIVE_ABOVE: Final = "give `above`; what is above it is favourable."

Adding = Trees | Terms | Layers


def two_classes(
    document: Adding,
    request: ModelRequest,
    provenance: Provenance,
    *,
    classes: Sequence[Any],
    decides: Callable[[float], bool] | None,
    shares: Callable[[float], tuple[float, float]] | None,
) -> ReadModel:
    """A model of two classes whose score rises with the second one's probability.

    Args:
        document: Its score.
        request: Which class is favourable, and from what probability on.
        provenance: How it was read.
        classes: The first and the second class.
        decides: Whether a score means the second class; None: the model only has probabilities.
        shares: The probabilities of both, in the maker's arithmetic; None: it has none.
    """
    favourable = favourable_classes(classes, request.favourable)
    second = classes[1] in favourable
    image = decides
    if request.above is not None or image is None:
        limit = request.above
        if limit is None:
            raise ModelRefused(f"The model gives probabilities and decides nothing: {_GIVE_ABOVE}")
        if shares is None:
            raise ModelRefused("The model decides without probabilities: leave `above` out.")
        probabilities = shares
        image = (
            (lambda score: probabilities(score)[1] > limit)
            if second
            else (lambda score: not probabilities(score)[0] > limit)
        )
    threshold = least(image, document.precision)
    labels = (str(classes[second]), str(classes[not second]))
    if second:
        return by_threshold(document, request, provenance, threshold=threshold, strict=False, labels=labels)
    return by_threshold(negated(document), request, provenance, threshold=-threshold, strict=True, labels=labels)


def one_number(
    document: Adding, request: ModelRequest, provenance: Provenance, *, image: Callable[[float], float] | None = None
) -> ReadModel:
    """A model that predicts a number: favourable is what is above `request.above`.

    Args:
        document: Its score.
        request: Says above what.
        provenance: How it was read.
        image: From a score to the number that the maker predicts, which rises; None: that is the score itself.
    """
    limit = request.above
    if limit is None:
        raise ModelRefused(f"The model predicts a number and decides nothing: {_GIVE_ABOVE}")
    if request.favourable is not None:
        raise ModelRefused("The model predicts a number and has no classes: leave `favourable` out.")
    rising = image or float
    threshold = least(lambda score: rising(score) > limit, document.precision)
    labels = (f"above {limit:g}", f"at most {limit:g}")
    return by_threshold(document, request, provenance, threshold=threshold, strict=False, labels=labels)


def by_threshold(
    document: Adding,
    request: ModelRequest,
    provenance: Provenance,
    *,
    threshold: float,
    strict: bool,
    labels: tuple[str, str],
) -> ReadModel:
    """Favourable at and above a threshold of the document's score, or only above it (`strict`)."""
    if math.isnan(threshold):
        raise ModelRefused("The model's threshold is no number.")
    if math.isinf(threshold):
        favourable = threshold < 0
        return ReadModel(Tree(Leaf("everybody", labels[not favourable], favourable)), provenance=provenance)
    if isinstance(document, Trees) and len(document.trees) == 1:
        kind = np.dtype(document.precision).type

        def decide(value: float) -> tuple[str, bool]:
            score = float(kind(document.base) + kind(value))
            favourable = score > threshold if strict else score >= threshold
            return labels[not favourable], favourable

        tree = tree_of_rules(document.trees[0], document.tests, request.schema, decide)
        if tree is not None:
            return ReadModel(tree, provenance=provenance)
    column = _column(document, request, "number")
    tree = above(column.name, threshold, favourable=labels, strict=strict)
    return ReadModel(tree, (column,), column.name, (threshold,), decided(column.column), provenance)


def by_choice(
    documents: Sequence[Adding], request: ModelRequest, provenance: Provenance, *, classes: Sequence[Any]
) -> ReadModel:
    """A model that decides for the class whose score is largest, the first of those that are equal."""
    favourable = favourable_classes(classes, request.favourable)
    if request.above is not None:
        raise ModelRefused("The model decides between several classes by the largest score: leave `above` out.")
    names = tuple(str(label) for label in classes)
    if len(set(names)) != len(names):
        raise ModelRefused("Two classes of the model have the same name.")
    column = _column(Choice(kind="choice", categories=names, of=tuple(documents)), request, "category")
    tree = among(column.name, names, [str(label) for label in classes if label in favourable])
    return ReadModel(tree, (column,), None, (), decided(column.column), provenance)


def by_list(document: RuleList, request: ModelRequest, provenance: Provenance) -> ReadModel:
    """A list of rules that decides by texts."""
    names = [str(value) for value in values_of(document)]
    favourable = favourable_classes(names, request.favourable)
    if len(names) < 2:
        raise ModelRefused("The list decides alike for everybody.")
    column = _column(document, request, "category")
    tree = among(column.name, names, [name for name in names if name in favourable])
    return ReadModel(tree, (column,), None, (), (), provenance)


def makers_answers(
    read: ReadModel,
    request: ModelRequest,
    *,
    classes: Sequence[Any],
    probabilities: Any,
    raw: Any,
    decided_as: Any = None,
    ties: float | None = None,
) -> MakersAnswers:
    """What a maker's own predictions say of invented records.

    Args:
        read: What was read.
        request: As it was asked for.
        classes: The model's classes in its order; of a model of one number, nothing.
        probabilities: Shape (records, classes); of a model of one number its predictions, shape (records,).
        raw: Its score at the document's scale, shape (records,), or (records, classes) for a choice; None: not shown.
        decided_as: The index of the class that each record is decided for, shape (records,); None: the largest
            probability's, the first of equal ones.
        ties: How near two classes' numbers have to be for their probabilities to round to the same.
    """
    scores, bounds = {}, {}
    sign = 1.0
    probabilities = np.asarray(probabilities, np.float64)
    if not classes:
        favourable = probabilities > request.above
    else:
        is_favourable = [label in favourable_classes(classes, request.favourable) for label in classes]
        sign = 1.0 if is_favourable[-1] or len(classes) > 2 else -1.0
        if request.above is None:
            index = np.argmax(probabilities, axis=1) if decided_as is None else decided_as
            favourable = np.array(is_favourable)[index]
        else:
            favourable = probabilities[:, is_favourable.index(True)] > request.above
    if raw is not None and read.columns:
        scores[read.columns[0].name] = sign * np.asarray(raw, np.float64)
        if ties is not None:
            bounds[read.columns[0].name] = np.full(len(probabilities), ties)
    return MakersAnswers(favourable=np.asarray(favourable, bool), scores=scores, bounds=bounds)


def compared(read: ReadModel, request: ModelRequest, ask: Ask, maker: str, **options: Any) -> ReadModel:
    """The model, compared with its maker's own predictions."""
    provenance = replace(read.provenance or Provenance("a model", "a file"), compared_with=maker)

    def asked(records: Invented) -> MakersAnswers:
        try:
            return ask(records)
        except Exception as error:  # a maker's library may fail in any way on a model that is forged
            reason = " ".join(str(error).split())[:200]
            raise ModelRefused(
                f"{maker} itself fails on the model ({reason}): save it again from its source."
            ) from error

    return checked(replace(read, provenance=provenance), request.schema, asked, **options)


def _column(document: Any, request: ModelRequest, kind: Any) -> DerivedColumn:
    return DerivedColumn.model_validate(
        {
            "name": request.score,
            "type": kind,
            "categories": tuple(str(value) for value in values_of(document)) or None,
            "nullable": may_be_missing(document, request.schema),
            "from": ScoreOrigin(score=document),
        }
    )
