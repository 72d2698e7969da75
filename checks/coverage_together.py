"""How often all intervals of a joint report hold the truth at once, and how often any of its verdicts is wrong.

Part of `checks.coverage`: registers of 2 to 16 groups of 1 to 5 000 people, half of them by label as well (statistical
parity and equalized odds then), asked rule by rule or not, read as an audit reads them (`findings.reading`). The people
are drawn anew for each release, because the intervals about the population are among those that hold together. A
release counts as held if every interval holds: of all groups' rates, of ratios, differences and comparisons with a
reference group, of the population's, and of the rules' shares.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from auditor_client.asking.request import ODDS, PARITY
from auditor_client.estimation import attribution
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.results import ParityEstimate, ParityFigures
from auditor_client.findings.answers import RATES, Rate, RateCounts
from auditor_client.findings.finding import MetricEstimate
from auditor_client.findings.insight import parity_of
from auditor_client.findings.reading import Reading
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.contract.schema import Group
from shared.privacy.noise import AdditiveNoise
from testing.invented.registers import EPSILONS
from testing.many_releases import released
from testing.truths import all_hold, holds, is_wrong, true_parity

GROUPS_MAX: Final = 16
PEOPLE_MAX: Final = 5_000
THRESHOLD: Final = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class PopulationOfGroups:
    """Groups of a population, whose people are drawn anew for each release.

    Attributes:
        sizes: People of each group by label, shape (L, K); L is 1 without a label.
        rates: Of acceptance, shape (L, K).
        rules: Each favourable rule's part of the accepted, shape (R,).
        epsilon: What a release costs.
        reference: The group that others are compared with, every second time.
    """

    sizes: IntArray
    rates: FloatArray
    rules: FloatArray
    epsilon: str
    reference: Group | None

    @classmethod
    def invented(cls, seed: int) -> "PopulationOfGroups":
        """One of its own for each seed; the numbers of groups go round from 2 to 16."""
        rng = np.random.default_rng(seed)
        groups, labels = 2 + seed % (GROUPS_MAX - 1), 1 + seed // 2 % 2
        sizes = np.exp(rng.uniform(0, np.log(PEOPLE_MAX), (labels, groups))).astype(np.int64)
        # Half of them have rates near each other, half have extreme ones.
        spread, middle = rng.choice([0.4, 20.0]), rng.uniform(0.1, 0.9)
        rates = rng.beta(spread * middle, spread * (1 - middle), (labels, groups))
        rules = rng.dirichlet(np.ones(int(rng.integers(1, 5))))
        reference = (f"group {groups - 1}",) if rng.random() < 0.5 else None
        return cls(sizes, rates, rules, str(rng.choice(EPSILONS)), reference)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Their names."""
        return tuple((f"group {group}",) for group in range(self.sizes.shape[1]))

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is asked."""
        return (PARITY, ODDS) if len(self.sizes) > 1 else (PARITY,)

    def rates_by_name(self) -> dict[Rate, FloatArray]:
        """The rates of the population, shape (K,)."""
        return _by_name((self.rates * self.sizes).sum(axis=0) / self.sizes.sum(axis=0), self.rates)

    def people(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Accepted by label, rule and group, shape (L, R, K), and refused, shape (L, 1, K)."""
        accepted = rng.binomial(self.sizes, self.rates)
        by_rule = np.moveaxis(rng.multinomial(accepted, self.rules), -1, 1).astype(np.int64)
        return by_rule, (self.sizes - accepted)[:, None]


@dataclass(frozen=True, slots=True)
class JointlyHeld:
    """What one release showed: whether all its intervals hold, whether its verdicts do, how wide the ratio's is."""

    intervals: bool
    verdicts: bool
    width: float


def jointly_held(
    population: PopulationOfGroups,
    mechanism: LaplaceMechanism | GaussianMechanism,
    noise: AdditiveNoise,
    runs: int,
    *,
    seed: int,
    joint: bool = True,
) -> Iterator[JointlyHeld]:
    """Of each release what holds, with people drawn by a seed.

    `joint` is False for the fault of single intervals that are called joint.
    """
    rng = np.random.default_rng((seed, 1))
    reading = Reading(threshold=THRESHOLD, joint=joint)
    for _ in range(runs):
        people = population.people(rng)
        counts = _counts(population, people, mechanism, noise)
        rules = counts[Rate.ACCEPTANCE] if len(population.rules) > 1 else None
        each = reading.of_each(counts, population.reference, rules=rules)
        estimates = {metric: each.estimate(metric, counts, population.reference) for metric in population.metrics}
        compared = {rate: parity_of(estimates[metric], rate) for metric in estimates for rate in RATES[metric]}
        true, of_population = _true_rates(people), population.rates_by_name()
        held = [_held(parity, true[rate], of_population[rate]) for rate, parity in compared.items()]
        held += [_worst_held(estimates[metric], metric, true, of_population) for metric in estimates]
        if rules is not None:
            held.append(_shares_held(rules.measurement, each, population.reference, people))
        verdicts = [_verdicts_hold(estimates[metric], metric, true, of_population) for metric in estimates]
        yield JointlyHeld(all(held), all(verdicts), estimates[PARITY].ratio.width)


def _counts(
    population: PopulationOfGroups,
    people: tuple[IntArray, IntArray],
    mechanism: LaplaceMechanism | GaussianMechanism,
    noise: AdditiveNoise,
) -> dict[Rate, RateCounts]:
    """One release as the measurements of its rates: acceptance adds up the labels' answers."""
    answers = [[released(mechanism, of_label, 1)[0] for of_label in part] for part in people]
    by_label = [*zip(*answers, strict=True)]
    parts = [tuple(map(np.vstack, answers)), *(by_label if len(by_label) > 1 else ())]
    rates = (Rate.ACCEPTANCE, Rate.TRUE_POSITIVE, Rate.FALSE_POSITIVE)
    return {
        rate: RateCounts(
            Measurement(population.groups, NoisyCounts(accepted, noise), NoisyCounts(refused, noise), "unfavourable"),
            tuple(f"rule {row}" for row in range(len(accepted))),
            tuple(f"others {row}" for row in range(len(refused))),
        )
        for rate, (accepted, refused) in zip(rates, parts, strict=False)
    }


def _true_rates(people: tuple[IntArray, IntArray]) -> dict[Rate, FloatArray]:
    """The rates of the people in the data, shape (K,); NaN for a group of nobody."""
    accepted, refused = (part.sum(axis=1) for part in people)
    with np.errstate(invalid="ignore"):
        by_label = accepted / (accepted + refused)
    overall = accepted.sum(axis=0) / (accepted + refused).sum(axis=0)
    return _by_name(overall, by_label)


def _by_name(overall: FloatArray, by_label: FloatArray) -> dict[Rate, FloatArray]:
    labelled = by_label if len(by_label) > 1 else ()
    rates = (Rate.ACCEPTANCE, Rate.TRUE_POSITIVE, Rate.FALSE_POSITIVE)
    return dict(zip(rates, (overall, *labelled), strict=False))


def _held(parity: ParityEstimate, true: FloatArray, of_population: FloatArray) -> bool:
    """Whether all intervals of one comparison hold."""
    groups = zip(parity.groups, true, of_population, strict=True)
    held = [holds(one.rate, rate) and holds(one.population_rate, other) for one, rate, other in groups]
    held += [_extremes_held(parity, true_parity(true), true_parity(of_population))]
    if parity.reference is not None:
        of_group = dict(zip((group.group for group in parity.groups), true, strict=True))
        reference = of_group[parity.reference]
        for one in parity.comparisons:
            rate = of_group[one.group]
            ratio = rate / reference if reference > 0 else np.nan
            held.append(holds(one.ratio, ratio) and holds(one.difference, rate - reference))
    return all(held)


def _worst_held(
    estimate: MetricEstimate, metric: str, true: Mapping[Rate, FloatArray], of_population: Mapping[Rate, FloatArray]
) -> bool:
    """Whether the intervals of a metric's own ratio and difference hold."""
    return _extremes_held(estimate, _worst(true, metric), _worst(of_population, metric))


def _extremes_held(figures: ParityFigures, true: tuple[float, float], of_population: tuple[float, float]) -> bool:
    found = (figures.ratio, figures.difference, figures.population_ratio, figures.population_difference)
    return all_hold(zip(found, (*true, *of_population), strict=True))


def _verdicts_hold(
    estimate: MetricEstimate, metric: str, true: Mapping[Rate, FloatArray], of_population: Mapping[Rate, FloatArray]
) -> bool:
    """Whether neither verdict on a metric is wrong."""
    ratios = _worst(true, metric)[0], _worst(of_population, metric)[0]
    verdicts = estimate.verdict, estimate.population_verdict
    return not any(is_wrong(verdict, ratio, THRESHOLD) for verdict, ratio in zip(verdicts, ratios, strict=True))


def _worst(rates: Mapping[Rate, FloatArray], metric: str) -> tuple[float, float]:
    """The smallest ratio and the largest difference of a metric's rates."""
    found = [true_parity(rates[rate]) for rate in RATES[metric]]
    return float(np.fmin.reduce([ratio for ratio, _ in found])), max(difference for _, difference in found)


def _shares_held(
    measurement: Measurement, each: Reading, reference: Group | None, people: tuple[IntArray, IntArray]
) -> bool:
    """Whether all intervals of the rules' shares hold."""
    found = attribution.attribute(
        measurement, reference=reference, level=each.level, drawing=Drawing(attribution.JOINT_DRAWS)
    )
    pair = [measurement.groups.index(group) for group in (found.first, found.second)]
    rules = people[0].reshape(-1, people[0].shape[-1])[:, pair]
    parts = rules / (rules.sum(axis=0) + people[1].sum(axis=(0, 1))[pair])
    shares = parts[:, 0] - parts[:, 1]
    second = parts[:, 1].sum()
    held = [
        holds(one.share, 100 * share) and holds(one.ratio_share, share / second if second > 0 else np.nan)
        for one, share in zip(found.shares, shares, strict=True)
    ]
    return all(held) and holds(found.difference, 100 * shares.sum())
