"""Invented score documents of every kind, and people whose values lie on and beside their thresholds.

Numbers are chosen among few that are awkward: float32 roundings and their neighbours, −0.0, whole numbers at the edge
of a double, the largest and the smallest numbers; so that a value often meets a threshold exactly.
"""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Column, Schema, Value
from shared.scores.documents import (
    Axis,
    Case,
    Choice,
    Dense,
    Document,
    Layers,
    Product,
    RuleList,
    RuleTerm,
    ScoreTree,
    TableTerm,
    Term,
    Terms,
    Trees,
)

SCHEMA: Final = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=-3, maximum=9),
        Column(name="children", type="integer", minimum=0, maximum=3, nullable=True),
        Column(name="income", type="integer", nullable=True),
        Column(name="share", type="number"),
        Column(name="amount", type="number", nullable=True),
        Column(name="colour", type="category", categories=("red", "green", "blue", "grey"), nullable=True),
        Column(name="city", type="category", categories=("Aa", "Bb", "Cc")),
        Column(name="member", type="boolean"),
        Column(name="insured", type="boolean", nullable=True),
        Column(name="sex", type="category", categories=("female", "male"), sensitive=True),
    ),
)
NUMBERS: Final = (
    0.0, -0.0, 0.1, float(np.float32(0.1)), math.nextafter(0.1, 1), 0.5, 1.0, 2.0, 2.5, 3.0, -1.0, -2.5, 1e-3, 1 / 3,
    float(np.float32(1 / 3)), 16777217.0, 1e15 + 0.3, 1e29, -1e30, 5e-324, -1e-310, 1e-40,
)  # fmt: skip
"""What documents and people take their numbers from."""
EXTREME: Final = (1e300, -1e300, 1.7976931348623157e308, 3.5e38)
"""People have them too."""
WHOLE: Final = (0, 1, 2, 3, -1, -3, 9, 2**53, -(2**53), 2**53 - 1, 16777217, 40000)
PUBLIC: Final = tuple(column for column in SCHEMA.columns if not column.sensitive)
ORDERED: Final = tuple(column for column in PUBLIC if column.ordered)
COUNTED: Final = tuple(column for column in PUBLIC if column.type != "category")

Person = dict[str, Value | None]


def invented_people(number: int, rng: random.Random) -> list[Person]:
    """So many people, some of their values missing where the schema admits that."""
    return [{column.name: _value(column, rng) for column in SCHEMA.columns} for _ in range(number)]


def invented_document(rng: random.Random) -> Document:
    """A document of any kind that fits the schema."""
    kinds: Sequence[Callable[[random.Random], Document]] = (
        invented_trees, invented_terms, invented_layers, invented_list, invented_choice,
    )  # fmt: skip
    return rng.choice(kinds)(rng)


def invented_trees(rng: random.Random) -> Trees:
    """Some trees, some of them graphs in which nodes share what follows."""
    tests = tuple(_predicate(rng) for _ in range(rng.randint(1, 12)))
    return Trees(
        kind="trees",
        precision=_precision(rng),
        base=_number(rng),
        tests=tests,
        trees=tuple(_tree(rng, len(tests)) for _ in range(rng.randint(1, 6))),
        mean=rng.random() < 0.3,
    )


def invented_terms(rng: random.Random) -> Terms:
    """Some terms of every kind."""
    terms = tuple(_term(rng) for _ in range(rng.randint(0, 6)))
    return Terms(kind="terms", precision=_precision(rng), base=_number(rng), terms=terms)


def invented_layers(rng: random.Random) -> Layers:
    """A small network."""
    inputs = tuple(_term(rng) for _ in range(rng.randint(1, 4)))
    widths = [len(inputs), *(rng.randint(1, 4) for _ in range(rng.randint(0, 2))), 1]
    layers = tuple(
        Dense(
            weights=tuple(tuple(_number(rng) for _ in range(before)) for _ in range(units)),
            bias=tuple(_number(rng) for _ in range(units)),
            activation=rng.choice(("identity", "relu", "tanh", "logistic")),
        )
        for before, units in itertools.pairwise(widths)
    )
    return Layers(kind="layers", precision=_precision(rng), inputs=inputs, layers=layers)


def invented_list(rng: random.Random) -> RuleList:
    """A rule list that says texts, truth values or numbers."""
    said: Sequence[Any] = rng.choice((("yes", "no", "perhaps"), (True, False), (0, 1.5, 2)))
    cases = tuple(Case(rule=_rule(rng), value=rng.choice(said)) for _ in range(rng.randint(0, 8)))
    return RuleList(kind="list", cases=cases, otherwise=rng.choice(said))


def invented_choice(rng: random.Random) -> Choice:
    """A choice between two to four classes."""
    categories = ("a", "b", "c", "d")[: rng.randint(2, 4)]
    kinds: Sequence[Callable[[random.Random], Any]] = (invented_trees, invented_terms, invented_layers)
    return Choice(kind="choice", categories=categories, of=tuple(rng.choice(kinds)(rng) for _ in categories))


def _tree(rng: random.Random, tests: int) -> ScoreTree:
    nodes = rng.choice((0, 1, 2, 5, 9))
    leaves = 1 if not nodes else rng.randint(1, nodes + 1)

    def child(node: int) -> int:
        return rng.randint(node + 1, nodes - 1) if node + 1 < nodes and rng.random() < 0.6 else ~rng.randrange(leaves)

    return ScoreTree(
        tests=tuple(rng.randrange(tests) for _ in range(nodes)),
        yes=tuple(child(node) for node in range(nodes)),
        no=tuple(child(node) for node in range(nodes)),
        values=tuple(_number(rng) for _ in range(leaves)),
    )


def _term(rng: random.Random) -> Term:
    kind = rng.randrange(3)
    if kind == 0:
        columns = tuple(rng.choice(COUNTED).name for _ in range(rng.randint(1, 2)))
        return Product(columns=columns, slope=_number(rng), missing=rng.choice((None, _number(rng), _number(rng))))
    if kind == 1:
        axes = tuple(_axis(rng) for _ in range(rng.randint(1, 2)))
        return TableTerm(axes=axes, table=tuple(_number(rng) for _ in range(math.prod(axis.size for axis in axes))))
    return RuleTerm(rule=_rule(rng), value=_number(rng))


def _axis(rng: random.Random) -> Axis:
    column = rng.choice(PUBLIC)
    missing = column.nullable and rng.random() < 0.8
    if column.ordered:
        cuts = sorted({_threshold(column, rng) + 0.0 for _ in range(rng.randint(0, 7))})
        return Axis(column=column.name, cuts=tuple(float(cut) for cut in cuts), missing=missing)
    return Axis(column=column.name, values=tuple(rng.sample(column.values, len(column.values))), missing=missing)


def _rule(rng: random.Random) -> Rule:
    return Rule(all_of=tuple(_predicate(rng) for _ in range(rng.randint(0, 3))))


def _predicate(rng: random.Random) -> Predicate:
    column = rng.choice(PUBLIC)
    fields: dict[str, Any] = {"column": column.name}
    if column.nullable and rng.random() < 0.15:
        return Predicate(**fields, op=rng.choice(("is_missing", "not_missing")))
    fields["or_missing"] = column.nullable and rng.random() < 0.4
    if column.type == "boolean":
        return Predicate(**fields, op="eq", value=rng.random() < 0.5)
    listed: tuple[Any, ...] = WHOLE if column.type == "integer" else column.values
    if column.type == "category" or (column.type == "integer" and rng.random() < 0.25):
        values = tuple(rng.sample(listed, rng.randint(1, 4) if column.ordered else rng.randint(1, len(listed))))
        return Predicate(**fields, op=rng.choice(("in", "not_in")), values=values)
    if rng.random() < 0.25:
        value = rng.choice(WHOLE) if column.type == "integer" else _threshold(column, rng)
        return Predicate(**fields, op=rng.choice(("eq", "ne")), value=value)
    return Predicate(**fields, op=rng.choice(("lt", "le", "gt", "ge")), value=_threshold(column, rng))


def _threshold(column: Column, rng: random.Random) -> float:
    return rng.choice(NUMBERS if column.type == "number" or rng.random() < 0.3 else WHOLE)


def _number(rng: random.Random) -> float:
    return rng.choice(NUMBERS) if rng.random() < 0.6 else rng.gauss(0, 1)


def _precision(rng: random.Random) -> Any:
    return rng.choice(("float32", "float64"))


def _value(column: Column, rng: random.Random) -> Value | None:
    if column.nullable and rng.random() < 0.2:
        return None
    if not column.ordered:
        return rng.choice(column.values)
    if column.type == "integer":
        return rng.choice([whole for whole in WHOLE if column.low <= whole <= column.high])
    return rng.choice((*NUMBERS, *EXTREME)) if rng.random() < 0.9 else rng.gauss(0, 3)
