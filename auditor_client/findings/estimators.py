"""Which estimator makes the figures of a metric: names that an auditor may choose, bound to `estimation`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor_client.asking.strategies import ODDS
from auditor_client.errors import QuestionRefused
from auditor_client.findings.answers import FIGURES, Reading
from shared.schema import Group

if TYPE_CHECKING:
    from auditor_client.estimation.results import OddsEstimate, ParityEstimate

ESTIMATORS: Final = ("posterior", "plug-in")


@dataclass(frozen=True, slots=True)
class Estimator:
    """How answers become figures; checked before anything is spent.

    Attributes:
        name: One of `ESTIMATORS`.
        negative: What the plug-in makes of negative counts.
        too_large: What it makes of counts above the number of people.
        threshold: What verdicts are about, within (0, 1].
        level: Of each single interval, within (0, 1).
    """

    name: str = "posterior"
    negative: str = "uniform"
    too_large: str = "uniform"
    threshold: float = 0.8
    level: float = 0.95

    def __post_init__(self) -> None:
        # Importing the estimators takes a second, and only estimating needs them.
        from auditor_client.estimation import plug_in  # noqa: PLC0415

        if not 0 < self.threshold <= 1:
            raise QuestionRefused(f"The threshold of the ratio lies above 0 and at most at 1; not at {self.threshold}.")
        if not 0.5 <= self.level < 1:
            raise QuestionRefused(f"The level of the intervals lies between 0.5 and 1; not at {self.level}.")
        if self.name not in ESTIMATORS:
            raise QuestionRefused(f"There is no estimator {self.name!r}: use one of {', '.join(ESTIMATORS)}.")
        if self.name == "plug-in":
            plug_in.Policy(self.negative, self.too_large)

    def __str__(self) -> str:
        return self.name if self.name == "posterior" else f"{self.name} ({self.negative}, {self.too_large})"

    def estimate(
        self, metric: str, readings: Mapping[str, Reading], reference: Group | None
    ) -> "ParityEstimate | OddsEstimate":
        """The figures of one metric.

        Raises:
            EstimationRefused: The answers do not allow it.
            QuestionRefused: The estimator does not make this figure.
        """
        from auditor_client.estimation import odds, plug_in, posterior  # noqa: PLC0415

        measured = [readings[figure].measurement for figure in FIGURES[metric]]
        if self.name == "plug-in":
            if metric == ODDS:
                raise QuestionRefused("The plug-in estimator makes no equalized odds: use posterior.")
            return plug_in.estimate_parity(
                measured[0], negative=self.negative, too_large=self.too_large, threshold=self.threshold
            )
        if metric == ODDS:
            positive, negative = measured
            return odds.estimate_equalized_odds(
                positive, negative, threshold=self.threshold, level=self.level, reference=reference
            )
        return posterior.estimate_parity(measured[0], threshold=self.threshold, level=self.level, reference=reference)
