"""A planned audit as data: its price and what could be expected of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from auditor_client.asking.question import Question
from auditor_client.planning.forecasts import Expectation, Forecast
from auditor_client.report.audit_data import Fact
from auditor_client.report.formats import scope_words
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.prose import noise_words
from auditor_client.report.subject import subject
from auditor_client.report.widths import WidthCurve, planned_curve
from auditor_client.rule_words import listed
from auditor_client.text import loss_words
from shared.datasets import Budget
from shared.plans import Quote


@dataclass(frozen=True, slots=True)
class PlanData:
    """Everything that is shown of a plan."""

    headline: str
    enough: bool
    facts: tuple[Fact, ...]
    table_title: str
    rows: tuple[Expectation, ...]
    chosen: str
    gives: Mapping[str, str]
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
    scope = scope_words(question)
    metric = METRIC_WORDS[question.metrics[0]].within
    return PlanData(
        headline=f"The audit would cost {loss_words(charge)}; {loss_words(left)} is left"
        f"{'' if enough else ', which does not suffice'}.",
        enough=enough,
        facts=(
            Fact("Audited", subject(question).sentence),
            Fact("Rules", f"{len(question.rules)}, {favourable} of them favourable"),
            Fact("Figures", listed([METRIC_WORDS[name].title for name in question.metrics])),
            Fact("Strategy", question.strategy),
            *([Fact("Within", " and ".join(scope))] if scope else []),
            *(Fact(f"Noise on each count of {batch.name}", noise_words(batch.noise)) for batch in quote.batches),
        ),
        table_title=f"Expected of the {metric} ratio at {loss_words(charge)}, by strategy:",
        rows=forecast.strategies,
        chosen=question.strategy,
        gives=_GIVES,
        curve=planned_curve(forecast),
        assumption=f"This supposes {forecast.assumption}"
        f"{', with the shares of your own data' if forecast.from_supports else ''}.",
    )
