"""Whose decision stays within a small distance: individual fairness of a tree, as a tree (5-decisions §4).

The distance is the largest over the columns, each in units of a public scale (l∞). A rule admits a box: a set of
values for each column. A person of box A is within reach of box B exactly if the person lies in B grown by the reach
of each column, and a grown box is a box again. So every leaf is split along the grown boxes of the other decision,
until each part is inside or outside: a tree again, which says of everybody whether the decision is *stable*. It is
asked about like any other tree.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from auditor_client.errors import QuestionRefused
from auditor_client.models.boxes import Box, Space, representatives
from auditor_client.models.tree import Branch, Leaf, Node, Split, Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Schema
from shared.wire import limits

STABLE: Final = "stable"
UNSTABLE: Final = "changes within reach"
_OPPOSITE: Final = {
    "lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq", "in": "not_in", "not_in": "in",
    "is_missing": "not_missing", "not_missing": "is_missing",
}  # fmt: skip
_MOVED: Final = {"lt": 1, "le": 1, "gt": -1, "ge": -1}


def stability_tree(tree: Tree, schema: Schema, reach: Mapping[str, float], free: Collection[str] = ()) -> Tree:
    """The tree that says of everybody whether the decision stays the same for every point within reach.

    Args:
        tree: Over the schema's columns.
        schema: The columns that it names.
        reach: How far each ordered column may change, in its own unit; others stay as they are.
        free: Columns that may take any value; missing values stay missing in all others.

    Returns:
        Its favourable leaves are those of stable decisions.

    Raises:
        QuestionRefused: A column is unknown or cannot be moved, a rule compares a moved column with single values, or
            the tree gets more leaves than a plan holds rules.
    """
    _check(schema, reach, free)
    rules = tree.rules()
    grown = {id(rule.leaf): list(_grown(rule.rule.all_of, schema, reach, free)) for rule in rules}
    space = Space.of(schema, [*(rule.rule.all_of for rule in rules), *grown.values()])
    boxes = {id(rule.leaf): space.box(grown[id(rule.leaf)]) for rule in rules if space.reached(rule.rule.all_of)}
    budget = itertools.count()

    def refined(node: Node, path: tuple[Predicate, ...]) -> Node:
        if isinstance(node, Split):
            children = (Branch(way.predicates, refined(way.child, (*path, *way.predicates))) for way in node.branches)
            return Split(node.id, tuple(children), node.origin)
        near = [
            (boxes[id(rule.leaf)], grown[id(rule.leaf)])
            for rule in rules
            if rule.favourable != node.favourable and id(rule.leaf) in boxes
        ]
        return _parts(space, space.box(path), near, node.id, budget)

    return Tree(refined(tree.root, ())).merged()


def _parts(
    space: Space,
    box: Box,
    near: Sequence[tuple[Box, Sequence[Predicate]]],
    name: str,
    budget: Iterator[int],
) -> Node:
    """Split a box along the grown boxes that it meets, until each part is in one or in none of them."""
    touching = [
        (other, predicates)
        for other, predicates in near
        if all(box.get(column, space.all(column)) & admitted for column, admitted in other.items())
    ]
    inside = any(
        all(box.get(column, space.all(column)) <= admitted for column, admitted in other.items())
        for other, _ in touching
    )
    number = next(budget)
    identity = f"{name}.{number}"
    if inside or not touching:
        if number >= 2 * limits.RULES_PER_PLAN_MAX:
            raise QuestionRefused(
                f"The tree falls into more than {limits.RULES_PER_PLAN_MAX} parts: prune it (max_leaf_nodes), or give "
                "fewer columns a distance."
            )
        return Leaf(identity, UNSTABLE if inside else STABLE, favourable=not inside)
    _, predicates = touching[0]
    cut = next(
        predicate
        for predicate in predicates
        if not box.get(predicate.column, space.all(predicate.column)) <= space.admitted(predicate)
    )
    against = _opposite(cut, nullable=None in space.values[cut.column])
    branches = []
    for test in (cut, against):
        admitted = box.get(cut.column, space.all(cut.column)) & space.admitted(test)
        child = _parts(space, {**box, cut.column: admitted}, touching, name, budget)
        branches.append(Branch((test,), child))
    return Split(identity, tuple(branches))


def _check(schema: Schema, reach: Mapping[str, float], free: Collection[str]) -> None:
    for name in (*reach, *free):
        column = schema.by_name.get(name)
        if column is None or not schema.may_be_named(name):
            raise QuestionRefused(f"Column {name!r} cannot be named in rules. Leave it out.")
        if name in reach and not column.ordered:
            raise QuestionRefused(f"Column {name!r} does not have distances: it stays as it is, or is free.")
        if name in reach and not 0 < reach[name] < math.inf:
            raise QuestionRefused(f"Column {name!r}: a distance is a finite number above 0.")
        if name in reach and name in free:
            raise QuestionRefused(f"Column {name!r} is free, so it cannot have a distance. Leave out one of the two.")


def _grown(
    predicates: Sequence[Predicate], schema: Schema, reach: Mapping[str, float], free: Collection[str]
) -> Iterator[Predicate]:
    remaining = [predicate for predicate in predicates if predicate.column not in free]
    for name in dict.fromkeys(predicate.column for predicate in remaining):
        of_column, column = [test for test in remaining if test.column == name], schema.by_name[name]
        admitted = [
            value for value in representatives(column, of_column) if all(test.matches(value) for test in of_column)
        ]
        if name in reach and admitted == [None]:  # only missing values, which stay what they are
            yield Predicate(column=name, op="is_missing")
            continue
        for predicate in of_column:
            yield from _grown_predicate(predicate, reach.get(name))


def _grown_predicate(predicate: Predicate, distance: float | None) -> Iterator[Predicate]:
    if distance is None or predicate.op in ("is_missing", "not_missing"):
        yield predicate
        return
    steps = (("ge", -1), ("le", 1)) if predicate.op == "eq" else ((predicate.op, _MOVED.get(predicate.op, 0)),)
    if not isinstance(predicate.value, int | float) or not all(step for _, step in steps):
        raise QuestionRefused(
            f"A rule compares column {predicate.column!r} with single values, which do not have a distance. Leave "
            "its distance out; the column then stays as it is."
        )
    for op, step in steps:
        value = float(predicate.value) + step * distance
        yield Predicate.model_validate({**predicate.model_dump(), "op": op, "value": value})


def _opposite(predicate: Predicate, *, nullable: bool) -> Predicate:
    """The predicate that matches whom another does not, missing values included."""
    missing = nullable and not predicate.or_missing and predicate.op not in ("is_missing", "not_missing")
    return Predicate.model_validate({**predicate.model_dump(), "op": _OPPOSITE[predicate.op], "or_missing": missing})
