"""Invented chains of decisions: how many people of each group reach each stage, from few to nearly all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.chain_figures import ChainFigures
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray
from shared.contract.schema import Group

_EPSILONS: Final = ("0.02", "0.05", "0.1", "0.3", "1")


@dataclass(frozen=True, slots=True, eq=False)
class ChainRegister:
    """True counts of those who reached so many stages and not the next one, shape (S + 1, K), in people.

    `epsilon` is what a release costs.
    """

    counts: IntArray
    epsilon: str

    @classmethod
    def invented(cls, seed: int) -> Self:
        """A chain of its own for each seed: 2 to 6 groups of 300 to 200 000 people, and 2 to 5 stages.

        The first stage is reached by 0.1 to 5 % in every second one, and by more in the others; further stages by any
        share. In every third all groups go on alike, so that no step makes a difference.
        """
        rng = np.random.default_rng((seed, 30))
        groups, stages = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        reached = [np.exp(rng.uniform(np.log(300), np.log(200_000), groups)).astype(np.int64)]
        for stage in range(stages):
            rare = stage == 0 and seed % 2 == 0
            middle = np.exp(rng.uniform(np.log(0.001), np.log(0.05))) if rare else rng.uniform(0.1, 0.95)
            spread = np.ones(groups) if seed % 3 == 0 else np.exp(rng.normal(0, 0.7, groups))
            reached.append(rng.binomial(reached[-1], np.minimum(middle * spread, 1.0)))
        stacked = np.stack([*reached, np.zeros_like(reached[0])])
        return cls(stacked[:-1] - stacked[1:], str(rng.choice(_EPSILONS)))

    @property
    def groups(self) -> tuple[Group, ...]:
        """Names for the groups."""
        return tuple((f"group {number}",) for number in range(self.counts.shape[1]))

    @property
    def stages(self) -> tuple[str, ...]:
        """Names for the stages."""
        return tuple(f"stage {number}" for number in range(1, len(self.counts)))

    @property
    def reached(self) -> NDArray[np.float64]:
        """How many people reach each stage, everybody first, shape (S + 1, K)."""
        reached: NDArray[np.float64] = np.cumsum(self.counts[::-1], axis=0)[::-1].astype(np.float64)
        return reached


def claims(register: ChainRegister, figures: ChainFigures) -> Iterator[tuple[Estimate, float]]:
    """Yield every interval of a chain with its true value."""
    reached = register.reached
    rates, shares = quotients(reached[1:], reached[:-1]), quotients(reached[1:], reached[:1])
    for number, step in enumerate(figures.steps):
        for group in range(len(figures.groups)):
            yield step.people[group], float(reached[number + 1, group])
            yield step.rates[group], float(rates[number, group])
            yield step.reached[group], float(shares[number, group])
    yield from zip(figures.people, reached[0].tolist(), strict=True)
    reference = figures.groups.index(figures.reference)
    for one in figures.comparisons:
        group = figures.groups.index(one.group)
        for number, ratio in enumerate(one.steps):
            for estimate, of_rates in ((ratio.ratio, rates), (ratio.chain, shares)):
                yield estimate, float(quotients(of_rates[number, [group]], of_rates[number, [reference]])[0])


def quotients(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Divide counts by counts; NaN or infinite where the whole has nobody."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: FloatArray = part / whole
        return rates
