"""How often the intervals of conditional parity hold the truth, one by one and together (3-estimation §2).

Part of `checks.coverage`: the figures of `estimation.strata`, and of each stratum, on invented registers in strata.
What holds together counts as held if all of it is held: the ratios of all strata, and the differences.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.results import Estimate
from auditor_client.estimation.strata import estimate_strata
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.noise import AdditiveNoise
from testing.invented_strata import StratifiedRegister
from testing.many_releases import released

Truths = Iterable[tuple[Estimate, float]]


def releases(
    register: StratifiedRegister, mechanism: LaplaceMechanism | GaussianMechanism, noise: AdditiveNoise, runs: int
) -> Iterator[list[Measurement]]:
    """Of each release the measurement of every stratum, with the noise that the estimator supposes."""
    groups = tuple((f"group {group}",) for group in range(register.sizes.shape[1]))
    answers = (released(mechanism, part, runs) for part in (register.accepted, register.refused))

    def counts(of_stratum: IntArray) -> NoisyCounts:
        return NoisyCounts(of_stratum[None], noise)

    for accepted, refused in zip(*answers, strict=True):
        yield [
            Measurement(groups, counts(one), counts(other), "unfavourable")
            for one, other in zip(accepted, refused, strict=True)
        ]


def held(
    register: StratifiedRegister, measured: list[Measurement], *, level: float, seed: int
) -> dict[str, list[bool]]:
    """What of a register's truth the intervals of one release hold, by figure."""
    ratios, differences = _extremes(register.rates)
    figures = estimate_strata([[one] for one in measured], level=level, seed=seed)
    (standardised,) = figures.standardised
    true = register.standardised(standardised.strata_left_out)
    (ratio,), (difference,) = _extremes(true[None])
    found = {
        "strata together": [
            _all(zip((one.ratio for one in figures.together), ratios, strict=True)),
            _all(zip((one.difference for one in figures.together), differences, strict=True)),
        ],
        "every stratum": [
            _holds(figures.every.ratio, float(np.nanmin(ratios))),
            _holds(figures.every.difference, float(np.nanmax(differences))),
        ],
    }
    if standardised.ratio.defined:
        found["standardised rate"] = [
            _holds(one.rate, float(rate)) for one, rate in zip(standardised.groups, true, strict=True)
        ]
        found["standardised ratio"] = [
            _holds(standardised.ratio, float(ratio)),
            _holds(standardised.difference, float(difference)),
        ]
    return found


def _extremes(rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ratio and difference of each stratum, shape (S,); NaN where there is none."""
    smallest, largest = np.fmin.reduce(rates, axis=1), np.fmax.reduce(rates, axis=1)
    with np.errstate(invalid="ignore"):
        return smallest / largest, largest - smallest


def _all(figures: Truths) -> bool:
    return all(_holds(estimate, truth) for estimate, truth in figures)


def _holds(estimate: Estimate, truth: float) -> bool:
    """An undefined figure claims nothing, and an undefined truth is claimed by none; rounding is no error."""
    if np.isnan(truth) or np.isnan(estimate.low):
        return True
    return bool(estimate.low - 1e-9 <= truth <= estimate.high + 1e-9)
