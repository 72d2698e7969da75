"""The private and fair tree: gain from counts, similar bins, public steps, and leaves that are everybody."""

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holder_service.domain.disjointness import disjoint_classes
from holder_service.learning import private_fair_tree
from holder_service.learning.features import BinnedFeature
from holder_service.learning.measuring import LearningStep
from holder_service.learning.overspent import Overspent
from holder_service.learning.private_fair_tree import fair_gain, similar_bins
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Record
from shared.kinds.trainings import PrivateFairTree, TrainedTree, Training, TrainingFeature
from shared.privacy.amounts import NANO_PER_UNIT
from shared.wire.problems import TooLarge
from testing.invented.trainings import SCHEMA, exact, invented_people, measuring, training

PEOPLE = invented_people(300, seed=2)


def entropy(labels: Iterable[bool]) -> float:
    """In bits, person by person."""
    of = list(labels)
    shares = [of.count(label) / len(of) for label in set(of)]
    return -sum(share * math.log2(share) for share in shares)


def similarity_of(asked: Training) -> int:
    """τ in nano-units."""
    assert isinstance(asked.algorithm, PrivateFairTree)
    return asked.algorithm.similarity


def bins_of(people: Sequence[Record], feature: BinnedFeature) -> list[int]:
    """The index of each person's bin."""
    name = feature.column.name
    return [
        next(index for index, path in enumerate(feature.bins) if all(test.matches(person[name]) for test in path))
        for person in people
    ]


def decided(tree: TrainedTree, person: Record) -> bool:
    """What the one leaf that a person comes to decides."""
    (leaf,) = [leaf for leaf in tree.leaves if leaf.cell.matches(person)]
    return leaf.favourable


@pytest.mark.parametrize(("similarity", "near"), [("0", 0), ("0.33", 0), ("0.34", 1), ("0.67", 2), ("1", 3)])
def test_bins_are_similar_by_how_far_they_are_apart(similarity: str, near: int) -> None:
    """Four bins of ages at 0, ⅓, ⅔, 1."""
    asked = training({"name": "private_fair_tree", "similarity": similarity})
    age = BinnedFeature.of(TrainingFeature(column="age", cuts=(30, 45, 60)), SCHEMA.by_name["age"])

    similar = similar_bins(age, similarity_of(asked))

    assert similar.tolist() == [[int(abs(one - other) <= near) for other in range(4)] for one in range(4)]


def test_categories_and_missing_values_are_similar_to_nothing_else() -> None:
    """One-hot encoded they are at distance 1: similar only if τ is 1."""
    hours = BinnedFeature.of(TrainingFeature(column="hours", cuts=(20.5, 30)), SCHEMA.by_name["hours"])
    region = BinnedFeature.of(TrainingFeature(column="region"), SCHEMA.by_name["region"])

    for feature in (hours, region):
        assert similar_bins(feature, NANO_PER_UNIT).all()
    assert similar_bins(hours, NANO_PER_UNIT // 2).tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert similar_bins(region, NANO_PER_UNIT - 1).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("similarity", ["0", "0.4", "1"])
def test_without_noise_the_gain_is_that_of_the_people(similarity: str, tmp_path: Path) -> None:
    """The first split, against the paper's sentence person by person: who is similar counts in the same proportion."""
    asked = exact(training({"name": "private_fair_tree", "similarity": similarity, "depth": 1}))
    steps = private_fair_tree.steps(asked, SCHEMA)

    tree, counts = private_fair_tree.learn(asked, SCHEMA, measuring(tmp_path / "home", PEOPLE, steps))

    assert counts is None
    gains: dict[tuple[str, str], float] = {}
    for one in asked.features:
        feature = BinnedFeature.of(one, SCHEMA.by_name[one.column])
        bin_of = bins_of(PEOPLE, feature)
        near = similar_bins(feature, similarity_of(asked))
        for split in feature.splits:
            gain = entropy(person["repaid"] is True for person in PEOPLE)
            for side in (split.left, split.right):
                own = [bins for bins, person in zip(bin_of, PEOPLE, strict=True) if side.matches(person[one.column])]
                alike = [
                    person["repaid"] is True
                    for bins, person in zip(bin_of, PEOPLE, strict=True)
                    if any(near[bins, mine] for mine in set(own))
                ]
                gain -= len(own) / len(PEOPLE) * entropy(alike)
            gains[str(split.left), str(split.right)] = gain
    assert gains[str(tree.leaves[0].cell.any_of[0]), str(tree.leaves[1].cell.any_of[0])] == max(gains.values())


def test_a_split_of_similar_people_gains_nothing() -> None:
    """Of two bins that part the labels, similar ones share one proportion."""
    counts, left, right = np.array([[5.0, 0.0], [0.0, 5.0]]), np.array([1, 0]), np.array([0, 1])

    assert fair_gain(counts, left, right, np.eye(2, dtype=np.int64)) == 1
    assert fair_gain(counts, left, right, np.ones((2, 2), dtype=np.int64)) == 0
    assert fair_gain(np.zeros((2, 2)), left, right, np.eye(2, dtype=np.int64)) == 0


@pytest.mark.parametrize("epsilon", ["0.001", "10"])
def test_leaves_exclude_each_other_and_are_everybody(epsilon: str, tmp_path: Path) -> None:
    """Whatever the noise chose."""
    for depth in (1, 3, 6):
        asked = training({"name": "private_fair_tree", "depth": depth}, epsilon=epsilon)
        steps = private_fair_tree.steps(asked, SCHEMA)
        tree, _ = private_fair_tree.learn(asked, SCHEMA, measuring(tmp_path / f"home {depth}", PEOPLE, steps))

        assert len(disjoint_classes([leaf.cell for leaf in tree.leaves], SCHEMA)) == 1
        for person in PEOPLE:
            decided(tree, person)


def test_without_noise_a_deep_tree_decides_as_most_of_a_leaf_do(tmp_path: Path) -> None:
    asked = exact(training({"name": "private_fair_tree", "depth": 8, "similarity": "0"}))
    steps = private_fair_tree.steps(asked, SCHEMA)

    tree, _ = private_fair_tree.learn(asked, SCHEMA, measuring(tmp_path / "home", PEOPLE, steps))

    for leaf in tree.leaves:
        labels = [person["repaid"] for person in PEOPLE if leaf.cell.matches(person)]
        assert leaf.favourable == (labels.count(True) > labels.count(False))


def test_features_that_are_used_up_leave_leaves_early(tmp_path: Path) -> None:
    """One boolean column parts people once, though the depth is 4."""
    asked = training({"name": "private_fair_tree", "depth": 4}, features=[{"column": "citizen"}])
    steps = private_fair_tree.steps(asked, SCHEMA)

    tree, _ = private_fair_tree.learn(asked, SCHEMA, measuring(tmp_path / "home", PEOPLE, steps))

    assert len(tree.leaves) == 2


@pytest.mark.parametrize("short", ["classes", "step"])
def test_a_step_that_announces_too_little_ends_the_training(short: str, tmp_path: Path) -> None:
    asked = training({"name": "private_fair_tree", "depth": 2})
    first, *others = private_fair_tree.steps(asked, SCHEMA)
    fewer = LearningStep(first.name, first.measures, first.epsilon_nano, first.classes - 1, first.size)

    with pytest.raises(Overspent):
        private_fair_tree.learn(
            asked, SCHEMA, measuring(tmp_path / "home", PEOPLE, [fewer, *others] if short == "classes" else others)
        )


def test_steps_are_public_and_cost_what_was_asked() -> None:
    """They follow from training and schema, and add up to ε; each count's noise is for its share."""
    for depth, epsilon, splits in itertools.product((1, 5), ("0.001", "7.000000001"), ("0.1", "0.999")):
        algorithm: dict[str, Any] = {"name": "private_fair_tree", "depth": depth, "splits": splits}
        asked = training(algorithm, epsilon=epsilon)
        steps = private_fair_tree.steps(asked, SCHEMA)

        assert steps == private_fair_tree.steps(asked, SCHEMA)
        assert [step.measures for step in steps] == ["counts"] * (depth + 1)
        assert sum(step.epsilon_nano for step in steps) == asked.epsilon
        for step in steps:
            scale = step.noise(NeighbouringRelation("replace")).scale
            assert scale >= 2 * step.classes * NANO_PER_UNIT / step.epsilon_nano * (1 - 1e-12)


def test_too_many_cells_are_refused() -> None:
    features = [{"column": name, "cuts": list(range(1, 65))} for name in ("age", "hours", "income")]

    with pytest.raises(TooLarge):
        private_fair_tree.steps(training({"name": "private_fair_tree", "depth": 8}, features=features), SCHEMA)


def test_groups_are_not_read(tmp_path: Path) -> None:
    """Without noise, people whose sexes and origins are exchanged get the same tree."""
    asked = exact(training({"name": "private_fair_tree", "depth": 3}))
    steps = private_fair_tree.steps(asked, SCHEMA)
    others: list[Record] = [{**person, "sex": "Female", "origin": None} for person in PEOPLE]

    trees = [
        private_fair_tree.learn(asked, SCHEMA, measuring(tmp_path / name, people, steps))[0]
        for name, people in (("own", PEOPLE), ("others", others))
    ]

    assert trees[0] == trees[1]
