"""A PMML model with what is around it, and its fields as terms of a score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element  # the type; defusedxml parses

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest, Provenance
from auditor_client.models.readers.pmml.fields import Fields, PmmlField, same
from auditor_client.models.readers.tree_tables import made
from shared.contract.rules import Predicate, Rule
from shared.scores.documents import Axis, Product, RuleTerm, TableTerm, Term


@dataclass(frozen=True, slots=True)
class PmmlModel:
    """A model element with what is around it.

    Attributes:
        element: The model.
        fields: What it can name.
        target: The field that it predicts; "" if it names none.
        classes: The target's values in the DataDictionary's order.
        request: What is asked for.
        provenance: How it was read.
    """

    element: Element
    fields: Fields
    target: str
    classes: tuple[str, ...]
    request: ModelRequest
    provenance: Provenance

    @property
    def classifies(self) -> bool:
        """Whether it decides between classes."""
        return self.element.get("functionName") == "classification"

    @property
    def precision(self) -> Any:
        """The precision of its sums."""
        return "float32" if self.element.get("x-mathContext", "double") == "float" else "float64"


def number_term(source: PmmlField, weight: float) -> tuple[list[Term], float]:
    """A field's number times a weight, and what is constant of it."""
    column = source.column
    if source.cuts is not None:
        raise ModelRefused("A bin is no number.")
    if source.results is not None:
        if source.replacement is not None:
            raise ModelRefused("A replaced value behind a transformation is not read.")
        table = tuple(weight * float(source.results[value]) for value in column.values)
        return [made(TableTerm, axes=(Axis(column=column.name, values=column.values),), table=table)], 0.0
    if column.type == "category":
        raise ModelRefused(f"The model takes {column.name!r} for a number, and the dataset declares categories.")
    slope = weight * source.slope
    missing = None
    if source.replacement is not None and column.nullable:
        missing = slope * float(source.replacement)
    return [made(Product, columns=(column.name,), slope=slope, missing=missing)], weight * source.shift


def indicator(source: PmmlField, text: str, weight: float, *, of_missing: bool = False) -> Term:
    """A weight for those whose field has a value; with `of_missing`, 0 for those for whom it is missing."""
    column = source.column
    if source.cuts is not None:
        listed = [same(result, text) for _, _, result in source.cuts]
        ends = tuple(end for end, _, _ in source.cuts[:-1])
        if not all(closed for _, closed, _ in source.cuts[:-1]):
            ends = tuple(end if closed else math.nextafter(end, -math.inf) for end, closed, _ in source.cuts[:-1])
        table = tuple(weight * matches for matches in listed)
        return made(TableTerm, axes=(Axis(column=column.name, cuts=ends),), table=table)
    if column.ordered:
        rule = Rule(all_of=(Predicate(column=column.name, op="eq", value=float(text)),))
        if column.nullable:
            raise ModelRefused(f"The model compares {column.name!r}, which may be missing, with single numbers.")
        return made(RuleTerm, rule=rule, value=weight)
    values = column.values
    table = tuple(weight * source.answer(value, "eq", [text]) for value in values)
    if source.replacement is not None and column.nullable:
        replacements = [value for value in values if same(value, source.replacement)]
        filled = weight * any(source.answer(value, "eq", [text]) for value in replacements)
        axis = Axis(column=column.name, values=values, missing=True)
        return made(TableTerm, axes=(axis,), table=(*table, filled))
    if of_missing and column.nullable:
        return made(TableTerm, axes=(Axis(column=column.name, values=values, missing=True),), table=(*table, 0.0))
    return made(TableTerm, axes=(Axis(column=column.name, values=values),), table=table)


def product(sources: Sequence[PmmlField], weight: float) -> Term:
    plain = all(
        source.results is None and source.cuts is None and (source.slope, source.shift) == (1.0, 0.0)
        and source.replacement is None and source.column.type != "category"
        for source in sources
    )  # fmt: skip
    if not plain or len(sources) not in (1, 2):
        raise ModelRefused("Products are read of one or two numbers that are not derived, and powers up to 2.")
    return made(Product, columns=tuple(source.column.name for source in sources), slope=weight)
