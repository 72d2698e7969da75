"""Whose decision changes within a small distance: individual fairness of a tree, as rules (5-decisions §4).

The distance is the largest over the columns, each in units of a public scale (l∞). A rule admits a box: a set of
values for each column. A person of box A is within reach of box B exactly if the person lies in B grown by the reach
of each column, and a grown box is a box again. So the people of one decision who are within reach of the other are a
union of boxes, and the holder counts it like any other cell.
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from auditor_client.errors import QuestionRefused
from auditor_client.models.tree import DecisionRule
from shared import limits
from shared.rules import Predicate, Rule
from shared.schema import Schema

_CENTRED: Final = {"eq": (("ge", -1), ("le", 1))}
_MOVED: Final = {"lt": 1, "le": 1, "gt": -1, "ge": -1}


def unstable_rules(
    rules: Sequence[DecisionRule], schema: Schema, reach: Mapping[str, float], free: Collection[str] = ()
) -> dict[bool, tuple[Rule, ...]]:
    """The people of either decision who are within reach of the other.

    Args:
        rules: All rules of a tree: disjoint, and together they cover everybody.
        schema: The columns that they name.
        reach: How far each ordered column may change, in its own unit; others stay as they are.
        free: Columns that may take any value; missing values stay missing in all others.

    Returns:
        By whether the decision is favourable: rules that overlap, and together match those people and nobody else.

    Raises:
        QuestionRefused: A column is unknown or cannot be moved, a rule compares a moved column with single values
            only, or the rules are more than a plan holds.
    """
    _check(schema, reach, free)
    grown = {id(rule): _grown(rule.rule, reach, free) for rule in rules}
    found: dict[bool, tuple[Rule, ...]] = {}
    for decision in (True, False):
        own, other = ([rule for rule in rules if rule.favourable == wanted] for wanted in (decision, not decision))
        pairs = itertools.product(own, other)
        found[decision] = tuple(
            Rule(id=f"{near.leaf.id} near {far.leaf.id}", all_of=(*near.rule.all_of, *grown[id(far)]))
            for near, far in pairs
            if not _apart([*near.rule.all_of, *grown[id(far)]])
        )
    if sum(map(len, found.values())) > limits.RULES_PER_PLAN_MAX:
        raise QuestionRefused(
            f"There are {sum(map(len, found.values()))} pairs of rules within reach of each other, and a plan holds "
            f"{limits.RULES_PER_PLAN_MAX}: prune the tree (max_leaf_nodes)."
        )
    return found


def _check(schema: Schema, reach: Mapping[str, float], free: Collection[str]) -> None:
    for name in (*reach, *free):
        column = schema.by_name.get(name)
        if column is None or column.sensitive:
            raise QuestionRefused(f"Column {name!r} is none that rules can name: leave it out.")
        if name in reach and not column.ordered:
            raise QuestionRefused(f"Column {name!r} has no distances: it stays as it is, or is free.")
        if name in reach and not 0 < reach[name] < float("inf"):
            raise QuestionRefused(f"Column {name!r}: a distance is a finite number above 0.")
        if name in reach and name in free:
            raise QuestionRefused(f"Column {name!r} is free, so it has no distance.")


def _grown(rule: Rule, reach: Mapping[str, float], free: Collection[str]) -> tuple[Predicate, ...]:
    return tuple(
        grown
        for predicate in rule.all_of
        if predicate.column not in free
        for grown in _grown_predicate(predicate, reach.get(predicate.column))
    )


def _grown_predicate(predicate: Predicate, distance: float | None) -> Iterator[Predicate]:
    if distance is None or predicate.op in ("is_missing", "not_missing"):
        yield predicate
        return
    steps = _CENTRED.get(predicate.op, ((predicate.op, _MOVED.get(predicate.op, 0)),))
    if not isinstance(predicate.value, int | float) or not all(step for _, step in steps):
        raise QuestionRefused(
            f"A rule compares column {predicate.column!r} with single values, which have no reach: leave its distance "
            "out, and the column stays as it is."
        )
    for op, step in steps:
        yield Predicate.model_validate(
            {**predicate.model_dump(), "op": op, "value": float(predicate.value) + step * distance}
        )


def _apart(predicates: Sequence[Predicate]) -> bool:
    """Whether predicates obviously contradict each other: ordered ends that leave nothing, or lists in common."""
    for _, group in itertools.groupby(sorted(predicates, key=lambda one: one.column), key=lambda one: one.column):
        of_column = list(group)
        if any(one.or_missing or one.op in ("is_missing", "not_missing") for one in of_column):
            continue
        above = [float(one.value) for one in of_column if one.op in ("gt", "ge") and isinstance(one.value, int | float)]
        below = [float(one.value) for one in of_column if one.op in ("lt", "le") and isinstance(one.value, int | float)]
        if above and below and max(above) > min(below):
            return True
        listed = [set(one.operands) for one in of_column if one.op in ("eq", "in")]
        if listed and not set.intersection(*listed):
            return True
    return False
