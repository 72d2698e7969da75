"""Two models' rules crossed, and what changes between them."""

import random

import numpy as np
import pytest

from auditor_client.asking.crossing import crossed_rules
from auditor_client.asking.question import crossed_questions
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.crossed_counts import CrossedCounts, changed_figures, compare_crossed
from auditor_client.estimation.crossed_measurements import CrossedMeasurement, Sides
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import Change
from auditor_client.models.tree import Tree
from shared.privacy.noise import DiscreteLaplaceNoise, ExponentialNoise
from testing.invented.measurements import measured
from testing.invented.questions import FLIPPED, FOUR_LEAVES, leaf, question, split
from testing.registers import LOANS

OTHER = Tree(split("age", 33, leaf("young", favourable=False), split("age", 60, leaf("e", True), leaf("f", False))))
GROUPS = (("Female",), ("Male",))
BOTH = Sides((0, 1), (2, 3)), Sides((0, 2), (1, 3))


def crossed(*cells: list[int], scale: float = 2.0) -> CrossedMeasurement:
    noise = DiscreteLaplaceNoise(scale=scale)
    return CrossedMeasurement(GROUPS, tuple(NoisyCounts.of([cell], noise) for cell in cells), *BOTH)


def change(measurement: CrossedMeasurement) -> Estimate:
    return changed_figures(CrossedCounts.of(measurement), level=0.95)[0].ratio


def test_everybody_meets_the_one_pair_of_rules_that_both_models_decide_by() -> None:
    found = crossed_rules(FOUR_LEAVES.rules(), OTHER.rules(), LOANS.table)

    for age in range(121):
        record = {"age": age}
        met = [decisions for decisions, rules in found.items() for rule in rules if rule.matches(record)]
        assert met == [(FOUR_LEAVES.decide(record).favourable, OTHER.decide(record).favourable)]
    assert sum(map(len, found.values())) == 5, "of twelve pairs, those that exclude each other are left out"


def test_whichever_model_comes_first_the_rules_are_the_same() -> None:
    one, other = (
        crossed_rules(first.rules(), second.rules(), LOANS.table)
        for first, second in ((FOUR_LEAVES, OTHER), (OTHER, FOUR_LEAVES))
    )

    assert {(b, a): set(rules) for (a, b), rules in one.items()} == {key: set(rules) for key, rules in other.items()}


def test_a_model_crossed_with_itself_leaves_nobody_of_whom_one_alone_accepts() -> None:
    found = crossed_rules(FOUR_LEAVES.rules(), FOUR_LEAVES.rules(), LOANS.table)

    assert [bool(rules) for rules in found.values()] == [True, False, False, True]
    assert crossed_rules(FOUR_LEAVES.rules(), FLIPPED.rules(), LOANS.table)[True, True] == ()


def test_too_many_pairs_are_refused_before_they_are_made() -> None:
    with pytest.raises(QuestionRefused, match="too many pairs"):
        crossed_rules(FOUR_LEAVES.rules() * 100, FOUR_LEAVES.rules() * 100, LOANS.table)


def test_a_question_about_both_has_the_counts_of_either() -> None:
    first, second = crossed_questions(question(FOUR_LEAVES), question(OTHER))

    (batch,) = first.plan.batches
    assert [cell.id for cell in batch.cells] == ["the first alone", "the second alone", "neither"]
    assert batch.epsilon == question().plan.batches[0].epsilon
    assert {rule for cell in batch.cells for rule in cell.any_of} == {
        rule for cell in second.plan.batches[0].cells for rule in cell.any_of
    }
    assert first.model == question(FOUR_LEAVES).model


def test_noise_about_whom_the_models_agree_does_not_widen_the_change() -> None:
    wide, narrow = (change(crossed([both, 2 * both], [0, 0], [100, 0], [both, 2 * both])) for both in (400, 4000))

    assert wide.low < wide.value < wide.high
    assert narrow.width < wide.width < 0.2


def test_an_interval_reaches_that_nothing_changed() -> None:
    found = change(crossed([500, 900], [1, -2], [2, 0], [500, 300]))

    assert found.low <= 0 <= found.high
    assert found.width < 0.03


def test_cells_that_both_models_decide_alike_are_no_change_at_all() -> None:
    noise = DiscreteLaplaceNoise(scale=2.0)
    same = CrossedMeasurement(
        GROUPS,
        (NoisyCounts.of([[50, 60]], noise), NoisyCounts.of([[70, 20]], noise)),
        Sides((0,), (1,)),
        Sides((0,), (1,)),
    )
    parity = estimate_parity(measured([[50, 60]], [[70, 20]]))

    found = compare_crossed(parity, parity, same)

    assert (found.ratio.value, found.ratio.width, found.population_difference.width) == (0, 0, 0)
    assert found.change is Change.NONE


def test_an_exchange_of_the_models_changes_the_sign() -> None:
    forth, back = (
        change(crossed([400, 700], [30, 10], [90, 20], [480, 270])),
        change(crossed([400, 700], [90, 20], [30, 10], [480, 270])),
    )

    assert forth.value == pytest.approx(-back.value, abs=0.01)
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), abs=0.015)


def test_a_group_of_nobody_and_nobody_accepted_are_no_figures() -> None:
    nobody = change(crossed([0, 0], [0, 0], [0, 0], [400, 500], scale=0.05))

    assert np.isnan(nobody.value)
    assert change(crossed([300, 0], [0, 0], [50, 0], [400, 0], scale=0.05)).value == 0


def test_a_mechanism_that_adds_no_noise_is_refused() -> None:
    noise = ExponentialNoise(scale=2.0, upper=1000)
    cells = tuple(NoisyCounts.of([[5, 6]], noise) for _ in range(4))

    with pytest.raises(EstimationRefused, match="noise was added"):
        CrossedCounts.of(CrossedMeasurement(GROUPS, cells, *BOTH))


def test_crossed_rules_of_random_trees_admit_whom_both_decide_so() -> None:
    source = random.Random(8)
    for _ in range(30):
        trees = [
            Tree(
                split(
                    "age",
                    source.randint(1, 100),
                    split("age", source.randint(1, 100), leaf("a", favourable=True), leaf("b", favourable=False)),
                    leaf("c", favourable=source.random() < 0.5),
                )
            )
            for _ in range(2)
        ]
        found = crossed_rules(trees[0].rules(), trees[1].rules(), LOANS.table)
        for age in range(121):
            wanted = tuple(tree.decide({"age": age}).favourable for tree in trees)
            met = [decisions for decisions, rules in found.items() if any(rule.matches({"age": age}) for rule in rules)]
            assert met == [wanted]


def test_a_group_that_is_left_out_for_its_size_has_no_part_in_the_change() -> None:
    noise = DiscreteLaplaceNoise(scale=2.0)
    groups = (*GROUPS, ("Other",))
    counts = [[400, 700, 1], [30, 10, 0], [90, 20, 1], [480, 270, 2]]
    cells = tuple(NoisyCounts.of([cell], noise) for cell in counts)
    all_groups = CrossedMeasurement(groups, cells, *BOTH)

    two = all_groups.without({("Other",)})

    assert two.groups == GROUPS
    assert change(two) == change(crossed(*(cell[:2] for cell in counts)))
    assert change(two).width < change(all_groups).width
