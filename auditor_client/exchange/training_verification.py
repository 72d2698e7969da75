"""Is a training's answer what was asked for? Decided from the answer as it came, before anything of it is used.

As `verification` for plans: whatever follows from public facts is computed here again. How ε is divided among steps is
the holder's to say, so the steps are compared with the whole ε, each scale with its step, and the release with the
quote. Of a tree everything is checked but the counts themselves: that its leaves part everybody by the bins that were
asked for, and that each decides by its own counts; and of a tree over scores, that these add whole points of the
features' bins and nothing else.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from auditor_client.errors import HolderLied
from auditor_client.exchange.expected_noise import is_expected_scale, not_below
from auditor_client.exchange.verification import require, require_as_quoted, signed_answer
from auditor_client.models.boxes import Space, representatives
from auditor_client.text import loss_words
from shared.amounts import NANO_PER_UNIT, InvalidAmount, format_nano, parse_nano
from shared.bands import band_of
from shared.datasets import DatasetDescription
from shared.problems import PlanRefused
from shared.relations import Relation
from shared.releases import SigningKeys
from shared.rules import Predicate
from shared.schema import Group, Schema
from shared.scores import TableTerm, Terms, columns_of
from shared.trained_scores import TRAINED_UNITS_MAX, with_scores
from shared.trainings import (
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
    training_identity,
)

_PEOPLE_THAT_CHANGE: Final[Mapping[Relation, int]] = {"add_remove": 1, "replace": 2}
"""How many people come or go between neighbours; a training protects whole records, so other relations have none."""
_MODELS: Final[Mapping[str, type[TrainedTree | TrainedScore]]] = {
    "fair_tree": TrainedTree, "private_fair_tree": TrainedTree, "pflr": TrainedScore, "pflr_star": TrainedScore,
    "fair_linear": TrainedTree,
}  # fmt: skip
"""What each algorithm learns."""


def signed_training(document: Mapping[str, Any], keys: SigningKeys) -> TrainingRelease:
    """Check what a training's release says about itself: its signature, its form and its identity.

    Raises:
        HolderLied: Naming the fault.
    """
    release = signed_answer(document, keys, TrainingRelease)
    require(release.training.version == release.version, "its training is pinned to another version than it names")
    name = training_identity(release.training, auditor=release.auditor, dataset=release.dataset)
    require(release.id == name, "its id is not the identity of its auditor, dataset, version and training")
    return release


def check_training_quote(quote: TrainingQuote, *, training: Training, dataset: DatasetDescription) -> None:
    """Check that a quote prices the training that was sent, and that its steps come to that price.

    Raises:
        HolderLied: Naming the fault.
    """
    require(quote.dataset == dataset.name and quote.relation == dataset.relation, "the quote is for another dataset")
    require(quote.version == training.version, "the quote is for another version of the records")
    require(
        quote.charge == training.charge,
        f"the quote charges {loss_words(quote.charge)}, and the training is to cost {loss_words(training.charge)}",
    )
    _check_steps(quote.steps, training, dataset)


def verified_training(
    document: Mapping[str, Any],
    *,
    keys: SigningKeys,
    training: Training,
    quote: TrainingQuote,
    dataset: DatasetDescription,
    auditor: str,
) -> TrainingRelease:
    """Check a training's release against everything that is known before it.

    Args:
        document: The answer, parsed, with every field as it came.
        keys: The holder's published keys, pinned.
        training: What was asked, pinned to a version.
        quote: The price that the holder quoted.
        dataset: The declaration that the training was made for.
        auditor: Who asked, by the holder's own name for it.

    Raises:
        HolderLied: Naming the fault.
    """
    release = signed_training(document, keys)
    require(release.training.document() == training.document(), "it answers another training than was asked")
    require_as_quoted(release, dataset=dataset, auditor=auditor, charge=quote.charge)
    require(release.steps == quote.steps, "its steps are not the quoted ones")
    require(isinstance(release.model, _MODELS[training.algorithm.name]), "its model is of another kind than was asked")
    schema = dataset.table
    if isinstance(release.model, TrainedScore):
        _check_score(release.model, training)
    else:
        _check_tree(release.model, training, schema)
        counted = release.counts is not None or isinstance(training.algorithm, PrivateFairTree)
        require(counted, "its tree comes without the counts of its leaves")
        if release.counts is not None:
            _check_counts(release.model, release.counts, release.steps, schema.groups(training.sensitive))
    return release


def _check_steps(steps: Sequence[TrainingStep], training: Training, dataset: DatasetDescription) -> None:
    people = _PEOPLE_THAT_CHANGE.get(dataset.relation)
    require(people is not None, "trainings are not offered under the dataset's relation")
    require(len({step.name for step in steps}) == len(steps) > 0, "it has no steps, or two of one name")
    spent = 0
    for step in steps:
        epsilon_nano = _nano(step)
        require(
            epsilon_nano > 0 and step.classes >= 1 and _fits(step, epsilon_nano, people or 1),
            f"the noise of step {step.name!r} (scale {step.scale:g}) is not the one of epsilon {step.epsilon}",
        )
        spent += epsilon_nano
    require(spent == training.epsilon, "the epsilons of its steps do not come to that of the training")
    if isinstance(training.algorithm, FairTree | PrivateFairTree):
        _check_splits(steps, training.algorithm, training.epsilon)
    if isinstance(training.algorithm, FairLinear):
        tables = training.epsilon * training.algorithm.tables // NANO_PER_UNIT
        divided = [(step.measures, step.classes, _nano(step)) for step in steps]
        wanted = [("counts", len(training.features), tables), ("counts", 1, training.epsilon - tables)]
        require(divided == wanted, "its steps are not the tables of all features and the bands of their scores")


def _check_splits(steps: Sequence[TrainingStep], algorithm: FairTree | PrivateFairTree, epsilon_nano: int) -> None:
    """All steps but the last, the leaves', are for splits; whatever a tree chooses is."""
    chosen = [step for step in steps if step.measures == "choices"]
    splits = sum(map(_nano, chosen if isinstance(algorithm, FairTree) else steps[:-1]))
    wanted = epsilon_nano * algorithm.splits // NANO_PER_UNIT
    require(
        0 <= wanted - splits < algorithm.depth,  # as evenly as whole nano-units go over the levels
        f"its splits cost epsilon {format_nano(splits)}, and they were given {format_nano(wanted)}",
    )


def _fits(step: TrainingStep, epsilon_nano: int, people: int) -> bool:
    """Whether a step's noise is what its ε gives, up to the rounding of scales."""
    if step.measures == "sums":  # whose sensitivity is a whole number that the holder proves
        unit = Fraction(people * NANO_PER_UNIT, epsilon_nano)
        sensitivity = round(step.scale / float(unit)) if math.isfinite(step.scale) else 0
        return sensitivity >= 1 and is_expected_scale(step.scale, not_below(unit * sensitivity))
    parts = step.classes if step.measures == "counts" else people
    each = epsilon_nano // parts
    expected = Fraction((people if step.measures == "counts" else 1) * NANO_PER_UNIT, max(each, 1))
    return each > 0 and is_expected_scale(step.scale, not_below(expected))


def _nano(step: TrainingStep) -> int:
    """What a step costs; 0 if its text is no amount."""
    try:
        return parse_nano(step.epsilon)
    except InvalidAmount:
        return 0


def _check_score(model: TrainedScore, training: Training) -> None:
    used = columns_of(model.document)
    require(
        set(used) <= {feature.column for feature in training.features} and math.isfinite(model.at_least),
        "its score reads other columns than the features, or has no threshold",
    )


def _check_tree(model: TrainedTree, training: Training, declared: Schema) -> None:
    ids = [leaf.cell.id for leaf in model.leaves]
    require(
        len(set(ids)) == len(ids) and 1 <= len(ids) <= _leaves_max(training),
        "its tree has more leaves than was asked for, or two of one name",
    )
    schema, linear = declared, isinstance(training.algorithm, FairLinear)
    require(linear or model.scores is None, "its tree decides by scores, and was to decide by features")
    if isinstance(training.algorithm, FairLinear):
        schema = _scored(model, training, declared, points=training.algorithm.points)
    conjunctions = [rule.all_of for leaf in model.leaves for rule in leaf.cell.any_of]
    cuts = {} if linear else {feature.column: feature.cuts or () for feature in training.features}
    for predicate in dict.fromkeys(itertools.chain.from_iterable(conjunctions)):
        if predicate.column in (model.scores or {}):
            require(_fitting(predicate, schema), f"its tree compares {predicate.column!r} with what is no score")
            continue
        require(predicate.column in cuts, "its tree splits on a column that is no feature")
        require(
            _fitting(predicate, schema) and _keeps_bins(predicate, cuts[predicate.column], schema),
            f"its tree splits column {predicate.column!r} elsewhere than where bins begin",
        )
    require(_parts_everybody(conjunctions, schema), "its leaves do not part everybody: some overlap, or leave some out")


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
            f"its score {name!r} reads something else than the bins of the features",
        )
        numbers = [number for term in terms if isinstance(term, TableTerm) for number in term.table]
        require(all(abs(number) <= most for number in numbers), f"its score {name!r} gives more points than a bin may")
    try:
        return with_scores(schema, model)
    except ValueError as error:
        raise HolderLied(f"Its scores are none of whole points, or are called like a column: {error}") from error


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
            f"{where} has not a count for each of {len(groups)} groups and each value of the label",
        )
        require(
            leaf.favourable == (sum(counted.positive) > sum(counted.negative)),
            f"{where} decides otherwise than by its counts",
        )
