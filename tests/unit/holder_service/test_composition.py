"""The server's proof of disjointness holds against exhaustive search, and a faulty proof is found out.

Nothing here has a false alarm: one pair that is called disjoint and is not would be a fault for certain. The rarest of
the planted faults shows in one set of 21, and in the pairs of one schema of four: that 500 sets, or the 100 schemas of
2 000 pairs, do not show it happens less than once in 10¹⁰ times.
"""

import random
from collections.abc import Callable, Sequence

import pytest

from checks.composition import Prover, compare_pairs, compare_sets
from holder_service.domain.disjointness import disjoint_classes
from shared.contract.rules import Cell, Operator, Predicate, Rule
from shared.contract.schema import Schema

Classes = tuple[tuple[int, ...], ...]
SEED = random.randrange(10**9)


def changed(cells: Sequence[Cell], change: Callable[[Predicate], Predicate]) -> list[Cell]:
    """The cells with every predicate changed."""
    return [
        Cell(id=cell.id, any_of=tuple(Rule(all_of=tuple(map(change, rule.all_of))) for rule in cell.any_of))
        for cell in cells
    ]


def ignoring_missing_values(cells: Sequence[Cell], schema: Schema) -> Classes:
    """A prover for which nobody's value is missing."""
    return disjoint_classes(changed(cells, lambda one: one.model_copy(update={"or_missing": False})), schema)


def taking_closed_ends_for_open(cells: Sequence[Cell], schema: Schema) -> Classes:
    """A prover for which ≤ is <, and ≥ is >."""
    opened: dict[str, Operator] = {"le": "lt", "ge": "gt"}
    return disjoint_classes(
        changed(cells, lambda one: one.model_copy(update={"op": opened.get(one.op, one.op)})), schema
    )


def one_class_for_all(cells: Sequence[Cell], schema: Schema) -> Classes:
    """A prover that believes the caller."""
    return (tuple(range(len(cells))),)


def looking_at_first_rules(cells: Sequence[Cell], schema: Schema) -> Classes:
    """A prover that forgets that a cell is a union."""
    return disjoint_classes([Cell(id=cell.id, any_of=cell.any_of[:1]) for cell in cells], schema)


def test_no_random_pair_is_called_disjoint_that_is_not() -> None:
    found = compare_pairs(2000, SEED)

    assert found.unsound == 0, SEED
    assert found.needless == 0, SEED
    assert 200 < found.overlapping < 1800, "both answers were tried"


def test_no_random_set_gets_fewer_classes_than_a_record_has_cells() -> None:
    found = compare_sets(200, SEED)

    assert found.unsound == found.needless == 0, SEED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prover", "pairs"),
    [(ignoring_missing_values, 2000), (taking_closed_ends_for_open, 5000), (one_class_for_all, 200)],
)
def test_a_faulty_proof_is_found_with_pairs(prover: Prover, pairs: int) -> None:
    assert compare_pairs(pairs, SEED, prover).unsound > 0, SEED


@pytest.mark.parametrize("prover", [ignoring_missing_values, one_class_for_all, looking_at_first_rules])
def test_a_faulty_proof_is_found_with_sets(prover: Prover) -> None:
    assert compare_sets(500, SEED, prover).unsound > 0, SEED


@pytest.mark.statistical
def test_nor_in_a_hundred_thousand_pairs_and_ten_thousand_sets() -> None:
    pairs, sets = compare_pairs(100_000, SEED), compare_sets(10_000, SEED)

    assert pairs.unsound == sets.unsound == pairs.needless == sets.needless == 0, SEED
