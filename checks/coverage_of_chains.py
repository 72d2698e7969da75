"""How often all intervals of a chain hold the truth together, and whether its sentences are true.

Part of `checks.coverage`: the figures of `estimation.chain_figures` on invented chains. A release counts as held if all
intervals that it has hold their truth: the rates of every step and group, how many people reach each stage, the ratios
of every step and of the chain up to it. A step that is said to make the difference has to be the one that truly does.
"""

import numpy as np

from auditor_client.estimation.chain_counts import ChainCounts
from auditor_client.estimation.chain_figures import ChainComparison, ChainFigures, chain_figures
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.measurements import IntArray, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray
from shared.privacy.noise import AdditiveNoise
from testing.invented.chains import ChainRegister, claims, quotients
from testing.truths import all_hold


def held(
    register: ChainRegister, answers: IntArray, noise: AdditiveNoise, *, level: float, seed: int
) -> dict[str, list[bool]]:
    """Whether all intervals of one release of a chain hold, and whether what it says of the decisive step is true."""
    counts = ChainCounts(register.groups, register.stages, (NoisyCounts(answers, noise),))
    figures = chain_figures(counts, level=level, drawing=Drawing(seed=seed))
    return {
        "chain together": [all_hold(claims(register, figures))],
        "decisive step": [all(_is_true(register, figures, one) for one in figures.comparisons)],
    }


def _is_true(register: ChainRegister, figures: ChainFigures, one: ChainComparison) -> bool:
    """Whether the step that is said to make the difference truly makes more of it than any other."""
    if one.decisive is None:
        return True
    reached = register.reached
    group, reference = figures.groups.index(one.group), figures.groups.index(figures.reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(quotients(reached[1:], reached[:-1]))
    moved = logs[:, group] - logs[:, reference]
    signed = moved if moved.sum() > 0 else -moved
    others = [signed[step] for step in range(len(signed)) if step != one.decisive]
    return bool(signed[one.decisive] > 0 and all(signed[one.decisive] >= other for other in others))


def sums_exactly(draws: FloatArray, reference: int) -> float:
    """The largest difference, in any draw and group, between the logarithm of the chain's ratio and its steps' sum.

    Of draws of how many reach each stage, shape (S + 1, K, M), all above zero.
    """
    rates, shares = np.log(draws[1:] / draws[:-1]), np.log(draws[-1] / draws[0])
    steps = (rates - rates[:, [reference]]).sum(axis=0)
    return float(np.abs(steps - (shares - shares[[reference]])).max())
