"""The paper's procedure: invalid answers replaced by a policy, then plain ratios (1-method §4).

An answer is invalid if it is negative or above N, the number of people; above its rule's own support it
is not. Kept as published, for comparison: it gives no interval and no verdict.

Where the paper leaves a choice open: `total-valid` gives the invalid answers of one histogram equal
parts of the cell's total minus its other answers, those that another policy replaced included, and never
less than zero. A group of size zero has no rate and no part in the ratio. A rate may exceed 1, because the
answers for a group's size and for its accepted people err apart.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import ComplementKind, IntArray, Measurement, Supports
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.results import GroupEstimate, ParityEstimate
from auditor_client.text import no_such
from shared.wire.wording import figure, said

METHOD: Final = "plug-in"
NEGATIVE_POLICIES: Final = ("zero", "one", "uniform", "total-valid")
TOO_LARGE_POLICIES: Final = ("uniform", "total-valid")


@dataclass(frozen=True, slots=True)
class Policy:
    """The replacement of answers below zero and above the number of people."""

    negative: str
    too_large: str

    def __post_init__(self) -> None:
        if self.negative not in NEGATIVE_POLICIES:
            raise EstimationRefused(no_such("policy for negative answers", self.negative, NEGATIVE_POLICIES))
        if self.too_large not in TOO_LARGE_POLICIES:
            raise EstimationRefused(no_such("policy for too large answers", self.too_large, TOO_LARGE_POLICIES))


@dataclass(frozen=True, slots=True, eq=False)
class PlugInCounts:
    """Valid counts of K groups: accepted people and sizes, shape (..., K), not always whole.

    `invalid_share` is how many of the answers were invalid, within [0, 1], shape (...).
    """

    accepted: FloatArray
    sizes: FloatArray
    invalid_share: FloatArray

    def rates(self) -> FloatArray:
        """Acceptance rates, the same shape; NaN for a group of size zero."""
        return np.divide(self.accepted, self.sizes, out=np.full_like(self.accepted, np.nan), where=self.sizes > 0)

    def ratio(self) -> FloatArray:
        """Smallest over largest rate of the groups that have one, shape (...); NaN if nobody is accepted."""
        smallest, largest = _extremes(self.rates())
        return np.divide(smallest, largest, out=np.full_like(smallest, np.nan), where=largest > 0)

    def difference(self) -> FloatArray:
        """Largest minus smallest rate of the groups that have one, shape (...); NaN if none has."""
        smallest, largest = _extremes(self.rates())
        return largest - smallest


def estimate_parity(
    measurement: Measurement,
    *,
    negative: str = "uniform",
    too_large: str = "uniform",
    supports: Supports | None = None,
    threshold: float | None = 0.8,
) -> ParityEstimate:
    """Estimate statistical parity as published.

    Args:
        measurement: Noisy counts of K groups.
        negative: What replaces a negative answer, of `NEGATIVE_POLICIES`.
        too_large: What replaces an answer above the number of people, of `TOO_LARGE_POLICIES`.
        supports: Exact numbers of people from the auditor's own data, as the paper assumes; by default those of
            the measurement. Without any, the answers' own totals are used, which noise moves.
        threshold: Of the verdict, which is never given.

    Returns:
        Estimates of method "plug-in" without intervals, the verdict *undecided*, and the share of invalid answers.

    Raises:
        EstimationRefused: A policy is unknown, the supports do not fit, or the answers are randomised responses.
    """
    policy = Policy(negative, too_large)
    if measurement.is_local:
        raise EstimationRefused("The published procedure knows no randomised response: use the posterior.")
    supports = supports or measurement.supports or _noisy_supports(measurement)
    supports.check(measurement)
    favourable, complement = measurement.completed()
    counts = plug_in_counts(
        favourable.counts,
        complement.counts,
        measurement.complement_is,
        supports=supports,
        policy=policy,
    )
    rates, invalid_share = counts.rates(), float(counts.invalid_share)
    return ParityEstimate(
        groups=tuple(
            GroupEstimate(group, _bare(rates[k]), None, _bare(counts.sizes[k]), _bare(counts.accepted[k]))
            for k, group in enumerate(measurement.groups)
        ),
        ratio=_bare(counts.ratio()),
        difference=_bare(counts.difference()),
        threshold=threshold,
        warnings=(
            said("These figures follow the published procedure. They do not have intervals, so they may be noise."),
            said(
                "{share} of the answers were negative or above the number of people, and were replaced.",
                share=figure(invalid_share, 0, "percent"),
            ),
        ),
        invalid_share=invalid_share,
    )


def plug_in_counts(
    favourable: IntArray, complement: IntArray, complement_is: ComplementKind, *, supports: Supports, policy: Policy
) -> PlugInCounts:
    """Replace the invalid answers of one release, or of many simulated ones.

    `favourable` and `complement` are noisy histograms, shape (..., R, K) and (..., R', K), the supports of all these
    cells.
    """
    everybody = complement_is == "everybody"
    people = sum(supports.complement) if everybody else sum(supports.favourable) + sum(supports.complement)
    accepted, invalid = _valid(favourable, supports.favourable, people, policy)
    other, more = _valid(complement, supports.complement, people, policy)
    # As the authors have it, counts of rules are whole and group sizes need not be.
    accepted = np.round(accepted).sum(axis=-2)
    sizes = other.sum(axis=-2) if everybody else accepted + np.round(other).sum(axis=-2)
    return PlugInCounts(accepted, sizes, np.concatenate([invalid, more], axis=-2).mean(axis=(-2, -1)))


def _valid(
    answers: IntArray, supports: tuple[int, ...], people: int, policy: Policy
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Valid counts instead of all answers, and which answers were invalid; shape (..., R, K) each."""
    negative, too_large = answers < 0, answers > people
    totals = np.array(supports, dtype=np.float64)[:, None]
    replacements = {"zero": 0.0, "one": 1.0, "uniform": totals / answers.shape[-1], "total-valid": 0.0}
    valid = np.where(negative, replacements[policy.negative], answers)
    valid = np.where(too_large, replacements[policy.too_large], valid)
    by_total = (negative & (policy.negative == "total-valid")) | (too_large & (policy.too_large == "total-valid"))
    remainder = np.maximum(totals - valid.sum(axis=-1, keepdims=True), 0)
    valid = np.where(by_total, remainder / np.maximum(by_total.sum(axis=-1, keepdims=True), 1), valid)
    return valid, negative | too_large


def _noisy_supports(measurement: Measurement) -> Supports:
    """The answers' own totals, where they are more than nobody and, for rules, at most everybody."""
    favourable, complement = (
        [max(int(total), 0) for total in part.counts.sum(axis=1)]
        for part in (measurement.favourable, measurement.complement)
    )
    if measurement.complement_is == "everybody":
        complement = [max(complement[0], sum(favourable))]
    return Supports(tuple(favourable), tuple(complement))


def _extremes(rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest rate over the last axis, shape (...), NaN left out; NaN where all are."""
    missing = np.isnan(rates)
    nowhere = missing.all(axis=-1)
    smallest = np.where(missing, np.inf, rates).min(axis=-1)
    largest = np.where(missing, -np.inf, rates).max(axis=-1)
    return np.where(nowhere, np.nan, smallest), np.where(nowhere, np.nan, largest)


def _bare(value: float | FloatArray) -> Estimate:
    """A figure without an interval, and so of level 0."""
    return Estimate(float(value), math.nan, math.nan, 0.0, METHOD)
