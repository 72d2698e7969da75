"""The proof is exact: cells share a class exactly if no record, declared as it may be, can lie in two of them."""

import random
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holder_service.domain.disjointness import disjoint_classes
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from testing.invented.plans import cells, first_fit, overlap, records, rules, schemas

NUMBERS = Schema(
    person_key="person",
    columns=(
        *(Column(name=f"x{index}", type="number") for index in range(16)),
        Column(name="sex", type="boolean", sensitive=True),
    ),
)


def cell(*predicates: Predicate, name: str = "cell") -> Cell:
    return Cell(id=name, any_of=(Rule(all_of=predicates),))


@given(st.data())
def test_rules_are_disjoint_exactly_if_no_record_matches_both(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    one, other = data.draw(rules(schema)), data.draw(rules(schema))

    classes = disjoint_classes([Cell(id="1", any_of=(one,)), Cell(id="2", any_of=(other,))], schema)

    common = overlap(one, other, schema)
    assert (len(classes) == 1) == (common is None)
    assert common is None or (one.matches(common) and other.matches(common))


@pytest.mark.slow
@settings(deadline=None)
@given(st.data())
def test_classes_are_those_of_first_fit_by_definition(data: st.DataObject) -> None:
    """Unions, overlaps and contradictions included."""
    schema = data.draw(schemas())
    asked = data.draw(cells(schema))

    assert disjoint_classes(asked, schema) == first_fit(asked, schema)


@pytest.mark.slow
@given(st.data())
def test_nobody_is_counted_in_more_cells_than_there_are_classes(data: st.DataObject) -> None:
    """The promise itself: one person changes at most one count of each class."""
    schema = data.draw(schemas())
    asked = data.draw(cells(schema))
    person = data.draw(records(schema))

    classes = disjoint_classes(asked, schema)

    assert sorted(index for members in classes for index in members) == list(range(len(asked)))
    for members in classes:
        assert sum(asked[index].matches(person) for index in members) <= 1


def test_rules_of_one_cell_may_overlap() -> None:
    """A union counts nobody twice, so it may be in a class with a cell that excludes all of it."""
    low, lower = (Predicate(column="x0", op="le", value=value) for value in (5, 3))
    high = Predicate(column="x0", op="gt", value=5)
    union = Cell(id="union", any_of=(Rule(all_of=(low,)), Rule(all_of=(lower,))))

    assert disjoint_classes([union, cell(high)], NUMBERS) == ((0, 1),)


def test_a_contradiction_is_disjoint_from_everything_and_itself() -> None:
    nobody = cell(Predicate(column="x0", op="lt", value=1), Predicate(column="x0", op="gt", value=1))

    assert disjoint_classes([cell(), nobody, nobody], NUMBERS) == ((0, 1, 2),)


def test_rules_part_only_where_their_comparisons_exclude_each_other() -> None:
    """Not those of two columns, not where they meet, and not where one of the rules goes no further."""
    low, high = Predicate(column="x0", op="le", value=5), Predicate(column="x0", op="gt", value=5)
    beyond, touching = Predicate(column="x1", op="gt", value=5), Predicate(column="x0", op="ge", value=5)

    assert disjoint_classes([cell(low), cell(high)], NUMBERS) == ((0, 1),)
    for other in (beyond, touching):
        assert disjoint_classes([cell(low), cell(other)], NUMBERS) == ((0,), (1,))
        assert disjoint_classes([cell(beyond, low), cell(beyond, other)], NUMBERS) == ((0,), (1,))
    assert disjoint_classes([cell(low), cell(low, beyond), cell(high)], NUMBERS) == ((0, 2), (1,))
    assert disjoint_classes([cell(low), cell(high), cell()], NUMBERS) == ((0, 1), (2,))


def test_no_cells_have_no_classes() -> None:
    assert disjoint_classes([], NUMBERS) == ()


def test_the_work_on_a_tree_grows_little_faster_than_its_leaves() -> None:
    """Comparing every two leaves would take 16 times as many calls for four times as many leaves."""
    few, many = (_calls(_random_tree(leaves), classes=1) for leaves in (250, 1000))

    assert many < 8 * few


def _calls(asked: list[Cell], *, classes: int) -> int:
    """How many functions are called to find as many classes, the interpreter's own among them."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        found = disjoint_classes(asked, NUMBERS)
    finally:
        sys.setprofile(None)
    assert len(found) == classes
    return calls


def test_the_order_of_a_trees_predicates_and_leaves_does_not_matter() -> None:
    rng = random.Random(5)
    leaves = _random_tree(300)
    shuffled = [cell(*rng.sample(leaf.any_of[0].all_of, len(leaf.any_of[0].all_of))) for leaf in leaves]
    rng.shuffle(shuffled)

    assert len(disjoint_classes(shuffled, NUMBERS)) == 1


def test_the_work_on_overlapping_cells_is_bounded() -> None:
    few, many = (_calls([cell()] * cells, classes=cells) for cells in (1024, 4096))

    assert many < 8 * few


def _random_tree(leaves: int) -> list[Cell]:
    """The leaves of a random binary tree, in path order."""
    rng = random.Random(leaves)
    paths: list[tuple[Predicate, ...]] = [()]
    while len(paths) < leaves:
        index = rng.randrange(len(paths))
        test = {"column": f"x{rng.randrange(16)}", "value": rng.random()}
        paths[index : index + 1] = [(*paths[index], Predicate(op=op, **test)) for op in ("le", "gt")]  # type: ignore[arg-type]  # operators are literals
    return [cell(*path) for path in paths]
