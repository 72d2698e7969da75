"""An audit before it is asked: its price, and what could be expected of it (3-estimation §3)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditor_client.asking.question import Question
from auditor_client.planning.forecasts import Expectation, Forecast
from auditor_client.report.render import plan_frame, plan_page, plan_summary
from shared.datasets import Budget
from shared.plans import Plan, Quote


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PlannedAudit:
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

    def summary(self) -> str:
        """Price and forecast as plain text, for a terminal."""
        return plan_summary(self.question, self.quote, self.forecast, self.budget)

    def to_html(self) -> str:
        """The plan as one page that needs nothing else, with the picture of width against ε."""
        return plan_page(self.question, self.quote, self.forecast, self.budget)

    def write_report(self, path: Path | str) -> Path:
        """Write the page into a file and say where it is.

        Raises:
            OSError: It cannot be written.
        """
        target = Path(path)
        target.write_text(self.to_html(), encoding="utf-8")
        return target

    def to_document(self) -> dict[str, Any]:
        """The same as JSON values."""
        rules, model = self.question.rules, self.question.model
        return {
            "plan": self.plan.document(),
            "quote": self.quote.model_dump(mode="json"),
            "rules": len(rules),
            "favourable_rules": sum(rule.favourable for rule in rules),
            "model": {"rules_digest": model.rules, "file_digest": model.file},
            "metrics": list(self.question.metrics),
            "strategy": self.question.strategy,
            "target_width": self.target_width,
            "expectation": _expected(self.forecast.chosen),
            "strategies": [_expected(expected) for expected in self.forecast.strategies],
            "curve": [_expected(expected) for expected in self.forecast.curve],
            "assumption": {**self.forecast.assumption.model_dump(), "from_supports": self.forecast.from_supports},
            "budget": self.budget.model_dump(mode="json"),
        }

    def __repr__(self) -> str:
        return f"<PlannedAudit: {self.summary().splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return plan_frame(self.question, self.quote, self.forecast, self.budget)


def _expected(expectation: Expectation) -> dict[str, Any]:
    return {
        "strategy": expectation.strategy,
        "epsilon": expectation.epsilon,
        "width": expectation.width,
        "error": expectation.error,
        "undecided": expectation.undecided,
    }
