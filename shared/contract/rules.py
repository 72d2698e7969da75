"""Predicates, rules and cells, and the slow, obvious evaluator that says what they mean (4-interface, *Rules*).

A *predicate* is one comparison, a *rule* a conjunction of them (`all_of`), a *cell* a union of rules
that are counted together (`any_of`): nobody is counted twice. `matches` is the referee: the holder's
count and the disjointness proof must agree with it on every record.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from shared.contract.schema import Column, Schema, Value
from shared.wire import limits
from shared.wire.problems import InvalidPlan, SensitiveColumn, UnknownColumn
from shared.wire.request_model import RequestModel, refuse_many_fields
from shared.wire.text import Text, normalise

Operator = Literal["lt", "le", "gt", "ge", "eq", "ne", "in", "not_in", "is_missing", "not_missing"]
Record = Mapping[str, Value | None]
"""One person's values by column name; `None` or NaN is missing."""

ORDERS = frozenset({"lt", "le", "gt", "ge"})
_LISTED: Final = frozenset({"in", "not_in"})
MISSING_TESTS = frozenset({"is_missing", "not_missing"})
_OPERATORS_BY_TYPE: Mapping[str, frozenset[str]] = {
    "boolean": frozenset({"eq"}),
    "category": frozenset({"eq", "ne", "in", "not_in"}),
    "integer": ORDERS | {"eq", "ne", "in", "not_in"},
    "number": ORDERS | {"eq", "ne"},
}


Listed = Annotated[Text | StrictInt | StrictFloat, Field(union_mode="left_to_right")]
"""One of the categories or whole numbers that `in` and `not_in` list."""


def is_missing(value: Value | None) -> bool:
    """Whether a record's value is missing: absent, or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


class Predicate(RequestModel):
    """One comparison of a column with a value; a comparison never matches a missing value unless `or_missing`.

    The constructor brings equal meanings to one form: texts to NFC, numbers to their value (37.0 is
    37, −0.0 is 0), `values` sorted and unique, `in` with one value to `eq`, `not_in` with one to `ne`.
    """

    column: Text
    """The name of a declared column, or of a derived one that the plan lists."""
    op: Operator
    """How the column is compared: less than (`lt`), at most (`le`), more than, at least, equal, and so on."""
    value: StrictBool | StrictInt | StrictFloat | StrictStr | None = None
    """What the column is compared with; not for `in`, `not_in` and the tests for missing."""
    values: tuple[Listed, ...] | None = Field(default=None, max_length=limits.VALUES_PER_PREDICATE_MAX, fail_fast=True)
    """The list of `in` and `not_in`: categories or whole numbers."""
    or_missing: StrictBool = False
    """Whether a missing value matches too."""

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, data: Any) -> Any:
        """Refuse many fields; rewrite `in` and `not_in` with a single distinct value before the fields are read."""
        if not isinstance(data, dict):
            return data
        refuse_many_fields(data)
        if data.get("op") in ("in", "not_in"):  # it may be of any type yet
            values = data.get("values")
            if isinstance(values, list | tuple) and values and _all_readable(values):
                distinct = {normalise(value) if isinstance(value, str) else value for value in values}
                if len(distinct) == 1 and data.get("value") is None:
                    rest = {key: value for key, value in data.items() if key != "values"}
                    return {**rest, "op": "eq" if data["op"] == "in" else "ne", "value": distinct.pop()}
        return data

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        value, op = self.value, self.op
        if type(value) is float and op in ORDERS and self.values is None and value % 1 > 0:
            return self  # most of them, thousands of times in a plan
        if op in _LISTED:
            if value is not None or not self.values:
                raise ValueError(
                    f'"{op}" takes "values", a list of at least one category or whole number, and no "value".'
                )
            object.__setattr__(self, "values", _canonical_list(self.values))
        elif op in MISSING_TESTS:
            if value is not None or self.values is not None or self.or_missing:
                raise ValueError(f'"{op}" takes neither "value" nor "values" nor "or_missing".')
        elif value is None or self.values is not None:
            raise ValueError(f'"{op}" takes one "value" and no "values".')
        elif not isinstance(value, bool) and (canonical := _canonical_value(value)) is not value:
            object.__setattr__(self, "value", canonical)
        return self

    @property
    def operands(self) -> tuple[Value, ...]:
        """The values that the column is compared with: one value, those of a list, or none in a test for missing."""
        if self.values is not None:
            return self.values
        return () if self.value is None else (self.value,)

    def matches(self, value: Value | None) -> bool:
        """Whether a record's value of this predicate's column satisfies it: the reference semantics.

        Integers and doubles compare exactly, as Python compares them.
        """
        if self.op == "is_missing":
            return is_missing(value)
        if self.op == "not_missing":
            return not is_missing(value)
        if is_missing(value):
            return self.or_missing
        if self.values is not None:
            return (value in self.values) == (self.op == "in")
        if self.op in ("eq", "ne"):
            return (value == self.value) == (self.op == "eq")
        number, threshold = _number(value), _number(self.value)
        if self.op == "lt":
            return number < threshold
        if self.op == "le":
            return number <= threshold
        if self.op == "gt":
            return number > threshold
        return number >= threshold

    def check(self, schema: Schema, path: str) -> None:
        """Refuse a predicate that does not fit a schema.

        Args:
            schema: The dataset's declared columns.
            path: Where the predicate is in the plan, for the error: "batches[0].cells[2]".

        Raises:
            UnknownColumn, SensitiveColumn, InvalidPlan: with a text that says what would fit.
        """
        column = schema.by_name.get(self.column)
        if column is None:
            raise UnknownColumn(column=self.column, path=path)
        require_nameable(self.column, schema, path)
        if self.op in MISSING_TESTS or self.or_missing:
            if not column.nullable:
                raise InvalidPlan(f"Column {column.name!r} is never missing: leave the test for missing out.", path)
            if self.op in MISSING_TESTS:
                return
        if self.op not in _OPERATORS_BY_TYPE[column.type]:
            allowed = ", ".join(sorted(_OPERATORS_BY_TYPE[column.type]))
            raise InvalidPlan(f"Column {column.name!r} is of type {column.type}: use one of {allowed}.", path)
        self._check_values(column, path)

    def _check_values(self, column: Column, path: str) -> None:
        for value in self.operands:
            if column.type == "category":
                if value not in column.category_indices:
                    raise InvalidPlan(f"{value!r} is not a declared category of column {column.name!r}.", path)
            elif column.type == "boolean":
                if not isinstance(value, bool):
                    raise InvalidPlan(f"Column {column.name!r} is boolean: compare it with true or false.", path)
            elif isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidPlan(f"Column {column.name!r} is of type {column.type}: compare it with a number.", path)
            elif column.type == "integer" and self.op not in ORDERS and value != int(value):
                raise InvalidPlan(f"Column {column.name!r} is an integer: {self.op} takes whole numbers.", path)

    def __str__(self) -> str:
        if self.op in MISSING_TESTS:
            return f"{self.column} {self.op.replace('_', ' ')}"
        sign = {"lt": "<", "le": "≤", "gt": ">", "ge": "≥", "eq": "=", "ne": "≠", "in": "in", "not_in": "not in"}
        shown = "{" + ", ".join(map(str, self.values)) + "}" if self.values is not None else str(self.value)
        return f"{self.column} {sign[self.op]} {shown}{' or missing' if self.or_missing else ''}"


def require_nameable(name: str, schema: Schema, path: str) -> None:
    """Refuse a declared or derived column that nothing may be compared with.

    Raises:
        SensitiveColumn: It is sensitive, or follows from a sensitive column, and the declaration does not allow that;
            or it was perturbed at its source, so that what is compared are reports.
    """
    if not schema.may_be_named(name):
        perturbed = schema.by_name[name].randomised_response is not None
        raise SensitiveColumn(column=name, path=path, perturbed=perturbed)


def _unless_read(all_of: Any, read: ValidatorFunctionWrapHandler) -> tuple[Predicate, ...]:
    """Skip predicates that `shared.contract.repeated_predicates` has read: validating them twice took most time."""
    is_read = type(all_of) is tuple and len(all_of) <= limits.PREDICATES_PER_RULE_MAX and {*map(type, all_of)} == _READ
    predicates: tuple[Predicate, ...] = all_of if is_read else read(all_of)
    return predicates


_READ: Final = {Predicate}


class Rule(RequestModel):
    """A conjunction of predicates, as a path of a tree is; without predicates it applies to everybody."""

    id: Text | None = None
    """Your name for it."""
    all_of: Annotated[
        tuple[Predicate, ...],
        Field(max_length=limits.PREDICATES_PER_RULE_MAX, fail_fast=True),
        WrapValidator(_unless_read),
    ]
    """The comparisons, all of which have to match; none at all match everybody."""

    def matches(self, record: Record) -> bool:
        """Whether the rule applies to a person: the reference evaluator, slow and obvious."""
        return all(predicate.matches(record.get(predicate.column)) for predicate in self.all_of)

    def __str__(self) -> str:
        return " and ".join(map(str, self.all_of)) or "everybody"


class Cell(RequestModel):
    """A union of rules that gets one histogram. A cell written as a rule is the union of that one."""

    id: Text
    """Your name for it: the answer names it so. No two cells of a batch share one."""
    any_of: tuple[Rule, ...] = Field(min_length=1, max_length=limits.RULES_PER_PLAN_MAX, fail_fast=True)
    """The rules: a person is counted once, whichever of them match."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of both forms."""
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        rule = handler.resolve_ref_schema(schema["properties"]["any_of"]["items"])
        described = {"description": "In place of `any_of`: the comparisons of the cell's only rule."}
        schema["properties"]["all_of"] = rule["properties"]["all_of"] | described
        # The id and one of both, said by their number: generators of clients drop a type that is an alternative.
        schema |= {"required": ["id"], "minProperties": 2, "maxProperties": 2}
        return reference

    @model_validator(mode="before")
    @classmethod
    def _rule_is_a_cell(cls, data: Any) -> Any:
        if isinstance(data, dict) and "all_of" in data and "any_of" not in data:
            rest = {key: value for key, value in data.items() if key != "all_of"}
            return {**rest, "any_of": [{"id": data.get("id"), "all_of": data["all_of"]}]}
        return data

    @property
    def texts(self) -> tuple[str, ...]:
        """Its rules as people read them."""
        return tuple(map(str, self.any_of))

    def matches(self, record: Record) -> bool:
        """Whether the cell counts a person."""
        return any(rule.matches(record) for rule in self.any_of)


def _all_readable(values: Sequence[object]) -> bool:
    """Whether `values` may be read at all: what comes from outside is bounded before any work is done on it."""
    return len(values) <= limits.VALUES_PER_PREDICATE_MAX and all(
        len(value) <= limits.TEXT_CHARACTERS_MAX
        if isinstance(value, str)
        else isinstance(value, int | float) and not isinstance(value, bool)
        for value in values
    )


def _canonical_list(values: Sequence[str | int | float]) -> tuple[str | int | float, ...]:
    """Categories or numbers, ascending and each once; refuses a list of both."""
    texts = sorted({value for value in values if isinstance(value, str)})
    numbers = sorted({_canonical_number(value) for value in values if not isinstance(value, str)})
    if texts and numbers:
        raise ValueError('"values" are categories or whole numbers, not both.')
    return tuple(texts or numbers)


def _canonical_value(value: str | int | float) -> str | int | float:
    """A category in NFC, or a number by its value."""
    if not isinstance(value, str):
        return _canonical_number(value)
    if 1 <= len(value) <= limits.TEXT_CHARACTERS_MAX:
        return normalise(value)
    raise ValueError(f"A category has 1 to {limits.TEXT_CHARACTERS_MAX} characters.")


def _canonical_number(number: int | float) -> int | float:
    """A number by its value: whole numbers as int, −0.0 as 0; refuses what a double cannot hold exactly."""
    if isinstance(number, int):
        if abs(number) <= limits.INTEGER_MAX:
            return number
        raise ValueError("A whole number must lie within ±2^53; write a larger threshold with a decimal point.")
    if number.is_integer():
        return int(number) if abs(number) <= limits.INTEGER_MAX else number
    if math.isfinite(number):
        return number
    raise ValueError("A threshold must be a finite number.")


def _number(value: Value | None) -> int | float:
    if isinstance(value, int | float):
        return value
    raise TypeError("An order compares numbers; check the rule against the schema first.")
