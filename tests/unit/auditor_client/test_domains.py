"""A column's atoms: nothing lies between neighbouring keys, and predicates say exactly what a mask says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor_client.models.domains import Domain, Line
from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.contract.schema import Column, Schema, Value

NUMBER = Column(name="x", type="number", nullable=True)
INTEGER = Column(name="x", type="integer", minimum=-3, maximum=40, nullable=True)
CATEGORY = Column(name="x", type="category", categories=tuple("abcdefg"), nullable=True)
BOOLEAN = Column(name="x", type="boolean", nullable=True)

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(FINITE)
def test_the_next_key_is_the_next_double(value: float) -> None:
    line = Line(NUMBER)

    following = line.value(line.key(value) + 1)

    assert line.value(line.key(value)) == value
    assert following == math.nextafter(value, math.inf)


@given(st.lists(FINITE, min_size=1))
def test_keys_and_values_agree_one_by_one_and_in_bulk(values: list[float]) -> None:
    for line, some in ((Line(NUMBER), values), (Line(INTEGER), [int(value) % 44 - 3 for value in values])):
        keys = [line.key(value) for value in some]

        bulk = line.values(np.array(keys, np.uint64))

        assert bulk.tolist() == some == [line.value(key) for key in keys]
        assert sorted(keys) == [line.key(value) for value in sorted(some)]


@st.composite
def _splits(draw: st.DrawFn) -> tuple[Domain, int, int]:
    column = draw(st.sampled_from([NUMBER, INTEGER, CATEGORY, BOOLEAN]))
    column = column.model_copy(update={"nullable": draw(st.booleans())})
    cuts: tuple[int, ...] = ()
    if column.ordered:
        line = Line(column)
        near = (
            st.integers(-3, 39) if column.type == "integer" else st.sampled_from([-1.5, 0.0, 0.1, 30.0, 1e300]) | FINITE
        )
        cut_values = draw(st.lists(near.filter(lambda v: abs(v) < 1e38), max_size=5))
        keys = {line.key(value) - draw(st.integers(0, 1)) for value in cut_values}
        cuts = tuple(sorted(key for key in keys if line.first <= key < line.last))
    domain = Domain(column, cuts)
    masks = st.integers(0, domain.everything)
    return domain, draw(masks), draw(masks.filter(bool))


@given(_splits())
def test_the_ways_of_a_split_make_a_tree_that_sends_every_value_where_the_mask_does(
    case: tuple[Domain, int, int],
) -> None:
    domain, left, reach = case
    schema = Schema(person_key="id", columns=(domain.column,))

    ways = domain.ways(left, reach)

    assert sum(way.admitted for way in ways) == reach
    for atom in range(domain.values_count + domain.column.nullable):
        for value in domain.examples(atom) if reach >> atom & 1 else []:
            taken = [way for way in ways if all(predicate.matches(value) for predicate in way.predicates)]
            assert [way.left for way in taken] == [bool(left >> atom & 1)], value
            assert taken[0].admitted >> atom & 1
    if reach == domain.everything and len(ways) > 1:
        branches = (Branch(way.predicates, Leaf(str(n), "", True)) for n, way in enumerate(ways))
        Tree(Split("split", tuple(branches))).check(schema)


@pytest.mark.parametrize(
    ("column", "cut_after", "said"),
    [
        (INTEGER, 37, ["x ≤ 37", "x > 37"]),
        (NUMBER, math.nextafter(30.0, 0.0), ["x < 30", "x ≥ 30"]),
        (NUMBER, 37.5, ["x ≤ 37.5", "x > 37.5"]),
        (NUMBER, 37.50000190734863, ["x ≤ 37.50000190734863", "x > 37.50000190734863"]),
    ],
)
def test_a_threshold_is_the_shortest_number_that_is_exact(column: Column, cut_after: float, said: list[str]) -> None:
    column = column.model_copy(update={"nullable": False})
    domain = Domain(column, (Line(column).key(cut_after),))

    ways = domain.ways(0b01, domain.everything)

    assert [str(way.predicates[0]) for way in ways] == said


def test_a_list_longer_than_a_predicate_may_hold_is_said_by_exclusion() -> None:
    column = Column(name="x", type="category", categories=tuple(f"c{number}" for number in range(5000)))
    domain = Domain(column)

    ways = domain.ways((1 << 2500) - 1, domain.everything)

    assert [len(way.predicates) for way in ways] == [3, 3]
    assert {predicate.op for way in ways for predicate in way.predicates} == {"not_in"}
    for index in (0, 2499, 2500, 4999):
        value: Value = f"c{index}"
        assert [all(q.matches(value) for q in way.predicates) for way in ways] == [index < 2500, index >= 2500]
