"""A planned audit as data: its price and what could be expected of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.question import Question
from auditor_client.planning.forecasts import Chance, Expectation, Forecast
from auditor_client.report.facts import Fact, subject_facts
from auditor_client.report.formats import whole
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.prose import noise_words
from auditor_client.report.widths import WidthCurve, planned_curve, width_words
from auditor_client.rule_words import listed
from auditor_client.text import loss_words
from shared.datasets import Budget
from shared.plans import Quote

_ENOUGH: Final = "The interval of the {metric} ratio is expected to be {width} wide."
_NOT_ENOUGH: Final = (
    "What is left of the budget does not suffice. The interval of the {metric} ratio is expected to be {width} wide."
)
_UNKNOWN: Final = (
    "How many people the dataset is about is not known, so {people} are supposed: give their number (--people)."
)
_WOULD_BE: Final = "With {people} people the interval would be {width} wide."
_RULES_FROM: Final = "From {people} people on, strategy auto would ask rule by rule."
_CHANCES: Final = (
    "Of 100 audits so many would give each verdict, by what the ratio truly is (simulated {fewest} to {most} times "
    "each, standard error at most {error} in 100):"
)


@dataclass(frozen=True, slots=True)
class ChanceRow:
    """How often there would be which verdict at one true ratio."""

    ratio: str
    fails: str
    undecided: str
    meets: str


@dataclass(frozen=True, slots=True)
class PlanData:
    """Everything that is shown of a plan.

    `supposed` says what is not known of the people and what difference that makes; it is empty if their number is.
    """

    supposed: str
    headline: str
    enough: bool
    facts: tuple[Fact, ...]
    table_title: str
    rows: tuple[Expectation, ...]
    chosen: str
    gives: Mapping[str, str]
    chances_title: str
    chances: tuple[ChanceRow, ...]
    curve: WidthCurve
    assumption: str


_GIVES = {
    "verdict": "the figures alone, as exactly as the loss allows",
    "rules": "the figures, and every rule’s share in them",
    "pafer": "what the published procedure gives",
}


def plan_data(question: Question, quote: Quote, forecast: Forecast, budget: Budget) -> PlanData:
    """Everything that is to be shown of a plan."""
    charge, left = quote.charge, budget.left
    enough = charge.fits_in(left)
    favourable = sum(rule.favourable for rule in question.rules)
    metric = METRIC_WORDS[question.metrics[0]].within
    return PlanData(
        supposed=_supposed(forecast),
        headline=(_ENOUGH if enough else _NOT_ENOUGH).format(metric=metric, width=width_words(forecast.chosen.width)),
        enough=enough,
        facts=(
            Fact("Cost", f"{loss_words(charge)}; {loss_words(left)} is left"),
            *subject_facts(question),
            Fact("Rules", f"{len(question.rules)}, {favourable} of them favourable"),
            Fact("Figures", listed([METRIC_WORDS[name].title for name in question.metrics])),
            Fact("Strategy", question.strategy),
            *(Fact(f"Noise on each count of {batch.name}", noise_words(batch.noise)) for batch in quote.batches),
        ),
        table_title=f"Expected of the {metric} ratio at {loss_words(charge)}, by strategy:",
        rows=forecast.strategies,
        chosen=question.strategy,
        gives=_GIVES,
        chances_title=_chances_title(forecast),
        chances=tuple(map(_chance_row, forecast.chances)),
        curve=planned_curve(forecast),
        assumption=f"This supposes {forecast.assumption}"
        f"{'; the numbers of people are your own data’s' if forecast.from_supports else ''}.",
    )


def _supposed(forecast: Forecast) -> str:
    others = forecast.other_people
    if not others:
        return ""
    sentences = [_UNKNOWN.format(people=whole(forecast.assumption.supposed_people))]
    sentences += [
        _WOULD_BE.format(people=whole(people), width=width_words(expected.width)) for people, expected in others.items()
    ]
    if forecast.rules_from is not None:
        sentences.append(_RULES_FROM.format(people=whole(forecast.rules_from)))
    return " ".join(sentences)


def _chances_title(forecast: Forecast) -> str:
    if not forecast.chances:
        return ""
    numbers = [chance.simulated for chance in forecast.chances]
    error = max(chance.error for chance in forecast.chances)
    return _CHANCES.format(fewest=min(numbers), most=max(numbers), error=f"{100 * error:.1f}")


def _chance_row(chance: Chance) -> ChanceRow:
    shares = (f"{100 * share:.0f}" for share in (chance.fails, chance.undecided, chance.meets))
    return ChanceRow(f"{chance.ratio:.2f}", *shares)
