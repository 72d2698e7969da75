"""Bounds over the posterior: the figures where some people's group is unknown (spec 11, section 1).

Each draw of the true counts is a register, whose figures have a worst and a best value over all allocations
(`unknown_bounds`). The interval of the set runs from the lower end of the worst value to the upper end of the best one,
each with half of what the level leaves, and is the hull of both priors': it holds the whole set at the level, and so
the truth, wherever in the set that is. For one end alone less would do (Imbens, Manski 2004); a verdict needs both.

Axes: K declared groups, B blocks, M draws, Z shares that are tried.
"""

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import Draws, DrawsWithBoundaryCases
from auditor_client.estimation.estimates import Estimate, Unit, Verdict
from auditor_client.estimation.intervals import quantile_estimate
from auditor_client.estimation.judged_groups import GROUPS_MIN
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import Posterior
from auditor_client.estimation.results import JudgedFigures, RatioKind
from auditor_client.estimation.unknown_bounds import Bounds, Register, bounds, missing_of_sizes
from auditor_client.estimation.unknown_figures import (
    SHARE_MAX,
    FactorPoint,
    OpenBecause,
    SetEstimate,
    TippingPoint,
    TippingShare,
    UnknownFigures,
    UnknownMode,
)
from auditor_client.estimation.whole_people import WHOLE_MAX, sharp_bounds
from shared.contract.schema import Group

Figures = TypeVar("Figures", bound=JudgedFigures)
FACTORS: Final = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, math.inf)
"""Of the curve."""
FACTOR_MAX: Final = 1000.0
"""Larger factors are not told from none."""
CURVE_DRAWS: Final = 1024
"""So many draws show where a verdict changes."""
STEPS: Final = 32
"""Into which a share is divided, twice."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The declared groups of an answer, those that hold unknown people, and whom these may be.

    Attributes:
        declared: The indices of the groups whose values are all known.
        unknown: The indices of those of which one value is missing.
        block: Of each declared group the index of the unknown group whose people may belong to it.
    """

    declared: tuple[int, ...]
    unknown: tuple[int, ...]
    block: tuple[int, ...]

    @classmethod
    def of(cls, groups: Sequence[Group]) -> "Layout":
        """Return the layout of groups, one column of which may be missing (`has_layout`)."""
        (column,) = _nullable(groups)
        unknown = [index for index, group in enumerate(groups) if group[column] is None]
        declared = [index for index, group in enumerate(groups) if group[column] is not None]
        blocks = {_without(groups[index], column): member for member, index in enumerate(unknown)}
        block = tuple(blocks[_without(groups[index], column)] for index in declared)
        return cls(tuple(declared), tuple(unknown), block)


def has_layout(groups: Sequence[Group]) -> bool:
    """Whether one column of the groups can be missing, and no other."""
    return len(_nullable(groups)) == 1


def _nullable(groups: Sequence[Group]) -> set[int]:
    """The columns that can be missing, by their indices within a group."""
    return {column for group in groups for column, value in enumerate(group) if value is None}


def _without(group: Group, column: int) -> tuple[object, ...]:
    return (*group[:column], *group[column + 1 :])


@dataclass(frozen=True, slots=True)
class UnknownPeople:
    """The posteriors of one comparison, or of two, of which some people's group is unknown."""

    posteriors: tuple[Posterior, ...]
    layout: Layout

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of the answer that hold the unknown people."""
        return tuple(self.posteriors[0].groups[index] for index in self.layout.unknown)

    def sets(self, left_out: Collection[Group] = ()) -> "Sets":
        """The sets of the figures of all declared groups, but for some."""
        groups = self.posteriors[0].groups
        judged = (member for member, index in enumerate(self.layout.declared) if groups[index] not in left_out)
        return Sets(self.posteriors, self.layout, tuple(judged))


def unknown_people(
    measured: Sequence[Measurement], mode: UnknownMode, level: float, drawing: Drawing
) -> UnknownPeople | None:
    """Return the people over whose groups figures are bounded; None for a group of their own, or without any.

    Raises:
        EstimationRefused: Bounds were asked for and do not exist for these groups.
    """
    groups, bounded = measured[0].groups, mode == "bounds"
    if bounded and not has_layout(groups):
        raise EstimationRefused(
            "Bounds over the unknown are made where one sensitive column can have missing values, and no other: read "
            "the answer without `unknown`."
        )
    if mode == "group" or not has_layout(groups):
        return None
    layout = Layout.of(groups)
    posteriors = tuple(
        Posterior.of(measurement, level, drawing.at(drawing.seed + index)) for index, measurement in enumerate(measured)
    )
    if bounded or any(_share(posterior, layout).value > SHARE_MAX for posterior in posteriors):
        return UnknownPeople(posteriors, layout)
    return None


def with_unknown(estimate: Figures, people: UnknownPeople, factor: float) -> Figures:
    """Figures about the people whose group is known, with what holds over all allocations of the others.

    Args:
        estimate: About all groups but those of the unknown people.
        people: Whom it is about.
        factor: What is assumed: the unknown differ from the known by at most this factor in odds; infinite: nothing.
    """
    posteriors, layout, threshold = people.posteriors, people.layout, estimate.threshold
    sets = people.sets(estimate.left_out)
    if len(sets.judged) < GROUPS_MIN:
        return estimate
    ratio, difference = sets.estimates(factor)
    verdict = Verdict.NONE if threshold is None else ratio.against(threshold)
    because = None
    if verdict is Verdict.UNDECIDED and threshold is not None:
        because = OpenBecause.UNKNOWN if ratio.reaches_across(threshold) else OpenBecause.NOISE
    few, kind = sets.of_draws(CURVE_DRAWS).unsized, estimate.ratio_kind
    largest = max(posteriors, key=lambda posterior: _share(posterior, layout).value)
    figures = UnknownFigures(
        groups=people.groups,
        share=_share(largest, layout),
        people=replace(_unknown(largest, layout), unit=Unit.PEOPLE),
        ratio=ratio.reciprocal() if kind.adverse else ratio,
        difference=difference,
        factor=factor,
        sized=sets.sized and math.isinf(factor),
        curve=tuple(few.point(odds_factor, threshold, kind) for odds_factor in FACTORS),
        tipping=None if threshold is None else _tipping(few, threshold),
        verdict=verdict,
        because=because,
    )
    return replace(estimate, unknown=figures)


def _share(posterior: Posterior, layout: Layout) -> Estimate:
    """The share of the people whose group is unknown."""

    def of(draws: Draws) -> FloatArray:
        sizes = draws.size[0]
        with np.errstate(invalid="ignore"):
            share: FloatArray = sizes[list(layout.unknown)].sum(axis=0) / sizes.sum(axis=0)
        return share

    return _hull(posterior, of)


def _unknown(posterior: Posterior, layout: Layout) -> Estimate:
    """Their number."""

    def of(draws: Draws) -> FloatArray:
        unknown: FloatArray = draws.size[0][list(layout.unknown)].sum(axis=0)
        return unknown

    return _hull(posterior, of)


def _hull(posterior: Posterior, of: Callable[[Draws], FloatArray]) -> Estimate:
    flat, pooled = (quantile_estimate(of(simulation.draws), posterior.level) for simulation in posterior.draws_by_prior)
    return pooled.hull(flat)


@dataclass(frozen=True, slots=True)
class Sets:
    """The sets of one or two comparisons, under both priors.

    `number` limits the draws, and `use_sizes` says whether known numbers of people limit the allocations.
    """

    posteriors: tuple[Posterior, ...]
    layout: Layout
    judged: tuple[int, ...]
    number: int | None = None
    use_sizes: bool = True

    @property
    def unsized(self) -> "Sets":
        """The same without known numbers of people."""
        return replace(self, use_sizes=False)

    def of_draws(self, number: int) -> "Sets":
        """The same, of so many draws."""
        return replace(self, number=number)

    @property
    def sized(self) -> bool:
        """Whether known numbers of people limit the allocations."""
        return self.use_sizes and self.posteriors[0].sizes is not None

    @property
    def level(self) -> float:
        """The level of each set's interval."""
        return self.posteriors[0].level

    @property
    def odds(self) -> bool:
        """Whether the ratio is one of odds."""
        return self.posteriors[0].ratio_kind is RatioKind.ODDS

    def register(self, draws: Draws, none: FloatArray | None = None, everyone: FloatArray | None = None) -> Register:
        """The register of each draw; `none` and `everyone` are the groups, by truth, without people of one outcome."""
        accepted, size = (of_all[0][:, : self.number] for of_all in (draws.accepted, draws.size))
        refused = size - accepted
        accepted = accepted if none is None else np.where(none[:, None], 0.0, accepted)
        refused = refused if everyone is None else np.where(everyone[:, None], 0.0, refused)
        declared, unknown = list(self.layout.declared), list(self.layout.unknown)
        return Register(
            accepted[declared], refused[declared], accepted[unknown], refused[unknown], self.layout.block, self.judged
        )

    def bounds(self, factor: float, of_prior: DrawsWithBoundaryCases, sizes: tuple[int, ...] | None) -> Bounds:
        """The ends over all allocations of each draw; worst cases also with outcomes that perhaps nobody has."""
        register = self.register(of_prior.draws)
        limited = self.sized and sizes is not None and math.isinf(factor)
        missing = missing_of_sizes(register, np.array(sizes, dtype=float)) if limited else None
        none, everyone = of_prior.none_possible[0], of_prior.all_possible[0]
        if math.isinf(factor) and missing is None and register.people.max(initial=0) <= WHOLE_MAX:
            return sharp_bounds(register)
        if not (none.any() or everyone.any()):
            return bounds(register, factor=factor, missing=missing)
        lowest, highest = self.register(of_prior.lower, none=none), self.register(of_prior.upper, everyone=everyone)
        return bounds(register, factor=factor, missing=missing, beyond=(lowest, highest))

    def estimates(self, factor: float) -> tuple[SetEstimate, SetEstimate]:
        """The sets of the lowest ratio and of the largest difference of all comparisons."""
        ratios: list[SetEstimate] = []
        differences: list[SetEstimate] = []
        for prior in (1, 0):  # the values are those under the pooled prior
            limits = [self.bounds(factor, answer.draws_by_prior[prior], answer.sizes) for answer in self.posteriors]
            ends = [
                (each.odds_worst, each.odds_best) if self.odds else (each.ratio_worst, each.ratio_best)
                for each in limits
            ]
            worst, best = (np.fmin.reduce([end[side] for end in ends]) for side in (0, 1))
            ratios.append(self._set(worst, best))
            least = np.fmax.reduce([each.difference_best for each in limits])
            differences.append(self._set(least, np.fmax.reduce([each.difference_worst for each in limits])))
        return _hull_of_sets(ratios), _hull_of_sets(differences)

    def _set(self, nearest: FloatArray, farthest: FloatArray) -> SetEstimate:
        lower, upper = quantile_estimate(nearest, self.level), quantile_estimate(farthest, self.level)
        return SetEstimate(lower.value, upper.value, lower.low, upper.high, self.level)

    def point(self, factor: float, threshold: float | None, kind: RatioKind) -> FactorPoint:
        """The ratio's set at a factor."""
        ratio, _ = self.estimates(factor)
        verdict = Verdict.NONE if threshold is None else ratio.against(threshold)
        return FactorPoint(factor, ratio.reciprocal() if kind.adverse else ratio, verdict)

    def verdict(self, factor: float, threshold: float) -> Verdict:
        """The verdict at a factor."""
        return self.estimates(factor)[0].against(threshold)


def _hull_of_sets(sets: Sequence[SetEstimate]) -> SetEstimate:
    """The first one's values within an interval that holds all."""
    first = sets[0]
    return replace(first, low=min(estimate.low for estimate in sets), high=max(estimate.high for estimate in sets))


def _tipping(sets: Sets, threshold: float) -> TippingPoint | None:
    """Return how far the unknown must differ from the known for another verdict; None without a verdict to change."""
    verdict = sets.verdict(1.0, threshold)
    if verdict is Verdict.UNDECIDED:
        return None
    return TippingPoint(verdict, _tipping_factor(sets, threshold, verdict), _tipping_share(sets, threshold, verdict))


def _tipping_factor(sets: Sets, threshold: float, verdict: Verdict) -> float | None:
    """The smallest factor at which the verdict is another one: sets grow with the factor, so it is found by halving."""
    if sets.verdict(math.inf, threshold) is verdict:
        return None
    low, high = 1.0, FACTOR_MAX
    if sets.verdict(high, threshold) is verdict:
        return math.inf
    while high / low > 1.005:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if sets.verdict(middle, threshold) is verdict else (low, middle)
    return high


def _tipping_share(sets: Sets, threshold: float, verdict: Verdict) -> TippingShare | None:
    """The change of one group's share of the unknown of one outcome that moves the fewest people to another verdict."""
    changes: list[tuple[float, TippingShare]] = []
    for group, accepted in itertools.product(sets.judged, (True, False)):
        part = _smallest_part(partial(_verdicts, sets, threshold, group, accepted), verdict)
        if part is None:
            continue
        known_people, people = _known_share(sets, group, accepted)
        share = known_people + part * (1 - known_people)
        name = sets.posteriors[0].groups[sets.layout.declared[group]]
        changes.append(((share - known_people) * people, TippingShare(name, accepted, share, known_people)))
    return min(changes, key=lambda change: change[0])[1] if changes else None


def _smallest_part(verdicts: Callable[[FloatArray], list[Verdict]], verdict: Verdict) -> float | None:
    """The smallest part, of what the other groups have, that gives another verdict; None if none does."""
    low, high = 0.0, 1.0
    for _ in range(2):
        parts = np.linspace(low, high, STEPS + 1)
        changed = [index for index, other in enumerate(verdicts(parts)) if other is not verdict]
        if not changed:
            return None
        low, high = float(parts[max(changed[0] - 1, 0)]), float(parts[changed[0]])
    return high


def _verdicts(sets: Sets, threshold: float, group: int, accepted: bool, parts: FloatArray) -> list[Verdict]:
    """The verdict if a group has, beside its share, a part of the unknown of one outcome that others would have."""
    ends = []
    for prior in (1, 0):
        ratios = [
            _moved_ratios(sets, posterior.draws_by_prior[prior].draws, group, accepted, parts)
            for posterior in sets.posteriors
        ]
        ends.append([quantile_estimate(of_part, sets.level) for of_part in np.fmin.reduce(ratios)])
    return [pooled.hull(flat).against(threshold) for pooled, flat in zip(*ends, strict=True)]


def _moved_ratios(sets: Sets, draws: Draws, group: int, accepted: bool, parts: FloatArray) -> FloatArray:
    """The ratio of each draw, shape (Z, M), if a group has a part of the others' unknown people of one outcome."""
    register = sets.register(draws)
    people = []
    for known_people, unknown, moved in (
        (register.accepted, register.unknown_accepted, accepted),
        (register.refused, register.unknown_refused, not accepted),
    ):
        shares = np.broadcast_to(_known_shares(register, known_people), (len(parts), *known_people.shape)).copy()
        if moved:
            other_groups = [member for member in register.members(register.block[group]) if member != group]
            shares[:, group] += parts[:, None] * (1 - shares[:, group])
            shares[:, other_groups] *= (1 - parts)[:, None, None]
        people.append(known_people + shares * unknown[list(register.block)])
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = (people[0] / (people[0] + people[1]))[:, list(register.judged)]
        compared = rates / (1 - rates) if sets.odds else rates
        low = np.where(np.isnan(compared), np.inf, compared).min(axis=1)
        high = np.where(np.isnan(compared), -np.inf, compared).max(axis=1)
        ratios: FloatArray = np.where((high > 0) & np.isfinite(low), low / high, np.nan)
    return ratios


def _known_shares(register: Register, known_people: FloatArray) -> FloatArray:
    """Return each group's share of its block, shape (K, M), among people of one outcome and known group."""
    blocks = range(len(register.unknown_accepted))
    totals = np.stack([known_people[register.members(block)].sum(axis=0) for block in blocks])
    sizes = np.array([len(register.members(block)) for block in register.block])[:, None]
    of_block = totals[list(register.block)]
    return np.where(of_block > 0, known_people / np.maximum(of_block, 1e-300), 1 / sizes)


def _known_share(sets: Sets, group: int, accepted: bool) -> tuple[float, float]:
    """A group's share of the known with an outcome, and the number of unknown people with it; medians."""
    register = sets.register(sets.posteriors[0].draws_by_prior[1].draws)
    known_people = register.accepted if accepted else register.refused
    unknown = register.unknown_accepted if accepted else register.unknown_refused
    share = np.median(_known_shares(register, known_people)[group])
    return float(share), float(np.median(unknown[register.block[group]]))
