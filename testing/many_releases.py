"""Many releases of some true counts by the holder's own mechanism, as an estimator takes them: for simulations.

The estimator may suppose another noise than was added: a fault that intervals have to show.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from auditor_client.estimation.crossed_counts import ChangedFigures, CrossedCounts, changed_figures
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.likelihoods import AdditiveAnswers
from auditor_client.estimation.measurements import ComplementKind, IntArray, Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import noise_sum
from auditor_client.estimation.totals import CountedTotals
from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import Loss
from shared.privacy.noise import AdditiveNoise
from testing.invented.pairs import DECISIONS, PairRegister
from testing.invented.strata import StratifiedRegister

AdditiveMechanism = LaplaceMechanism | GaussianMechanism
RUNS_AT_ONCE: Final = 50
DELTA_NANO: Final = 1_000


def additive(seed: int, epsilon_nano: int) -> AdditiveMechanism:
    """Laplace noise for every second register, Gaussian for the others."""
    if seed % 2:
        return GaussianMechanism.calibrated(loss=Loss(epsilon_nano, DELTA_NANO), squared_sensitivity=1)
    return LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1)


def released(mechanism: Mechanism, counts: IntArray, runs: int) -> IntArray:
    """Independent releases of some true counts, shape (runs, R, K)."""
    noisy = mechanism.release(np.tile(counts.ravel(), runs).tolist())
    return np.array(noisy, dtype=np.int64).reshape(runs, *counts.shape)


def released_sums(
    parts: tuple[IntArray, IntArray], mechanism: AdditiveMechanism, runs: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Sums of either part's noisy counts, some releases at once: shape (T, K) each; the parts have shape (R, K)."""
    for start in range(0, runs, RUNS_AT_ONCE):
        number = min(RUNS_AT_ONCE, runs - start)
        first, second = (released(mechanism, part, number).sum(axis=1) for part in parts)
        yield first, second


def released_totals(
    parts: tuple[IntArray, IntArray],
    mechanism: AdditiveMechanism,
    runs: int,
    *,
    noise: AdditiveNoise | None = None,
    complement_is: ComplementKind = "unfavourable",
) -> Iterator[CountedTotals]:
    """Totals of the groups, some releases at once.

    Args:
        parts: True histograms of the favourable cells, shape (R, K), and of the complement's, shape (R', K), in people.
        mechanism: What adds the noise to each count.
        runs: How many releases.
        noise: What the estimator supposes; by default what is added.
        complement_is: What the second part counts.
    """
    supposed = noise or mechanism.noise
    cells = len(parts[0]), len(parts[1])
    for accepted, complement in released_sums(parts, mechanism, runs):
        yield CountedTotals.with_noise(
            accepted, complement, (supposed, supposed), cells=cells, complement_is=complement_is
        )


def released_changes(
    register: PairRegister,
    mechanism: AdditiveMechanism,
    runs: int,
    *,
    level: float,
    draws: int,
    noise: AdditiveNoise | None = None,
) -> list[ChangedFigures]:
    """What each release of both models' decisions says that changes from the first to the second.

    `noise` is what the estimator supposes; by default what the mechanism adds to each count.
    """
    supposed = noise_sum(noise or mechanism.noise, 1)
    answers = released(mechanism, register.cells, runs)
    found = []
    for start in range(0, runs, RUNS_AT_ONCE):
        cells = np.moveaxis(answers[start : start + RUNS_AT_ONCE], 1, 0)
        crossed = CrossedCounts(tuple(AdditiveAnswers(cell, supposed) for cell in cells), *DECISIONS)
        found += changed_figures(crossed, level=level, drawing=Drawing(draws, start))
    return found


def released_strata(
    register: StratifiedRegister, mechanism: AdditiveMechanism, runs: int, *, noise: AdditiveNoise | None = None
) -> Iterator[list[Measurement]]:
    """Of each release the measurement of every stratum, with the noise that the estimator supposes."""
    groups = tuple((f"group {group}",) for group in range(register.sizes.shape[1]))
    answers = (released(mechanism, part, runs) for part in (register.accepted, register.refused))

    def counts(of_stratum: IntArray) -> NoisyCounts:
        return NoisyCounts(of_stratum[None], noise or mechanism.noise)

    for accepted, refused in zip(*answers, strict=True):
        yield [
            Measurement(groups, counts(one), counts(other), "unfavourable")
            for one, other in zip(accepted, refused, strict=True)
        ]
