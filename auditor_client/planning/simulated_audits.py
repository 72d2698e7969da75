"""Audits of supposed people, many at once: which interval the ratio would have (3-estimation §3).

The answers are drawn from the plan's own noise and estimated as an audit's are. Axes: T audits, R cells, K groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from auditor_client.asking.question import Question
from auditor_client.errors import AuditorError
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.exponential_likelihood import ExponentialAnswers
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.many_releases import parity_ranges
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts, SizeBounds, Supports
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import totals_of
from auditor_client.estimation.results import RatioKind
from auditor_client.estimation.simultaneous import draws_for
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.estimation.totals import CountedTotals, KnownTotals
from auditor_client.exchange.expected_noise import counted_noise
from auditor_client.findings.answers import BatchCells, Location
from auditor_client.planning.simulation import simulated_answers
from auditor_client.planning.supposed import SupposedCounts
from shared.kinds.plans import Plan
from shared.privacy.noise import AdditiveNoise, ExponentialNoise, Noise

DRAWS: Final = 512
"""Of each posterior; a power of two, and more for levels that are nearer to 1."""
BEYOND: Final = 2
"""So many draws at least lie beyond either end of an interval."""
NOTHING: Final = (0.5, 0.0, 1.0)
"""A ratio that the answers leave undefined counts as an interval from 0 to 1, which says as little."""


@dataclass(frozen=True, slots=True)
class LocatedPlan:
    """The location of each rate of a metric in a plan.

    `rows` is how many counts of a cell add up to a group's: several where it counts by more sensitive columns.
    """

    plan: Plan
    locations: tuple[Location, ...]
    rows: int = 1


@dataclass(frozen=True)
class SimulatedAudits:
    """Audits that ask a question of supposed people.

    Attributes:
        question: With its plan.
        asked: The plans whose answers are estimated together: the question's own, and perhaps others.
        people: The people of each of them.
        bounds: What is known of their groups' sizes, if anything is.
        supported: Whether the answers are estimated with the exact supports of their cells.
        level: Of each interval.
        rule: How large the groups are that are judged; None for all.
        ratio_kind: Which ratio is estimated.
    """

    question: Question
    asked: tuple[LocatedPlan, ...]
    people: Sequence[SupposedCounts]
    bounds: Sequence[SizeBounds | None]
    supported: bool
    level: float
    rule: SizeRule | None = None
    ratio_kind: RatioKind = RatioKind.LOWEST

    @property
    def local(self) -> bool:
        """Whether the groups were perturbed at their source: such audits are estimated one by one."""
        return self.question.request.mechanism == "randomised_response"

    @property
    def slow(self) -> bool:
        """Whether groups have known totals together, as supports and reports give them, which takes several times as
        long.
        """
        return self.supported or self.halved or self.local

    @cached_property
    def halved(self) -> bool:
        """Whether the holder counts one of two groups alone."""
        return self.question.counts_first_group_alone

    def ranges(self, number: int, rng: np.random.Generator) -> FloatArray:
        """Value, low and high of the ratio in T audits, shape (T, 3); of an adverse ratio of 1 divided by it."""
        if self.local and number > 1:
            return np.concatenate([self.ranges(1, rng) for _ in range(number)])
        drawing = Drawing(draws_for(self.level, beyond=BEYOND, least=DRAWS))
        parts = list(enumerate(zip(self.people, self.bounds, strict=True)))
        try:
            totals = [
                replace(self._joined(rate, counts, number, rng), bounds=_holding(bounds, counts))
                for rate, (counts, bounds) in parts
            ]
            figures = parity_ranges(*totals, level=self.level, drawing=drawing, rule=self.rule, kind=self.ratio_kind)
            ratios = [self.ratio_kind.reported(figure.ratio) for figure in figures]
        except AuditorError:
            if number == 1:
                return np.array([NOTHING])
            return np.concatenate([self.ranges(1, rng) for _ in range(number)])
        return np.array([(ratio.value, ratio.low, ratio.high) if ratio.defined else NOTHING for ratio in ratios])

    def measurements(self, rng: np.random.Generator) -> list[Measurement]:
        """The rates of one audit as they would be measured."""
        measurements = []
        for rate, (counts, bounds) in enumerate(zip(self.people, self.bounds, strict=True)):
            of_rate = (self._measured(plan, rate, counts, rng) for plan in self.asked)
            first, *further = (replace(answer, bounds=_holding(bounds, counts)) for answer in of_rate)
            measurements.append(replace(first, others=tuple(further)))
        return measurements

    def _measured(self, plan: LocatedPlan, rate: int, counts: SupposedCounts, rng: np.random.Generator) -> Measurement:
        location, true = plan.locations[rate], self._true(plan, rate, counts)
        noises = self._noise(plan.plan, location.favourable), self._noise(plan.plan, location.complement)
        accepted, complement = (
            NoisyCounts(self._answers(cells, noise, 1, rng)[0], noise)
            for cells, noise in zip(true, noises, strict=True)
        )
        exact = Supports(*(tuple(cells.sum(axis=1).tolist()) for cells in true))
        supports = exact if self.supported or (self.halved and not self.local) else None
        return Measurement(
            self.question.groups,
            accepted,
            complement,
            location.complement_is,
            supports=supports,
            ratio_kind=self.ratio_kind,
        )

    def _joined(self, rate: int, counts: SupposedCounts, number: int, rng: np.random.Generator) -> Totals:
        """Return what T answers to every plan say of one rate together."""
        first, *further = (self._totals(plan, rate, counts, number, rng) for plan in self.asked)
        if not further or not isinstance(first, CountedTotals):
            return first
        return first.joined([other for other in further if isinstance(other, CountedTotals)])

    def _totals(
        self, plan: LocatedPlan, rate: int, counts: SupposedCounts, number: int, rng: np.random.Generator
    ) -> Totals:
        """Return what T answers to one plan say of one rate."""
        if self.local:
            return totals_of(self._measured(plan, rate, counts, rng))
        location, true = plan.locations[rate], self._true(plan, rate, counts)
        noises = self._noise(plan.plan, location.favourable), self._noise(plan.plan, location.complement)
        answers = [self._answers(*part, number, rng) for part in zip(true, noises, strict=True)]
        supports = Supports(*(tuple(cells.sum(axis=1).tolist()) for cells in true))
        counted = 1 if self.halved else len(self.question.groups)
        kind = location.complement_is
        margins = KnownTotals.of(supports, kind, counted=counted) if self.supported or self.halved else None
        first, second = noises
        if isinstance(first, ExponentialNoise) and isinstance(second, ExponentialNoise):
            likelihoods = ExponentialAnswers.of(answers[0], first), ExponentialAnswers.of(answers[1], second)
            return CountedTotals.of_exponential(*likelihoods, complement_is=kind, known=margins)
        if not (isinstance(first, AdditiveNoise) and isinstance(second, AdditiveNoise)):
            raise TypeError("One plan has one mechanism.")
        return CountedTotals.with_noise(
            answers[0].sum(axis=1),
            answers[1].sum(axis=1),
            (first, second),
            cells=(len(true[0]), len(true[1])),
            complement_is=kind,
            known=margins,
        )

    def _true(self, plan: LocatedPlan, rate: int, counts: SupposedCounts) -> tuple[IntArray, IntArray]:
        """The supposed people of the cells that one rate needs, shape (R, K) each."""
        location = plan.locations[rate]
        everybody = location.complement_is == "everybody"
        complement_people = counts.accepted + counts.refused if everybody else counts.refused
        favourable, complement = (plan.rows * len(part.cells) for part in (location.favourable, location.complement))
        return _spread(counts.accepted, favourable), _spread(complement_people, complement)

    def _answers(self, cells: IntArray, noise: Noise, number: int, rng: np.random.Generator) -> IntArray:
        """T answers about some cells, shape (T, R, K)."""
        schema, sensitive = self.question.dataset.table, self.question.plan.sensitive
        if self.local:
            return simulated_answers(cells, noise, schema, sensitive, rng)[None]
        answers = simulated_answers(np.tile(cells, (number, 1, 1)), noise, schema, sensitive, rng)
        if self.halved:  # the second group is what the first leaves of the people
            answers[..., 1] = cells.sum(axis=1) - answers[..., 0]
        return answers

    def _noise(self, plan: Plan, cells: BatchCells) -> Noise:
        schema, dataset = self.question.schema, self.question.dataset
        return counted_noise(plan.batches[cells.batch], dataset, schema, plan.sensitive)


def _holding(bounds: SizeBounds | None, counts: SupposedCounts) -> SizeBounds | None:
    """Bounds that hold the supposed people, who may be more or fewer than a table has."""
    if bounds is None:
        return None
    sizes = (counts.accepted + counts.refused).tolist()
    return SizeBounds(tuple(map(min, bounds.least, sizes)), tuple(map(max, bounds.most, sizes)))


def _spread(total: IntArray, cells: int) -> IntArray:
    """Each group's people over some cells as evenly as can be, shape (R, K)."""
    whole, remainder = np.divmod(total, cells)
    return whole[None] + (np.arange(cells)[:, None] < remainder[None])
