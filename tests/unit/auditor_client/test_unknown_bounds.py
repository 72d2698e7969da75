"""Bounds over people of unknown group: against all allocations, and against linear programs."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from auditor_client.estimation.drawing import DRAWING
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import RatioKind
from auditor_client.estimation.unknown_bounds import Register, bounds, boxes, missing_of_sizes, sized_boxes
from auditor_client.estimation.unknown_figures import OpenBecause
from auditor_client.estimation.unknown_groups import unknown_people, with_unknown
from checks.unknown_groups import differing, ends_of, register_of
from shared.privacy.noise import DiscreteLaplaceNoise

EXACT = DiscreteLaplaceNoise(scale=0.01)
"""Noise of which nothing is seen."""


def register(rng: np.random.Generator) -> Register:
    """Two to six groups in one or two blocks, of which perhaps not all are judged."""
    while True:
        groups = int(rng.integers(2, 7))
        block = tuple(sorted(int(one) for one in rng.integers(0, 2, groups)))
        judged = tuple(group for group in range(groups) if rng.random() < 0.8)
        if len(judged) >= 2 and set(block) == set(range(max(block) + 1)):
            break
    known, unknown = rng.integers(1, 40, (2, groups, 1)), rng.integers(0, 30, (2, max(block) + 1, 1))
    (accepted, refused), (more_accepted, more_refused) = known.astype(float), unknown.astype(float)
    return Register(accepted, refused, more_accepted, more_refused, block, judged)


def allowed(given: Register, low: float, high: float, factor: float, missing: FloatArray | None) -> bool:
    """Whether some allocation gives all judged groups a rate from low to high, by a linear program."""
    limits = boxes(given, factor) if missing is None else sized_boxes(given, missing)
    groups = len(given.block)
    unit = np.eye(2 * groups)
    rows, values = [], []
    for block in range(len(given.unknown_accepted)):
        for side, known, unknown in (
            (0, given.accepted, given.unknown_accepted),
            (groups, given.refused, given.unknown_refused),
        ):
            members = given.members(block)
            rows.append(unit[[side + one for one in members]].sum(axis=0))
            values.append(known[members, 0].sum() + unknown[block, 0])
    if missing is not None:
        rows += [unit[one] + unit[groups + one] for one in range(groups)]
        values += (given.accepted + given.refused + missing)[:, 0].tolist()
    at_least = [low * unit[groups + one] - (1 - low) * unit[one] for one in given.judged]
    at_most = [(1 - high) * unit[one] - high * unit[groups + one] for one in given.judged]
    ends = [
        *zip(limits.accepted_least[:, 0], limits.accepted_most[:, 0], strict=True),
        *zip(limits.refused_least[:, 0], limits.refused_most[:, 0], strict=True),
    ]
    found = linprog(
        np.zeros(2 * groups), A_ub=[*at_least, *at_most], b_ub=np.zeros(2 * len(given.judged)), A_eq=rows, b_eq=values,
        bounds=ends,
    )  # fmt: skip
    return found.status == 0


@pytest.mark.parametrize("groups", [2, 3, 4, 5])
def test_every_small_register_has_the_ends_of_all_its_allocations(groups: int) -> None:
    number, found = differing(groups, 3)

    assert number > 20
    assert found == []


@pytest.mark.parametrize("limit", ["none", "factor", "sizes"])
def test_the_best_difference_is_that_of_linear_programs(limit: str) -> None:
    """Differences pass the test alone where both rates do: one allocation has both."""
    rng = np.random.default_rng(11)
    for _ in range(12):
        given = register(rng)
        factor, missing = float(rng.choice([1.0, 1.5, 4.0])) if limit == "factor" else math.inf, None
        if limit == "sizes":
            sizes = rng.integers(1, 100, len(given.block)).astype(float)
            missing = missing_of_sizes(given, sizes)
        found = bounds(given, factor=factor, missing=missing)
        difference, ratio = float(found.difference_best[0]), float(found.ratio_best[0])
        high = difference / (1 - ratio) if ratio < 1 - 1e-9 else None
        if high is None:
            assert difference == pytest.approx(0, abs=1e-9)
            continue
        low = high - difference
        assert allowed(given, low - 1e-6, high + 1e-6, factor, missing)
        assert not allowed(given, low + 1e-4, 1.0, factor, missing)
        assert not allowed(given, 0.0, high - 1e-4, factor, missing)


def test_worst_cases_are_reached_and_not_passed() -> None:
    """By random allocations within a factor in odds; the extreme ones of two groups are among what is allowed."""
    rng = np.random.default_rng(12)
    for _ in range(15):
        given = register(rng)
        factor = float(rng.choice([1.0, 2.0, 5.0]))
        limits, found = boxes(given, factor), bounds(given, factor=factor)
        worst = min(
            limits.lowest_rates[i, 0] / limits.highest_rates[j, 0] for i in given.judged for j in given.judged if i != j
        )

        assert found.ratio_worst[0] == pytest.approx(min(worst, found.ratio_best[0]))
        for block in range(len(given.unknown_accepted)):
            members = given.members(block)
            for least, most, known, unknown in (
                (limits.accepted_least, limits.accepted_most, given.accepted, given.unknown_accepted),
                (limits.refused_least, limits.refused_most, given.refused, given.unknown_refused),
            ):
                total = known[members, 0].sum() + unknown[block, 0]
                for i in members:
                    for j in members:
                        rest = [k for k in members if k not in (i, j)]
                        left = total - least[i, 0] - most[j, 0]
                        if i != j:
                            assert least[rest, 0].sum() - 1e-9 <= left <= most[rest, 0].sum() + 1e-9


def test_a_factor_of_one_divides_the_unknown_as_the_known_are() -> None:
    given = register_of(np.array([30, 10]), np.array([20, 40]), (8, 12))

    ends = ends_of(bounds(given, factor=1))

    first, second = (30 + 6) / (50 + 6 + 4), (10 + 2) / (50 + 2 + 8)
    assert ends[0] == pytest.approx(second / first)
    assert ends[3] == pytest.approx(second / first)


def test_a_factor_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        bounds(register_of(np.array([1, 1]), np.array([1, 1]), (1, 1)), factor=0.5)


def measured(women: tuple[int, int], men: tuple[int, int], unknown: tuple[int, int], kind: RatioKind) -> Measurement:
    """Counts without visible noise: people with and without the favourable outcome."""
    favourable, others = (NoisyCounts.of([list(side)], EXACT) for side in zip(women, men, unknown, strict=True))
    return Measurement((("F",), ("M",), (None,)), favourable, others, "unfavourable", ratio_kind=kind)


@pytest.mark.parametrize(
    ("counts", "kind", "verdict"),
    [
        (((500, 500), (500, 500), (5, 5)), RatioKind.LOWEST, Verdict.MEETS),
        (((200, 800), (600, 400), (5, 5)), RatioKind.LOWEST, Verdict.FAILS),
        (((450, 550), (500, 500), (200, 200)), RatioKind.LOWEST, Verdict.UNDECIDED),
        (((800, 200), (800, 200), (8, 2)), RatioKind.HIGHEST, Verdict.MEETS),
        (((950, 50), (700, 300), (8, 2)), RatioKind.HIGHEST, Verdict.FAILS),
        (((900, 100), (890, 110), (0, 100)), RatioKind.HIGHEST, Verdict.UNDECIDED),
    ],
)
def test_a_verdict_holds_for_all_allocations(
    counts: tuple[tuple[int, int], tuple[int, int], tuple[int, int]], kind: RatioKind, verdict: Verdict
) -> None:
    """In the direction of the kind of decision: adverse ratios are 1 or more, and worst where they are largest."""
    measurement = measured(*counts, kind)
    people = unknown_people([measurement], "bounds", 0.95, DRAWING)
    assert people is not None

    estimate = with_unknown(estimate_parity(measurement, but=people.groups), people, math.inf)

    found = estimate.unknown
    assert found is not None
    assert estimate.verdict is found.verdict is verdict
    assert (found.because is OpenBecause.UNKNOWN) == (verdict is Verdict.UNDECIDED)
    side = slice(None, None, -1) if kind.adverse else slice(None)
    women, men, unknown = (np.array(one)[side] for one in counts)
    accepted, refused = np.array([women, men]).T
    ends = ends_of(bounds(register_of(accepted, refused, (int(unknown[0]), int(unknown[1])))))
    worst, best = (1 / ends[0], 1 / ends[3]) if kind.adverse else (ends[0], ends[3])
    assert found.ratio.least == pytest.approx(min(worst, best), rel=1e-3)
    assert found.ratio.most == pytest.approx(max(worst, best), rel=1e-3)
    assert found.tipping is not None
    if verdict is Verdict.UNDECIDED:
        assert found.tipping.factor is not None
        assert found.tipping.factor > 1
    else:
        assert found.tipping.factor is None


def test_the_tipping_factor_is_where_the_verdict_changes() -> None:
    measurement = measured((450, 550), (500, 500), (200, 200), RatioKind.LOWEST)
    people = unknown_people([measurement], "bounds", 0.95, DRAWING)
    assert people is not None
    tipping = with_unknown(estimate_parity(measurement, but=people.groups), people, math.inf).unknown.tipping  # type: ignore[union-attr]

    sets = people.sets()

    assert tipping is not None
    assert tipping.factor is not None
    assert sets.estimates(tipping.factor)[0].against(0.8) is Verdict.UNDECIDED
    assert sets.estimates(tipping.factor / 1.02)[0].against(0.8) is Verdict.MEETS
    share = tipping.share
    assert share is not None
    # At this share of the unknown with that outcome in that group, the others being as the known are, the bar is met.
    moved = 200 * (share.share - share.known)
    women = np.array([450 + 200 * 450 / 950, 550 + 200 * 550 / 1050])
    men = np.array([500 + 200 * 500 / 950, 500 + 200 * 500 / 1050])
    index, sign = (0 if share.accepted else 1), (1 if share.group == ("F",) else -1)
    women[index] += sign * moved
    men[index] -= sign * moved
    rates = sorted(one[0] / one.sum() for one in (women, men))
    assert rates[0] / rates[1] == pytest.approx(0.8, abs=0.01)


def test_few_unknown_stay_a_group_unless_bounds_are_asked_for() -> None:
    few = measured((500, 500), (500, 500), (20, 20), RatioKind.LOWEST)
    more = measured((500, 500), (500, 500), (21, 21), RatioKind.LOWEST)

    assert unknown_people([few], "auto", 0.95, DRAWING) is None
    assert unknown_people([few], "bounds", 0.95, DRAWING) is not None
    assert unknown_people([more], "auto", 0.95, DRAWING) is not None
    assert unknown_people([more], "group", 0.95, DRAWING) is None
