"""Admitted sets agree with the reference evaluator on every value, and no atom is empty."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.domain.admitted import Runs, admitted_paths, admitted_sets, admitting_rules
from shared.contract.rules import Operator, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.wire.limits import CUTS_PER_COLUMN_MAX
from shared.wire.problems import TooLarge
from testing.invented.plans import atom, distinguishing_values, predicates, schemas


def holds(runs: Runs, index: int) -> bool:
    return any(start <= index < end for start, end in runs)


@given(st.data())
def test_a_set_holds_exactly_the_values_that_match(data: st.DataObject) -> None:
    """Of every type and operator, on thresholds and next to them, missing included, for rules side by side."""
    schema = data.draw(schemas(features=1))
    column = schema.columns[0]
    conjunctions = data.draw(st.lists(st.lists(predicates(column), min_size=1, max_size=3), min_size=1, max_size=4))
    rules = {7 * index: Rule(all_of=tuple(asked)) for index, asked in enumerate(conjunctions)}

    [(partition, sets)] = admitted_sets(rules, schema)

    for value in distinguishing_values(column):
        for number, rule in rules.items():
            assert holds(sets[number], atom(partition, value)) == rule.matches({column.name: value})


@given(st.data())
def test_a_path_holds_what_each_of_its_predicates_admits(data: st.DataObject) -> None:
    schema = data.draw(schemas(features=1))
    column = schema.columns[0]
    asked = data.draw(st.lists(predicates(column), min_size=1, max_size=4))

    partitions, [path, other] = admitted_paths([Rule(all_of=tuple(asked)), Rule(all_of=())], schema)

    assert other == []
    assert [name for name, _ in path] == [column.name] * len(asked)
    for value in distinguishing_values(column):
        index = atom(partitions[column.name], value)
        assert [bool(atoms >> index & 1) for _, atoms in path] == [predicate.matches(value) for predicate in asked]


@given(st.data())
def test_no_atom_is_empty(data: st.DataObject) -> None:
    schema = data.draw(schemas(features=1))
    column = schema.columns[0]
    asked = data.draw(st.lists(predicates(column), min_size=1, max_size=4))

    [(partition, _)] = admitted_sets(dict(enumerate(Rule(all_of=(one,)) for one in asked)), schema)

    assert {atom(partition, value) for value in distinguishing_values(column)} == set(range(partition.atoms))


@given(st.data())
def test_rules_by_atom_are_atoms_by_rule_turned_round(data: st.DataObject) -> None:
    schema = data.draw(schemas(features=1))
    asked = data.draw(st.lists(predicates(schema.columns[0]), min_size=1, max_size=5))

    [(partition, sets)] = admitted_sets(dict(enumerate(Rule(all_of=(one,)) for one in asked)), schema)
    by_atom = admitting_rules(sets, partition.atoms)

    assert len(by_atom) == partition.atoms
    for index, admitting in enumerate(by_atom):
        assert admitting == sum(1 << number for number, runs in sets.items() if holds(runs, index))


def test_thresholds_outside_the_range_cut_nothing() -> None:
    column = Column(name="age", type="integer", minimum=0, maximum=120)
    schema = Schema(person_key="person", columns=(column,))
    asked: list[tuple[Operator, float]] = [
        ("le", -0.5),
        ("lt", 0),
        ("gt", 120),
        ("ge", 120.5),
        ("le", 120),
        ("ge", 0),
        ("ne", 1e300),
        ("eq", -1),
    ]
    rules = {
        index: Rule(all_of=(Predicate(column="age", op=op, value=value),)) for index, (op, value) in enumerate(asked)
    }

    [(partition, sets)] = admitted_sets(rules, schema)

    assert partition.cuts == ()
    assert [len(runs) for runs in sets.values()] == [0, 0, 0, 0, 1, 1, 1, 0]


def test_neighbouring_doubles_are_distinguished() -> None:
    """0.1 + 0.2 is not 0.3: the cut for "< 0.3" lies on the double before it."""
    schema = Schema(person_key="person", columns=(Column(name="x", type="number"),))
    rules = {0: Rule(all_of=(Predicate(column="x", op="lt", value=0.3),))}

    [(partition, _)] = admitted_sets(rules, schema)

    assert partition.cuts == (math.nextafter(0.3, -math.inf),)


def test_a_column_cut_beyond_the_limit_is_refused() -> None:
    schema = Schema(person_key="person", columns=(Column(name="x", type="number"),))
    rules = {
        index: Rule(all_of=(Predicate(column="x", op="le", value=float(index)),))
        for index in range(CUTS_PER_COLUMN_MAX + 1)
    }

    with pytest.raises(TooLarge, match="thresholds"):
        list(admitted_sets(rules, schema))
