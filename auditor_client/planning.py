"""What an audit would show, before anything is spent (3-estimation §3).

The quote tells the noise exactly; of the people an auditor knows little, so it assumes: how many, in
what shares, how many of them accepted, and a parity to find. Releases of such people are simulated
and estimated as the audit would be. The forecast is as good as what was assumed, and touches neither
records nor budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from auditor_client.errors import QuestionRefused
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.posterior import parity_ranges
from auditor_client.estimation.totals import NoisyTotals, TotalNoise
from auditor_client.models.tree import DecisionRule
from auditor_client.strategies import STRATEGIES
from shared.plans import Quote

SIMULATED_GROUPS: Final = 400
"""How many groups' answers a forecast draws: 200 releases of two groups, fewer of many."""
SIMULATED_RELEASES_MIN: Final = 4
SIMULATION_DRAWS: Final = 1024


@dataclass(frozen=True, slots=True)
class Assumption:
    """What an auditor supposes of the people behind a dataset, from public facts.

    Attributes:
        people: How many there are.
        accepted: The share of them that the tree accepts, within (0, 1).
        shares: Each group's share of the people, in the release's order, in any unit; None is equal shares.
        ratio: The parity to find, within (0, 1]: the smallest group's rate over that of all the others.
    """

    people: int = 10_000
    accepted: float = 0.5
    shares: tuple[float, ...] | None = None
    ratio: float = 0.8

    def __post_init__(self) -> None:
        shares = self.shares or (1.0,)
        if not (self.people >= 1 and 0 < self.accepted < 1 and 0 < self.ratio <= 1 and min(shares) >= 0 < sum(shares)):
            raise QuestionRefused(
                "Assume at least one person, an accepted share between 0 and 1, a ratio above 0 and at most 1, and "
                "group shares of zero or more."
            )

    @classmethod
    def of_supports(
        cls,
        rules: Sequence[DecisionRule],
        supports: Sequence[int],
        *,
        shares: tuple[float, ...] | None = None,
        ratio: float = 0.8,
    ) -> Self:
        """Assume what the auditor's own, attribute-free data say: to how many people each rule applies.

        Args:
            rules: All rules of the tree.
            supports: One number for each of them.
            shares: Each group's share of the people, as census figures may tell.
            ratio: The parity to find.

        Raises:
            QuestionRefused: The supports do not fit the rules, or accept nobody or everybody.
        """
        if len(supports) != len(rules) or not min(supports, default=0) >= 0 or not sum(supports) > 0:
            raise QuestionRefused("Give one support of zero or more for each rule of the tree.")
        accepted = sum(support for rule, support in zip(rules, supports, strict=True) if rule.favourable)
        return cls(people=sum(supports), accepted=accepted / sum(supports), shares=shares, ratio=ratio)

    def counts(self, groups: int) -> tuple[IntArray, IntArray]:
        """The accepted people of each group, and its size; shape (K,) each, in people.

        Raises:
            QuestionRefused: There are other groups than shares.
        """
        shares = np.array(self.shares or (1,) * groups, dtype=np.float64)
        if len(shares) != groups:
            raise QuestionRefused(f"There are {groups} groups: give as many shares.")
        shares /= shares.sum()
        lowest = np.arange(groups) == shares.argmin()
        relative = np.where(lowest, self.ratio, 1.0)
        rates = np.minimum(self.accepted * relative / (shares * relative).sum(), 1.0)
        sizes = np.round(self.people * shares).astype(np.int64)
        return np.round(rates * sizes).astype(np.int64), sizes


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an audit would show on average, if the assumption holds.

    Attributes:
        width: Of the interval of the ratio.
        error: Mean absolute error of the ratio.
        undecided: How often the verdict would be *undecided*, within [0, 1].
        assumption: What was assumed.
    """

    width: float
    error: float
    undecided: float
    assumption: Assumption

    def __str__(self) -> str:
        assumed = self.assumption
        shares = "equal groups" if assumed.shares is None else "groups of the given shares"
        return (
            f"Expected width of the interval of the ratio: {self.width:.3f}, error {self.error:.3f}, if there are "
            f"{assumed.people} people in {shares}, {assumed.accepted:.0%} of them accepted, and the smallest group's "
            f"rate is {assumed.ratio:.0%} of the others'."
        )


def expected_width(
    rules: Sequence[DecisionRule],
    quote: Quote,
    *,
    strategy: str,
    assumption: Assumption | None = None,
    threshold: float = 0.8,
    level: float = 0.95,
    seed: int = 0,
) -> Expectation:
    """Forecast the ratio's interval by simulating the audit on assumed people.

    Args:
        rules: The rules that would be asked about.
        quote: Of the plan: it has the noise and the groups.
        strategy: The plan's strategy.
        assumption: What is supposed of the people; by default `Assumption()`.
        threshold: Of the verdict.
        level: Of the interval.
        seed: The same seed gives the same forecast.

    Raises:
        QuestionRefused: The assumption does not fit the groups.
    """
    assumption = assumption or Assumption()
    layout = STRATEGIES[strategy].layout(rules)
    batches = {batch.name: batch for batch in quote.batches}
    first, second = batches[layout.favourable.batch], batches[layout.complement.batch]
    noise = TotalNoise.of(
        first.noise,
        second.noise,
        cells=(len(layout.favourable.cells), len(layout.complement.cells)),
        complement_is=layout.complement_is,
    )
    accepted, sizes = assumption.counts(len(first.groups))
    ranges = parity_ranges(_simulated(accepted, sizes, noise, seed), level=level, draws=SIMULATION_DRAWS, seed=seed)
    ratios = np.array([(found.ratio.value, found.ratio.low, found.ratio.high) for found in ranges])
    # A ratio that the answers leave undefined tells as little as an interval from 0 to 1.
    value, low, high = np.where(np.isnan(ratios), (0.5, 0.0, 1.0), ratios).T
    return Expectation(
        width=float((high - low).mean()),
        error=float(np.abs(value - assumption.ratio).mean()),
        undecided=float(((low < threshold) & (high >= threshold)).mean()),
        assumption=assumption,
    )


def _simulated(accepted: IntArray, sizes: IntArray, noise: TotalNoise, seed: int) -> NoisyTotals:
    """Releases about people whose true counts are assumed."""
    shape = (max(SIMULATED_GROUPS // len(sizes), SIMULATED_RELEASES_MIN), len(sizes))
    rng = np.random.default_rng(seed)
    complement = sizes if noise.complement_is == "everybody" else sizes - accepted
    return NoisyTotals(
        accepted + noise.accepted.quantile(rng.random(shape)),
        complement + noise.complement.quantile(rng.random(shape)),
        noise,
    )
