"""Strata: the values of a column within each of which groups are compared too (conditional parity, 3-estimation §1).

Every cell is asked in each stratum by itself. Strata have nobody in common, so that all of them are one batch at the
whole ε (parallel composition, 2-privacy §3), and each is the question that a scope of it alone would be.
"""

import itertools
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.errors import QuestionRefused
from auditor_client.models.boxes import Space
from auditor_client.text import no_such
from shared.contract.bands import band_words, check_bands, plain_starts
from shared.contract.rules import Predicate, Rule, require_nameable
from shared.contract.schema import Column, Schema
from shared.wire.problems import PlanRefused

STRATA_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Stratum:
    """People of one value of a column.

    Attributes:
        column: Its name.
        value: The value, or the name of a band; None where it is missing.
        all_of: Who they are.
    """

    column: str
    value: str | bool | None
    all_of: tuple[Predicate, ...]

    @property
    def scope(self) -> str:
        """The same as a condition of a request (`where`)."""
        return Rule(all_of=self.all_of).model_dump_json(exclude_none=True)


def strata(by: str, schema: Schema, scope: Sequence[Predicate]) -> tuple[Stratum, ...]:
    """The strata of a column, in its declared order, the missing last.

    Args:
        by: The column's name, such as region; of a column of numbers with where its bands begin, such as age=25,45.
        schema: The columns that rules may name.
        scope: What restricts all cells: a value or a band of which it leaves nobody is no stratum.

    Raises:
        QuestionRefused: There is no such column, it may not be named or has no such bands, or it makes fewer than two
            strata or too many.
    """
    column, starts = _column(by, schema)
    try:
        require_nameable(column.name, schema, "by")
    except PlanRefused as error:
        raise QuestionRefused(f"`by`: {error}") from error
    values = tuple(_of_values(column) if starts is None else _of_bands(column, starts))
    left = [predicate for predicate in scope if predicate.column == column.name]
    space = Space.of(schema, [left, *(stratum.all_of for stratum in values)])
    found = [stratum for stratum in values if space.reached((*left, *stratum.all_of))]
    if not 2 <= len(found) <= STRATA_MAX:
        raise QuestionRefused(
            f"Column {column.name!r} makes {len(found)} strata within the scope: name one (`by`) that makes from 2 to "
            f"{STRATA_MAX}."
        )
    return tuple(found)


def column_and_bands(by: str, names: Container[str]) -> tuple[str, str]:
    """The column that `by` names, and where its bands are said to begin; `names` are those of all columns."""
    name, _, bands = by.rpartition("=")
    return (by, "") if by in names or not name else (name.strip(), bands)


def _column(by: str, schema: Schema) -> tuple[Column, tuple[float, ...] | None]:
    """The column that is named, and where its bands begin; None of a column that has values."""
    name, given = column_and_bands(by, schema.by_name)
    column = schema.by_name.get(name)
    if column is None:
        raise QuestionRefused(f"`by`: {no_such('column', name, schema.by_name)}")
    if not column.ordered:
        if given:
            raise QuestionRefused(
                f"Column {column.name!r} has values instead of numbers, so bands do not apply. "
                f"Write `by` {column.name} alone."
            )
        return column, None
    try:
        starts = tuple(map(float, given.split(","))) if given else tuple(column.bands_from or ())
        check_bands(starts, integers=column.type == "integer", low=column.low, high=column.high)
    except ValueError as error:
        raise QuestionRefused(f"`by` {by!r}: {error}") from error
    if not starts:
        raise QuestionRefused(
            f"Column {column.name!r} has numbers. State where its bands begin, such as {column.name}=25,45."
        )
    return column, plain_starts(starts)


def _of_values(column: Column) -> Iterator[Stratum]:
    for value in column.values:
        yield Stratum(column.name, value, (Predicate(column=column.name, op="eq", value=value),))
    yield from _missing(column)


def _of_bands(column: Column, starts: tuple[float, ...]) -> Iterator[Stratum]:
    names = band_words(starts, integers=column.type == "integer")
    for name, (start, behind) in zip(names, itertools.pairwise((None, *starts, None)), strict=True):
        ends = (("ge", start), ("lt", behind))
        all_of = tuple(
            Predicate.model_validate({"column": column.name, "op": op, "value": end})
            for op, end in ends
            if end is not None
        )
        yield Stratum(column.name, name, all_of)
    yield from _missing(column)


def _missing(column: Column) -> Iterator[Stratum]:
    if column.nullable:
        yield Stratum(column.name, None, (Predicate(column=column.name, op="is_missing"),))
