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
from auditor_client.estimation.measurements import ComplementKind, IntArray, Measurement, SizeBounds
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.totals import CountedTotals, FinerTotals, KnownTotals, TrueTotals

_ROUNDING_VARIANCE: Final = 0.25
"""In people squared: keeps the precision finite where a column is reported as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class UnmixedCounts:
    """Unbiased estimates of K groups' true counts.

    Attributes:
        estimate: Q⁻ᵀy, shape (K,), in people; may be negative.
        covariance: Of it, shape (K, K); `precision` is the inverse.
        people: Of all groups together, exact.
    """

    estimate: FloatArray
    covariance: FloatArray
    precision: FloatArray
    people: int

    @classmethod
    def of(cls, reported: IntArray, response: FloatArray) -> Self:
        """Undo the misreporting of exact counts of reported groups, shape (K,), by the response Q, shape (K, K)."""
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

    def log_ratio(self, counts: IntArray, changed: IntArray, groups: IntArray) -> FloatArray:
        """The normal log-likelihood after some groups' counts have changed, minus that before, shape (T, M).

        The counts are of all groups, shape (T, K, M), in people; `changed` has those of the G groups alone.
        """
        # −½(e + d)ᵀP(e + d) + ½eᵀPe = −dᵀP(e + ½d), where the difference d is zero but for these groups.
        difference = changed - counts[:, groups]
        slope = np.einsum("ik,tkm->tim", self.precision[groups], counts - self.estimate[None, :, None])
        slope += 0.5 * np.einsum("ij,tjm->tim", self.precision[np.ix_(groups, groups)], difference)
        log_ratio: FloatArray = -(difference * slope).sum(axis=1)
        return log_ratio


@dataclass(frozen=True, slots=True, eq=False)
class LocalTotals:
    """Totals of one release in the local model: T = 1; `finer` are those of finer groups that these add up."""

    accepted: UnmixedCounts
    refused: UnmixedCounts
    bounds: SizeBounds | None = None
    finer: "FinerTotals[LocalTotals] | None" = None

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """A measurement's totals over its cells.

        Raises:
            EstimationRefused: The response probabilities do not fit the answer.
        """
        response = measurement.response_probabilities()
        accepted, refused = (part.totals for part in measurement.completed())
        if measurement.complement_is == "everybody":
            refused = refused - accepted
        if not (np.all(accepted >= 0) and np.all(refused >= 0)):
            raise EstimationRefused("Exact counts of people are not negative: do not use the answer.")
        return cls(UnmixedCounts.of(accepted, response), UnmixedCounts.of(refused, response), measurement.bounds)

    @property
    def confusion(self) -> None:
        """Groups are misreported by design alone."""
        return None

    @property
    def complement_is(self) -> ComplementKind:
        """Reports are of the accepted and of the refused."""
        return "unfavourable"

    @property
    def known(self) -> KnownTotals:
        """Exact: a cell has as many people as reported."""
        accepted, refused = (np.array([part.people]) for part in (self.accepted, self.refused))
        return KnownTotals(accepted, refused, len(self.accepted.estimate))

    @property
    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Estimates of the accepted and of the refused, shape (1, K) each, in people; may be negative."""
        return self.accepted.estimate[None], self.refused.estimate[None]

    @property
    def deviations(self) -> tuple[float, float]:
        """Their standard deviations, in people, averaged over the groups."""
        return float(self.accepted.deviations.mean()), float(self.refused.deviations.mean())

    def tail_probabilities(self) -> tuple[FloatArray, FloatArray]:
        """Return how likely a group without people has so many reports, shape (1, K) each; a normal approximation."""
        accepted, refused = (norm.sf(part.estimate / part.deviations)[None] for part in (self.accepted, self.refused))
        return accepted, refused

    def size_tails(self, least: FloatArray) -> FloatArray:
        """See `CountedTotals`; shape (1, K), a normal approximation."""
        size = self.accepted.estimate + self.refused.estimate
        tails: FloatArray = norm.sf((size - least) / np.hypot(self.accepted.deviations, self.refused.deviations))
        return tails

    def log_ratio(self, totals: TrueTotals, changed: TrueTotals, groups: IntArray) -> FloatArray:
        """See `CountedTotals`; shape (1, M)."""
        return self.accepted.log_ratio(totals.accepted, changed.accepted, groups) + self.refused.log_ratio(
            totals.refused, changed.refused, groups
        )


Totals = CountedTotals | LocalTotals
"""What was answered about T releases' K groups, whatever the mechanism."""
