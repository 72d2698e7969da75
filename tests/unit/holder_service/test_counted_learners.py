"""Learners whose leaves are counted: bins part everybody, and no register is too odd for them."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from holder_service.learning.features import BinnedFeature, binned, group_rule
from holder_service.learning.learners import LEARNERS
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Rule
from shared.kinds.trainings import TrainedCounts, TrainedTree
from shared.scores.values import score_value
from testing.small_trainings import learned, loaded_people, small_people, small_schema, small_training
from testing.step_sizes import KeepingEngine, exceeded

SMALL: Final = 300
ALGORITHMS: Final[dict[str, dict[str, Any]]] = {
    "fair_tree": {"name": "fair_tree", "depth": 3},
    "fair_linear": {"name": "fair_linear", "group_quantiles": ["0.5"]},
}
"""One of each whose leaves are counted."""


@pytest.mark.parametrize("seed", range(30))
def test_bins_splits_and_groups_part_everybody(seed: int) -> None:
    """Missing values too; and each of their comparisons fits the schema."""
    source = random.Random(seed)
    schema = small_schema(source)
    training = small_training(schema, ALGORITHMS["fair_tree"], source)
    features = binned(training, schema)
    for feature, declared in zip(features, training.features, strict=True):
        assert len(feature.bins) == declared.bins(schema.by_name[declared.column])
    for test in every_test(features):
        test.check(schema, "")
    for one in small_people(schema, source, 60):
        for feature in features:
            (bin_of,) = [index for index, path in enumerate(feature.bins) if Rule(all_of=path).matches(one)]
            for split in feature.splits:
                left = Rule(all_of=(split.left,)).matches(one)
                assert left != Rule(all_of=(split.right,)).matches(one)
                assert left == (bin_of in split.left_bins)
        groups = [
            group
            for group in schema.groups(training.sensitive)
            if Rule(all_of=group_rule(group, training.sensitive, schema)).matches(one)
        ]
        assert groups == [schema.group_of(one, training.sensitive)]


def every_test(features: Sequence[BinnedFeature]) -> Iterator[Any]:
    for feature in features:
        for path in feature.bins:
            yield from path
        for split in feature.splits:
            yield from (split.left, split.right)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_no_small_register_is_too_odd(algorithm: dict[str, Any], tmp_path: Path) -> None:
    """Nobody in it, one label alone, one bin, many groups, missing values: the leaves of a model part all."""
    for seed in range(SMALL):
        source = random.Random(seed)
        schema = small_schema(source)
        training = small_training(schema, algorithm, source)
        people = small_people(schema, source, source.choice((0, 1, 2, 30)))
        relation = NeighbouringRelation(source.choice(("add_remove", "replace")))

        engine, version = loaded_people(tmp_path / str(seed), schema, people)
        kept = KeepingEngine(engine)

        model, counts = learned(training, schema, (kept, version), exact=source.random() < 0.5, relation=relation)

        at = iter(LEARNERS[training.algorithm.name].steps(training, schema))
        for counted in kept.asked:
            step = next(one for one in at if bool(counted.sensitive) == (one.measures == "counts"))
            assert exceeded(step, counted, schema) == [], step.name
        assert isinstance(model, TrainedTree)
        assert isinstance(counts, TrainedCounts)
        assert [leaf.id for leaf in counts.leaves] == [leaf.cell.id for leaf in model.leaves]
        assert counts.groups == schema.groups(training.sensitive)
        for leaf, of_leaf in zip(model.leaves, counts.leaves, strict=True):
            assert leaf.favourable == (sum(of_leaf.positive) > sum(of_leaf.negative))
        for one in people:
            scores = {name: score_value(document, one) for name, document in (model.scores or {}).items()}
            assert sum(leaf.cell.matches({**one, **scores}) for leaf in model.leaves) == 1
