"""An audit before it is asked: its price, and what could be expected of it (3-estimation §3)."""

from dataclasses import dataclass
from functools import cached_property, partial

from auditor_client.asking.question import Question
from auditor_client.findings.about import NOTHING, About
from auditor_client.planning.capacity import Capacity, capacity
from auditor_client.planning.forecasts import Expectation, Forecast
from auditor_client.report.plan_data import PlanData, plan_data
from auditor_client.report.plan_document import plan_document
from auditor_client.report.terminal import plan_lines
from auditor_client.report.view import Shown, View
from shared.contract.datasets import Budget, DatasetDescription
from shared.kinds.plans import Plan, Quote


@dataclass(frozen=True, kw_only=True, repr=False)
class PlannedAudit(Shown):
    """An audit before it is asked.

    Attributes:
        quote: What the holder would charge, and its noise.
        forecast: How wide the interval of the ratio would be, for each strategy and ε, on what assumption.
        budget: The auditor's account.
        target_width: The width that was wanted, if ε was looked for.
        about: What the auditor writes of the audit.
    """

    question: Question
    quote: Quote
    forecast: Forecast
    budget: Budget
    target_width: float | None = None
    about: About = NOTHING

    @property
    def dataset(self) -> DatasetDescription:
        """Whom it would be about."""
        return self.question.dataset

    @property
    def plan(self) -> Plan:
        """What would be asked, pinned to a version of the records."""
        return self.question.plan

    @property
    def expectation(self) -> Expectation:
        """What could be expected of the question as it would be asked."""
        return self.forecast.chosen

    @cached_property
    def capacity(self) -> Capacity | None:
        """How many audits like it fit under what is left; None of one that costs nothing, or refines another."""
        return capacity(self.question, self.quote, self.budget)

    @cached_property
    def view(self) -> View[PlanData]:
        """Price and forecast, with the picture of width against ε."""
        planned = self.question, self.quote, self.forecast, self.budget, self.capacity
        data = partial(plan_data, *planned, about=self.about)
        document = partial(plan_document, *planned, target_width=self.target_width)
        return View((self.dataset,), "Planned audit", "44rem", "plan.html.j2", data, plan_lines, document)
