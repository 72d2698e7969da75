"""Is a training's answer what was asked for? Decided from the answer as it came, before anything of it is used.

As `verification` for plans: whatever follows from public facts is computed here again. The steps are those of the
quote, which `training_steps` checks. Of a tree everything is checked but the counts themselves: that its leaves part
everybody by the bins that were asked for, and that each decides by its own counts; of a tree over scores, that these
add whole points of the features' bins and nothing else; of a score, that it adds numbers for the features' bins.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final

from auditor_client.errors import HolderLied
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.verification import require
from auditor_client.models.boxes import Space, representatives
from shared.contract.bands import band_of
from shared.contract.rules import Predicate
from shared.contract.schema import Group, Schema
from shared.kinds.trained_scores import TRAINED_UNITS_MAX, with_scores
from shared.kinds.trainings import (
    FairLinear,
    FairTree,
    PrivateFairTree,
    TrainedCounts,
    TrainedScore,
    TrainedTree,
    Training,
    TrainingQuote,
    TrainingRelease,
    TrainingStep,
)
from shared.scores.documents import RuleTerm, TableTerm, Terms
from shared.wire.problems import PlanRefused

_MODELS: Final[Mapping[str, type[TrainedTree | TrainedScore]]] = {
    "fair_tree": TrainedTree, "private_fair_tree": TrainedTree, "pflr": TrainedScore, "pflr_star": TrainedScore,
    "fair_linear": TrainedTree,
}  # fmt: skip
"""What each algorithm learns."""


def check_training_release(
    release: TrainingRelease, training: Training, quote: TrainingQuote, context: RequestContext
) -> None:
    """Check that a training took the quoted steps, and that its model is one that was asked for.

    Raises:
        HolderLied: Naming the fault.
    """
    require(release.steps == quote.steps, "its steps differ from the quoted ones")
    require(isinstance(release.model, _MODELS[training.algorithm.name]), "its model is of another kind than requested")
    schema = context.dataset.table
    if isinstance(release.model, TrainedScore):
        _check_score(release.model, training, schema)
        require(release.counts is None, "its score comes with counts of leaves")
    else:
        _check_tree(release.model, training, schema)
        counted = release.counts is not None or isinstance(training.algorithm, PrivateFairTree)
        require(counted, "its tree comes without the counts of its leaves")
        if release.counts is not None:
            _check_counts(release.model, release.counts, release.steps, schema.groups(training.sensitive))


def _check_score(model: TrainedScore, training: Training, schema: Schema) -> None:
    """A score adds a number for each bin, of one feature at a time, and is favourable from 0 on."""
    document, cuts = model.document, {feature.column: feature.cuts or () for feature in training.features}
    terms = document.terms if isinstance(document, Terms) and document.precision == "float64" else ()
    tests = [term.rule.all_of if isinstance(term, RuleTerm) else () for term in terms]
    require(
        isinstance(document, Terms)
        and len(terms) == len(document.terms)
        and all(of_term and len({test.column for test in of_term}) == 1 for of_term in tests)
        and {test.column for of_term in tests for test in of_term} <= cuts.keys(),
        "its score reads inputs other than the bins of the features, one feature at a time",
    )
    require(model.at_least == 0, "its score is not favourable from 0 on")
    require(
        all(
            _fitting(test, schema) and _keeps_bins(test, cuts[test.column], schema)
            for of_term in tests
            for test in of_term
        ),
        "its score compares a feature elsewhere than where bins begin",
    )


def _check_tree(model: TrainedTree, training: Training, declared: Schema) -> None:
    ids = [leaf.cell.id for leaf in model.leaves]
    require(
        len(set(ids)) == len(ids) and 1 <= len(ids) <= _leaves_max(training),
        "its tree has more leaves than requested, or two of one name",
    )
    schema, linear = declared, isinstance(training.algorithm, FairLinear)
    require(linear or model.scores is None, "its tree decides by scores instead of features")
    if isinstance(training.algorithm, FairLinear):
        schema = _scored(model, training, declared, points=training.algorithm.points)
    conjunctions = [rule.all_of for leaf in model.leaves for rule in leaf.cell.any_of]
    cuts = {} if linear else {feature.column: feature.cuts or () for feature in training.features}
    for predicate in dict.fromkeys(itertools.chain.from_iterable(conjunctions)):
        if predicate.column in (model.scores or {}):
            require(
                _fitting(predicate, schema),
                f"its tree compares {predicate.column!r} with a value that is not a score",
            )
            continue
        require(predicate.column in cuts, "its tree splits on a column that is not a feature")
        require(
            _fitting(predicate, schema) and _keeps_bins(predicate, cuts[predicate.column], schema),
            f"its tree splits column {predicate.column!r} elsewhere than where bins begin",
        )
    require(
        _parts_everybody(conjunctions, schema),
        "its leaves do not divide everybody: some overlap, or leave some people out",
    )


def _leaves_max(training: Training) -> int:
    """How many leaves a tree may have."""
    asked = training.algorithm
    if isinstance(asked, FairLinear):
        return (len(asked.label_quantiles) + 1) * (len(asked.group_quantiles) + 1)
    return 1 << asked.depth if isinstance(asked, FairTree | PrivateFairTree) else 1


def _scored(model: TrainedTree, training: Training, schema: Schema, *, points: int) -> Schema:
    """The declared columns and the scores: each adds, of every feature in order, whole points of its public bins."""
    scores, most = model.scores or {}, TRAINED_UNITS_MAX * points
    require(len(scores) <= 2 and schema.row_column not in scores, "it has more than two scores, or one without a name")
    axes = [feature.axis(schema.by_name[feature.column]) for feature in training.features]
    for name, document in scores.items():
        terms = document.terms if isinstance(document, Terms) and document.precision == "float64" else ()
        require(
            [term.axes if isinstance(term, TableTerm) else None for term in terms] == [(axis,) for axis in axes],
            f"its score {name!r} reads inputs other than the bins of the features",
        )
        numbers = [number for term in terms if isinstance(term, TableTerm) for number in term.table]
        require(all(abs(number) <= most for number in numbers), f"its score {name!r} gives more points than a bin may")
    try:
        return with_scores(schema, model)
    except ValueError as error:
        raise HolderLied(f"Its scores are not in whole points, or have the name of a column: {error}") from error


def _fitting(predicate: Predicate, schema: Schema) -> bool:
    try:
        predicate.check(schema, "model")
    except PlanRefused:
        return False
    return True


def _keeps_bins(predicate: Predicate, cuts: Sequence[float], schema: Schema) -> bool:
    """Whether a predicate says the same of all values of each bin."""
    column, said = schema.by_name[predicate.column], dict[int | None, bool]()
    if not column.ordered:
        return True
    for value in representatives(column, [predicate]):
        index = band_of(value, cuts) if isinstance(value, int | float) else None
        if said.setdefault(index, predicate.matches(value)) != predicate.matches(value):
            return False
    return True


def _parts_everybody(conjunctions: Sequence[Sequence[Predicate]], schema: Schema) -> bool:
    """Whether everybody is in one conjunction and in no other, whatever their values.

    Of boxes that have nothing in common the volumes add up, and they fill the space just if the sum is its volume.
    """
    space = Space.of(schema, conjunctions)
    boxes = [space.box(conjunction) for conjunction in conjunctions]
    volumes = [math.prod(len(box.get(name, space.all(name))) for name in space.values) for box in boxes]
    whole = math.prod(map(len, space.values.values()))
    apart = all(
        any(not first[name] & second[name] for name in first.keys() & second.keys())
        for first, second in itertools.combinations([box for box in boxes if all(box.values())], 2)
    )
    return apart and sum(volumes) == whole


def _check_counts(
    model: TrainedTree, counts: TrainedCounts, steps: Sequence[TrainingStep], groups: tuple[Group, ...]
) -> None:
    require(
        tuple(counts.groups) == tuple(groups), "its groups are not those of the dataset's declaration, in its order"
    )
    scales = [step.scale for step in steps if step.measures == "counts"]
    require([counts.noise.scale] == scales[-1:], "the noise on its leaves' counts is not that of their step")
    require(
        [leaf.id for leaf in counts.leaves] == [leaf.cell.id for leaf in model.leaves],
        "its counts are not of the model's leaves, in their order",
    )
    for leaf, counted in zip(model.leaves, counts.leaves, strict=True):
        where = f"leaf {counted.id!r}"
        require(
            len(counted.positive) == len(counted.negative) == len(groups),
            f"{where} does not have a count for each of {len(groups)} groups and each value of the label",
        )
        require(
            leaf.favourable == (sum(counted.positive) > sum(counted.negative)),
            f"{where} decides differently from its counts",
        )
