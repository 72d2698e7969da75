"""Figures of a chain of decisions: the rate of every step by group, and what each step adds to the ratio of the chain.

For stages 1 to S, r_j people of a group reach stage j, and r_0 are asked about. The rate of step j is r_j / r_{j−1},
and the chain up to it is r_j / r_0. A group's *adverse ratio* of either is its rate over the reference group's, so that
log RR(chain) = Σ log RR(step).

Method: draws of r_j are sums of answers less drawn noise, brought into 0 ≤ r_S ≤ … ≤ r_0. They rest on no prior, every
figure of a draw follows from the same counts, and so the decomposition sums exactly in each. A figure's interval is
equal-tailed at the level at which all intervals of the chain hold together (`simultaneous`). A count that noise alone
may have answered is 0 in some draws, and the interval reaches what that makes of the figure.

Axes: S stages, K groups, M draws. Figures are about the people in the data.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.chain_counts import ChainCounts, additive
from auditor_client.estimation.drawing import DRAWING, Drawing
from auditor_client.estimation.estimates import Estimate, Unit
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from auditor_client.estimation.simultaneous import levels_needed, simultaneous_level
from shared.contract.schema import Group

METHOD: Final = "answers less noise"
_ROUNDING: Final = 1e-9
DRAWS_MIN: Final = 2**14
"""So many that intervals which hold together at 95 % have draws beyond their ends."""


@dataclass(frozen=True, slots=True)
class StepRates:
    """One stage of a chain.

    Attributes:
        stage: Its name.
        people: Of each group, how many people reach it.
        rates: Of each group, the share who reach it of those who reached the stage before.
        reached: Of each group, the share who reach it of everybody.
    """

    stage: str
    people: tuple[Estimate, ...]
    rates: tuple[Estimate, ...]
    reached: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class StepRatio:
    """One step of a chain for one group, against the reference group.

    Attributes:
        stage: The name of the stage that the step leads to.
        ratio: Of the step's rates.
        chain: Of the shares who reach the stage, of everybody.
        contribution: The logarithm of the step's ratio; those of all steps add up to that of the whole chain.
    """

    stage: str
    ratio: Estimate
    chain: Estimate
    contribution: Estimate


@dataclass(frozen=True, slots=True)
class ChainComparison:
    """One group against the reference group.

    Attributes:
        group: The group.
        steps: In their order.
        log_ratio: The logarithm of the ratio of the whole chain: the sum of the steps' contributions.
        decisive: The index of the step that is shown to move the ratio of the chain more than any other, in the same
            direction as the chain; None if no step is.
    """

    group: Group
    steps: tuple[StepRatio, ...]
    log_ratio: Estimate
    decisive: int | None


@dataclass(frozen=True, slots=True)
class ChainFigures:
    """All that one answer says of a chain. Its intervals hold together.

    Attributes:
        groups: The K groups.
        people: Of each group, how many people the chain is about.
        steps: Of every stage, in order.
        reference: The group that others are compared with.
        comparisons: Of all other groups.
        level: Of all intervals together.
        contradicting: How many people reached a stage without an earlier one; None where it was not asked for.
    """

    groups: tuple[Group, ...]
    people: tuple[Estimate, ...]
    steps: tuple[StepRates, ...]
    reference: Group
    comparisons: tuple[ChainComparison, ...]
    level: float
    contradicting: Estimate | None = None

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages."""
        return tuple(step.stage for step in self.steps)


@dataclass(frozen=True, eq=False)
class _Table:
    """Figures of one or more tables of counts, with the draws on the last axis.

    Attributes:
        reached: How many people of each group reach each stage, everybody first, shape (S + 1, K, M).
        reference: The index of the group that others are compared with.
    """

    reached: FloatArray
    reference: int

    @cached_property
    def rates(self) -> FloatArray:
        """Return the rates of every step, shape (S, K, M); NaN where nobody reached the stage before."""
        return _over(self.reached[1:], self.reached[:-1])

    @cached_property
    def shares(self) -> FloatArray:
        """Return the shares of everybody who reach each stage, shape (S, K, M)."""
        return _over(self.reached[1:], self.reached[:1])

    @cached_property
    def step_logs(self) -> FloatArray:
        """The logarithms of the steps' ratios to the reference group, shape (S, K, M); NaN where neither has a rate."""
        return self._logs(self.rates)

    @cached_property
    def chain_logs(self) -> FloatArray:
        """The same of the chain up to each stage."""
        return self._logs(self.shares)

    def _logs(self, rates: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs: FloatArray = np.log(rates)
            return logs - logs[:, [self.reference]]


def chain_figures(
    counts: ChainCounts, *, level: float = 0.95, drawing: Drawing = DRAWING, reference: Group | None = None
) -> ChainFigures:
    """Everything that the answer says of a chain; the same answer and drawing give the same figures.

    Args:
        counts: What was answered.
        level: Of all intervals together, within (0, 1).
        drawing: How draws are made.
        reference: The group that others are compared with; by default the largest.

    Raises:
        EstimationRefused: There is no group of the reference's name.
        ValueError: The level is out of range.
    """
    if not 0 < level < 1:
        raise ValueError("The level lies within (0, 1).")
    index = _reference(counts, reference)
    draws_table, answered = (
        _Table(_draws(counts, drawing), index),
        _Table(_nested(_cumulated(counts.counts)[..., None]), index),
    )
    compared = [group for group in range(len(counts.groups)) if group != index]
    rows = _rows(draws_table, compared)
    contradicting = _contradicting(counts, drawing)
    needed = [levels_needed(np.concatenate([figures.reshape(-1, figures.shape[-1]) for figures in rows]))]
    if contradicting is not None:
        needed.append(levels_needed(contradicting[1][None]))
    each = simultaneous_level(needed, level)
    intervals = _Intervals(draws_table, answered, each)
    return ChainFigures(
        groups=counts.groups,
        people=tuple(intervals.people(0, group) for group in range(len(counts.groups))),
        steps=tuple(intervals.step(stage, number) for number, stage in enumerate(counts.stages)),
        reference=counts.groups[index],
        comparisons=tuple(intervals.comparison(counts, group) for group in compared),
        level=level,
        contradicting=None if contradicting is None else _interval(*contradicting, each, Unit.PEOPLE),
    )


def chain_draws(counts: ChainCounts, drawing: Drawing = DRAWING) -> FloatArray:
    """Draws of how many people of each group reach each stage, everybody first, shape (S + 1, K, M)."""
    return _draws(counts, drawing)


def _rows(draws: _Table, compared: list[int]) -> list[FloatArray]:
    """Draws of all figures that get an interval, whose first axes are figures."""
    later = slice(1, None)  # the first step is the chain up to it
    return [
        draws.reached,
        draws.rates,
        draws.shares[later],
        draws.step_logs[:, compared],
        draws.chain_logs[later, compared],
    ]


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Makes estimates of the draws, around the figures of the answer itself."""

    drawn: _Table
    answered: _Table
    level: float

    def people(self, stage: int, group: int) -> Estimate:
        """Return how many people of a group reach a stage; stage 0 is everybody."""
        return self._of(self.drawn.reached, self.answered.reached, stage, group, Unit.PEOPLE)

    def step(self, stage: str, number: int) -> StepRates:
        """One stage, by its index."""
        groups = range(self.drawn.reached.shape[1])
        return StepRates(
            stage,
            people=tuple(self.people(number + 1, group) for group in groups),
            rates=tuple(self._of(self.drawn.rates, self.answered.rates, number, group) for group in groups),
            reached=tuple(self._of(self.drawn.shares, self.answered.shares, number, group) for group in groups),
        )

    def comparison(self, counts: ChainCounts, group: int) -> ChainComparison:
        """One group against the reference."""
        steps, chain = (
            [self._of(draws, answered, number, group) for number in range(len(counts.stages))]
            for draws, answered in (
                (self.drawn.step_logs, self.answered.step_logs),
                (self.drawn.chain_logs, self.answered.chain_logs),
            )
        )
        return ChainComparison(
            counts.groups[group],
            tuple(
                StepRatio(stage, _exponential(step), _exponential(up_to), step)
                for stage, step, up_to in zip(counts.stages, steps, chain, strict=True)
            ),
            chain[-1],
            _decisive(steps, chain[-1]),
        )

    def _of(self, draws: FloatArray, answered: FloatArray, row: int, group: int, unit: Unit = Unit.SHARE) -> Estimate:
        return _interval(float(answered[row, group, 0]), draws[row, group], self.level, unit)


def _interval(value: float, draws: FloatArray, level: float, unit: Unit = Unit.SHARE) -> Estimate:
    """The answer's own figure within an equal-tailed interval of draws of shape (M,).

    A draw without the figure claims nothing, so it stands for the lowest and for the highest: with more of them than a
    tail, the figure is undefined.
    """
    tail, number = (1 - level) / 2, len(draws)
    missing = np.isnan(draws)
    if missing.mean() > tail or np.isnan(value):
        return Estimate(np.nan, np.nan, np.nan, level, METHOD, unit)
    low, high = np.sort(np.where(missing, -np.inf, draws)), np.sort(np.where(missing, np.inf, draws))
    # A draw that makes an end cannot miss it (`joint_ends`): each end is one draw farther out.
    beyond = max(int(tail * number) - 1, 0)
    ends = float(low[beyond]), float(high[number - 1 - beyond])
    return Estimate(value, min(ends[0], value), max(ends[1], value), level, METHOD, unit)


def _exponential(logarithm: Estimate) -> Estimate:
    """The ratio of a logarithm; its ends are those of the logarithm."""
    with np.errstate(over="ignore"):
        value, low, high = (float(np.exp(end)) for end in (logarithm.value, logarithm.low, logarithm.high))
    return Estimate(value, low, high, logarithm.level, METHOD)


def _decisive(steps: list[Estimate], chain: Estimate) -> int | None:
    """The step whose whole interval lies beyond those of all others, on the side of 0 on which the chain's lies."""
    sign = 1.0 if chain.low > 0 else -1.0 if chain.high < 0 else 0.0
    if not sign:
        return None
    ends = [(step.low, step.high) if sign > 0 else (-step.high, -step.low) for step in steps]
    for number, (low, _) in enumerate(ends):
        other_highs = [high for other, (_, high) in enumerate(ends) if other != number]
        if low > 0 and all(low > high + _ROUNDING for high in other_highs):
            return number
    return None


def _reference(counts: ChainCounts, reference: Group | None) -> int:
    """The index of the reference group; by default of the largest, by the answer."""
    if reference is None:
        return int(counts.counts.sum(axis=0).argmax())
    if reference not in counts.groups:
        raise EstimationRefused("The group to compare with is not one of the answer's groups.")
    return counts.groups.index(reference)


def _draws(counts: ChainCounts, drawing: Drawing) -> FloatArray:
    number = max(drawing.number, DRAWS_MIN)
    shape = (*counts.counts.shape, number)
    points = np.random.default_rng((drawing.seed, 7)).random(shape)
    noise = noise_sum(counts.noise, len(counts.parts)).quantile(points)
    return _nested(_cumulated(counts.counts[..., None] - noise))


def _cumulated(counts: IntArray) -> FloatArray:
    """Return how many reach each stage, everybody first, from how many stop at each: sums from the last on."""
    reached: FloatArray = np.cumsum(counts[::-1], axis=0)[::-1].astype(np.float64)
    return reached


def _nested(reached: FloatArray) -> FloatArray:
    """The same, brought into what can be: nobody is below zero, and no more reach a stage than the one before."""
    nested: FloatArray = np.minimum.accumulate(np.maximum(reached, 0.0), axis=0)
    return nested


def _contradicting(counts: ChainCounts, drawing: Drawing) -> tuple[float, FloatArray] | None:
    """Return how many people contradict the order, and draws of it."""
    if counts.contradicting is None:
        return None
    answered = counts.contradicting.counts
    number = max(drawing.number, DRAWS_MIN)
    noise = noise_sum(additive(counts.contradicting), answered.size)
    points = np.random.default_rng((drawing.seed, 8)).random(number)
    draws = np.maximum(int(answered.sum()) - noise.quantile(points), 0).astype(np.float64)
    return float(max(int(answered.sum()), 0)), draws


def _over(part: FloatArray, whole: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: FloatArray = part / whole
        return rates
