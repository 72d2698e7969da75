"""What conjunctions of predicates admit: for each column a set of values, represented by values that stand for all."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema, Value

Box = dict[str, frozenset[int]]
"""By column, which of its representative values are admitted."""


@dataclass(frozen=True, slots=True)
class Space:
    """The columns that some predicates name, each with values that represent all that they distinguish."""

    values: Mapping[str, Sequence[Value | None]]

    @classmethod
    def of(cls, schema: Schema, conjunctions: Sequence[Sequence[Predicate]]) -> "Space":
        by_column: defaultdict[str, list[Predicate]] = defaultdict(list)
        for predicate in chain.from_iterable(conjunctions):
            by_column[predicate.column].append(predicate)
        return cls({name: representatives(schema.by_name[name], predicates) for name, predicates in by_column.items()})

    def box(self, predicates: Sequence[Predicate]) -> Box:
        """Return what a conjunction admits; a column that it does not name is not in it."""
        box: Box = {}
        for predicate in predicates:
            box[predicate.column] = self.admitted(predicate) & box.get(predicate.column, self.all(predicate.column))
        return box

    def admitted(self, predicate: Predicate) -> frozenset[int]:
        """Return what one predicate admits."""
        return frozenset(index for index, value in enumerate(self.values[predicate.column]) if predicate.matches(value))

    def all(self, column: str) -> frozenset[int]:
        """Every value of a column."""
        return frozenset(range(len(self.values[column])))

    def needed(self, predicates: Sequence[Predicate]) -> tuple[Predicate, ...]:
        """Predicates that admit the same, without those that others imply; of two that are equal the first goes."""
        needed = list(predicates)
        for predicate in predicates:
            remaining = [other for other in needed if other is not predicate]
            admitted = self.box([other for other in remaining if other.column == predicate.column])
            if admitted.get(predicate.column, self.all(predicate.column)) <= self.admitted(predicate):
                needed = remaining
        return tuple(needed)

    def reached(self, predicates: Sequence[Predicate]) -> bool:
        """Whether a conjunction admits anybody."""
        return all(self.box(predicates).values())


def representatives(column: Column, predicates: Sequence[Predicate]) -> list[Value | None]:
    """A value of every stretch that some predicates distinguish, and missing where it may be."""
    values: list[Value | None] = list(column.values)
    if column.ordered:
        operands = [operand for predicate in predicates for operand in predicate.operands]
        numbers = sorted({float(operand) for operand in operands if isinstance(operand, int | float)})
        near = [low for number in numbers for low in _around(column, number)]
        values = [*sorted({value for value in (*near, *_ends(column)) if column.low <= value <= column.high})]
    return [*values, None] if column.nullable else values


def _around(column: Column, number: float) -> tuple[float, ...]:
    if column.type == "integer":
        return (math.ceil(number) - 1, math.ceil(number), math.floor(number), math.floor(number) + 1)
    return (math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf))


def _ends(column: Column) -> tuple[float, ...]:
    return tuple(end for end in (column.low, column.high) if math.isfinite(end)) or (0.0,)
