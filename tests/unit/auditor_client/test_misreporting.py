"""Groups that are recorded wrongly: against the posterior by enumeration, and how often intervals hold."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from math import inf, lgamma

import numpy as np
import pytest
from scipy import stats

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.confusion import ConfusionCounts
from auditor_client.estimation.drawing import EDITIONS, LATEST, Drawing
from auditor_client.estimation.draws import Draws
from auditor_client.estimation.measurements import Measurement, NoisyCounts, SizeBounds
from auditor_client.estimation.misreporting import corrected_cases, true_counts
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import Posterior, estimate_parity
from auditor_client.estimation.priors import FlatPrior
from auditor_client.estimation.results import RatioKind
from shared.privacy.noise import DiscreteLaplaceNoise

FALSE_ALARM = 1e-6
TWO = np.array([[0.85, 0.15], [0.3, 0.7]])
THREE = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
GROUPS = (("Female",), ("Male",))


def compositions(people: int, groups: int) -> Iterator[tuple[int, ...]]:
    """Every way to divide people among groups."""
    if groups == 1:
        yield (people,)
        return
    for first in range(people + 1):
        yield from ((first, *others) for others in compositions(people - first, groups - 1))


def by_enumeration(recorded: tuple[int, ...], matrix: FloatArray) -> dict[tuple[int, ...], float]:
    """The posterior of the true counts, all of which are equally likely beforehand: the obvious referee."""
    groups, people = len(recorded), sum(recorded)
    weight = {}
    for true in compositions(people, groups):
        ways = {(0,) * groups: 1.0}
        for group, number in enumerate(true):
            further: dict[tuple[int, ...], float] = {}
            for (before, chance), part in itertools.product(ways.items(), compositions(number, groups)):
                after = tuple(one + more for one, more in zip(before, part, strict=True))
                if all(one <= limit for one, limit in zip(after, recorded, strict=True)):
                    several = lgamma(number + 1) - sum(lgamma(one + 1) for one in part)
                    log_chance = several + sum(np.log(matrix[group]) * part)
                    further[after] = further.get(after, 0.0) + chance * float(np.exp(log_chance))
            ways = further
        weight[true] = ways.get(tuple(recorded), 0.0)
    total = sum(weight.values())
    return {true: chance / total for true, chance in weight.items()}


def chance_of(recorded: tuple[int, ...], matrix: FloatArray, expected: dict[tuple[int, ...], float]) -> float:
    """The p-value of Pearson's test that draws follow the expected posterior; rare counts are taken together."""
    number = 20_000
    rng = np.random.default_rng(11)
    drawn = true_counts(np.tile(np.array(recorded, float), (number, 1)), np.tile(matrix, (number, 1, 1)), rng).astype(
        int
    )
    counts = dict.fromkeys(expected, 0)
    for true in map(tuple, drawn.tolist()):
        counts[true] += 1
    common = [true for true, chance in expected.items() if chance * number >= 10]
    rest = 1 - sum(expected[true] for true in common)
    seen = [counts[true] for true in common]
    means = [number * expected[true] for true in common]
    if rest * number >= 10:
        seen, means = [*seen, number - sum(seen)], [*means, number * rest]
    else:
        means = [mean * sum(seen) / sum(means) for mean in means]
    return float(stats.chisquare(seen, means).pvalue)


@pytest.mark.parametrize(
    ("recorded", "matrix"),
    [((9, 4), TWO), ((0, 13), TWO), ((5, 3, 4), THREE), ((0, 1, 8), THREE)],
)
def test_true_counts_are_drawn_from_their_posterior(recorded: tuple[int, ...], matrix: FloatArray) -> None:
    """False alarms: at most 10⁻⁶ each. The transposed matrix is the negative control."""
    expected = by_enumeration(recorded, matrix)

    assert chance_of(recorded, matrix, expected) > FALSE_ALARM
    transposed = matrix.T / matrix.T.sum(axis=1, keepdims=True)
    assert chance_of(recorded, transposed, expected) < FALSE_ALARM


def test_a_group_that_is_recorded_as_a_mixture_of_others_may_have_anybody() -> None:
    """The records fix one sum of shares alone, so the third share is uniform. False alarms: at most 10⁻⁶."""
    matrix = np.array([[0.9, 0.1, 1e-9], [0.1, 0.9, 1e-9], [0.5, 0.5, 1e-9]])
    recorded, number = np.array([50_000.0, 50_000.0, 0.0]), 2000

    drawn = true_counts(np.tile(recorded, (number, 1)), np.tile(matrix, (number, 1, 1)), np.random.default_rng(12))

    share = drawn[:, 2] / 100_000
    assert stats.kstest(share, "uniform").pvalue > FALSE_ALARM


def test_matrices_are_drawn_as_exactly_as_the_study_says() -> None:
    """Mean and variance of Dirichlet draws; each within six standard errors, a false alarm below 10⁻⁸."""
    study = ConfusionCounts(((27, 3), (8, 12)))

    drawn = study.matrices(4096)

    weights = study.weights
    total = weights.sum(axis=1, keepdims=True)
    variance = study.mean * (1 - study.mean) / (total + 1)
    assert np.allclose(drawn.sum(axis=2), 1)
    assert (np.abs(drawn.mean(axis=0) - study.mean) < 6 * np.sqrt(variance / 4096)).all()
    assert np.allclose(drawn.var(axis=0), variance, rtol=0.15)
    assert study.mean[0, 1] == pytest.approx(3.5 / 31)


def test_nobody_misreported_leaves_the_draws_as_they_are() -> None:
    rng = np.random.default_rng(3)
    accepted, refused = rng.integers(0, 300, (2, 1, 2, 512)).astype(float)
    recorded = Draws(accepted, accepted + refused, FlatPrior(), Drawing(512))

    cases = corrected_cases(recorded, ConfusionCounts(((10**9, 0), (0, 10**9))), 0.95)

    assert np.abs(cases.draws.accepted - accepted).max() <= 1
    assert (cases.draws.size.sum(axis=1) == recorded.size.sum(axis=1)).all()


def measured(recorded: FloatArray, rng: np.random.Generator, epsilon: float = 1.0) -> Measurement:
    """The noisy answer about people by recorded group and outcome, shape (2, 2)."""
    tail = 1 - np.exp(-epsilon)
    noisy = recorded + rng.geometric(tail, recorded.shape) - rng.geometric(tail, recorded.shape)
    noise = DiscreteLaplaceNoise(scale=1 / epsilon)
    accepted, refused = (NoisyCounts.of([noisy[:, outcome].astype(int).tolist()], noise) for outcome in range(2))
    return Measurement(GROUPS, accepted, refused, "unfavourable")


def held(confusion_of: str) -> int:
    """In how many of 60 audits the interval holds the true ratio, by the study, without it, or by it turned round."""
    true = np.array([[400, 800], [1500, 1300]])
    truth = (400 / 1200) / (1500 / 2800)
    number = 0
    for run in range(60):
        rng = np.random.default_rng((42, run))
        recorded = np.stack([rng.multinomial(true[:, outcome], TWO).sum(axis=0) for outcome in range(2)], axis=1)
        study = rng.multinomial(300, TWO)
        study = study.T if confusion_of == "turned" else study
        confusion = None if confusion_of == "none" else ConfusionCounts(tuple(map(tuple, study.tolist())))
        answer = replace(measured(recorded, rng), confusion=confusion)
        ratio = estimate_parity(answer, drawing=Drawing(512, seed=run)).ratio
        number += ratio.low <= truth <= ratio.high
    return number


def test_corrected_intervals_hold_the_truth_and_others_do_not() -> None:
    """A false alarm: below 10⁻⁶, if intervals hold in 95 %. Negative controls: no study, and one turned round."""
    least = int(stats.binom.ppf(FALSE_ALARM, 60, 0.95))

    assert held("study") >= least
    assert held("none") < least
    assert held("turned") < least


def test_a_small_study_gives_wider_intervals_than_a_large_one() -> None:
    rng = np.random.default_rng(5)
    answer = measured(np.array([[500.0, 900.0], [1400.0, 1200.0]]), rng)
    small, large = (
        estimate_parity(replace(answer, confusion=ConfusionCounts(people))).ratio
        for people in (((17, 3), (6, 14)), ((1700, 300), (600, 1400)))
    )

    assert small.width > 1.5 * large.width


def test_a_study_with_hardly_any_information_gives_wide_intervals_and_no_wild_values() -> None:
    """By inversion of this matrix a count of 100 people would carry an error of thousands."""
    rng = np.random.default_rng(6)
    answer = measured(np.array([[500.0, 900.0], [600.0, 800.0]]), rng)

    figures = estimate_parity(replace(answer, confusion=ConfusionCounts(((5050, 4950), (4950, 5050)))))

    assert figures.ratio.low == 0
    assert figures.ratio.high == pytest.approx(1, abs=0.05)
    for group in figures.groups:
        assert 0 <= group.accepted.low <= group.accepted.high <= 1150
        assert 0 <= group.rate.low <= group.rate.high <= 1


def test_both_outcomes_are_two_readings_of_the_same_draws() -> None:
    answer = measured(np.array([[500.0, 900.0], [1400.0, 1200.0]]), np.random.default_rng(7))
    study = ConfusionCounts(((1700, 300), (600, 1400)))

    favourable = estimate_parity(replace(answer, confusion=study))
    adverse = estimate_parity(replace(answer, confusion=study, ratio_kind=RatioKind.HIGHEST))

    for one, other in zip(favourable.groups, adverse.groups, strict=True):
        assert one.rate.value == pytest.approx(1 - other.rate.value, abs=1e-3)
        assert one.size == other.size
    assert adverse.ratio.value > 1
    assert adverse.ratio.high < inf


def test_nobody_may_be_accepted_of_a_group_whose_records_are_errors_alone() -> None:
    """The draws hardly reach none, which a test at this level would not reject: so the ratio may be 0."""
    answer = measured(np.array([[185.0, 820.0], [900.0, 1130.0]]), np.random.default_rng(8))
    answer = replace(answer, confusion=ConfusionCounts(((1700, 300), (300, 1700))))

    draws = Posterior.of(answer, 0.95).draws_by_prior[0].draws

    assert np.quantile(draws.accepted[0, 0], 0.025) > 0
    assert estimate_parity(answer).ratio.low == 0


def test_an_edition_without_inversion_is_what_nobody_misreported_gives() -> None:
    answer = measured(np.array([[500.0, 900.0], [1400.0, 1200.0]]), np.random.default_rng(9), epsilon=0.1)
    drawing = Drawing(edition=replace(EDITIONS[LATEST], inverted=False))

    nobody = replace(answer, confusion=ConfusionCounts(((10**7, 0), (0, 10**7))))
    one, other = (estimate_parity(each, drawing=drawing).ratio for each in (nobody, answer))

    for end in ("value", "low", "high"):
        assert getattr(one, end) == pytest.approx(getattr(other, end), abs=0.002)


@pytest.mark.parametrize(
    ("people", "reason"),
    [
        (((1, 2, 3), (4, 5, 6)), "for each true group"),
        (((1, -1), (4, 5)), "for each true group"),
        (((0, 0), (4, 5)), "somebody of each true group"),
        (tuple(tuple(1 for _ in range(7)) for _ in range(7)), "at most 6 groups"),
    ],
)
def test_an_impossible_study_is_refused(people: tuple[tuple[int, ...], ...], reason: str) -> None:
    with pytest.raises(EstimationRefused, match=reason):
        ConfusionCounts(people)


def test_a_study_is_refused_where_its_groups_are_not_those_of_the_answer() -> None:
    answer = measured(np.array([[500.0, 900.0], [1400.0, 1200.0]]), np.random.default_rng(1))
    two, three = ConfusionCounts(((9, 1), (1, 9))), ConfusionCounts(((9, 1, 0), (1, 9, 0), (0, 0, 9)))

    with pytest.raises(EstimationRefused, match="about the groups of the answer"):
        replace(answer, confusion=three)
    with pytest.raises(EstimationRefused, match="about the groups of the answer"):
        replace(answer, groups=(("Female",), (None,)), confusion=two)
    with pytest.raises(EstimationRefused, match="sizes are known"):
        replace(answer, bounds=SizeBounds((0, 0), (5000, 5000)), confusion=two)
