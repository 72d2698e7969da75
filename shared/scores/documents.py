"""Score documents: models in one small, closed language (5-decisions §2).

A document says how a number or a category follows from one record's own columns, and from nothing else. It is a table
of constants: whoever evaluates it runs nothing of the auditor's. `shared.scores.values` says what every document is
worth, record by record; the holder's evaluation agrees with it bit for bit.

Arithmetic is that of IEEE 754 in the document's precision, operation by operation in the document's order, without
fused steps. A value that is not finite at the end becomes 0 (not a number) or the largest finite one of its sign.
Constants and a record's numbers enter in the document's precision, rounded to nearest; but tests, rules and cuts
compare a record's number itself, exactly.

**How documents may grow.** A document's digest is part of its column's id, so of plans and receipts: no member changes
its name, its meaning or its form. A new member is optional and None where it has no value, and None is left out.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictFloat, StrictInt, model_validator

from shared.contract.rules import Predicate, Rule, require_nameable
from shared.contract.schema import Column, Schema
from shared.wire import limits
from shared.wire.problems import InvalidPlan, TooLarge, UnknownColumn
from shared.wire.request_model import RequestModel
from shared.wire.text import Text

Precision = Literal["float32", "float64"]
ScoreValue = StrictBool | StrictInt | StrictFloat | Text


def _finite(number: float) -> float:
    if math.isfinite(number) and abs(number) <= limits.SCORE_NUMBER_MAX:
        return number
    raise ValueError(f"A number of a score document is finite and within ±{limits.SCORE_NUMBER_MAX:g}.")


def _bounded(length_max: int) -> BeforeValidator:
    """Refuse a list that is too long before its items are looked at."""

    def check(value: Any) -> Any:
        if isinstance(value, list | tuple) and len(value) > length_max:
            raise ValueError(f"The list has {len(value)} items, and at most {length_max} are admitted.")
        return value

    return BeforeValidator(check)


Number = Annotated[StrictInt | StrictFloat, AfterValidator(_finite), AfterValidator(float)]
Numbers = Annotated[
    tuple[Number, ...], Field(max_length=limits.SCORE_NUMBERS_MAX, fail_fast=True), _bounded(limits.SCORE_NUMBERS_MAX)
]
Nodes = Annotated[
    tuple[StrictInt, ...], Field(max_length=limits.SCORE_NODES_MAX, fail_fast=True), _bounded(limits.SCORE_NODES_MAX)
]


class ScoreTree(RequestModel):
    """One tree as a table of its nodes; node 0 is the root, and a tree without nodes is its only leaf."""

    tests: Nodes
    """Of each node, the index of its test in the document's `tests`."""
    yes: Nodes
    """Of each node, where a record goes on whom the test matches: the index of a later node, or −l − 1 for leaf l."""
    no: Nodes
    """The same for all others."""
    values: Annotated[
        tuple[Number, ...],
        Field(min_length=1, max_length=limits.SCORE_NUMBERS_MAX, fail_fast=True),
        _bounded(limits.SCORE_NUMBERS_MAX),
    ]
    """Of each leaf, what it adds."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not len(self.tests) == len(self.yes) == len(self.no):
            raise ValueError("`tests`, `yes` and `no` have one item for each node.")
        if not self.tests and len(self.values) != 1:
            raise ValueError("A tree without nodes has one leaf.")
        nodes, last = len(self.tests), -len(self.values)
        for node, (yes, no) in enumerate(zip(self.yes, self.no, strict=True)):
            if not (last <= yes < nodes and last <= no < nodes and (yes < 0 or yes > node) and (no < 0 or no > node)):
                raise ValueError(f"Node {node}: a child is a later node, or ~l for leaf l.")
        if self.depth > limits.SCORE_TREE_DEPTH_MAX:
            raise ValueError(f"A tree has at most {limits.SCORE_TREE_DEPTH_MAX} tests on a path.")
        return self

    @cached_property
    def depth(self) -> int:
        """The number of tests on its longest path."""
        depth = [1] * len(self.tests)
        for node, children in enumerate(zip(self.yes, self.no, strict=True)):
            below = depth[node] + 1
            for child in children:
                if child >= 0 and depth[child] < below:
                    depth[child] = below
        return max(depth, default=0)


class Trees(RequestModel):
    """`base` and then the leaf of every tree, added in order; divided by how many trees there are if `mean`.

    A test treats a missing value as a rule's predicate does, so the score is never missing.
    """

    kind: Literal["trees"]
    """Which kind of document it is."""
    precision: Precision
    """The precision of all arithmetic."""
    base: Number = 0.0
    """What the sum begins with."""
    tests: Annotated[
        tuple[Predicate, ...],
        Field(max_length=limits.SCORE_TESTS_MAX, fail_fast=True),
        _bounded(limits.SCORE_TESTS_MAX),
    ]
    """The comparisons that nodes name by index, from 0."""
    trees: Annotated[
        tuple[ScoreTree, ...],
        Field(min_length=1, max_length=limits.SCORE_TREES_MAX, fail_fast=True),
        _bounded(limits.SCORE_TREES_MAX),
    ]
    """The trees, in the order in which they are added."""
    mean: StrictBool = False
    """Whether the sum is divided by the number of trees."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for index, tree in enumerate(self.trees):
            if tree.tests and not 0 <= min(tree.tests) <= max(tree.tests) < len(self.tests):
                raise ValueError(f"Tree {index} names a test that the document does not have.")
        for what, size in (("leaves", sum(len(tree.values) for tree in self.trees)), ("nodes", self.nodes)):
            if size > limits.SCORE_NODES_MAX:
                raise ValueError(f"All trees together have at most {limits.SCORE_NODES_MAX} {what}.")
        return self

    @property
    def nodes(self) -> int:
        """The number of nodes of all trees."""
        return sum(len(tree.tests) for tree in self.trees)


class Product(RequestModel):
    """A term: `slope` times the columns' numbers, multiplied left to right, the slope last."""

    columns: tuple[Text, ...] = Field(min_length=1, max_length=2, fail_fast=True)
    """Ordered columns; one may stand twice. A boolean column counts 1 for true and 0 for false."""
    slope: Number
    """The factor."""
    missing: Number | None = None
    """What the term is worth where one of the columns is missing; null: then the score is missing."""


class Axis(RequestModel):
    """The division of one column into the places of a table."""

    column: Text
    """Its name."""
    cuts: Numbers | None = None
    """Of an ordered column, ascending: a value's index is how many cuts are below it (value > cut)."""
    values: tuple[StrictBool | Text, ...] | None = Field(
        default=None, max_length=limits.CATEGORIES_PER_COLUMN_MAX, fail_fast=True
    )
    """Of a category or boolean column, all declared values: a value's index is its own here."""
    missing: StrictBool = False
    """Whether the table has one more place, the last, for a missing value; else it makes the score missing."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.cuts is None) == (self.values is None):
            raise ValueError(f"Column {self.column!r}: give either `cuts` or `values`.")
        if self.cuts is not None and any(not low < high for low, high in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ValueError(f"Column {self.column!r}: cuts ascend.")
        if self.values is not None and len(set(self.values)) != len(self.values):
            raise ValueError(f"Column {self.column!r}: a value is there twice.")
        return self

    @property
    def size(self) -> int:
        """The number of its places, including that for missing."""
        return (len(self.cuts) + 1 if self.cuts is not None else len(self.values or ())) + self.missing


class TableTerm(RequestModel):
    """A term: a number looked up by one or two columns; `table` is row by row, the last axis fastest."""

    axes: tuple[Axis, ...] = Field(min_length=1, max_length=2, fail_fast=True)
    """The one or two columns that it is looked up by."""
    table: Numbers
    """The numbers, row by row, the last axis fastest."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if math.prod(axis.size for axis in self.axes) != len(self.table):
            raise ValueError("A table has one number for every combination of its axes' places.")
        return self


class RuleTerm(RequestModel):
    """A term: `value` where the rule matches, else 0."""

    rule: Rule
    """Whom it is for."""
    value: Number
    """What it is worth to whom the rule matches; 0 to all others."""


Term = Product | TableTerm | RuleTerm


class Terms(RequestModel):
    """`base` and then every term, added in order."""

    kind: Literal["terms"]
    """Which kind of document it is."""
    precision: Precision
    """The precision of all arithmetic."""
    base: Number = 0.0
    """What the sum begins with."""
    terms: Annotated[
        tuple[Term, ...], Field(max_length=limits.SCORE_TERMS_MAX, fail_fast=True), _bounded(limits.SCORE_TERMS_MAX)
    ]
    """The terms, in the order in which they are added."""


class Dense(RequestModel):
    """One layer: of each unit its bias, then weight times input, added input by input in order; then the activation."""

    weights: Annotated[
        tuple[Numbers, ...],
        Field(min_length=1, max_length=limits.SCORE_UNITS_MAX, fail_fast=True),
        _bounded(limits.SCORE_UNITS_MAX),
    ]
    """A row of weights for each unit."""
    bias: Numbers
    """Of each unit, what its sum begins with."""
    activation: Literal["identity", "relu", "tanh", "logistic"]
    """Applied to each unit's sum: relu is x where x > 0, else 0; tanh and logistic as in `shared.scores.elementary`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.bias) != len(self.weights) or len({len(row) for row in self.weights}) != 1:
            raise ValueError("A layer has one bias and one row of equally many weights for each unit.")
        return self


class Layers(RequestModel):
    """A small network: the inputs, each worth a term, then layer after layer; the last layer has one unit."""

    kind: Literal["layers"]
    """Which kind of document it is."""
    precision: Precision
    """The precision of all arithmetic."""
    inputs: Annotated[
        tuple[Term, ...],
        Field(min_length=1, max_length=limits.SCORE_UNITS_MAX, fail_fast=True),
        _bounded(limits.SCORE_UNITS_MAX),
    ]
    """What the first layer gets: a term each."""
    layers: Annotated[
        tuple[Dense, ...],
        Field(min_length=1, max_length=limits.SCORE_LAYERS_MAX, fail_fast=True),
        _bounded(limits.SCORE_LAYERS_MAX),
    ]
    """The layers, first to last."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        width = len(self.inputs)
        for index, layer in enumerate(self.layers):
            if len(layer.weights[0]) != width:
                raise ValueError(f"Layer {index} gets {width} inputs: each of its rows has as many weights.")
            width = len(layer.weights)
        if width != 1:
            raise ValueError("The last layer has one unit.")
        return self


class Case(RequestModel):
    """A rule and what it decides."""

    rule: Rule
    """Whom it is for."""
    value: ScoreValue
    """What it decides for whom the rule matches first."""


class RuleList(RequestModel):
    """The value of the first rule that matches; of none, `otherwise`. Never missing."""

    kind: Literal["list"]
    """Which kind of document it is."""
    cases: Annotated[
        tuple[Case, ...],
        Field(max_length=limits.RULES_PER_PLAN_MAX, fail_fast=True),
        _bounded(limits.RULES_PER_PLAN_MAX),
    ]
    """The rules, in the order in which they are tried."""
    otherwise: ScoreValue
    """The value of whom no rule matches."""


class Choice(RequestModel):
    """The category whose number is largest, the first of those that are equal; missing if one of the numbers is."""

    kind: Literal["choice"]
    """Which kind of document it is."""
    categories: Annotated[
        tuple[Text, ...],
        Field(min_length=2, max_length=limits.SCORE_CLASSES_MAX, fail_fast=True),
        _bounded(limits.SCORE_CLASSES_MAX),
    ]
    """What it can say, in order."""
    of: Annotated[
        tuple[Annotated[Trees | Terms | Layers, Field(discriminator="kind")], ...],
        Field(min_length=2, max_length=limits.SCORE_CLASSES_MAX, fail_fast=True),
        _bounded(limits.SCORE_CLASSES_MAX),
    ]
    """A document for each category: its number."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.categories) != len(self.of) or len(set(self.categories)) != len(self.categories):
            raise ValueError("A choice has different categories, and one document for each.")
        return self


Part = Trees | Terms | Layers | RuleList
"""What a document is made of: itself, or the classes of a choice."""
Document = Annotated[Trees | Terms | Layers | RuleList | Choice, Field(discriminator="kind")]


def check_document(document: Document, schema: Schema) -> None:
    """Refuse a document that does not fit a dataset's declared columns; looks at nothing else.

    Raises:
        UnknownColumn, SensitiveColumn, InvalidPlan, TooLarge: with the path of the fault and what would fit.
    """
    weight, checked = 0, set[int]()
    for path, part in _parts(document):
        match part:
            case Trees():
                for index, test in enumerate(part.tests):
                    if id(test) not in checked:  # the classes of a choice share theirs
                        test.check(schema, f"{path}tests[{index}]")
                checked.update(map(id, part.tests))
                _check_cuts(part.tests, schema, limits.SCORE_CUTS_PER_COLUMN_MAX)
                weight += part.nodes + sum(len(tree.values) for tree in part.trees)
                weight += sum(len(test.values or ()) for test in part.tests)
            case Terms():
                weight += _check_terms(part.terms, schema, f"{path}terms")
            case Layers():
                weight += _check_terms(part.inputs, schema, f"{path}inputs")
                weight += sum(len(layer.weights) * len(layer.weights[0]) for layer in part.layers)
            case RuleList():
                for index, case in enumerate(part.cases):
                    _check_rule(case.rule, schema, f"{path}cases[{index}]")
                weight += len(part.cases)
    weight += _check_rules([rule for part in parts_of(document) for rule in rules_of(part)], schema)
    if weight > limits.SCORE_WEIGHT_MAX:
        raise TooLarge(
            what="nodes, leaves, numbers in tables, weights and predicates of a score document",
            limit=limits.SCORE_WEIGHT_MAX,
        )


def may_be_missing(document: Document, schema: Schema) -> bool:
    """Whether some record that fits the schema has a missing value."""
    return any(_leaves_missing(term, schema) for _, part in _parts(document) for term in terms_of(part))


def columns_of(document: Document) -> tuple[str, ...]:
    """The columns that a document names, each once, in order of appearance."""
    names: list[str] = []
    for _, part in _parts(document):
        predicates: Iterable[Predicate] = part.tests if isinstance(part, Trees) else ()
        if isinstance(part, RuleList):
            predicates = itertools.chain.from_iterable(case.rule.all_of for case in part.cases)
        names += [predicate.column for predicate in predicates]
        for term in terms_of(part):
            names += names_of(term)
    return tuple(dict.fromkeys(names))


def parts_of(document: Document) -> tuple[Part, ...]:
    """A document's parts."""
    return document.of if isinstance(document, Choice) else (document,)


def terms_of(part: Part) -> tuple[Term, ...]:
    """The terms of a part, or of its inputs; none of trees or a list."""
    match part:
        case Terms():
            return part.terms
        case Layers():
            return part.inputs
    return ()


def rules_of(part: Part) -> tuple[Rule, ...]:
    """The rules of a part of a document, in order."""
    if isinstance(part, RuleList):
        return tuple(case.rule for case in part.cases)
    return tuple(term.rule for term in terms_of(part) if isinstance(term, RuleTerm))


def names_of(term: Term) -> tuple[str, ...]:
    """The columns that a term names."""
    match term:
        case Product():
            return term.columns
        case TableTerm():
            return tuple(axis.column for axis in term.axes)
        case RuleTerm():
            return tuple(predicate.column for predicate in term.rule.all_of)


def values_of(document: Document) -> tuple[Any, ...]:
    """Return what a list or a choice can say, each once, in order of appearance; empty for a document that adds."""
    match document:
        case Choice():
            return document.categories
        case RuleList():
            return tuple(dict.fromkeys([*(case.value for case in document.cases), document.otherwise]))
    return ()


def _parts(document: Document) -> Iterator[tuple[str, Part]]:
    """The documents that add or list, each with where it is."""
    if isinstance(document, Choice):
        yield from ((f"of[{index}].", part) for index, part in enumerate(document.of))
    else:
        yield "", document


def _leaves_missing(term: Term, schema: Schema) -> bool:
    match term:
        case Product():
            return term.missing is None and any(schema.by_name[name].nullable for name in term.columns)
        case TableTerm():
            return any(schema.by_name[axis.column].nullable and not axis.missing for axis in term.axes)
    return False


def _check_terms(terms: tuple[Term, ...], schema: Schema, path: str) -> int:
    """Check terms one by one; gives how many numbers they have."""
    numbers = 0
    for index, term in enumerate(terms):
        where = f"{path}[{index}]"
        match term:
            case Product():
                for name in term.columns:
                    column = _column(name, schema, where)
                    if column.type == "category":
                        raise InvalidPlan(f"Column {name!r} is a category: give its numbers in a table.", where)
                numbers += 1
            case TableTerm():
                for axis in term.axes:
                    _check_axis(axis, _column(axis.column, schema, where), where)
                numbers += len(term.table)
            case RuleTerm():
                _check_rule(term.rule, schema, where)
                numbers += 1
    return numbers


def _check_rules(rules: Sequence[Rule], schema: Schema) -> int:
    """Refuse more predicates than a plan may have; gives how many there are, and items of their lists."""
    predicates = [predicate for rule in rules for predicate in rule.all_of]
    items = sum(len(predicate.values or ()) for predicate in predicates)
    if len(predicates) > limits.PREDICATES_PER_PLAN_MAX:
        raise TooLarge(what="predicates in rules of a score document", limit=limits.PREDICATES_PER_PLAN_MAX)
    if items > limits.VALUES_PER_PLAN_MAX:
        raise TooLarge(what="items of lists in rules of a score document", limit=limits.VALUES_PER_PLAN_MAX)
    _check_cuts(predicates, schema, limits.CUTS_PER_COLUMN_MAX)
    return len(predicates) + items


def _check_cuts(predicates: Iterable[Predicate], schema: Schema, cuts_max: int) -> None:
    """Refuse more numbers to compare a column with than the holder cuts a column at."""
    cuts: Counter[str] = Counter()
    different = {(test.column, test.op, test.value, test.values): test for test in predicates}
    for predicate in different.values():
        if schema.by_name[predicate.column].ordered:
            cuts[predicate.column] += 2 * len(predicate.operands)
    for name, number in cuts.items():
        if number >= cuts_max:
            raise TooLarge(what=f"numbers that column {name!r} is compared with", limit=cuts_max // 2)


def _check_axis(axis: Axis, column: Column, path: str) -> None:
    if column.ordered != (axis.cuts is not None):
        raise InvalidPlan(
            f"Column {column.name!r} is of type {column.type}: give {'`cuts`' if column.ordered else '`values`'}.", path
        )
    if axis.values is not None and set(axis.values) != set(column.values):
        raise InvalidPlan(f"Column {column.name!r}: list every declared value, and no other.", path)
    if axis.missing and not column.nullable:
        raise InvalidPlan(f"Column {column.name!r} is never missing: leave `missing` out.", path)


def _check_rule(rule: Rule, schema: Schema, path: str) -> None:
    for predicate in rule.all_of:
        predicate.check(schema, path)


def _column(name: str, schema: Schema, path: str) -> Column:
    column = schema.by_name.get(name)
    if column is None:
        raise UnknownColumn(column=name, path=path)
    require_nameable(name, schema, path)
    return column
