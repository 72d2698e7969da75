"""Rates without a prior: the answers less their noise, by which the exact test of a group's rate is inverted.

Of the counts a of accepted and r of refused people the answers are a + e and r + f with noises of known distribution. A
rate p is tested by whether noise alone explains a + e − p(a + r + e + f), and the rates that are not rejected at a
level are the quantiles of (a + e − E)/(a + r + e + f − E − F) over independent draws E, F of the noises (Fieller 1954,
*Journal of the Royal Statistical Society B* 16, for normal noise). Draws of different groups combine freely, as those
of a posterior do. Counts below none are none; where nobody is left, the group may have any rate.

Where everybody of a group is accepted, at most a part of its draws are at 1, and the end of a ratio needs these
and luck with the other group. So lower and upper ends take a group's rate for none, or all, wherever the answers do not
speak against it, as those of the posterior do.

No prior leans these rates towards the other groups', so an interval for the ratio ends where the answers end it.

Axes: T releases, K groups, M draws.
"""

import numpy as np

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import possible_boundaries, quasi_random_points
from auditor_client.estimation.intervals import RateDraws
from auditor_client.estimation.likelihoods import AdditiveAnswers
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.totals import CountedTotals


def inverted_rates(totals: Totals, drawing: Drawing, level: float) -> list[RateDraws] | None:
    """Draws of the people's rates, of every release, with ends for intervals of a level.

    None where the edition has none, noise was not added to both counts of every group, or more is known of the people
    or of their groups than the answers say.
    """
    if not (drawing.edition.inverted and isinstance(totals, CountedTotals)):
        return None
    if totals.confusion is not None or totals.known is not None or not (totals.bounds is None or totals.bounds.open):
        return None
    first, second = totals.accepted, totals.complement
    if not (isinstance(first, AdditiveAnswers) and isinstance(second, AdditiveAnswers)):
        return None
    groups = first.answers.shape[1]
    order = np.random.default_rng((drawing.seed, 6)).permutation(drawing.number)
    points = quasi_random_points(2 * groups, drawing.number, drawing.seed)[order].T
    accepted, complement = _less_noise(first, points[:groups]), _less_noise(second, points[groups:])
    refused = complement - accepted if totals.complement_is == "everybody" else complement
    people = np.maximum(accepted, 0) + np.maximum(refused, 0)
    rates = np.divide(np.maximum(accepted, 0), people, out=np.full_like(people, np.nan), where=people > 0)
    lower, upper = (
        np.where((people > 0) & ~possible[..., None], rates, end)
        for possible, end in zip(possible_boundaries(totals, level), (0.0, 1.0), strict=True)
    )
    return [RateDraws(*of_release, drawing.edition) for of_release in zip(rates, lower, upper, strict=True)]


def _less_noise(part: AdditiveAnswers, points: FloatArray) -> FloatArray:
    """Answers less draws of their noise, shape (T, K, M), in people; the points have shape (K, M)."""
    less: FloatArray = part.estimate[..., None] - part.noise.quantile(points)
    return less
