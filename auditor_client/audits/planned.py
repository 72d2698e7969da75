"""An audit before it is asked: its price, and what could be expected of it (3-estimation §3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from auditor_client.asking.question import Question
from auditor_client.planning.forecasts import Expectation, Forecast
from auditor_client.report.view import Shown, View
from auditor_client.report.views import plan_view
from shared.datasets import Budget
from shared.plans import Plan, Quote


@dataclass(frozen=True, kw_only=True, repr=False)
class PlannedAudit(Shown):
    """An audit before it is asked.

    Attributes:
        question: What would be asked, about whom, of which model.
        quote: What the holder would charge, and its noise.
        forecast: How wide the interval of the ratio would be, for each strategy and ε, on what assumption.
        budget: The auditor's account.
        target_width: The width that was wanted, if ε was looked for.
    """

    question: Question
    quote: Quote
    forecast: Forecast
    budget: Budget
    target_width: float | None = None

    @property
    def plan(self) -> Plan:
        """What would be asked, pinned to a version of the records."""
        return self.question.plan

    @property
    def expectation(self) -> Expectation:
        """What could be expected of the question as it would be asked."""
        return self.forecast.chosen

    @cached_property
    def view(self) -> View[Any]:
        """Price and forecast, with the picture of width against ε."""
        return plan_view(self.question, self.quote, self.forecast, self.budget, self.target_width)
