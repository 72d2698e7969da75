"""The rules that cause the disparity of two groups, and the figure if one decided the other way (1-method §6.6).

p_i − p_j = Σ_r (h_{r,i}/n_i − h_{r,j}/n_j) over the favourable rules: exact and additive. The groups' totals are
drawn first, from their posterior; then `rule_counts` splits each total among its rules.

Values and intervals treat what is impossible differently. A rule's interval comes from its draws, each clipped
to what is possible by itself: no fewer than nobody, at most all whom the group's rules accept. The values
have to add up, so there the posterior mean counts of a group are projected onto those that do and are not
negative: what the noise made of empty rules is taken from all rules equally, as soft thresholding does.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation import caveats
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import DrawsWithBoundaryCases
from auditor_client.estimation.estimates import Estimate, Unit
from auditor_client.estimation.intervals import METHOD, quantile_estimate, undefined
from auditor_client.estimation.judged_groups import judged_groups
from auditor_client.estimation.measurements import Measurement, NoisyCounts, Supports
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import Posterior, check_question
from auditor_client.estimation.results import Attribution, RuleShare
from auditor_client.estimation.rule_counts import RuleCounts, rule_counts, rule_noise
from auditor_client.estimation.simultaneous import levels_needed
from auditor_client.estimation.size_rule import SizeRule
from shared.contract.schema import Group
from shared.wire.wording import said

DRAWS: Final = 2048
JOINT_DRAWS: Final = 16384
"""Where the shares are to hold together with other figures; a power of two."""
JOINT_DRAWS_A_RULE: Final = 8
"""Of the draws outside all intervals, how many are needed for each rule, whose share has two ends: four at each."""
_DRAWING: Final = Drawing(DRAWS)


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """Two groups' rates, and the parts of them that each rule makes, in every draw under one prior.

    Attributes:
        rates: p_i and p_j, shape (2, M); NaN where the drawn group is empty.
        lower: For lower ends, the parts h_{r,k}/n_k within [0, p_k], and after the last of them the rates, shape
            (R + 1, 2, M); zero for a group of whom perhaps nobody is accepted.
        upper: For upper ends, likewise; the rule's part of the accepted for a group of whom perhaps nobody is
            refused, and one for a group that may be empty.
        counts, accepted: Means, which may be negative, shape (R, 2), and of accepted people, shape (2,).
    """

    rates: FloatArray
    lower: FloatArray
    upper: FloatArray
    counts: FloatArray
    accepted: FloatArray

    @classmethod
    def of(cls, drawn: DrawsWithBoundaryCases, rules: RuleCounts, pair: list[int]) -> Self:
        """Split one prior's draws of two groups."""
        accepted = drawn.draws.accepted[0, pair]
        counts = {draws: rules.split(draws.accepted[0, pair]) for draws in {drawn.draws, drawn.lower, drawn.upper}}
        (lower, lower_size), (upper, upper_size) = (
            (_with_total(counts[draws], draws.accepted[0, pair]), draws.size[0, pair])
            for draws in (drawn.lower, drawn.upper)
        )
        none, everyone = drawn.none_possible[0, pair, None], drawn.all_possible[0, pair, None]
        with np.errstate(invalid="ignore"):
            return cls(
                accepted / drawn.draws.size[0, pair],
                np.where(none, 0.0, lower / lower_size),
                np.where(everyone, np.where(none, 1.0, upper / upper[-1]), upper / upper_size),
                counts[drawn.draws].mean(axis=-1),
                accepted.mean(axis=-1),
            )

    def shares(self, rule: int) -> tuple[FloatArray, FloatArray]:
        """Draws of one rule's share for lower and for upper ends, shape (M,) each; after the last rule, of all."""
        return self.lower[rule, 0] - self.upper[rule, 1], self.upper[rule, 0] - self.lower[rule, 1]

    def of_second(self, shares: FloatArray) -> FloatArray:
        """Shares divided by p_j, shape (M,); NaN where that is zero."""
        of_second: FloatArray = np.divide(
            shares, self.rates[1], out=np.full_like(shares, np.nan), where=self.rates[1] > 0
        )
        return of_second


def attribute(
    measurement: Measurement,
    *,
    pair: tuple[Group, Group] | None = None,
    reference: Group | None = None,
    but: Collection[Group] = (),
    level: float = 0.95,
    drawing: Drawing = _DRAWING,
) -> Attribution:
    """Share the disparity of two groups out among the favourable rules.

    Post-processing: spends no budget. The pair is the same in all draws.

    Args:
        measurement: Noisy counts with a favourable cell for each rule (strategies `rules` and `pafer`).
        pair: Groups i and j. By default those of the lowest and the highest estimated rate.
        reference: Group j, if no pair is given; i is then the group whose rate is farthest from it.
        but: Groups that are not compared unless they are named.
        level: Of each single interval, within (0, 1).
        drawing: How draws are made.

    Raises:
        EstimationRefused: The groups do not exist or are the same, or the exponential mechanism answered.
        ValueError: Level out of range.
    """
    check_question(1.0, level)
    rule_noise(measurement)
    posterior = Posterior.of(measurement, level, drawing)
    first, second = _pair(posterior, pair, reference, but)
    priors = _rates_by_prior(measurement, posterior, (first, second))
    rates = _mean_rates(priors[1])
    values = [_projected(priors[1].counts[:, group], priors[1].accepted[group], rates[group]) for group in range(2)]
    shares = tuple(
        _rule_share(rule, priors, float(values[0][rule] - values[1][rule]), rates[1], level)
        for rule in range(measurement.favourable.cells)
    )
    unclear = all(share.share.low <= 0 <= share.share.high for share in shares)
    names = posterior.groups[first], posterior.groups[second]
    return Attribution(
        first=names[0],
        second=names[1],
        difference=_within(100 * (rates[0] - rates[1]), [_percent(of.shares(-1)) for of in priors], level, Unit.POINTS),
        ratio=_within(_ratio(*rates), [(of.of_second(of.rates[0]),) * 2 for of in priors], level),
        shares=shares,
        warnings=tuple(caveats.of_attribution(*names, unclear=unclear)),
    )


def needed_by_shares(
    measurement: Measurement, drawing: Drawing, *, reference: Group | None, level: float, rule: SizeRule | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return what the shares of `JOINT_DRAWS` draws need to hold together, under either prior (`together`).

    Raises:
        EstimationRefused: As `attribute`; or the rules are more than the draws show to hold together.
    """
    require_joint(measurement, level)
    rule_noise(measurement)
    posterior = Posterior.of(measurement, level, replace(drawing, number=JOINT_DRAWS))
    (judged,) = judged_groups([posterior.totals], rule, posterior.level_of_sizes)
    but = [group for index, group in enumerate(posterior.groups) if index not in judged]
    pair = _pair(posterior, None, reference, but)
    flat, pooled = (_needed(prior) for prior in _rates_by_prior(measurement, posterior, pair))
    return flat, pooled


def require_joint(measurement: Measurement, level: float) -> None:
    """Refuse shares of more rules than the draws show to hold together at a level.

    Raises:
        EstimationRefused: They are more.
    """
    rules_max = int(JOINT_DRAWS * (1 - level) / JOINT_DRAWS_A_RULE)
    if measurement.favourable.cells > rules_max:
        raise EstimationRefused(caveats.too_many_shares(rules_max))


def _needed(prior: _Rates) -> FloatArray:
    needed = np.zeros(prior.rates.shape[1])
    for rule in range(len(prior.lower)):
        for ends in prior.shares(rule):
            needed = np.maximum(needed, levels_needed(np.stack([ends, prior.of_second(ends)])))
    return np.maximum(needed, levels_needed(prior.of_second(prior.rates[0])[None]))


def _rates_by_prior(measurement: Measurement, posterior: Posterior, pair: tuple[int, int]) -> list[_Rates]:
    """Two groups' rates and rules under either prior."""
    rules = rule_counts(measurement, pair, draws=posterior.drawing.number, seed=posterior.drawing.seed)
    return [_Rates.of(prior, rules, list(pair)) for prior in posterior.draws_by_prior]


def flipped(measurement: Measurement, rule: int) -> Measurement:
    """Return what would have been measured if one rule's decision were reversed. Spends no budget.

    Answers that do not count the rules by themselves say nothing of that, and are left out.

    Args:
        measurement: Noisy counts with a cell for each rule.
        rule: Its index among the favourable cells; after these, for strategy `rules`, come the unfavourable ones.

    Raises:
        EstimationRefused: There is no rule of that index, its histogram was not counted, nobody would be accepted (or
            refused) any more, or the exponential mechanism answered.
    """
    rule_noise(measurement)
    favourable, complement = measurement.favourable, measurement.complement
    everybody = measurement.complement_is == "everybody"
    if not 0 <= rule < favourable.cells + (0 if everybody else complement.cells):
        raise EstimationRefused(f"The answer does not count the rule {rule}.")
    if not everybody and favourable.noise != complement.noise:
        raise EstimationRefused("The rules were answered with different noise: none can change sides.")
    cells = favourable.counts if everybody else np.vstack([favourable.counts, complement.counts])
    accepts = np.arange(len(cells)) < favourable.cells
    accepts[rule] = not accepts[rule]
    if not accepts.any() or (not everybody and accepts.all()):
        raise EstimationRefused("With that rule reversed the model would make one decision for everybody.")
    supports = measurement.supports
    if supports is not None:
        people_of_rules = np.array([*supports.favourable, *(() if everybody else supports.complement)])
        complement_people = supports.complement if everybody else tuple(people_of_rules[~accepts].tolist())
        supports = Supports(tuple(people_of_rules[accepts].tolist()), complement_people)
    return Measurement(
        groups=measurement.groups,
        favourable=NoisyCounts(cells[accepts], favourable.noise),
        complement=complement if everybody else NoisyCounts(cells[~accepts], complement.noise),
        complement_is=measurement.complement_is,
        supports=supports,
        bounds=measurement.bounds,
        draws=tuple(flipped(draw, rule) for draw in measurement.draws),
    )


def _pair(
    posterior: Posterior, pair: tuple[Group, Group] | None, reference: Group | None, but: Collection[Group]
) -> tuple[int, int]:
    """The indices of groups i and j."""
    if pair is not None:
        first, second = posterior.index(pair[0]), posterior.index(pair[1])
    else:
        rates = [
            np.nan if group in but and group != reference else quantile_estimate(rates, posterior.level).value
            for group, rates in zip(posterior.groups, posterior.rates[1].rates, strict=True)
        ]
        if np.isnan(rates).sum() > len(rates) - 2:
            raise EstimationRefused(
                said(
                    "Fewer than two groups have people. A disparity needs two groups, so shares of the rules are "
                    "not defined."
                )
            )
        second = int(np.nanargmax(rates)) if reference is None else posterior.index(reference)
        away = np.abs(np.subtract(rates, rates[second]))
        away[second] = -1.0
        first = int(np.nanargmax(away))
    if first == second:
        raise EstimationRefused("Compare two different groups.")
    return first, second


def _rule_share(rule: int, priors: Sequence[_Rates], value: float, second: float, level: float) -> RuleShare:
    """One rule's share around a value, and the same divided by the second group's rate."""
    draws = [of.shares(rule) for of in priors]
    of_second = [(of.of_second(lower), of.of_second(upper)) for of, (lower, upper) in zip(priors, draws, strict=True)]
    return RuleShare(
        rule,
        _within(100 * value, [_percent(ends) for ends in draws], level, Unit.POINTS),
        _within(_ratio(value, second), of_second, level),
    )


def _with_total(counts: FloatArray, accepted: FloatArray) -> FloatArray:
    """Counts within [0, accepted], and after those of the last rule the accepted: shape (R + 1, 2, M)."""
    return np.concatenate([np.clip(counts, 0, accepted), accepted[None]])


def _percent(ends: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Draws for both ends, shape (M,) each, in percentage points."""
    return 100 * ends[0], 100 * ends[1]


def _mean_rates(prior: _Rates) -> tuple[float, float]:
    """The posterior means of p_i and p_j, over the draws in which both groups have people; NaN without any."""
    defined = prior.rates[:, ~np.isnan(prior.rates).any(axis=0)]
    first, second = defined.mean(axis=1).tolist() if defined.size else (np.nan, np.nan)
    return first, second


def _projected(counts: FloatArray, total: float, rate: float) -> FloatArray:
    """Parts of a rate, shape (R,), in proportion to the nearest counts that have a sum and are not negative."""
    if not total > 0:
        return np.full_like(counts, rate / len(counts))
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    threshold = excess[np.flatnonzero(ordered > excess)[-1]]
    parts: FloatArray = np.maximum(counts - threshold, 0) * (rate / total)
    return parts


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else np.nan


def _within(
    value: float, priors: Sequence[tuple[FloatArray, FloatArray]], level: float, unit: Unit = Unit.SHARE
) -> Estimate:
    """A value in the hull of both priors' intervals, which is stretched to it; undefined if they are.

    `priors` are each prior's draws for lower and for upper ends, shape (M,) each.
    """
    ends = [(quantile_estimate(lower, level).low, quantile_estimate(upper, level).high) for lower, upper in priors]
    if not (np.isfinite(value) and np.isfinite(ends).all()):
        return undefined(level)
    (low, high), (other_low, other_high) = ends
    return Estimate(value, min(low, other_low, value), max(high, other_high, value), level, METHOD, unit)
