"""From a release to an estimate: by the paper's procedure, and by the product's posterior."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.many_releases import parity_ranges
from auditor_client.estimation.measurements import IntArray, Supports
from auditor_client.estimation.plug_in import Policy, plug_in_counts
from auditor_client.estimation.totals import CountedTotals
from benchmarks.accuracy import Case
from shared.kinds.releases import ReleasedBatch
from shared.privacy.noise import DiscreteLaplaceNoise

POLICY: Final = Policy("uniform", "uniform")
"""What the paper's experiments do with invalid answers."""

LEVEL: Final = 0.95
DRAWS: Final = 1024
"""From each posterior. An audit takes four times as many; compared with the privacy noise that makes no difference."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates of SP from T releases.

    Attributes:
        value: Shape (T,); NaN where nobody seems to be accepted.
        low: Of the 95 % interval, shape (T,); NaN where the method gives none.
        high: Likewise.
        invalid: The share of invalid answers, shape (T,).
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    invalid: FloatArray

    def columns(self) -> dict[str, FloatArray]:
        """For a table of results."""
        return {"estimate": self.value, "low": self.low, "high": self.high, "invalid": self.invalid}


def counts_of(batch: ReleasedBatch) -> IntArray:
    """A batch's answers, shape (R, K)."""
    return np.array([cell.counts for cell in batch.cells], dtype=np.int64)


def laplace_noise(batch: ReleasedBatch) -> DiscreteLaplaceNoise:
    """The noise of a batch that was asked with Laplace."""
    if isinstance(batch.noise, DiscreteLaplaceNoise):
        return batch.noise
    raise TypeError(f"Batch {batch.name!r} was answered with another mechanism than Laplace.")


def by_the_paper(everybody: IntArray, favourable: IntArray, case: Case) -> Estimates:
    """The paper's procedure: the root query, the favourable rules, `uniform` for what is invalid, exact supports.

    Args:
        everybody: Noisy group sizes, shape (T, 1, K).
        favourable: Noisy histograms of the favourable rules, shape (T, R, K).
        case: Whose supports the auditor knows.
    """
    supports = Supports(tuple(case.favourable.sum(axis=1).tolist()), (int(case.sizes.sum()),))
    counts = plug_in_counts(favourable, everybody, "everybody", supports=supports, policy=POLICY)
    value = counts.ratio()
    none = np.full_like(value, np.nan)
    return Estimates(value, none, none, counts.invalid_share)


def by_posterior(favourable: IntArray, unfavourable: IntArray, noise: DiscreteLaplaceNoise) -> Estimates:
    """The product's estimator on strategy `verdict`: posterior median and 95 % interval.

    Args:
        favourable: Noisy numbers of the accepted, shape (T, K).
        unfavourable: Noisy numbers of the refused, shape (T, K).
        noise: On each of them.
    """
    totals = CountedTotals.with_noise(
        favourable, unfavourable, (noise, noise), cells=(1, 1), complement_is="unfavourable"
    )
    ranges = parity_ranges(totals, level=LEVEL, drawing=Drawing(DRAWS))
    value, low, high = np.array([(found.ratio.value, found.ratio.low, found.ratio.high) for found in ranges]).T
    return Estimates(value, low, high, np.zeros_like(value))
