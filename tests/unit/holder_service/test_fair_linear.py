"""`fair_linear`: without noise it is what the records say, person by person; with noise its shape is public."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from holder_service.domain.deadlines import work_s
from holder_service.learning import fair_linear
from holder_service.learning.features import binned
from holder_service.learning.measuring import LearningStep
from holder_service.learning.overspent import Overspent
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.rules import Record, Rule
from shared.contract.schema import Column, Schema
from shared.kinds.trained_scores import with_scores
from shared.kinds.trainings import TrainedCounts, TrainedScore, TrainedTree, Training
from shared.scores.documents import TableTerm, Terms
from shared.scores.values import score_value
from shared.wire import limits
from shared.wire.problems import InvalidPlan, TooLarge
from testing.invented.trainings import SCHEMA, invented_people, measuring, training
from testing.small_trainings import exactly, learned, loaded_people, small_people, small_schema, small_training

LINEAR: Final[dict[str, Any]] = {"name": "fair_linear"}
PEOPLE: Final = invented_people(800, seed=11)


def bins_of(asked: Training, schema: Schema, person: Record) -> list[int]:
    """The index of the bin of each feature that a person is in."""
    return [
        next(index for index, path in enumerate(feature.bins) if Rule(all_of=path).matches(person))
        for feature in binned(asked, schema)
    ]


def scored(model: TrainedTree, person: Record) -> dict[str, Any]:
    return {**person, **{name: score_value(document, person) for name, document in (model.scores or {}).items()}}


def tree_of(model: TrainedTree | TrainedScore) -> TrainedTree:
    assert isinstance(model, TrainedTree)
    return model


def tables_of(model: TrainedTree, name: str) -> list[tuple[float, ...]]:
    """The points of each feature's bins, by a score."""
    document = (model.scores or {})[name]
    assert isinstance(document, Terms)
    return [term.table for term in document.terms if isinstance(term, TableTerm)]


@pytest.mark.slow
def test_without_noise_points_are_the_log_odds_of_the_records(tmp_path: Path) -> None:
    """Worked out from the people one by one: the label's score, that of the worst-off group, and all counts."""
    asked = training(LINEAR)
    model, counts = learned(asked, SCHEMA, loaded_people(tmp_path / "home", SCHEMA, PEOPLE), exact=True)
    tree = tree_of(model)
    assert tree.scores is not None
    assert counts is not None
    rates = {sex: np.mean([one["repaid"] is True for one in PEOPLE if one["sex"] == sex]) for sex in ("Female", "Male")}
    worst = min(rates, key=lambda sex: float(rates[sex]))
    for name, of in (("label_score", lambda one: one["repaid"]), ("group_score", lambda one: one["sex"] == worst)):
        base = sum(map(of, PEOPLE)) / len(PEOPLE)
        for index, table in enumerate(tables_of(tree, name)):
            for at, points in enumerate(table):
                inside = [one for one in PEOPLE if bins_of(asked, SCHEMA, one)[index] == at]
                have = sum(map(of, inside))
                odds = math.log((have + 2 * base) / (len(inside) - have + 2 * (1 - base)))
                assert points == round(10 * (odds - math.log(base / (1 - base)))), (name, index, at)
    for leaf, counted in zip(tree.leaves, counts.leaves, strict=True):
        inside = [one for one in PEOPLE if leaf.cell.matches(scored(tree, one))]
        found = Counter((one["repaid"], one["sex"]) for one in inside)
        assert counted.positive == tuple(found[True, sex] for (sex,) in counts.groups)
        assert counted.negative == tuple(found[False, sex] for (sex,) in counts.groups)
    assert 7 * 3 < len(tree.leaves) <= 7 * 5


@pytest.mark.slow
def test_a_document_gives_everybody_the_points_of_their_bins(tmp_path: Path) -> None:
    """Whatever the column is, missing values and numbers at cuts too."""
    for seed in range(60):
        source = random.Random(seed)
        schema = small_schema(source)
        asked = small_training(schema, LINEAR, source)
        people = small_people(schema, source, 40)
        model, _ = learned(asked, schema, loaded_people(tmp_path / str(seed), schema, people), exact=True)
        for name, document in (tree_of(model).scores or {}).items():
            tables = tables_of(tree_of(model), name)
            for one in people:
                points = [table[at] for table, at in zip(tables, bins_of(asked, schema, one), strict=True)]
                assert score_value(document, one) == sum(points)


def test_bands_end_where_the_independent_total_says() -> None:
    """Every combination of bins, weighed by brute force."""
    source = np.random.default_rng(7)
    for _ in range(20):
        points = [source.integers(-9, 9, size) for size in (3, 1, 4)]
        tables = [source.normal(20, 20, (size, 2, 2)) for size in (3, 1, 4)]
        whole = source.normal(100, 60, (2, 2))
        chance: Counter[int] = Counter()
        for label, group in itertools.product(range(2), range(2)):
            shares = [np.maximum(table[:, label, group], 0) + 0.5 for table in tables]
            shares = [share / share.sum() for share in shares]
            weight = np.maximum(whole, 1)[label, group] / np.maximum(whole, 1).sum()
            for bins in itertools.product(*(range(len(one)) for one in points)):
                total = int(sum(one[at] for one, at in zip(points, bins, strict=True)))
                chance[total] += weight * math.prod(share[at] for share, at in zip(shares, bins, strict=True))
        quantiles = (0.25, 0.5, 0.8)

        ends = fair_linear.band_ends(points, tables, whole, quantiles)

        below = {total: sum(some for one, some in chance.items() if one <= total) for total in chance}
        expected = {min(total for total in chance if below[total] >= share) for share in quantiles}
        assert ends == sorted(expected - {max(chance)})


def test_points_are_whole_and_bounded_whatever_the_noise() -> None:
    source = np.random.default_rng(3)
    for _ in range(200):
        people = np.rint(source.laplace(0, 10 ** source.uniform(0, 12), (5, 2)))
        found = fair_linear.bin_points(people, 10 ** source.uniform(-9, 6), 50)
        assert np.abs(found).max() <= 8 * 50


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_noise_and_what_it_costs_follow_from_the_relation(relation: Relation) -> None:
    """The tables' ε is divided among the features, and two people change where one replaces another."""
    people = 1 if relation == "add_remove" else 2
    tables, bands = fair_linear.steps(training(LINEAR, epsilon="2"), SCHEMA)

    assert (tables.epsilon_nano, bands.epsilon_nano) == (800_000_000, 1_200_000_000)
    assert (tables.classes, bands.classes) == (4, 1)
    assert tables.noise(NeighbouringRelation(relation)).scale == pytest.approx(people * 4 / 0.8)
    assert bands.noise(NeighbouringRelation(relation)).scale == pytest.approx(people / 1.2)


def test_what_was_not_announced_ends_it(tmp_path: Path) -> None:
    asked = training(LINEAR)
    tables, bands = fair_linear.steps(asked, SCHEMA)
    fewer: Sequence[Sequence[LearningStep]] = ((replace(tables, classes=3), bands), (tables,), (bands,))
    for number, steps in enumerate(fewer):
        with pytest.raises(Overspent):
            fair_linear.learn(asked, SCHEMA, measuring(tmp_path / str(number), PEOPLE[:50], steps))


def test_it_reads_the_records_twice_and_never_again(tmp_path: Path) -> None:
    asked = training(LINEAR)
    measured = measuring(tmp_path / "home", PEOPLE[:50], exactly(fair_linear.steps(asked, SCHEMA)))
    fair_linear.learn(asked, SCHEMA, measured)
    with pytest.raises(Overspent, match="taken before"):
        fair_linear.learn(asked, SCHEMA, measured)


@pytest.mark.parametrize("label", [True, False, None], ids=["all with it", "all without it", "nobody there"])
def test_where_everybody_is_alike_the_model_is_too(tmp_path: Path, label: bool | None) -> None:
    """One bin for everybody: both scores have one band, and the tree one leaf without any score."""
    schema = Schema(
        person_key="id",
        columns=(
            Column(name="only", type="category", categories=("a",)),
            Column(name="sex", type="category", categories=("Female", "Male"), sensitive=True),
            Column(name="y", type="boolean", label=True),
        ),
    )
    asked = Training.model_validate(
        {"algorithm": LINEAR, "label": "y", "sensitive": ["sex"], "features": [{"column": "only"}], "epsilon": "1"}
    )
    people: list[Record] = [] if label is None else [{"only": "a", "sex": "Male", "y": label}] * 9

    model, counts = learned(asked, schema, loaded_people(tmp_path / "home", schema, people), exact=True)

    assert tree_of(model).scores is None
    assert [leaf.cell.any_of[0].all_of for leaf in tree_of(model).leaves] == [()]
    assert isinstance(counts, TrainedCounts)
    assert counts.leaves[0].positive == (0, 9 if label else 0)


def test_of_many_groups_the_worst_off_is_scored_against_all_others(tmp_path: Path) -> None:
    asked = training(LINEAR, sensitive=["sex", "origin"])
    source = random.Random(2)
    rate = {("Male", None): 0.05}
    people: list[Record] = []
    for one in PEOPLE:
        label = source.random() < rate.get((str(one["sex"]), one["origin"]), 0.6)  # type: ignore[arg-type]
        people.append({**one, "repaid": label, "citizen": (one["sex"], one["origin"]) == ("Male", None)})

    model, counts = learned(asked, SCHEMA, loaded_people(tmp_path / "home", SCHEMA, people), exact=True)

    assert counts is not None
    assert len(counts.groups) == 6
    no, yes = tables_of(tree_of(model), "group_score")[3]
    assert yes > 30
    assert no < -30


def test_scores_are_called_as_no_column_is(tmp_path: Path) -> None:
    renamed = {"age": "label_score", "hours": "group_score", "citizen": "label_score_2"}
    schema = Schema(
        person_key="id",
        columns=tuple(
            column.model_copy(update={"name": renamed.get(column.name, column.name)}) for column in SCHEMA.columns
        ),
    )
    people: list[Record] = [{renamed.get(name, name): value for name, value in one.items()} for one in PEOPLE[:200]]
    features = [{**one, "column": renamed.get(one["column"], one["column"])} for one in features_of(training(LINEAR))]

    model, _ = learned(
        training(LINEAR, features=features), schema, loaded_people(tmp_path / "home", schema, people), exact=True
    )

    assert set(tree_of(model).scores or {}) == {"label_score_3", "group_score_2"}
    assert with_scores(schema, tree_of(model)).by_name["label_score_3"].type == "integer"


def features_of(asked: Training) -> list[Mapping[str, Any]]:
    document = asked.document()["features"]
    assert isinstance(document, list)
    return document


def test_more_to_add_up_is_more_work() -> None:
    """Features, points and bands: each makes the deadline longer, and too many counts are refused."""
    alone = sum(work_s(step.size, records_max=10_000) for step in fair_linear.steps(training(LINEAR), SCHEMA))
    finer = training({**LINEAR, "points": 50})
    bands = training({**LINEAR, "label_quantiles": [f"0.{number}" for number in range(11, 31)]})

    for larger in (finer, bands):
        found = sum(work_s(step.size, records_max=10_000) for step in fair_linear.steps(larger, SCHEMA))
        assert found > alone
    many = [f"0.{number}" for number in range(11, 31)]
    with pytest.raises(TooLarge, match="counts"):
        fair_linear.steps(
            training(
                {**LINEAR, "label_quantiles": many, "group_quantiles": many},
                sensitive=["sex", "origin", "old", "x"][:3],
            ),
            crowded(),
        )


def crowded() -> Schema:
    """The same with many origins."""
    columns = (
        column.model_copy(update={"categories": tuple(f"o{number}" for number in range(30))})
        if column.name == "origin"
        else column
        for column in SCHEMA.columns
    )
    return Schema(person_key="id", columns=tuple(columns))


def test_what_no_document_could_hold_is_refused_before_anything_is_spent() -> None:
    features = [{"column": "income", "cuts": [limits.SCORE_NUMBER_MAX]}]
    with pytest.raises(InvalidPlan, match="a score's bins"):
        fair_linear.steps(training(LINEAR, features=features), SCHEMA)
    for wrong in (["0.5", "0.4"], ["0.5", "0.5"], [], ["1.1"]):
        with pytest.raises(ValueError, match="quantiles"):
            training({**LINEAR, "label_quantiles": wrong})
