"""How often the intervals of a score's figures hold the truth, one by one and together (5-decisions §4).

Part of `checks.coverage`: every figure of `estimation.score_bands` on invented scores. What holds together counts as
held if all of it is held: of one group at every threshold, all ratios, all bands of one group.
"""

from collections.abc import Iterable

import numpy as np

from auditor_client.estimation.band_counts import BandCounts
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.measurements import IntArray, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.score_bands import ScoreEstimator, ScoreFigures, ThresholdCurve
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.noise import AdditiveNoise
from testing.invented.scores import ScoredRegister
from testing.many_releases import released
from testing.truths import all_hold, holds, true_parity


def scored(register: ScoredRegister, answers: tuple[IntArray, ...], noise: AdditiveNoise) -> BandCounts:
    """Answers as bands: of either label, or of everybody."""
    parts = [NoisyCounts(part, noise) for part in answers]
    if register.labelled:
        return BandCounts(register.groups, register.edges, positive=(parts[0],), negative=(parts[1],))
    return BandCounts(register.groups, register.edges, unlabelled=(parts[0],))


def releases(
    register: ScoredRegister, mechanism: LaplaceMechanism | GaussianMechanism, runs: int
) -> Iterable[tuple[IntArray, ...]]:
    """Noisy histograms of so many releases."""
    parts = (register.positive, register.negative) if register.labelled else (register.everybody,)
    return zip(*(released(mechanism, part, runs) for part in parts), strict=True)


def held(register: ScoredRegister, figures: ScoreFigures) -> dict[str, list[bool]]:
    """What of a register's truth the intervals of one release hold, by figure."""
    bands, groups = register.everybody.shape
    above = register.shares(register.everybody)
    shares = register.everybody / register.everybody.sum(axis=0)
    chosen = above[len(register.edges) // 2]
    found = {
        "impact ratio": [
            holds(one.ratio, true) for one, true in zip(figures.impact, chosen / chosen.max(), strict=True)
        ],
        "rates together": _curve(figures.acceptance, above),
        "ratios together": [_ratios(figures.acceptance, above)],
        "distribution together": [
            all_hold((figures.distribution[k][b], shares[b, k]) for b in range(bands)) for k in range(groups)
        ],
    }
    if figures.true_positive and figures.false_positive and figures.calibration and figures.auc:
        found["odds together"] = [
            *_curve(figures.true_positive, register.shares(register.positive)),
            *_curve(figures.false_positive, register.shares(register.negative)),
        ]
        with np.errstate(invalid="ignore"):
            positive = register.positive / register.everybody
        found["calibration together"] = [
            all_hold((of_band.groups[k].rate, positive[b, k]) for b, of_band in enumerate(figures.calibration))
            for k in range(groups)
        ]
        found["AUC"] = [holds(auc, true) for auc, true in zip(figures.auc, register.auc(), strict=True)]
    return found


def figures_of(register: ScoredRegister, bands: BandCounts, *, seed: int, draws: int) -> ScoreFigures:
    """All figures of one release; decisions are made at the middle edge."""
    return ScoreEstimator(bands, drawing=Drawing(draws, seed)).figures(register.edges[len(register.edges) // 2])


def _curve(curve: ThresholdCurve, shares: FloatArray) -> list[bool]:
    return [
        all_hold((parity.groups[k].rate, shares[edge, k]) for edge, parity in enumerate(curve.parities))
        for k in range(shares.shape[1])
    ]


def _ratios(curve: ThresholdCurve, shares: FloatArray) -> bool:
    ratios = (true_parity(of_edge)[0] for of_edge in shares)
    return all_hold(zip((parity.ratio for parity in curve.parities), ratios, strict=True))
