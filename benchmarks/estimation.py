"""How long estimating takes, in seconds of one core (issue 5: 1 024 rules × 8 groups within a second).

`python -m benchmarks.estimation [--rules 1024] [--groups 8] [--repetitions 3]`

Counts are invented, half of the rules favourable, noise of ε = .5. The first time of a figure includes the noise's
tables, which are kept; the line shows the first time and the median of the others.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from auditor_client.estimation import noise_sums
from auditor_client.estimation.attribution import attribute, flipped
from auditor_client.estimation.comparison import compare_estimates
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts, Supports
from auditor_client.estimation.odds import estimate_equalized_odds
from auditor_client.estimation.posterior import estimate_parity
from shared.privacy.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialNoise,
    KeptValue,
    Noise,
    RandomisedResponseNoise,
)

LAPLACE = DiscreteLaplaceNoise(scale=2)
NOISES: dict[str, Noise] = {
    "laplace, ε = .5": LAPLACE,
    "laplace, ε = .05": DiscreteLaplaceNoise(scale=20),
    "gaussian": DiscreteGaussianNoise(scale=9),
    "exponential": ExponentialNoise(scale=4, upper=20_000),
    "randomised response": RandomisedResponseNoise(kept=(KeptValue(column="group", probability="0.8"),)),
}


def measured(cells: IntArray, noise: Noise, supports: Supports | None = None) -> Measurement:
    """Half of the cells are favourable."""
    half = len(cells) // 2
    groups = tuple((f"group {group}",) for group in range(cells.shape[1]))
    return Measurement(
        groups, NoisyCounts(cells[:half], noise), NoisyCounts(cells[half:], noise), "unfavourable", supports
    )


def seconds(work: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """The first time, and the median of further ones, in seconds of this process."""
    took = []
    for _ in range(repetitions + 1):
        started = time.process_time()
        work()
        took.append(time.process_time() - started)
    return took[0], statistics.median(took[1:])


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rules", type=int, default=1024)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    cells = np.random.default_rng(0).integers(0, 60, (given.rules, given.groups))
    half = given.rules // 2
    supports = Supports(tuple(cells[:half].sum(axis=1).tolist()), tuple(cells[half:].sum(axis=1).tolist()))
    plain = measured(cells, LAPLACE)
    work: dict[str, Callable[[], object]] = {
        **{f"parity, {name}": partial(estimate_parity, measured(cells, noise)) for name, noise in NOISES.items()},
        "parity, exact supports": partial(estimate_parity, measured(cells, LAPLACE, supports)),
        "equalized odds": partial(estimate_equalized_odds, plain, plain),
        "shares of the rules": partial(attribute, plain),
        "a rule reversed": lambda: estimate_parity(flipped(plain, 0)),
        "two models compared": lambda: compare_estimates(
            estimate_parity(plain), estimate_parity(plain, drawing=Drawing(seed=1))
        ),
    }
    print(f"{given.rules} rules, {given.groups} groups; seconds of one core\n{'figure':<32} {'first':>7} {'then':>7}")
    for name, task in work.items():
        noise_sums.noise_sum.cache_clear()
        first, then = seconds(task, given.repetitions)
        print(f"{name:<32} {first:7.2f} {then:7.2f}", flush=True)


if __name__ == "__main__":
    main()
