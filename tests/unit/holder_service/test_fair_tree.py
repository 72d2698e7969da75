"""`fair_tree`: scores that one person moves by a step at most, and without noise the best splits."""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holder_service.learning import fair_tree
from holder_service.learning.features import binned, both_labels, group_rule
from holder_service.learning.histograms import extreme_group
from holder_service.learning.measuring import Measuring
from holder_service.learning.nodes import GrowingNode
from holder_service.learning.overspent import Overspent
from holder_service.learning.split_scores import ScoredSplits
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Predicate, Record, Rule
from shared.contract.schema import Column, Schema
from shared.kinds.trainings import TrainedCounts, TrainedTree, Training
from shared.privacy.amounts import Loss
from testing.small_trainings import exactly, learned, loaded_people, small_people, small_schema, small_training

TREE = {"name": "fair_tree", "depth": 2}
Person = Mapping[str, Any]


def matching(path: Sequence[Predicate], people: Sequence[Person]) -> list[Person]:
    return [person for person in people if Rule(all_of=tuple(path)).matches(person)]


def splits_of(training: Training, schema: Schema, source: random.Random) -> ScoredSplits:
    """The candidates at a level of a tree that was split at random, B being of a random group."""
    positive, negative = both_labels(training.label)
    group = group_rule(source.choice(schema.groups(training.sensitive)), training.sensitive, schema)
    features = binned(training, schema)
    nodes = [GrowingNode.root(features)]
    for level in range(3):
        looking = [node for node in nodes if node.candidates(features)]
        if level == 2 or not looking:
            break
        nodes = [child for node in looking for child in node.split(features, source.choice(node.candidates(features)))]
    return ScoredSplits.of(
        [fair_tree.splits_of(node, features, ((positive,), (negative, *group))) for node in looking], schema
    )


def scores_of(splits: ScoredSplits, people: Sequence[Person]) -> list[list[int]]:
    counts = [len(matching(cell.any_of[0].all_of, people)) for cell in splits.cells]
    return splits.scores(np.array(counts, dtype=np.int64))


def moves(splits: ScoredSplits, people: Sequence[Person], person: Person) -> list[np.ndarray[Any, Any]]:
    """By how much each node's scores move when a person comes."""
    before, after = scores_of(splits, people), scores_of(splits, [*people, person])
    return [np.array(new) - np.array(old) for old, new in zip(before, after, strict=True)]


@pytest.mark.parametrize("seed", range(25))
def test_one_person_moves_one_node_by_a_step_at_most(seed: int) -> None:
    source = random.Random(seed)
    schema = small_schema(source)
    training = small_training(schema, TREE, source)
    splits = splits_of(training, schema, source)
    if not splits.nodes:
        return
    for number in (0, 1, 2, 7):
        people = small_people(schema, source, number)
        for person in small_people(schema, source, 6):
            moved = moves(splits, people, person)
            assert all(set(of_node.tolist()) <= {0, 1} for of_node in moved)
            assert sum(bool(of_node.any()) for of_node in moved) <= 1
            # One person in another's place: both steps, each in one node.
            for other in people[:2]:
                rest = [one for one in people if one is not other]
                replaced = [
                    new - old for new, old in zip(moves(splits, rest, person), moves(splits, rest, other), strict=True)
                ]
                assert all(abs(of_node).max() <= 1 for of_node in replaced)
                assert sum(bool(of_node.any()) for of_node in replaced) <= 2


def worth(split: Sequence[Predicate], path: Sequence[Predicate], people: Sequence[Person], favoured: Any) -> int:
    """U of a split, person by person."""
    total = 0
    for side in split:
        here = matching((*path, side), people)
        a = sum(person["y"] for person in here)
        total += max(a, sum(not person["y"] and favoured(person) for person in here))
    return total


def every_split(training: Training, schema: Schema) -> Iterator[tuple[Predicate, Predicate]]:
    for feature in training.features:
        column = schema.by_name[feature.column]
        if column.nullable:
            yield Predicate(column=column.name, op="is_missing"), Predicate(column=column.name, op="not_missing")
        for cut in feature.cuts or ():
            below = Predicate(column=column.name, op="lt", value=cut)
            yield below, Predicate(column=column.name, op="ge", value=cut, or_missing=column.nullable)
        for value in column.values:
            if column.type == "boolean":
                other = Predicate(column=column.name, op="eq", value=not value, or_missing=column.nullable)
            else:
                other = Predicate(column=column.name, op="ne", value=value, or_missing=column.nullable)
            yield Predicate(column=column.name, op="eq", value=value), other


@pytest.mark.parametrize("seed", range(20))
def test_without_noise_each_split_is_a_best_one_and_the_counts_are_those_of_the_people(
    seed: int, tmp_path: Path
) -> None:
    source = random.Random(seed)
    schema = small_schema(source)
    training = small_training(schema, TREE, source)
    people = small_people(schema, source, 40)

    model, counts = learned(training, schema, loaded_people(tmp_path / "home", schema, people), exact=True)

    assert isinstance(model, TrainedTree)
    assert counts is not None
    groups = schema.groups(training.sensitive)
    of_group = [[one["y"] for one in people if schema.group_of(one, training.sensitive) == group] for group in groups]
    rates = [sum(labels) / max(len(labels), 1) for labels in of_group]
    best_off = groups[int(np.argmax(rates))]
    paths = [leaf.cell.any_of[0].all_of for leaf in model.leaves]
    for path in paths:
        for length in range(len(path)):
            sides = tuple(dict.fromkeys(one[length] for one in paths if one[:length] == path[:length]))
            best = max(
                worth(split, path[:length], people, lambda one: schema.group_of(one, training.sensitive) == best_off)
                for split in every_split(training, schema)
            )
            got = worth(sides, path[:length], people, lambda one: schema.group_of(one, training.sensitive) == best_off)
            assert len(sides) == 2
            assert got == best
    for leaf, path, counted in zip(model.leaves, paths, counts.leaves, strict=True):
        here = matching(path, people)
        for group, positive, negative in zip(groups, counted.positive, counted.negative, strict=True):
            labels = [one["y"] for one in here if schema.group_of(one, training.sensitive) == group]
            assert (positive, negative) == (sum(labels), len(labels) - sum(labels))
        assert leaf.favourable == (sum(one["y"] for one in here) * 2 > len(here))
    assert sum(len(matching(path, people)) for path in paths) == len(people)


SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="x", type="boolean"),
        Column(name="one", type="category", categories=("only",)),
        Column(name="s", type="category", categories=("a", "b", "c"), sensitive=True),
        Column(name="y", type="boolean", label=True),
    ),
)


def asked(**fields: Any) -> Training:
    given: dict[str, Any] = {
        "algorithm": {"name": "fair_tree"}, "label": "y", "sensitive": ["s"],
        "features": [{"column": "x"}, {"column": "one"}], "epsilon": "1", **fields,
    }  # fmt: skip
    return Training.model_validate(given)


def test_where_no_split_is_left_a_node_stays_a_leaf(tmp_path: Path) -> None:
    """A boolean parts everybody once, a category of one value never; four levels find nothing else."""
    people: list[Record] = [
        {"x": True, "one": "only", "s": "a", "y": True},
        {"x": False, "one": "only", "s": "b", "y": False},
    ]

    model, counts = learned(asked(), SCHEMA, loaded_people(tmp_path / "home", SCHEMA, people), exact=True)
    alone, _ = learned(
        asked(features=[{"column": "one"}]), SCHEMA, loaded_people(tmp_path / "second", SCHEMA, people), exact=True
    )

    assert isinstance(model, TrainedTree)
    assert isinstance(alone, TrainedTree)
    assert sorted(len(leaf.cell.any_of[0].all_of) for leaf in model.leaves) == [1, 1]
    assert [leaf.cell.any_of[0].all_of for leaf in alone.leaves] == [()]
    assert isinstance(counts, TrainedCounts)
    assert sum(map(sum, (leaf.positive for leaf in counts.leaves))) == 1


def test_the_best_off_group_is_one_that_has_people() -> None:
    """A group of nearly nobody has any rate by noise alone."""
    rates = np.array([[3100, 1100, 30], [6900, 8900, -20]])

    assert extreme_group(rates, deviation=28.0, highest=True) == 0
    assert extreme_group(rates, deviation=28.0, highest=False) == 1
    assert extreme_group(rates, deviation=0.0, highest=True) == 2
    assert extreme_group(np.array([[5, 5], [5, 5]]), deviation=1.0, highest=True) == 0


@pytest.mark.parametrize("name", ["add_remove", "replace"])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "0.123456789", "1", "10"])
@pytest.mark.parametrize("depth", [1, 3, 8])
def test_the_steps_come_to_epsilon_and_their_noise_costs_no_more(name: Any, epsilon: str, depth: int) -> None:
    training = asked(epsilon=epsilon, algorithm={"name": "fair_tree", "depth": depth})

    steps = fair_tree.steps(training, SCHEMA)

    assert [step.name for step in steps] == ["groups", *(f"split {level + 1}" for level in range(depth)), "leaves"]
    assert sum(step.epsilon_nano for step in steps) == training.epsilon
    for step in steps:
        assert step.loss(NeighbouringRelation(name)).fits_in(Loss(step.epsilon_nano))


def test_parts_of_epsilon_that_leave_nothing_for_the_leaves_are_refused() -> None:
    with pytest.raises(ValueError, match="less than 1"):
        asked(algorithm={"name": "fair_tree", "groups": "0.4", "splits": "0.6"})


@pytest.mark.parametrize("missing", ["groups", "split 1", "leaves"])
def test_a_step_that_was_not_announced_ends_the_training(missing: str, tmp_path: Path) -> None:
    engine, version = loaded_people(tmp_path / "home", SCHEMA, [{"x": True, "one": "only", "s": "a", "y": True}])
    steps = [step for step in exactly(fair_tree.steps(asked(), SCHEMA)) if step.name != missing]

    with pytest.raises(Overspent):
        fair_tree.learn(asked(), SCHEMA, Measuring(engine, version, SCHEMA, NeighbouringRelation("add_remove"), steps))
