"""The proof of disjointness against exhaustive search: never "disjoint" where a record exists that matches both.

`python -m checks.composition --pairs 100000 --sets 10000`

Schemas, rules and thresholds are random: all types and operators, missing values, open and closed ends, thresholds that
are neighbouring doubles, fractions between integers, infinitely far or outside the declared range, contradictions. The
oracle builds a record for each way the rules could distinguish values and asks `Rule.matches`; it knows nothing of
atoms. *Unsound* has to be 0. *Needless* counts pairs that are called overlapping although no record matches both.
"""

import argparse
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from holder_service.domain.disjointness import disjoint_classes
from shared.contract.rules import Cell, Predicate, Record, Rule
from shared.contract.schema import Column, Schema
from shared.wire.limits import INTEGER_MAX
from testing.invented.plans import distinguishing_values

NEAR: Final = (0.0, 5e-324, 0.1 + 0.2, 1.0, 2.5, 3.0, float(INTEGER_MAX))
FAR: Final = (-sys.float_info.max, -(2.0**60), -INTEGER_MAX - 1.0, 2.0**60, sys.float_info.max)
BOUNDS: Final = (-3, 0, 1, 2, 7)
CATEGORIES: Final = ("é", "a b", "b", ",", "zz")
PAIRS_PER_SCHEMA: Final = 20

Prover = Callable[[Sequence[Cell], Schema], tuple[tuple[int, ...], ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """What a comparison of proof and search found.

    Attributes:
        asked: How many pairs or sets.
        overlapping: In how many of them some record matches both rules, or two cells.
        unsound: How often the proof said less than a record shows: the promise would be broken.
        needless: How often it said more than any record shows: somebody would pay for nothing.
    """

    asked: int
    overlapping: int
    unsound: int
    needless: int


def compare_pairs(number: int, seed: int, prover: Prover = disjoint_classes) -> Found:
    """Random pairs of rules: are they disjoint?"""
    rng = random.Random(seed)
    overlapping = unsound = needless = 0
    for index in range(number):
        if index % PAIRS_PER_SCHEMA == 0:
            schema = _schema(rng)
        one, other = _rule(rng, schema), _rule(rng, schema)
        common = next(
            (True for record in records((one, other), schema) if one.matches(record) and other.matches(record)), False
        )
        disjoint = len(prover([Cell(id="1", any_of=(one,)), Cell(id="2", any_of=(other,))], schema)) == 2
        overlapping += common
        unsound += common and not disjoint
        needless += disjoint and not common
    return Found(number, overlapping, unsound, needless)


def compare_sets(number: int, seed: int, prover: Prover = disjoint_classes) -> Found:
    """Random sets of cells: are there as many classes as any record matches cells, and no record twice in a class?"""
    rng = random.Random(seed)
    overlapping = unsound = needless = 0
    for _ in range(number):
        schema = _schema(rng, features=2)
        cells = [
            Cell(id=str(index), any_of=tuple(_rule(rng, schema, predicates=2) for _ in range(rng.randint(1, 2))))
            for index in range(rng.randint(2, 6))
        ]
        classes = prover(cells, schema)
        matched = [
            frozenset(index for index, cell in enumerate(cells) if cell.matches(record))
            for record in records([rule for cell in cells for rule in cell.any_of], schema)
        ]
        largest = max(map(len, matched))
        overlapping += largest > 1
        twice = any(len(one.intersection(members)) > 1 for one in set(matched) for members in classes)
        unsound += twice or len(classes) < largest or sorted(itertools.chain(*classes)) != list(range(len(cells)))
        needless += len(classes) > 1 and largest <= 1
    return Found(number, overlapping, unsound, needless)


def records(rules: Sequence[Rule], schema: Schema) -> Iterator[Record]:
    """A record for each combination of values that some rules could distinguish."""
    features = [column for column in schema.columns if not column.sensitive]
    thresholds: dict[str, list[float]] = {column.name: [] for column in features}
    for predicate in (predicate for rule in rules for predicate in rule.all_of):
        thresholds[predicate.column] += [value for value in predicate.operands if isinstance(value, int | float)]
    values = [distinguishing_values(column, thresholds[column.name]) for column in features]
    for combination in itertools.product(*values):
        yield {column.name: value for column, value in zip(features, combination, strict=True)}


def _schema(rng: random.Random, features: int = 3) -> Schema:
    columns = [_column(rng, f"x{index}") for index in range(rng.randint(1, features))]
    return Schema(person_key="person", columns=(*columns, Column(name="sex", type="boolean", sensitive=True)))


def _column(rng: random.Random, name: str) -> Column:
    nullable = rng.random() < 0.5
    kind = rng.choice(("boolean", "category", "integer", "integer", "number", "number"))
    common: dict[str, Any] = {"name": name, "type": kind, "nullable": nullable}
    if kind == "category":
        return Column(**common, categories=tuple(rng.sample(CATEGORIES, rng.randint(1, len(CATEGORIES)))))
    if kind == "boolean":
        return Column(**common)
    low, high = sorted(rng.choices(BOUNDS, k=2))
    return Column(**common, minimum=low if rng.random() < 0.5 else None, maximum=high if rng.random() < 0.5 else None)


def _rule(rng: random.Random, schema: Schema, *, predicates: int = 4) -> Rule:
    features = [column for column in schema.columns if not column.sensitive]
    return Rule(all_of=tuple(_predicate(rng, rng.choice(features)) for _ in range(rng.randint(0, predicates))))


def _predicate(rng: random.Random, column: Column) -> Predicate:
    if column.nullable and rng.random() < 0.15:
        return Predicate(column=column.name, op=rng.choice(("is_missing", "not_missing")))
    asked: dict[str, Any] = {"column": column.name, "or_missing": column.nullable and rng.random() < 0.3}
    if column.type == "boolean":
        asked |= {"op": "eq", "value": rng.random() < 0.5}
    elif column.type == "category":
        listed = rng.sample(column.values, rng.randint(1, len(column.values)))
        asked |= {"op": rng.choice(("in", "not_in")), "values": listed}
    elif column.type == "integer" and rng.random() < 0.25:
        numbers = [_threshold(rng, whole=True) for _ in range(rng.randint(1, 6))]
        asked |= {"op": rng.choice(("in", "not_in")), "values": numbers}
    else:
        asked["op"] = rng.choice(("lt", "le", "gt", "ge", "eq", "ne"))
        whole = column.type == "integer" and asked["op"] in ("eq", "ne")
        asked["value"] = _threshold(rng, whole=whole)
    return Predicate.model_validate(asked)


def _threshold(rng: random.Random, *, whole: bool) -> float:
    value = rng.choice(NEAR) if rng.random() < 0.9 else rng.choice(FAR)
    neighbour = math.nextafter(value, rng.choice((-math.inf, math.inf)))
    if rng.random() < 0.3 and math.isfinite(neighbour):
        value = neighbour
    return float(math.floor(value)) if whole else value


def main() -> None:
    """Compare, and print what was found; ends with 1 if the proof was ever unsound."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", type=int, default=100_000, help="random pairs of rules")
    options.add_argument("--sets", type=int, default=10_000, help="random sets of cells")
    options.add_argument("--seed", type=int, default=random.randrange(10**9), help="of what is made up")
    given = options.parse_args()
    found = {
        "pairs of rules": compare_pairs(given.pairs, given.seed),
        "sets of cells": compare_sets(given.sets, given.seed),
    }
    table = Table("what", "asked", "overlapping", "unsound", "needless", title=f"Disjointness, seed {given.seed}")
    for what, one in found.items():
        table.add_row(what, f"{one.asked:,}", f"{one.overlapping:,}", str(one.unsound), str(one.needless))
    Console().print(table)
    sys.exit(any(one.unsound for one in found.values()))


if __name__ == "__main__":
    main()
