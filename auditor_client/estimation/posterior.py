"""The default estimator: posterior medians with intervals that rest on no single prior (3-estimation §2).

The true counts are drawn from their posterior under a flat and under a pooled prior. A value is the
median under the pooled prior; an interval is the hull of both priors' intervals, or of ratio and difference one
without a prior where the answers allow it (`inversion`). Figures are about the
people in the data (rates a/n), so their intervals hold the noise of privacy alone; the figures of the
population come from draws of p given those people, and hold the noise of sampling too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from typing import Any

from auditor_client.errors import EstimationRefused
from auditor_client.estimation import caveats
from auditor_client.estimation.drawing import DRAWING, Drawing
from auditor_client.estimation.draws import DrawsWithBoundaryCases
from auditor_client.estimation.estimates import Estimate, Unit
from auditor_client.estimation.exponential_likelihood import ExponentialAnswers
from auditor_client.estimation.intervals import RateDraws, quantile_estimate
from auditor_client.estimation.judged_groups import judged_groups
from auditor_client.estimation.local_model import LocalTotals, Totals
from auditor_client.estimation.measurements import ONLY_ADDED_NOISE, Measurement
from auditor_client.estimation.named_pair import pair_figures
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.outcomes import (
    against_of_kind,
    draws_of_outcome,
    inverted_of_outcome,
    worst_of_kind,
)
from auditor_client.estimation.plausibility import check_known
from auditor_client.estimation.results import (
    GroupComparison,
    GroupEstimate,
    JudgedFigures,
    NamedPair,
    ParityEstimate,
    RatioKind,
    extremes_of,
)
from auditor_client.estimation.simultaneous import level_of_independent
from auditor_client.estimation.size_rule import TWO_PERCENT, SizeRule
from auditor_client.estimation.totals import CountedTotals, FinerTotals, KnownTotals
from shared.contract.schema import Group
from shared.privacy.noise import AdditiveNoise, ExponentialNoise


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of one measurement, drawn once under the flat and the pooled prior: every figure comes from here.

    `summed` is how many answers of the exponential mechanism a total adds up; 0 where noise is added. With an adverse
    `ratio_kind` the draws are of the adverse outcome. `sizes` are as a `Measurement` has them.
    """

    groups: tuple[Group, ...]
    totals: Totals
    draws_by_prior: tuple[DrawsWithBoundaryCases, DrawsWithBoundaryCases]
    level: float
    drawing: Drawing
    summed: int = 0
    ratio_kind: RatioKind = RatioKind.LOWEST
    sizes: tuple[int, ...] | None = None

    @classmethod
    def of(cls, measurement: Measurement, level: float, drawing: Drawing = DRAWING) -> "Posterior":
        """Draw from the posterior of a measurement.

        Raises:
            EstimationRefused: The answers cannot be the mechanism's, or make what is known beforehand implausible.
        """
        totals = totals_of(measurement)
        flat, pooled = draws_of_outcome(totals, measurement.ratio_kind, level, drawing)
        parts = measurement.favourable, measurement.complement
        summed = max(part.cells if isinstance(part.noise, ExponentialNoise) else 0 for part in parts)
        kind, sizes = measurement.ratio_kind, measurement.sizes
        return cls(measurement.groups, totals, (flat, pooled), level, drawing, summed, kind, sizes)

    @property
    def level_of_sizes(self) -> float:
        """How sure a group's size is to be for a size rule to leave it in."""
        return self.drawing.edition.level_of_sizes or self.level

    @cached_property
    def rates(self) -> list[RateDraws]:
        """Rates of the people in the data, under either prior."""
        return [draws.rates()[0] for draws in self.draws_by_prior]

    @cached_property
    def population_rates(self) -> list[RateDraws]:
        """Rates of the population, under either prior."""
        return [draws.population_rates()[0] for draws in self.draws_by_prior]

    @cached_property
    def inverted(self) -> RateDraws | None:
        """Rates of the people in the data without a prior, where the answers allow it."""
        rates = inverted_of_outcome(self.totals, self.ratio_kind, self.level, self.drawing)
        return None if rates is None else rates[0]

    def index(self, group: Group) -> int:
        """A group's index.

        Raises:
            EstimationRefused: It is none of the groups.
        """
        if group in self.groups:
            return self.groups.index(group)
        names = "; ".join(map(caveats.name, self.groups))
        raise EstimationRefused(f"The answer does not have the group {caveats.name(group)!r}, only {names}.")


def estimate_parity(
    measurement: Measurement,
    *,
    threshold: float | None = 0.8,
    level: float = 0.95,
    drawing: Drawing = DRAWING,
    reference: Group | None = None,
    rule: SizeRule | None = None,
    but: Collection[Group] = (),
) -> ParityEstimate:
    """Compare the groups' rates, with honest intervals: any figure of 1-method §3 but equalized odds.

    Post-processing: spends no budget. The same measurement and drawing give the same figures.

    Args:
        measurement: Noisy counts of K groups.
        threshold: What the verdict on the ratio is about, within (0, 1]; None for no verdict.
        level: Of each single interval, within (0, 1).
        drawing: How draws are made.
        reference: A group to compare every other with, in addition to the comparison of the extremes.
        rule: How large the groups are that ratio and difference are about; None for all groups.
        but: Groups that a rule leaves out, however large they are. Those of people whose group is unknown are left out
            without a rule too.

    Returns:
        Estimates of method "posterior". An empty group has no rate (NaN) and, draw by draw, no part in ratio
        and difference; the ratio is NaN where nobody at all is accepted. A ratio to a reference group of
        whom perhaps nobody is accepted has no upper end (infinity).

    Raises:
        EstimationRefused: There is no group of the reference's name, or the answers fit no mechanism, or not what is
            known beforehand.
        ValueError: Threshold or level out of range.
    """
    check_question(threshold, level)
    posterior = Posterior.of(measurement, level, drawing)
    return parity_of(posterior, judged_of([posterior], threshold, rule, but), reference=reference)


def parity_of(
    posterior: Posterior, figures: JudgedFigures, *, reference: Group | None, comparisons: int = 1
) -> ParityEstimate:
    """Return what a posterior says about parity, with the figures of `judged_of`; see `estimate_parity`.

    A sentence names two groups of one of so many independent `comparisons`.
    """
    groups = group_estimates(posterior)
    judged = [group for group in groups if group.group not in figures.left_out]
    flat, pooled = (
        quantile_estimate(of_prior.draws.overall()[0], posterior.level) for of_prior in posterior.draws_by_prior
    )
    warnings = (*caveats.of_parity(judged, figures), *caveats.of_sums(posterior.summed))
    return ParityEstimate(
        **members(figures, warnings),
        groups=groups,
        overall=pooled.hull(flat),
        reference=reference,
        comparisons=() if reference is None else _comparisons(posterior, reference),
        pair=_named_pair(posterior, judged, level_of_independent(posterior.level, comparisons)),
    )


def _named_pair(posterior: Posterior, judged: Sequence[GroupEstimate], level: float) -> NamedPair | None:
    """The groups of the lowest and of the highest estimated rate, against each other; None where there are no two."""
    ends = extremes_of(judged)
    by_rate = posterior.drawing.edition.leave_one_out and posterior.ratio_kind is RatioKind.LOWEST
    if ends is None or ends[0] is ends[1] or not by_rate:
        return None
    of_judged, pair = [posterior.index(group.group) for group in judged], [judged.index(group) for group in ends]
    inverted = None if posterior.inverted is None else posterior.inverted.among(of_judged)
    ratio, difference = pair_figures(
        [rates.among(of_judged) for rates in posterior.rates], inverted, (pair[0], pair[1]), level
    )
    return NamedPair(ends[0].group, ends[1].group, ratio, difference) if ratio.defined else None


def group_estimates(posterior: Posterior) -> tuple[GroupEstimate, ...]:
    """Every group's rate, size and accepted people."""
    return tuple(_group(posterior, k) for k in range(len(posterior.groups)))


def judged_of(
    posteriors: Sequence[Posterior], threshold: float | None, rule: SizeRule | None = None, but: Collection[Group] = ()
) -> JudgedFigures:
    """The figures of one comparison, or the worst of two independent ones (equalized odds).

    They are about all groups; with a rule about those that are large enough in each comparison, but for some. Groups of
    unknown people among these are never compared.
    """
    of_groups, level = posteriors[0].groups, posteriors[0].level_of_sizes
    if posteriors[0].totals.confusion is not None:  # the answers show how large recorded groups are, not true ones
        return worst_of(posteriors, range(len(of_groups)), threshold=threshold)
    (large,) = judged_groups([posterior.totals for posterior in posteriors], rule or TWO_PERCENT, level)
    compared = [index for index, group in enumerate(of_groups) if not (group in but and None in group)]
    judged = [index for index in large if of_groups[index] not in but]
    left_out = tuple(group for index, group in enumerate(of_groups) if index not in judged)
    unknown_groups = tuple(group for index, group in enumerate(of_groups) if index not in compared)
    over_all = worst_of(posteriors, compared, threshold=threshold, rule=None, left_out=unknown_groups)
    if left_out == unknown_groups:
        return replace(over_all, rule=rule)
    among = worst_of(posteriors, judged, threshold=threshold, rule=rule or TWO_PERCENT, left_out=left_out)
    return replace(over_all, other=among) if rule is None else replace(among, other=over_all)


def members(figures: JudgedFigures, warnings: tuple[str, ...]) -> dict[str, Any]:
    """Figures as the members of an estimate that has them, with its warnings."""
    return {**{field.name: getattr(figures, field.name) for field in fields(figures)}, "warnings": warnings}


def worst_of(
    posteriors: Sequence[Posterior],
    groups: Sequence[int],
    *,
    threshold: float | None,
    rule: SizeRule | None = None,
    left_out: tuple[Group, ...] = (),
) -> JudgedFigures:
    """The worst of one or two comparisons of some groups, by their indices; the rest is as `JudgedFigures` has it."""
    level = posteriors[0].level
    rates, population_rates = (
        list(zip(*(getattr(posterior, name) for posterior in posteriors), strict=True))
        for name in ("rates", "population_rates")
    )
    kind, inverted = posteriors[0].ratio_kind, [posterior.inverted for posterior in posteriors]
    ratio, difference = worst_of_kind(kind, rates, inverted, groups, level)
    population = worst_of_kind(kind, population_rates, [], groups, level)
    return JudgedFigures(
        ratio=ratio,
        difference=difference,
        population_ratio=population[0],
        population_difference=population[1],
        threshold=threshold,
        rule=rule,
        left_out=left_out,
        ratio_kind=kind,
    )


def totals_of(measurement: Measurement) -> Totals:
    """A measurement's totals over its cells, as one release.

    Raises:
        EstimationRefused: The answers cannot be the mechanism's, or make what is known beforehand implausible.
    """
    check_known(measurement)
    totals = _of_all_answers(measurement)
    if measurement.finer is None:
        return totals
    finer, members = totals_of(measurement.finer.measurement), measurement.finer.members
    if isinstance(totals, CountedTotals) and isinstance(finer, CountedTotals):
        return replace(totals, finer=FinerTotals(finer, members), known=finer.known)
    if isinstance(totals, LocalTotals) and isinstance(finer, LocalTotals):
        return replace(totals, finer=FinerTotals(finer, members))
    raise EstimationRefused("The answer mixes reported and true groups: do not use it.")


def _of_all_answers(measurement: Measurement) -> Totals:
    """A measurement's totals over its cells, by its own groups' counts."""
    first, *further = map(_of_one_answer, measurement.answers)
    if isinstance(first, CountedTotals):
        first = replace(first, confusion=measurement.confusion)
        return first.joined([other for other in further if isinstance(other, CountedTotals)]) if further else first
    if not further:
        return first
    raise EstimationRefused(ONLY_ADDED_NOISE)


def _of_one_answer(measurement: Measurement) -> Totals:
    """A measurement's totals over its cells by its own answer alone, as one release."""
    if measurement.is_local:
        return LocalTotals.of(measurement)
    (favourable, complement), kind = measurement.completed(), measurement.complement_is
    supports, counted = measurement.supports, measurement.counted
    margins = None if supports is None else KnownTotals.of(supports, kind, counted=counted)
    if isinstance(favourable.noise, ExponentialNoise) and isinstance(complement.noise, ExponentialNoise):
        return CountedTotals.of_exponential(
            ExponentialAnswers.of(favourable.counts[None], favourable.noise),
            ExponentialAnswers.of(complement.counts[None], complement.noise),
            complement_is=kind,
            known=margins,
            bounds=measurement.bounds,
        )
    if not (isinstance(favourable.noise, AdditiveNoise) and isinstance(complement.noise, AdditiveNoise)):
        raise EstimationRefused("The answer's parts come from different mechanisms: ask all cells with one.")
    return CountedTotals.with_noise(
        favourable.totals[None],
        complement.totals[None],
        (favourable.noise, complement.noise),
        cells=(favourable.cells, complement.cells),
        complement_is=kind,
        known=margins,
        bounds=measurement.bounds,
    )


def check_question(threshold: float | None, level: float) -> None:
    """Refuse a threshold or a level out of range."""
    if not ((threshold is None or 0 < threshold <= 1) and 0 < level < 1):
        raise ValueError("The threshold lies within (0, 1], the level within (0, 1).")


def _group(posterior: Posterior, k: int) -> GroupEstimate:
    """One group's rate, size and accepted people."""
    flat = posterior.draws_by_prior[0]
    none, everyone = bool(flat.none_possible[0, k]), bool(flat.all_possible[0, k])

    def hull(draws: Sequence[Sequence[FloatArray]]) -> Estimate:
        """Of what was drawn under either prior, and of what boundary cases make of it."""
        flat, pooled = (
            reduce(Estimate.hull, (quantile_estimate(of_prior, posterior.level) for of_prior in of_priors))
            for of_priors in draws
        )
        return pooled.hull(flat)

    def people(name: str) -> Estimate:
        estimate = hull(
            [
                [getattr(draws, name)[0, k] for draws in (of_prior.draws, of_prior.lower, of_prior.upper)]
                for of_prior in posterior.draws_by_prior
            ]
        )
        return replace(estimate, unit=Unit.PEOPLE)

    rate, population_rate = (
        hull([[of_prior.rates[k], of_prior.lower[k], of_prior.upper[k]] for of_prior in of_rates])
        for of_rates in (posterior.rates, posterior.population_rates)
    )
    size, accepted, bounds = people("size"), people("accepted"), posterior.totals.bounds
    return GroupEstimate(
        group=posterior.groups[k],
        rate=rate,
        size=size.stretched_to(bounds.least[k] if bounds else 0.0) if none and everyone else size,
        accepted=accepted.stretched_to(0.0) if none else accepted,
        population_rate=population_rate,
    )


def _comparisons(posterior: Posterior, reference: Group) -> tuple[GroupComparison, ...]:
    """Every other group against the reference."""
    index = posterior.index(reference)
    flat, pooled = (
        against_of_kind(posterior.ratio_kind, of_prior, index, posterior.level) for of_prior in posterior.rates
    )
    return tuple(
        GroupComparison(group, pooled[0][k].hull(flat[0][k]), pooled[1][k].hull(flat[1][k]))
        for k, group in enumerate(posterior.groups)
        if k != index
    )
