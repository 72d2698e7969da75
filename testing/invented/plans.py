"""Invented schemas, rules and records for Hypothesis, dense where comparisons go wrong: on and next to thresholds."""

import itertools
import math
import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from hypothesis import strategies as st

from holder_service.domain.admitted import Partition
from shared.contract.rules import Cell, Operator, Predicate, Record, Rule
from shared.contract.schema import Column, Schema, Value
from shared.wire.limits import INTEGER_MAX

THRESHOLDS: tuple[int | float, ...] = (
    -sys.float_info.max, -INTEGER_MAX, -3, -0.5, -5e-324, 0, 5e-324, 0.1, 0.1 + 0.2, 0.5, 1, 1.5, 2, 2.5, 3, 7,
    INTEGER_MAX - 0.5, INTEGER_MAX, 2.0**60, sys.float_info.max,
)  # fmt: skip
BOUNDS = (-3, 0, 1, 2, 7)
CATEGORIES = ("é", "a b", "b", ",", 'q"q', "zz")


@st.composite
def schemas(draw: st.DrawFn, *, features: int = 3) -> Schema:
    """Some features of any type, and one or two sensitive columns, of values or of bands."""
    columns = [_column(draw, f"x{index}") for index in range(draw(st.integers(1, features)))]
    sensitive = [_sensitive(draw, f"s{index}") for index in range(draw(st.integers(1, 2)))]
    return Schema(person_key="person", columns=(*columns, *sensitive))


def _column(draw: st.DrawFn, name: str) -> Column:
    if draw(st.booleans()):
        return _listed(draw, name, sensitive=False)
    kind: Literal["integer", "number"] = draw(st.sampled_from(("integer", "number")))
    low, high = sorted(draw(st.tuples(st.sampled_from(BOUNDS), st.sampled_from(BOUNDS))))
    minimum, maximum = (bound if draw(st.booleans()) else None for bound in (low, high))
    return Column(name=name, type=kind, minimum=minimum, maximum=maximum, nullable=draw(st.booleans()))


def _sensitive(draw: st.DrawFn, name: str) -> Column:
    ordered = _column(draw, name)
    low, high = max(ordered.low, -sys.float_info.max), ordered.high
    starts = [start for start in THRESHOLDS if low < start <= high and abs(start) <= INTEGER_MAX]
    if ordered.type == "integer":
        starts = sorted({math.floor(start) for start in starts if low < math.floor(start)})
    if not ordered.ordered or not starts:
        return _listed(draw, name, sensitive=True)
    chosen = draw(st.lists(st.sampled_from(starts), min_size=1, max_size=4, unique=True))
    return Column.model_validate({**ordered.model_dump(), "sensitive": True, "bands_from": sorted(chosen)})


def _listed(draw: st.DrawFn, name: str, *, sensitive: bool) -> Column:
    nullable = draw(st.booleans())
    if draw(st.booleans()):
        return Column(name=name, type="boolean", nullable=nullable, sensitive=sensitive)
    categories = draw(st.permutations(CATEGORIES))[: draw(st.integers(1, len(CATEGORIES)))]
    return Column(name=name, type="category", categories=tuple(categories), nullable=nullable, sensitive=sensitive)


@st.composite
def predicates(draw: st.DrawFn, column: Column) -> Predicate:
    """Any predicate that fits a column."""
    if column.nullable and draw(st.integers(0, 5)) == 0:
        return Predicate(column=column.name, op=draw(st.sampled_from(("is_missing", "not_missing"))))
    or_missing = column.nullable and draw(st.booleans())
    if column.type == "boolean":
        return Predicate(column=column.name, op="eq", value=draw(st.booleans()), or_missing=or_missing)
    if column.type == "category":
        values = draw(st.lists(st.sampled_from(column.categories or ()), min_size=1, unique=True))
        op: Operator = draw(st.sampled_from(("in", "not_in")))
        return Predicate(column=column.name, op=op, values=tuple(values), or_missing=or_missing)
    if column.type == "integer" and draw(st.integers(0, 3)) == 0:
        numbers = draw(st.lists(st.sampled_from(THRESHOLDS), min_size=1, max_size=6))
        op = draw(st.sampled_from(("in", "not_in")))
        return Predicate.model_validate(
            {
                "column": column.name,
                "op": op,
                "values": [_whole(number) for number in numbers],
                "or_missing": or_missing,
            }
        )
    op = draw(st.sampled_from(("lt", "le", "gt", "ge", "eq", "ne")))
    value = draw(st.sampled_from(THRESHOLDS))
    if column.type == "integer" and op in ("eq", "ne"):
        value = _whole(value)
    return Predicate(column=column.name, op=op, value=value, or_missing=or_missing)


def _whole(number: float) -> int | float:
    """A whole number near a threshold: an int where it may be one."""
    return math.floor(number) if abs(number) <= INTEGER_MAX else float(number)


@st.composite
def rules(draw: st.DrawFn, schema: Schema, *, predicates_max: int = 4) -> Rule:
    """A conjunction, of several predicates on one column too; it may contradict itself."""
    features = [column for column in schema.columns if schema.sensitive_in_rules or not column.sensitive]
    chosen = draw(st.lists(st.sampled_from(features), max_size=predicates_max))
    return Rule(all_of=tuple(draw(predicates(column)) for column in chosen))


_ELSE: dict[Operator, Operator] = {
    "lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq", "in": "not_in", "not_in": "in",
    "is_missing": "not_missing", "not_missing": "is_missing",
}  # fmt: skip


def _otherwise(predicate: Predicate, column: Column) -> Predicate:
    """What holds for everybody for whom a predicate does not."""
    if predicate.op in ("is_missing", "not_missing"):
        return predicate.model_copy(update={"op": _ELSE[predicate.op]})
    or_missing = column.nullable and not predicate.or_missing
    if column.type == "boolean":
        return predicate.model_copy(update={"value": not predicate.value, "or_missing": or_missing})
    return predicate.model_copy(update={"op": _ELSE[predicate.op], "or_missing": or_missing})


@st.composite
def trees(draw: st.DrawFn, schema: Schema, *, splits_max: int = 12) -> list[Rule]:
    """The rules of a tree, whatever it tests: everybody matches one of them. Their order says nothing."""
    features = [column for column in schema.columns if schema.sensitive_in_rules or not column.sensitive]
    paths: list[tuple[Predicate, ...]] = [()]
    for _ in range(draw(st.integers(0, splits_max))):
        path = paths.pop(draw(st.integers(0, len(paths) - 1)))
        column = draw(st.sampled_from(features))
        predicate = draw(predicates(column))
        paths += [(*path, predicate), (*path, _otherwise(predicate, column))]
    return [Rule(all_of=path) for path in draw(st.permutations(paths))]


@st.composite
def cells(draw: st.DrawFn, schema: Schema, *, cells_max: int = 6) -> list[Cell]:
    """Unions of rules that may overlap, within a cell and between cells."""
    unions = draw(st.lists(st.lists(rules(schema), min_size=1, max_size=3), min_size=1, max_size=cells_max))
    return [Cell(id=f"cell-{index}", any_of=tuple(union)) for index, union in enumerate(unions)]


def records(schema: Schema) -> st.SearchStrategy[dict[str, Value | None]]:
    """A person whose values lie on the thresholds, next to them, and on the ends of the domains."""
    return st.fixed_dictionaries(
        {column.name: st.sampled_from(distinguishing_values(column)) for column in schema.columns}
    )


def distinguishing_values(column: Column, thresholds: Iterable[float] = THRESHOLDS) -> list[Value | None]:
    """Values of a column among which every set that predicates with these thresholds can admit has one, if any."""
    missing: list[Value | None] = [None] if column.nullable else []
    if not column.ordered:
        return [*column.values, *missing]
    low, high = max(column.low, -sys.float_info.max), min(column.high, sys.float_info.max)
    if column.type == "integer":
        near = {math.floor(t) + step for t in thresholds for step in (-1, 0, 1, 2)}
        inside: Iterable[Any] = {int(v) for v in (*near, low, high) if low <= v <= high}
    else:
        steps = (lambda t: math.nextafter(t, -math.inf), float, lambda t: math.nextafter(t, math.inf))
        near_doubles = {step(t) for t in thresholds for step in steps} | {-0.0}
        inside = {v for v in (*near_doubles, float(low), float(high)) if low <= v <= high}
    return [*sorted(inside), *missing]


def atom(partition: Partition, value: Value | None) -> int:
    """The atom that a value lies in, by the definition."""
    if partition.column.ordered:
        return bisect_left(partition.cuts, math.inf if value is None else value)
    return len(partition.column.values) if value is None else partition.column.values.index(value)


def overlap(one: Rule, other: Rule, schema: Schema) -> Record | None:
    """A record that both rules match, by trying; `None` if there is none."""
    record = {}
    for column in schema.columns:
        asked = [p for p in (*one.all_of, *other.all_of) if p.column == column.name]
        matched = (value for value in distinguishing_values(column) if all(p.matches(value) for p in asked))
        try:
            record[column.name] = next(matched)
        except StopIteration:
            return None
    return record


def first_fit(cells: Sequence[Cell], schema: Schema) -> tuple[tuple[int, ...], ...]:
    """The classes by the definition, pair by pair and record by record."""
    classes: list[list[int]] = []
    for index, cell in enumerate(cells):
        for members in classes:
            pairs = itertools.chain.from_iterable(
                itertools.product(cell.any_of, cells[member].any_of) for member in members
            )
            if all(overlap(one, other, schema) is None for one, other in pairs):
                members.append(index)
                break
        else:
            classes.append([index])
    return tuple(tuple(members) for members in classes)
