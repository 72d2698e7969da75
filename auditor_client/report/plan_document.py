"""A planned audit as a JSON document: its price and what could be expected of it, exact and unrounded."""

from typing import Any, Final

from auditor_client.asking.question import Question
from auditor_client.planning.capacity import Capacity
from auditor_client.planning.forecasts import Expectation, Forecast, amount_of
from auditor_client.report.json_document import figures_document
from shared.contract.datasets import Budget
from shared.kinds.plans import Quote

_UNKNOWN: Final = ("share", "ratio", "decided")
_CHANCE: Final = ("ratio", "meets", "fails", "undecided", "simulated")
_TABLE: Final = ("sensitive", "together", "separate", "times")
_STEP: Final = ("stage", "passing", "rate_width", "ratio_low", "ratio_high", "bounded")


def plan_document(
    question: Question,
    quote: Quote,
    forecast: Forecast,
    budget: Budget,
    capacity: Capacity | None,
    *,
    target_width: float | None,
) -> dict[str, Any]:
    """A planned audit as JSON values."""
    rules, model = question.rules, question.model
    return {
        "plan": question.plan.document(),
        "quote": quote.model_dump(mode="json"),
        "rules": len(rules),
        "favourable_rules": sum(rule.favourable for rule in rules),
        "model": {"rules_digest": model.rules, "file_digest": model.file},
        "metrics": list(question.metrics),
        "strategy": question.strategy,
        "target_width": target_width,
        **figures_document(forecast.reading, "level", "joint"),
        **({} if forecast.reading.rule is None else {"judged": str(forecast.reading.rule)}),
        "expectation": _expected(forecast.chosen),
        "strategies": [_expected(expected) for expected in forecast.strategies],
        "curve": [_expected(expected) for expected in forecast.curve],
        "chances": [
            {**figures_document(chance, *_CHANCE), "standard_error": chance.error} for chance in forecast.chances
        ],
        "knowing": [
            {"supports": knowledge.supports, "group_totals": knowledge.totals, **_expected(expected)}
            for knowledge, expected in forecast.knowing.items()
        ],
        **_looks_forecast(forecast),
        **_strata_forecast(forecast),
        **({"chain": [figures_document(step, *_STEP) for step in forecast.chain]} if forecast.chain else {}),
        **({"unknown": [figures_document(row, *_UNKNOWN) for row in forecast.unknown]} if forecast.unknown else {}),
        **_misreported_forecast(forecast),
        **({"tables": [figures_document(row, *_TABLE) for row in forecast.tables]} if forecast.tables else {}),
        **_joined_forecast(forecast),
        "other_people": [
            {"people": people, **_expected(expected)} for people, expected in (forecast.other_people or {}).items()
        ],
        "assumption": {
            **forecast.assumption.model_dump(),
            "people": None if forecast.other_people is not None else forecast.assumption.people,
            "supposed_people": forecast.assumption.supposed_people,
            "from_supports": forecast.from_supports,
        },
        "budget": budget.model_dump(mode="json"),
        **_capacity(capacity),
    }


def _capacity(capacity: Capacity | None) -> dict[str, Any]:
    """Return how many audits of this width fit under what is left; left out where that is no question."""
    if capacity is None:
        return {}
    other = {} if capacity.other is None else {capacity.other[0]: capacity.other[1]}
    return {"audits_that_fit": {"asked": capacity.asked, **other}}


def _looks_forecast(forecast: Forecast) -> dict[str, Any]:
    """What each look until a verdict is decided costs and shows, each at its own level; left out for one answer."""
    looks = forecast.reading.looks
    if looks is None:
        return {}
    steps = zip(looks.steps, forecast.looks, strict=True)
    each = [{"costs": step.document(), **_expected(expected)} for step, expected in steps]
    return {"looks": {"level": looks.level, "each": looks.each, "looks": each}}


def _strata_forecast(forecast: Forecast) -> dict[str, Any]:
    """Return what comparing within strata gives and costs; left out without any."""
    strata = forecast.strata
    if strata is None:
        return {}
    return {
        "strata": {
            **figures_document(strata, "number", "people"),
            "within": _expected(strata.within),
            "without": _expected(strata.without),
        }
    }


def _joined_forecast(forecast: Forecast) -> dict[str, Any]:
    """Return what the answer gives together with kept ones; left out where it is to be read by itself."""
    of_kept = forecast.joined
    if of_kept is None:
        return {}
    now = None if of_kept.now is None else _expected(of_kept.now)
    return {"joined": {"kept": of_kept.kept, "now": now, "then": _expected(of_kept.then)}}


def _expected(expectation: Expectation) -> dict[str, Any]:
    document = figures_document(expectation, "width", "error", "undecided")
    return {"strategy": expectation.strategy, **expectation.amount, **document}


def _misreported_forecast(forecast: Forecast) -> dict[str, Any]:
    """Return what a corrected audit would show; nothing without a study."""
    if not forecast.misreported:
        return {}
    rows = [
        {**amount_of(row.loss), **figures_document(row, "width", "recorded_width", "decided")}
        for row in forecast.misreported
    ]
    return {"misreported": rows}
