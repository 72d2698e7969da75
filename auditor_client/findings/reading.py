"""How an answer is read: the estimator by its name, what it is about, and how exact its intervals are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from auditor_client.asking.request import ODDS
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.band_counts import BandCounts
from auditor_client.findings.answers import RATES, Rate, RateCounts
from shared.schema import Group

if TYPE_CHECKING:
    from auditor_client.estimation.results import OddsEstimate, ParityEstimate
    from auditor_client.estimation.score_bands import ScoreFigures

ESTIMATORS: Final = ("posterior", "plug-in")


class Reading(BaseModel):
    """How answers become figures; checked before anything is spent.

    The descriptions of the fields are the help of the flags that `auditor_client.cli` makes of them. The threshold lies
    within (0, 1], the level within [0.5, 1).

    Raises:
        QuestionRefused: The estimator is unknown, or the threshold or level is out of range.
        EstimationRefused: The policy is unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    estimator: str = Field(default="posterior", description="posterior: with intervals; plug-in: as published.")
    negative: str = Field(
        default="uniform", description="Of the plug-in estimator, for negative counts: zero, one, uniform, total-valid."
    )
    too_large: str = Field(
        default="uniform", description="Of the plug-in estimator, for counts above everybody: uniform, total-valid."
    )
    threshold: float = Field(default=0.8, description="Of the ratio; 0.8 is the four-fifths rule.")
    level: float = Field(default=0.95, description="Of each interval.")

    @model_validator(mode="after")
    def _check(self) -> "Reading":
        if not 0 < self.threshold <= 1:
            raise QuestionRefused(f"The threshold of the ratio lies above 0 and at most at 1; not at {self.threshold}.")
        if not 0.5 <= self.level < 1:
            raise QuestionRefused(f"The level of the intervals lies between 0.5 and 1; not at {self.level}.")
        if self.estimator not in ESTIMATORS:
            raise QuestionRefused(f"There is no estimator {self.estimator!r}: use one of {', '.join(ESTIMATORS)}.")
        if not self.has_intervals:
            # Importing the estimators takes a second, and only estimating needs them.
            from auditor_client.estimation import plug_in  # noqa: PLC0415

            plug_in.Policy(self.negative, self.too_large)
        return self

    @property
    def has_intervals(self) -> bool:
        """Whether its estimator makes intervals, and so verdicts."""
        return self.estimator == "posterior"

    def __str__(self) -> str:
        return self.estimator if self.has_intervals else f"{self.estimator} ({self.negative}, {self.too_large})"

    def scores(self, bands: BandCounts, chosen: float | None, reference: Group | None) -> "ScoreFigures":
        """What bands of a score say.

        Args:
            bands: As they were answered.
            chosen: The edge at which decisions are made; None if there is none, or there are several.
            reference: The group to compare others with.
        """
        from auditor_client.estimation.score_bands import estimate_scores  # noqa: PLC0415 - see above

        return estimate_scores(bands, chosen=chosen, threshold=self.threshold, level=self.level, reference=reference)

    def estimate(
        self, metric: str, counts: Mapping[Rate, RateCounts], reference: Group | None
    ) -> "ParityEstimate | OddsEstimate":
        """The figures of one metric.

        Raises:
            EstimationRefused: The answers do not allow it.
            QuestionRefused: The estimator does not make this figure.
        """
        from auditor_client.estimation import odds, plug_in, posterior  # noqa: PLC0415

        measured = [counts[rate].measurement for rate in RATES[metric]]
        if not self.has_intervals:
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
