"""Totals of groups that people reported through randomised response (1-method §7, local model).

The counts are exact, and of reported groups: with Q[k, j] the probability that group k is reported as j, the
reported totals have mean Qᵀh, so h = Q⁻ᵀy is unbiased. Its error is that of multinomial misclassification of
people whose true groups are fixed: Cov(y) = Σ_k h_k (diag(Q_k) − Q_k Q_kᵀ), taken as normal, which the
thousands that a local model needs allow. How many people there are altogether is exact.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from scipy.stats import norm

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import ComplementKind, IntArray, Measurement
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.plausibility import check_supports
from auditor_client.estimation.totals import Totals

_ROUNDING_VARIANCE: Final = 0.25
"""In people squared: keeps the precision finite where a column is reported as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class UnmixedCounts:
    """Unbiased estimates of K groups' true counts.

    Attributes:
        estimate: Q⁻ᵀy, shape (K,), in people; may be negative.
        covariance: Of it, shape (K, K).
        precision: The inverse of the covariance, the same shape.
        people: Of all groups together, exact.
    """

    estimate: FloatArray
    covariance: FloatArray
    precision: FloatArray
    people: int

    @classmethod
    def of(cls, reported: IntArray, response: FloatArray) -> Self:
        """Undo the misreporting.

        Args:
            reported: Exact counts of reported groups, shape (K,).
            response: Q, shape (K, K).
        """
        if np.linalg.cond(response) > 1e6:
            raise EstimationRefused("The reports say next to nothing about the true groups: nothing to estimate.")
        inverse: FloatArray = np.linalg.inv(response).astype(np.float64)
        estimate: FloatArray = reported.astype(np.float64) @ inverse
        likely = np.maximum(estimate, 0)
        likely = likely * (reported.sum() / likely.sum()) if likely.sum() > 0 else likely
        spread = np.diag(likely @ response) - (response.T * likely) @ response
        covariance = inverse.T @ spread @ inverse
        precision: FloatArray = np.linalg.inv(covariance + _ROUNDING_VARIANCE * np.eye(len(estimate))).astype(
            np.float64
        )
        return cls(estimate, covariance, precision, int(reported.sum()))

    @property
    def deviations(self) -> FloatArray:
        """Standard deviations, shape (K,), in people."""
        deviations: FloatArray = np.sqrt(np.diag(self.covariance) + _ROUNDING_VARIANCE)
        return deviations


@dataclass(frozen=True, slots=True, eq=False)
class LocalTotals(Totals):
    """Totals of one release in the local model.

    Attributes:
        accepted: True counts of the accepted, estimated.
        refused: Of the refused.
    """

    accepted: UnmixedCounts
    refused: UnmixedCounts

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """A measurement's totals over its cells.

        Raises:
            EstimationRefused: The response probabilities or the supports do not fit the answer.
        """
        check_supports(measurement)
        response = measurement.response_probabilities()
        accepted, refused = (part.totals for part in measurement.completed())
        if measurement.complement_is == "everybody":
            refused = refused - accepted
        if not (np.all(accepted >= 0) and np.all(refused >= 0)):
            raise EstimationRefused("Exact counts of people are not negative: do not use the answer.")
        return cls(UnmixedCounts.of(accepted, response), UnmixedCounts.of(refused, response))

    @property
    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """See `Totals`."""
        return self.accepted.estimate[None], self.refused.estimate[None]

    @property
    def known_beside_accepted(self) -> ComplementKind:
        """See `Totals`: so many are reported."""
        return "unfavourable"

    @property
    def deviations(self) -> tuple[float, float]:
        """See `Totals`."""
        return float(self.accepted.deviations.mean()), float(self.refused.deviations.mean())

    def as_large(self) -> tuple[FloatArray, FloatArray]:
        """See `Totals`."""
        accepted, refused = (norm.sf(part.estimate / part.deviations)[None] for part in (self.accepted, self.refused))
        return accepted, refused
