"""Is a training's price what it should be: do its steps follow from what was asked, and their noise from their ε?

How ε is divided is said by the algorithm's own parameters and the number of features, so every step is computed here
again: what it measures, in how many classes, at which part of ε, with which noise. Of noisy sums the sensitivity alone
is the holder's to prove: it is some whole number.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.expected_noise import is_expected_scale, not_below
from auditor_client.exchange.verification import require
from auditor_client.text import loss_words
from shared.contract.datasets import DatasetDescription
from shared.contract.relations import Relation
from shared.contract.schema import Schema
from shared.kinds.trainings import (
    FairLinear,
    FairTree,
    Pflr,
    PflrStar,
    PrivateFairTree,
    Training,
    TrainingQuote,
    TrainingStep,
)
from shared.privacy.amounts import NANO_PER_UNIT, InvalidAmount, parse_nano
from shared.privacy.charges import Charge, step_rho_nano

_PEOPLE_THAT_CHANGE: Final[Mapping[Relation, int]] = {"add_remove": 1, "replace": 2}
"""How many people come or go between neighbours; a training protects whole records, so other relations have none."""

_Part = tuple[str, int | None, int]
"""What a step measures, in how many classes, or any, and what it costs in nano-units."""


def check_training_quote(quote: TrainingQuote, training: Training, context: RequestContext) -> None:
    """Check that the steps of a quote are those of the training that was sent, and that they come to its price.

    Raises:
        HolderLied: Naming the fault.
    """
    dataset = context.dataset
    _check_steps(quote.steps, training, dataset)
    steps = sum(step_rho_nano(step.measures, _nano(step), step.classes) for step in quote.steps)
    charge = Charge(training.charge, steps).entered(dataset.terms)
    require(
        quote.price == charge,
        f"the quote charges {loss_words(quote.price)}, and the training is to cost {loss_words(charge)}",
    )


def _check_steps(steps: Sequence[TrainingStep], training: Training, dataset: DatasetDescription) -> None:
    people = _PEOPLE_THAT_CHANGE.get(dataset.relation)
    require(people is not None, "trainings are not offered under the dataset's relation")
    require(len({step.name for step in steps}) == len(steps) > 0, "its steps are missing, or two have one name")
    spent = 0
    for step in steps:
        epsilon_nano = _nano(step)
        require(
            epsilon_nano > 0 and step.classes >= 1 and _fits(step, epsilon_nano, people or 1),
            f"the noise of step {step.name!r} (scale {step.scale:g}) is not the one of epsilon {step.epsilon}",
        )
        spent += epsilon_nano
    require(spent == training.epsilon, "the epsilons of its steps do not come to that of the training")
    wanted = [one for one in _divided(training, dataset.table, steps[0]) if one[2]]
    require(
        len(steps) == len(wanted)
        and all(
            (step.measures, _nano(step)) == (measures, nano) and classes in (None, step.classes)
            for step, (measures, classes, nano) in zip(steps, wanted, strict=True)
        ),
        f"its steps are not those that {training.algorithm.name} divides epsilon among",
    )


def _divided(training: Training, schema: Schema, first: TrainingStep) -> Iterator[_Part]:
    """The steps that an algorithm takes, in order; one that costs nothing is none.

    The first trees looked for no best-off group: their `first` step is a choice.
    """
    asked, epsilon, features = training.algorithm, training.epsilon, len(training.features)
    match asked:
        case FairTree():
            groups = 0 if first.measures == "choices" else epsilon * asked.groups_nano // NANO_PER_UNIT
            each = epsilon * asked.splits // NANO_PER_UNIT // asked.depth
            yield "counts", 1, groups
            yield from asked.depth * [("choices", 1, each)]
            yield "counts", 1, epsilon - groups - asked.depth * each
        case PrivateFairTree():
            each = epsilon * asked.splits // NANO_PER_UNIT // asked.depth
            yield from asked.depth * [("counts", features, each)]
            yield "counts", 1, epsilon - asked.depth * each
        case FairLinear():
            tables = epsilon * asked.tables // NANO_PER_UNIT
            yield "counts", features, tables
            yield "counts", 1, epsilon - tables
        case Pflr() | PflrStar():
            parting = sum(one.bins(schema.by_name[one.column]) > 1 for one in training.features)
            fairness = _of_covariance(asked, epsilon, parting)
            yield "sums", None, epsilon - fairness
            yield "sums", 1 + parting, fairness


def _of_covariance(asked: Pflr | PflrStar, epsilon_nano: int, features: int) -> int:
    """What of ε the covariance with the group gets.

    Of `pflr`, in proportion to the sensitivities: of m features (m + 1)/2 for the covariance, times its penalty, and
    (m + 1)(m + 10)/16 for the objective (docs/training-sources.md).
    """
    if isinstance(asked, PflrStar):
        return epsilon_nano * asked.fairness // NANO_PER_UNIT
    return epsilon_nano * 8 * asked.penalty // (8 * asked.penalty + NANO_PER_UNIT * (features + 10))


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
