"""Our neutral decision tree, of any arity, and its rules.

Whatever a model came from, the rest of the client sees only this: splits whose branches carry
predicates on one column, and leaves that decide. Siblings with one decision are merged, because a split
that changes no decision only adds noise (1-method §4, *pruning of non-distinguishing rules*).
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from auditor_client.errors import ModelRefused
from auditor_client.rule_words import rule_text
from auditor_client.text import first_fault
from shared.contract.rules import Predicate, Record, Rule
from shared.contract.schema import Column, Schema, Value
from shared.wire.problems import PlanRefused


@dataclass(frozen=True, slots=True)
class Leaf:
    """A decision, as the model names it, and whether people want it; the id is unique within the tree.

    `origin` is the model's own leaf, where the tree needs several to say it: they are counted together.
    """

    id: str
    decision: str
    favourable: bool
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """One way on from a split: people whom the predicates all match go to the child."""

    predicates: tuple[Predicate, ...]
    child: "Node"


@dataclass(frozen=True, slots=True)
class Split:
    """A test of one column; its branches exclude each other and cover every value that can arrive."""

    id: str
    branches: tuple[Branch, ...]
    origin: str | None = None


Node = Leaf | Split


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """A path of the tree: whom it applies to and what it decides."""

    rule: Rule
    leaf: Leaf

    @property
    def favourable(self) -> bool:
        """Whether the rule's decision is a favourable one."""
        return self.leaf.favourable

    def __str__(self) -> str:
        return f"{rule_text(self.rule)}: {self.leaf.decision}"


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree over a dataset's columns."""

    root: Node

    def rules(self) -> tuple[DecisionRule, ...]:
        """All paths, left to right: pairwise disjoint, and together they cover everybody."""
        return tuple(_paths(self.root, ()))

    def merged(self) -> "Tree":
        """The same decisions (favourable or not) with as few leaves as merging siblings gives."""
        return Tree(_merge(self.root))

    def decide(self, record: Record) -> Leaf:
        """The leaf that a person reaches."""
        node = self.root
        while isinstance(node, Split):
            node = next(
                branch.child
                for branch in node.branches
                if all(predicate.matches(record.get(predicate.column)) for predicate in branch.predicates)
            )
        return node

    def check(self, schema: Schema, decided: tuple[Predicate, ...] = ()) -> None:
        """Refuse a tree that is none over a dataset's columns: that fits the schema and decides about everybody once.

        Args:
            schema: The columns, derived ones included.
            decided: Predicates that hold of the people whom the tree decides about; nobody else arrives.

        Raises:
            ModelRefused: A predicate does not fit the schema; a split tests no or several columns; some
                declared value takes no branch of a split, or several; two leaves share an id; a path is
                longer than a rule may be.
        """
        try:
            ids = [decision.leaf.id for decision in self.rules()]
            _check(self.root, decided, _arriving(decided, schema), schema)
        except (ValidationError, PlanRefused) as error:
            why = first_fault(error)[1] if isinstance(error, ValidationError) else str(error)
            raise ModelRefused(f"The tree does not fit the dataset: {why}") from error
        if len(set(ids)) != len(ids):
            raise ModelRefused("Two leaves of the tree share an id: give each leaf its own.")


def _paths(node: Node, path: tuple[Predicate, ...]) -> Iterator[DecisionRule]:
    if isinstance(node, Leaf):
        yield DecisionRule(Rule(id=node.id, all_of=path), node)
    else:
        for branch in node.branches:
            yield from _paths(branch.child, (*path, *branch.predicates))


def _merge(node: Node) -> Node:
    if isinstance(node, Leaf):
        return node
    branches = tuple(Branch(branch.predicates, _merge(branch.child)) for branch in node.branches)
    children = [branch.child for branch in branches]
    first = children[0]
    if isinstance(first, Leaf) and all(
        isinstance(child, Leaf) and child.favourable == first.favourable for child in children
    ):
        decisions = dict.fromkeys(child.decision for child in children if isinstance(child, Leaf))
        return Leaf(node.id, " or ".join(decisions), first.favourable, node.origin)
    return Split(node.id, branches, node.origin)


def _check(node: Node, path: tuple[Predicate, ...], arriving: Mapping[str, list[Value | None]], schema: Schema) -> None:
    """Check the splits at and below a node, which the predicates of a path lead to.

    `arriving` has by column values that arrive; some of them represents every value that does, as far as the predicates
    above distinguish values. All that arrive, for a column that the path does not test.
    """
    if isinstance(node, Leaf):
        return
    predicates = [predicate for branch in node.branches for predicate in branch.predicates]
    for predicate in predicates:
        predicate.check(schema, f"split {node.id!r}")
    names = {predicate.column for predicate in predicates}
    if len(names) != 1:
        raise ModelRefused(f"Split {node.id!r} tests {len(names)} columns: test one in each split.")
    column = schema.by_name[names.pop()]
    above = [predicate for predicate in path if predicate.column == column.name]
    near = [value for value in _near(column, predicates) if _match(above, value)]
    values = list(dict.fromkeys((*arriving.get(column.name, _plain(column)), *near)))
    for value in values:
        taken = sum(_match(branch.predicates, value) for branch in node.branches)
        if taken != 1:
            text = "missing" if value is None else value
            raise ModelRefused(
                f"Split {node.id!r}: {column.name} = {text} takes {taken} of its branches, and must take one."
            )
    for branch in node.branches:
        onward = {**arriving, column.name: [value for value in values if _match(branch.predicates, value)]}
        _check(branch.child, (*path, *branch.predicates), onward, schema)


def _arriving(decided: tuple[Predicate, ...], schema: Schema) -> dict[str, list[Value | None]]:
    """The values that arrive at the root, of the columns that some predicates restrict."""
    for predicate in decided:
        predicate.check(schema, "the people whom the model decides about")
    names = dict.fromkeys(predicate.column for predicate in decided)
    by_column = {name: [predicate for predicate in decided if predicate.column == name] for name in names}
    return {
        name: [value for value in _plain(schema.by_name[name]) if _match(predicates, value)]
        for name, predicates in by_column.items()
    }


def _match(predicates: Iterable[Predicate], value: Value | None) -> bool:
    return all(predicate.matches(value) for predicate in predicates)


def examples(column: Column, predicates: list[Predicate]) -> list[Value | None]:
    """Values that stand for every admitted one of a column, as far as some predicates of it distinguish values."""
    return list(dict.fromkeys((*_plain(column), *_near(column, predicates))))


def _plain(column: Column) -> list[Value | None]:
    """All values of a category or boolean column, any one of an ordered column; and missing where it may be."""
    values: list[Value | None] = [min(max(0, column.low), column.high)] if column.ordered else list(column.values)
    return [*values, None] if column.nullable else values


def _near(column: Column, predicates: list[Predicate]) -> list[Value]:
    """Admitted values of an ordered column on both sides of every threshold."""
    near: list[float] = []
    for number in itertools.chain.from_iterable(test.operands for test in predicates) if column.ordered else ():
        if isinstance(number, int | float):
            if column.type == "integer":
                near += [math.ceil(number) - 1, math.ceil(number), math.floor(number), math.floor(number) + 1]
            else:
                near += [math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)]
    return [value for value in near if column.low <= value <= column.high and math.isfinite(value)]
