"""The change from one model to another, from counts of both decisions together (docs/adr/0035-two-models.md).

Each group's people fall into disjoint cells: whom both models accept, only the first, only the second, and neither.
Both rates are shares of the same cells, so that noise on people about whom the models agree moves both alike.

Model, for each group: its size is flat on the integers from 0 on, and the people's shares in the cells have a Dirichlet
prior of a weight that is the same for every cell. There are two priors, of which neither is trusted alone: weight 1,
under which all compositions are as likely, and a small weight, under which most people are in few cells, so that
perhaps nobody is in the others. Truths on the boundary, above all that nobody's decision changes, have mass under the
second, so an interval reaches them where the answers do not speak against it. An interval is the hull of both priors'.

Method: importance sampling. Each cell is drawn by itself, from its likelihood and a prior of which all cells together
weigh one person; that is nearly the posterior, and a draw of all cells gets the rest as its weight.

Axes: J cells, T independent releases, K groups, M draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from scipy.special import gammaln

from auditor_client.errors import EstimationRefused
from auditor_client.estimation import caveats
from auditor_client.estimation.changed_extremes import changes
from auditor_client.estimation.comparison import compare_estimates, unchanged
from auditor_client.estimation.crossed_measurements import CrossedMeasurement, Sides
from auditor_client.estimation.drawing import DRAWING, Drawing
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.likelihoods import AdditiveAnswers
from auditor_client.estimation.measurements import IntArray, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from auditor_client.estimation.results import Comparison, ParityEstimate, ParityFigures
from shared.privacy.noise import AdditiveNoise

CELL_WEIGHTS: Final = (1.0, 0.1)
"""Of the two priors: how many people's worth each adds to every cell."""
_TAIL: Final = 1e-13
"""Noise that is less likely than this is not looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossedCounts:
    """Noisy counts of disjoint cells, and what either of two models decides about them.

    Attributes:
        cells: One for each cell, shape (T, K), in people.
        first: Of one model.
        second: Of the other.
    """

    cells: tuple[AdditiveAnswers, ...]
    first: Sides
    second: Sides

    @classmethod
    def of(cls, measurement: CrossedMeasurement) -> Self:
        """One release's cells; where several counts make a cell, they are added up.

        Raises:
            EstimationRefused: The mechanism does not add noise.
        """
        return cls(tuple(map(_answers, measurement.cells)), measurement.first, measurement.second)


@dataclass(frozen=True, slots=True)
class ChangedFigures:
    """The second model's ratio and difference less those of the first: of the people in the data, of the population."""

    ratio: Estimate
    difference: Estimate
    population_ratio: Estimate
    population_difference: Estimate


def compare_crossed(
    first: ParityEstimate, second: ParityEstimate, measurement: CrossedMeasurement, *, more_known: bool = False
) -> Comparison:
    """Compare two models by the answer to one question about both. Spends no budget.

    Args:
        first: One model's figures, read from the same answer.
        second: The other's.
        measurement: What either decides. Groups that one of them leaves out for their size have no part in the change.
        more_known: Whether the models' figures rest on known totals or supports, which have no part in the change.

    Raises:
        EstimationRefused: The mechanism does not add noise.
    """
    if measurement.first == measurement.second:
        return unchanged(first, second)
    judged = measurement.without({*first.left_out, *second.left_out})
    if len(judged.groups) < 2:
        return compare_estimates(first, second, same_answer=True)
    changed = changed_figures(CrossedCounts.of(judged), level=min(first.ratio.level, second.ratio.level))[0]
    figures = {figure: getattr(changed, figure) for figure in ParityFigures.__slots__}
    return Comparison(
        first=first, second=second, notes=tuple(caveats.of_crossed(changed.ratio, more_known=more_known)), **figures
    )


def changed_figures(crossed: CrossedCounts, *, level: float, drawing: Drawing = DRAWING) -> list[ChangedFigures]:
    """Return what changed, of every release.

    Args:
        crossed: Counts of both decisions.
        level: Of each interval.
        drawing: How draws are made from the posterior under either prior.

    Returns:
        One for each release: medians under the second prior, in the hull of both priors' equal-tailed intervals. A
        figure that most draws do not have is undefined.
    """
    rng = np.random.default_rng(drawing.seed)
    proposed = _proposed(crossed.cells, drawing.number, rng)
    figures_by_prior = [list(_of_prior(crossed, proposed, weight, level, rng)) for weight in CELL_WEIGHTS]
    return [
        ChangedFigures(*(sparse.hull(flat) for flat, sparse in zip(*figures, strict=True)))
        for figures in zip(*figures_by_prior, strict=True)
    ]


def _answers(cell: NoisyCounts) -> AdditiveAnswers:
    if not isinstance(cell.noise, AdditiveNoise):
        raise EstimationRefused("Both decisions are estimated together only from answers to which noise was added.")
    return AdditiveAnswers(cell.totals[None], noise_sum(cell.noise, cell.cells))


def _of_prior(
    crossed: CrossedCounts, proposed: IntArray, weight: float, level: float, rng: np.random.Generator
) -> Iterator[list[Estimate]]:
    """The four figures of every release under the prior with a weight."""
    people = _resampled(proposed, weight, rng).astype(np.float64)
    shares = np.where(people.sum(axis=0) > 0, rng.gamma(people + weight), 0.0)
    rates = [(_rates(of_people, crossed.first), _rates(of_people, crossed.second)) for of_people in (people, shares)]
    for release in range(people.shape[1]):
        yield [figure for first, second in rates for figure in changes(first[release], second[release], level)]


def _rates(people: FloatArray, sides: Sides) -> FloatArray:
    """A model's rates, shape (T, K, M), from people or shares of shape (J, T, K, M); NaN where it has none."""
    accepted = people[list(sides.accepted)].sum(axis=0)
    with np.errstate(invalid="ignore"):
        rates: FloatArray = accepted / (accepted + people[list(sides.refused)].sum(axis=0))
    return rates


def _proposed(cells: Sequence[AdditiveAnswers], number: int, rng: np.random.Generator) -> IntArray:
    """Draws of every cell by itself, shape (J, T, K, M): from its likelihood and its part of one person's worth."""
    groups = range(cells[0].answers.shape[1])
    draws = [[_drawn(cell, group, 1 / len(cells), number, rng) for group in groups] for cell in cells]
    return np.array(draws, dtype=np.int64).swapaxes(1, 2)


def _drawn(cell: AdditiveAnswers, group: int, weight: float, number: int, rng: np.random.Generator) -> IntArray:
    """Draws of one cell's people in one group, shape (T, M)."""
    noise, answers = cell.noise, cell.answers[:, group, None]
    reach = noise.reach - int(np.searchsorted(noise.cumulated, _TAIL))
    counts = np.maximum(answers - reach, 0) + np.arange(2 * reach + 1)
    log_mass = noise.log_mass[noise.index(answers - counts)] + gammaln(counts + weight) - gammaln(counts + 1.0)
    return np.take_along_axis(counts, _indices(log_mass, number, rng), axis=-1)


def _resampled(proposed: IntArray, weight: float, rng: np.random.Generator) -> IntArray:
    """Equally weighted draws under the prior with a weight, shape (J, T, K, M); the groups' are combined at random."""
    cells, number = proposed.shape[0], proposed.shape[-1]
    size = proposed.sum(axis=0)
    log_weight = (gammaln(proposed + weight) - gammaln(proposed + 1 / cells)).sum(axis=0)
    log_weight += gammaln(size + 1.0) - gammaln(size + cells * weight)
    return np.take_along_axis(proposed, _indices(log_weight, number, rng)[None], axis=-1)


def _indices(log_mass: FloatArray, number: int, rng: np.random.Generator) -> IntArray:
    """Draws from each row's masses, shape (…, number): one at every step of the cumulated mass, in a random order."""
    rows = log_mass.reshape(-1, log_mass.shape[-1])
    cumulated = np.cumsum(np.exp(rows - rows.max(axis=-1, keepdims=True)), axis=-1)
    points = (
        rng.permuted(np.tile(np.arange(number), (len(rows), 1)), axis=-1) + rng.random(rows.shape[:1])[:, None]
    ) / number
    positions = [
        np.searchsorted(of_row, of_points * of_row[-1], side="right")
        for of_row, of_points in zip(cumulated, points, strict=True)
    ]
    indices: IntArray = np.minimum(np.array(positions, dtype=np.int64), rows.shape[-1] - 1).reshape(
        *log_mass.shape[:-1], number
    )
    return indices
