"""How close one audit of the student grants comes, over many draws of its noise.

An audit draws its noise once, so the interval of one run says little about the next. The holder's mechanism answers the
question about origins so many times here, and each answer is read as the client reads it.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy import stats

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import RatioKind
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.contract.schema import Group
from shared.privacy.amounts import format_nano, parse_nano
from testing.many_releases import released

WITHIN: Final = (5.8, 6.7)
"""The range that the ratio's interval is to lie in."""
RUNS: Final = 200
COVERAGE_MIN: Final = 0.93
FALSE_ALARM: Final = 1e-6
"""The chance that a client whose intervals hold with `COVERAGE_MIN` is reported."""


def faults_of_draws(
    groups: tuple[Group, ...], left_alone: IntArray, selected: IntArray, epsilon: str, runs: int = RUNS
) -> Iterator[str]:
    """Print how the last group's ratio to the first comes out at ε and at 2ε; yields what contradicts the counts.

    Args:
        groups: The first is the reference.
        left_alone: The people of each group who are not selected, shape (1, K).
        selected: Those who are, likewise.
        epsilon: Of one audit.
        runs: How many draws of the noise.
    """
    rates = (selected / (left_alone + selected))[0]
    truth = float(rates[-1] / rates[0])
    print(f"\nOver {runs} draws of the noise, the ratio of {groups[-1][0]} to {groups[0][0]} (published {truth:.2f}):")
    for nano in (parse_nano(epsilon), 2 * parse_nano(epsilon)):
        found = list(_ratios(groups, left_alone, selected, nano, runs))
        ends = np.array([(one.low, one.high) for one in found])
        low, high = np.median(ends, axis=0)
        held = int(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).sum())
        within = int(((ends[:, 0] >= WITHIN[0]) & (ends[:, 1] <= WITHIN[1])).sum())
        print(
            f"  ε = {format_nano(nano)}: median interval {low:.2f} to {high:.2f}; the interval holds the published "
            f"ratio in {held}, and lies within {WITHIN[0]} to {WITHIN[1]} in {within}"
        )
        if stats.binom.cdf(held, runs, COVERAGE_MIN) < FALSE_ALARM:
            yield f"at ε = {format_nano(nano)} the interval holds the published ratio in {held} of {runs} draws"


def _ratios(
    groups: tuple[Group, ...], left_alone: IntArray, selected: IntArray, nano: int, runs: int
) -> Iterator[Estimate]:
    """The last group's adverse ratio to the first in each of many answers."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=nano, sensitivity=1)
    answers = (released(mechanism, part, runs) for part in (left_alone, selected))
    for favourable, adverse in zip(*answers, strict=True):
        accepted, refused = NoisyCounts(favourable, mechanism.noise), NoisyCounts(adverse, mechanism.noise)
        measured = Measurement(groups, accepted, refused, "unfavourable", ratio_kind=RatioKind.HIGHEST)
        (last,) = (one for one in estimate_parity(measured, reference=groups[0]).comparisons if one.group == groups[-1])
        yield last.ratio
