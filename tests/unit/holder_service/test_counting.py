"""The count is the reference evaluator's, person by person, for any cells; and its result hides itself."""

import copy
import json
import logging
import math
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holder_service.domain.disjointness import disjoint_classes
from holder_service.records import counting
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records
from shared.contract.rules import Cell, Operator, Predicate, Record, Rule
from shared.contract.schema import Column, Schema
from testing.encoded_records import encoded_columns, encoded_people
from testing.invented import plans as invented_plans

SIDES: tuple[Operator, Operator] = ("le", "gt")


def by_reference(people: Sequence[Record], cells: Sequence[Cell], schema: Schema, sensitive: Sequence[str]) -> Any:
    """The histograms, person by person."""
    groups = schema.groups(sensitive)
    counts = [[0] * len(groups) for _ in cells]
    for person in people:
        group = groups.index(schema.group_of(person, sensitive))
        for index, cell in enumerate(cells):
            counts[index][group] += cell.matches(person)
    return counts


def counted(records: Records, cells: Sequence[Cell], sensitive: Sequence[str]) -> Any:
    classes = disjoint_classes(cells, records.schema)
    return count_cells(records, cells, classes, sensitive).reveal_to_mechanism().tolist()


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_counts_are_the_reference_evaluators(data: st.DataObject, tmp_path: Path) -> None:
    """For any schema, cells and people: unions, overlaps, contradictions, missing values, values on thresholds."""
    schema = data.draw(invented_plans.schemas())
    people = data.draw(st.lists(invented_plans.records(schema), max_size=40))
    cells = data.draw(invented_plans.cells(schema))
    sensitive = data.draw(st.permutations(schema.sensitive))[: data.draw(st.integers(1, len(schema.sensitive)))]
    records = encoded_people(tmp_path, schema, people)

    assert counted(records, cells, sensitive) == by_reference(people, cells, schema, sensitive)


SCHEMA = Schema(
    person_key="person",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120, nullable=True),
        Column(name="score", type="number", minimum=0, maximum=1),
        Column(name="job", type="category", categories=tuple("abcdefgh")),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True, nullable=True),
        Column(name="origin", type="boolean", sensitive=True),
    ),
)


def people(number: int, seed: int = 3) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "age": rng.choice((None, *range(121))), "score": rng.random(), "job": rng.choice("abcdefgh"),
            "sex": rng.choice((None, "F", "M")), "origin": rng.random() < 0.2,
        }
        for _ in range(number)
    ]  # fmt: skip


def tree(leaves: int, seed: int = 4) -> list[Rule]:
    """The leaves of a random tree, in path order; missing ages go left."""
    rng = random.Random(seed)
    paths: list[tuple[Predicate, ...]] = [()]
    while len(paths) < leaves:
        index = rng.randrange(len(paths))
        age, score, job = rng.randrange(120) + 0.5, rng.random(), tuple(rng.sample("abcdefgh", 3))
        left, right = rng.choice(
            (
                (
                    Predicate(column="age", op="le", value=age, or_missing=True),
                    Predicate(column="age", op="gt", value=age),
                ),
                (Predicate(column="score", op="lt", value=score), Predicate(column="score", op="ge", value=score)),
                (Predicate(column="job", op="in", values=job), Predicate(column="job", op="not_in", values=job)),
            )
        )
        paths[index : index + 1] = [(*paths[index], left), (*paths[index], right)]
    return [Rule(all_of=path) for path in paths]


@pytest.mark.parametrize("leaves", [1, 7, 8, 9, 63, 64, 65, 129, 300])
def test_a_class_of_any_size_is_counted(leaves: int, tmp_path: Path) -> None:
    """Around the sizes of machine words, which hold 8 to 64 rules."""
    asked = [Cell(id=f"leaf-{index}", any_of=(rule,)) for index, rule in enumerate(tree(leaves))]
    everybody = people(150)
    records = encoded_people(tmp_path, SCHEMA, everybody)

    counts = counted(records, asked, ["origin", "sex"])

    assert len(disjoint_classes(asked, SCHEMA)) == 1
    assert counts == by_reference(everybody, asked, SCHEMA, ["origin", "sex"])
    assert np.sum(counts) == len(everybody)


NAMES = [f"x{index}" for index in range(16)]
WIDE = Schema(person_key="person", columns=(*(Column(name=name, type="number") for name in NAMES), SCHEMA.columns[-1]))


def wide_people(number: int) -> list[dict[str, Any]]:
    rng = random.Random(9)
    return [{**{name: rng.random() for name in NAMES}, "origin": rng.random() < 0.5} for _ in range(number)]


def test_a_large_tree_over_many_columns_is_counted_by_walking(tmp_path: Path) -> None:
    rng = random.Random(9)
    paths: list[tuple[Predicate, ...]] = [()]
    while len(paths) < 600:
        index, name, value = rng.randrange(len(paths)), rng.choice(NAMES), rng.random()
        left, right = (Predicate(column=name, op=op, value=value) for op in SIDES)
        paths[index : index + 1] = [(*paths[index], left), (*paths[index], right)]
    asked = [Cell(id=f"leaf-{index}", any_of=(Rule(all_of=path),)) for index, path in enumerate(paths)]
    everybody = wide_people(60)
    records = encoded_people(tmp_path, WIDE, everybody)

    [counter] = counting._counters([range(600)], asked, 2, records)
    assert isinstance(counter, counting._WalkCounter)
    assert counted(records, asked, ["origin"]) == by_reference(everybody, asked, WIDE, ["origin"])


def test_many_rules_that_are_no_tree_are_counted_by_words(tmp_path: Path) -> None:
    """A union of pairs of tests, whose diagram would have a path for every combination of what fails."""
    rng = random.Random(10)
    pairs = [
        tuple(Predicate(column=name, op="lt", value=0.2 * rng.random()) for name in rng.sample(NAMES, 2))
        for _ in range(150)
    ]
    asked = [Cell(id="any", any_of=tuple(Rule(all_of=pair) for pair in pairs))]
    everybody = wide_people(200)
    records = encoded_people(tmp_path, WIDE, everybody)

    [counter] = counting._counters([[0]], asked, 2, records)
    assert isinstance(counter, counting._WordCounter)
    assert counted(records, asked, ["origin"]) == by_reference(everybody, asked, WIDE, ["origin"])


def test_two_cells_of_many_rules_are_counted(tmp_path: Path) -> None:
    """The plan `verdict`: each cell reaches over several words, and overlapping rules in it count nobody twice."""
    rules = tree(200)
    asked = [
        Cell(id="favourable", any_of=(*rules[::2], *rules[:50:2])),
        Cell(id="unfavourable", any_of=tuple(rules[1::2])),
    ]
    everybody = people(150)
    records = encoded_people(tmp_path, SCHEMA, everybody)

    assert counted(records, asked, ["sex"]) == by_reference(everybody, asked, SCHEMA, ["sex"])


def test_many_classes_share_words(tmp_path: Path) -> None:
    """Two trees that cut across each other, the empty rule and a contradiction, with a class that lies in two words."""
    nobody = Rule(all_of=(Predicate(column="age", op="is_missing"), Predicate(column="age", op="not_missing")))
    rules = [Rule(all_of=()), *tree(40, seed=5), nobody, *tree(50, seed=6), Rule(all_of=())]
    asked = [Cell(id=f"cell-{index}", any_of=(rule,)) for index, rule in enumerate(rules)]
    everybody = people(150)
    records = encoded_people(tmp_path, SCHEMA, everybody)

    assert len(disjoint_classes(asked, SCHEMA)) >= 4
    assert counted(records, asked, ["origin"]) == by_reference(everybody, asked, SCHEMA, ["origin"])


def test_a_union_of_more_empty_rules_than_a_word_holds_counts_everybody_once(tmp_path: Path) -> None:
    everybody = people(20)
    asked = [Cell(id="all", any_of=(Rule(all_of=()),) * 70)]
    records = encoded_people(tmp_path, SCHEMA, everybody)

    assert counted(records, asked, ["origin"]) == by_reference(everybody, asked, SCHEMA, ["origin"])


@pytest.mark.parametrize("size", [1, 63, CHUNK_RECORDS_MAX, 2 * CHUNK_RECORDS_MAX + 70])
@pytest.mark.parametrize("frequent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("random_cuts", [0, 60])
def test_cuts_of_a_ranked_column_are_exact(random_cuts: int, frequent: float, size: int, tmp_path: Path) -> None:
    """Cuts fall on numbers, right before and behind them, below and above all; up to everybody has one number.

    Few cuts make one word of rules, many make several.
    """
    schema = Schema(person_key="person", columns=(Column(name="x", type="number", nullable=True), SCHEMA.columns[-1]))
    rng = np.random.default_rng(8)
    x = rng.permutation(size) / size
    x[rng.random(size) < frequent] = x[-1]
    missing, origin = rng.random(size) < 0.1, rng.random(size) < 0.5
    records = encoded_columns(tmp_path, schema, {"x": pa.array(x, mask=missing), "origin": origin})
    cuts = [*x[-2:].tolist(), math.nextafter(x[0], 1), math.nextafter(x[-1], -1), -1.0, 0.0, float(x.max()), 2.0]
    cuts += [*rng.choice(x, random_cuts).tolist(), *rng.random(random_cuts).tolist()]
    compare: Mapping[Operator, Callable[..., Any]] = {
        "le": np.less_equal,
        "lt": np.less,
        "eq": np.equal,
        "ne": np.not_equal,
    }
    asked = [
        Cell(id="cell", any_of=(Rule(all_of=(Predicate(column="x", op=op, value=cut, or_missing=or_missing),)),))
        for cut in cuts for op in compare for or_missing in (False, True)
    ]  # fmt: skip

    counts = counted(records, asked, ["origin"])

    expected = [
        [np.sum(np.where(missing, or_missing, compare[op](x, cut)) & (origin == side)) for side in (False, True)]
        for cut in cuts for op in compare for or_missing in (False, True)
    ]  # fmt: skip
    assert counts == np.array(expected).tolist()


def test_the_count_goes_over_all_chunks(tmp_path: Path) -> None:
    schema = Schema(person_key="person", columns=(SCHEMA.columns[0], *SCHEMA.columns[3:]))
    number = np.arange(100_000)
    age, sex, origin = number % 121, np.where(number % 3, "F", "M"), number < 50_001
    records = encoded_columns(tmp_path, schema, {"age": age, "sex": sex, "origin": origin})
    asked = [Cell(id="young", any_of=(Rule(all_of=(Predicate(column="age", op="lt", value=60),)),))]

    counts = counted(records, asked, ["origin", "sex"])

    groups = schema.groups(["origin", "sex"])
    assert len(records.chunks) > 2
    assert counts == [[np.sum((age < 60) & (origin == group[0]) & (sex == group[1])) for group in groups]]


def test_true_counts_show_themselves_to_the_mechanism_alone(caplog: pytest.LogCaptureFixture) -> None:
    counts = TrueCounts(np.array([[73173, 91919]]))

    shown = [
        repr(counts),
        str(counts),
        f"{counts}",
        f"{counts!r:>30}",
        "%s" % (counts,),  # noqa: UP031  # one more way to show something
        repr([counts]),
        repr({"c": counts}),
    ]
    with caplog.at_level(logging.INFO):
        logging.getLogger("counts").info("counted %s %r", counts, counts)
    copies: tuple[Callable[[Any], object], ...] = (copy.copy, copy.deepcopy, pickle.dumps, TrueCounts.__getstate__)
    looks: tuple[Callable[[Any], object], ...] = (json.dumps, vars, list, iter)
    for attempt in (*copies, *looks):
        with pytest.raises(TypeError):
            attempt(counts)

    assert not any("73173" in text or "91919" in text for text in (*shown, caplog.text))
    assert counts.reveal_to_mechanism().tolist() == [[73173, 91919]]
    with pytest.raises(ValueError, match="read-only"):
        counts.reveal_to_mechanism()[0, 0] = 0
