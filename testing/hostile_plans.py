"""Plans at the public limits, each of which makes some part of pricing and counting work as hard as it can.

Their documents are what an auditor may send about a register of `SCHEMA`; `Plan.check` admits all of them.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from shared.contract.schema import Column, Schema
from shared.kinds.plans import Plan
from shared.wire import limits
from testing import registers

CATEGORIES: Final = tuple(f"c{index}" for index in range(limits.CATEGORIES_PER_COLUMN_MAX))
SCHEMA: Final = Schema(
    person_key="person",
    columns=(
        *(Column(name=f"x{index}", type="number", nullable=True) for index in range(512)),
        *(Column(name=f"n{index}", type="integer") for index in range(16)),
        *(Column(name=f"c{index}", type="category", categories=CATEGORIES, nullable=True) for index in range(4)),
        Column(name="sex", type="boolean", sensitive=True),
    ),
)
Predicates = list[dict[str, Any]]
RULES_OF_EIGHT: Final = limits.PREDICATES_PER_PLAN_MAX // 8


def plan(cells: Sequence[Sequence[Predicates]], *, epsilon: str = "0.001") -> dict[str, Any]:
    """A plan of one batch, of cells that are unions of rules."""
    documents = [
        {"id": str(index), "any_of": [{"all_of": rule} for rule in union]} for index, union in enumerate(cells)
    ]
    return registers.plan(epsilon=epsilon, cells=documents)


def tree(leaves: int, *, columns: int = 16, fixed_ends: int = 0) -> dict[str, Any]:
    """The leaves of a random tree over some numbers; with `fixed_ends` most splits are of few leaves, so it is deep."""
    rng = random.Random(leaves)
    paths: list[Predicates] = [[]]
    while len(paths) < leaves:
        index = rng.randrange(len(paths) if not fixed_ends else min(fixed_ends, len(paths)))
        test = {"column": f"x{rng.randrange(columns)}", "value": rng.random()}
        paths[index : index + 1] = [
            [*paths[index], {**test, "op": "le", "or_missing": True}], [*paths[index], {**test, "op": "gt"}]
        ]  # fmt: skip
    return plan([[path] for path in paths])


def balanced_tree(depth: int, *, columns: int = 16) -> dict[str, Any]:
    """The leaves of a random tree over some numbers, all of one depth."""
    rng = random.Random(depth)
    paths: list[Predicates] = [[]]
    for _ in range(depth):
        tests = [{"column": f"x{rng.randrange(columns)}", "value": rng.random()} for _ in paths]
        paths = [
            [*path, {**test, **side}]
            for path, test in zip(paths, tests, strict=True)
            for side in ({"op": "le", "or_missing": True}, {"op": "gt"})
        ]
    return plan([[path] for path in paths])


def _grouped(rules: Sequence[Predicates]) -> list[Sequence[Predicates]]:
    """Rules as the largest number of cells."""
    each = -(-len(rules) // limits.CELLS_PER_PLAN_MAX)
    return [rules[start : start + each] for start in range(0, len(rules), each)]


def _intervals(rng: random.Random) -> Iterator[Predicates]:
    """Every rule an interval of each of four columns, all ends different: the longest lines of atoms, missing too."""
    for _ in range(RULES_OF_EIGHT - 1):
        rule: Predicates = []
        for column in range(4):
            low, high = sorted((rng.random(), rng.random()))
            rule += [{"column": f"x{column}", "op": op, "value": v} for op, v in (("gt", low), ("le", high))]
        yield rule


def _many_columns(rng: random.Random) -> Iterator[Predicates]:
    for rule in range(RULES_OF_EIGHT):
        yield [
            {"column": f"x{(rule * 8 + index) % 512}", "op": "le", "value": rng.random()} for index in range(8)
        ]  # fmt: skip


def _unequal(rng: random.Random) -> Iterator[Predicates]:
    """Rules of many holes: sets of the most runs that numbers can have."""
    for rule in range(limits.PREDICATES_PER_PLAN_MAX // limits.PREDICATES_PER_RULE_MAX):
        values = rng.sample(range(32 * rule, 32 * rule + 2**14), limits.PREDICATES_PER_RULE_MAX)
        yield [{"column": f"n{index % 16}", "op": "ne", "value": 2 * (v // 32)} for index, v in enumerate(values)]


def _unlisted(rng: random.Random, op: str, values: int) -> Iterator[Predicates]:
    """Lists of categories, none like another and full of gaps: sets of the most runs."""
    for rule in range(limits.VALUES_PER_PLAN_MAX // values):
        yield [{"column": f"c{rule % 4}", "op": op, "values": rng.sample(CATEGORIES, values)}]


def _numbers_listed(rng: random.Random, op: str) -> Iterator[Predicates]:
    """Lists of whole numbers with gaps, which cut the line of four columns as often as a plan may."""
    size = limits.VALUES_PER_PREDICATE_MAX
    for rule in range(limits.VALUES_PER_PLAN_MAX // size):
        numbers = rng.sample(range(0, limits.CUTS_PER_COLUMN_MAX - 1, 2), size)
        yield [{"column": f"n{rule % 4}", "op": op, "values": numbers}]


def _lists_together(rng: random.Random) -> Iterator[Predicates]:
    """Four long lists on one column in each rule, half of all categories out: sets of thousands of runs."""
    for _ in range(limits.VALUES_PER_PLAN_MAX // limits.VALUES_PER_PREDICATE_MAX // 4):
        chosen = rng.sample(CATEGORIES, 4 * limits.VALUES_PER_PREDICATE_MAX)
        size = limits.VALUES_PER_PREDICATE_MAX
        yield [
            {"column": "c0", "op": "not_in", "values": chosen[start : start + size]}
            for start in range(0, len(chosen), size)
        ]


def _boxes(rng: random.Random) -> Iterator[Predicates]:
    """Eight half-lines each, in no order: nobody is on one side of anything, so a diagram of them explodes."""
    for _ in range(RULES_OF_EIGHT):
        columns = rng.sample(range(16), 8)
        yield [
            {"column": f"x{column}", "op": rng.choice(("le", "gt")), "value": rng.random()} for column in columns
        ]  # fmt: skip


def _narrow(rng: random.Random) -> Iterator[Predicates]:
    """Disjoint slices of one column, each cut further by seven others."""
    for rule in range(RULES_OF_EIGHT):
        yield [
            {"column": "x0", "op": "gt", "value": rule}, {"column": "x0", "op": "le", "value": rule + 1},
            *({"column": f"x{index}", "op": "le", "value": rng.random()} for index in range(1, 7)),
        ]  # fmt: skip


def _long_paths(rng: random.Random) -> Iterator[Predicates]:
    """A chain: rule n is what n others left over, as the paths of a list of decisions are."""
    for length in range(1, 222):
        yield [
            {"column": f"x{step % 512}", "op": "le" if step == length - 1 else "gt", "value": rng.random()}
            for step in range(min(length, limits.PREDICATES_PER_RULE_MAX))
        ]


HOSTILE: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "everybody, 4 096 cells": lambda: plan([[[]]] * limits.CELLS_PER_PLAN_MAX),
    "everybody, 8 192 rules": lambda: plan(_grouped([[]] * limits.RULES_PER_PLAN_MAX)),
    "intervals of 4 columns": lambda: plan(_grouped(list(_intervals(random.Random(1))))),
    "half-lines of 512 columns": lambda: plan(_grouped(list(_many_columns(random.Random(2))))),
    "holes in 16 columns": lambda: plan(_grouped(list(_unequal(random.Random(3))))),
    "lists of 1 024": lambda: plan(_grouped(list(_unlisted(random.Random(4), "in", 1024)))),
    "lists of 1 024 left out": lambda: plan(_grouped(list(_unlisted(random.Random(5), "not_in", 1024)))),
    "lists of 64": lambda: plan(_grouped(list(_unlisted(random.Random(6), "in", 64)))),
    "lists of 32 left out": lambda: plan(_grouped(list(_unlisted(random.Random(7), "not_in", 32)))),
    "lists of 1 024 numbers": lambda: plan(_grouped(list(_numbers_listed(random.Random(11), "in")))),
    "lists of 1 024 numbers left out": lambda: plan(_grouped(list(_numbers_listed(random.Random(12), "not_in")))),
    "four lists together": lambda: plan(_grouped(list(_lists_together(random.Random(8))))),
    "boxes of 8 of 16 columns": lambda: plan(_grouped(list(_boxes(random.Random(9))))),
    "slices cut by 6 columns": lambda: plan(_grouped(list(_narrow(random.Random(10))))),
    "chain of 221 decisions": lambda: plan(_grouped(list(_long_paths(random.Random(11))))),
    "tree of 1 800 leaves": lambda: tree(1800),
    "deep tree of 600 leaves": lambda: tree(600, fixed_ends=16),
}
"""The plans by name."""


def parsed(document: dict[str, Any]) -> Plan:
    """The plan of a document, which fits `SCHEMA` and the limits."""
    asked = Plan.model_validate(document)
    asked.require_small()
    asked.check(SCHEMA)
    return asked
