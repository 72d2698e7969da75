"""PMML's fields and transformations: each field is a function of one declared column."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.nameable import nameable_column
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers.inputs import (
    InputTest,
    ModelInput,
)
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Value

NUMERIC: Final = ("integer", "float", "double")
_ITEM: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"]+)')


def attribute(element: Element, name: str) -> str:
    """An attribute that has to be there."""
    value = element.get(name)
    if value is None:
        raise ModelRefused(f"A PMML element {element.tag!r} has no attribute {name!r}.")
    return value


def number(element: Element, name: str, default: float | None = None) -> float:
    """An attribute that is a finite number."""
    text = element.get(name)
    if text is None and default is not None:
        return default
    return finite(attribute(element, name), f"{element.tag}.{name}")


def finite(text: str, what: str) -> float:
    """A finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ModelRefused(f"{what} is {text[:40]!r}, and has to be a finite number.")
    return number


def constant_number(element: Element) -> float:
    """The number of a Constant, which is a double or the same as another type of number."""
    number = finite((element.text or "").strip(), "Constant")
    alike = {"float": float(np.float32(number)), "integer": float(math.floor(number))}
    data_type = element.get("dataType", "double")
    if alike.get(data_type, number) != number or data_type in ("string", "boolean"):
        raise ModelRefused(f"A Constant {number!r} of the type {data_type!r} is not read.")
    return number


def array(element: Element) -> list[str]:
    """The items of an Array: words, or texts in quotation marks."""
    items = _ITEM.findall(element.text or "")
    return [re.sub(r"\\(.)", r"\1", quoted) if quoted or not word else word for quoted, word in items]


@dataclass(frozen=True, slots=True)
class PmmlField:
    """A field as a function of one declared column.

    Attributes:
        column: The declared column.
        single: Whether a number becomes a float32 before it is compared.
        results: Of a category or boolean column, what each value becomes; None: itself.
        cuts: Of an ordered column that is cut into intervals, each interval's upper end, whether the end belongs to it,
            and what numbers in it become; the last end is infinite. None: the number itself.
        slope: Of an ordered column, what its number is multiplied with.
        shift: And what is added then.
        replacement: What stands for a missing value; None: it stays missing.
    """

    column: Column
    single: bool = False
    results: Mapping[Value, str | float] | None = None
    cuts: tuple[tuple[float, bool, str | float], ...] | None = None
    slope: float = 1.0
    shift: float = 0.0
    replacement: str | None = None

    @property
    def may_be_missing(self) -> bool:
        """Whether it is missing for somebody."""
        return self.column.nullable and self.replacement is None

    def answer(self, value: Value, op: str, texts: Sequence[str]) -> bool:
        """A test's answer for a value of a category or boolean column."""
        result = value if self.results is None else self.results[value]
        if op in ("eq", "ne", "in"):
            return any(same(result, text) for text in texts) != (op == "ne")
        return InputTest(op, finite(texts[0], "A predicate's value")).answer(float(result))  # type: ignore[arg-type]


def same(value: Value, text: str) -> bool:
    """Whether a value is what a PMML text says: a truth value may be written as a number."""
    if isinstance(value, bool):
        return text.lower() in (("true", "1", "1.0") if value else ("false", "0", "0.0"))
    if isinstance(value, str):
        return value == text
    try:
        return float(text) == value
    except ValueError:
        return False


@dataclass(slots=True)
class Fields:
    """All fields that a model can name.

    Attributes:
        request: What is asked for.
        types: The DataDictionary's type of each field.
        known: Fields that were made.
        derived: Elements of derived fields by their name.
        mining: Elements of mining fields by their name.
        present: Ordered columns where they are not missing, by their name.
    """

    request: ModelRequest
    types: dict[str, str]
    derived: dict[str, Element]
    mining: dict[str, Element]
    names: dict[str, str]
    known: dict[str, PmmlField] = field(default_factory=dict)
    present: dict[str, ModelInput] = field(default_factory=dict)
    depth: int = 0

    def __getitem__(self, name: str) -> PmmlField:
        """A field.

        Raises:
            ModelRefused: It is not known, mixes columns, or its column may not be named.
        """
        if name not in self.known:
            self.depth += 1
            if self.depth > 32:
                raise ModelRefused(f"The field {name!r} is derived from itself.")
            self.known[name] = self.derive(self.derived[name]) if name in self.derived else self._raw(name)
            self.depth -= 1
        return self.known[name]

    def known_test(self, column: Column, test: InputTest) -> Predicate | bool:
        """A test of an ordered column that is not missing there."""
        if column.name not in self.present:
            self.present[column.name] = ModelInput(column.model_copy(update={"nullable": False}), None)
        return self.present[column.name].predicate(test)

    def is_used(self, name: str) -> bool:
        """Whether the model names a field of the dictionary."""
        return name in self.known and name not in self.derived

    def _raw(self, name: str) -> PmmlField:
        column = nameable_column(self.names.get(name, name), self.request.schema)
        if name not in self.types:
            raise ModelRefused(f"The model uses the field {name[:40]!r}, which is not in the DataDictionary.")
        mining = self.mining.get(name)
        replacement = None
        if mining is not None:
            if mining.get("outliers", "asIs") != "asIs":
                raise ModelRefused(f"Field {name!r}: outliers as {mining.get('outliers')!r} are not read.")
            if mining.get("usageType", "active") != "active":
                raise ModelRefused(f"Field {name!r} is used by the model and not active in its MiningSchema.")
            replacement = mining.get("missingValueReplacement")
        return PmmlField(column, single=self.types.get(name) == "float", replacement=replacement)

    def derive(self, element: Element) -> PmmlField:
        """The field that a DerivedField makes of another one."""
        expression = next((child for child in element if child.tag != "Value"), None)
        kind = None if expression is None else expression.tag
        made_of_numbers, data_type = kind in ("Apply", "NormContinuous"), element.get("dataType", "double")
        numeric = made_of_numbers or kind == "NormDiscrete"
        if numeric and element.get("optype", "continuous") != "continuous":
            raise ModelRefused(f"A derived field by {kind} that is not continuous is not read.")
        if made_of_numbers and data_type not in ("double", "float"):
            raise ModelRefused(f"A derived field by {kind} of the type {data_type[:40]!r} is not read.")
        if expression is not None and kind == "Apply":
            return self._applied(expression, 0)
        if expression is None or kind not in ("FieldRef", "NormContinuous", "NormDiscrete", "Discretize", "MapValues"):
            raise ModelRefused(f"A derived field by {kind!r} is not read.")
        if kind == "MapValues":
            pairs = expression.findall("FieldColumnPair")
            if len(pairs) != 1:
                raise ModelRefused("MapValues of several fields is not read.")
            mapped = _mapped(self[attribute(pairs[0], "field")], expression, pairs[0])
            return _typed(mapped, element.get("dataType", ""))
        source = self[attribute(expression, "field")]
        missing = expression.get("mapMissingTo")
        if missing is not None and source.column.nullable:
            raise ModelRefused(f"{kind} with mapMissingTo is not read for a column that may be missing.")
        if kind == "FieldRef":
            return self._cast(source, element.get("dataType", ""))
        derived = {"NormContinuous": _normed, "NormDiscrete": _indicator, "Discretize": _cut}[kind](source, expression)
        return _typed(derived, element.get("dataType", "")) if kind == "Discretize" else derived

    @staticmethod
    def _cast(source: PmmlField, data_type: str) -> PmmlField:
        """A field as another type: a float is rounded before it is compared."""
        column = source.column
        other = {"number": ("integer", "boolean", "string"), "integer": ("boolean", "string")}.get(column.type, ())
        made_number = source.results is None and source.cuts is None and column.type == "category"
        if data_type in other or (made_number and data_type in NUMERIC):
            raise ModelRefused(f"A derived field that casts {column.name!r} to {data_type} is not read.")
        return replace(source, single=True) if data_type == "float" and column.ordered else source

    def _applied(self, expression: Element, depth: int) -> PmmlField:
        """Arithmetic of one field with constants, as scalers are exported."""
        operator, parts = attribute(expression, "function"), list(expression)
        if operator not in ("+", "-", "*", "/") or len(parts) != 2 or depth > 16 or expression.get("mapMissingTo"):
            raise ModelRefused(f"Apply is read of +, -, * and / of a field and a number, and not {operator[:40]!r}.")
        if parts[0].tag == "Constant" and operator in ("+", "*"):
            parts.reverse()
        inner, constant = parts
        if constant.tag != "Constant" or inner.tag not in ("FieldRef", "Apply"):
            raise ModelRefused("Apply is read of a field and a number.")
        by = constant_number(constant)
        source = self[attribute(inner, "field")] if inner.tag == "FieldRef" else self._applied(inner, depth + 1)
        _plain(replace(source, replacement=None), "Apply")
        if not source.column.ordered or (operator in ("*", "/") and by == 0):
            raise ModelRefused("Apply is read of numbers, and of a factor that is not 0.")
        factor = {"*": by, "/": 1 / by if by else 1.0}.get(operator, 1.0)
        added = {"+": by, "-": -by}.get(operator, 0.0)
        return replace(source, slope=source.slope * factor, shift=source.shift * factor + added)


def _typed(derived: PmmlField, data_type: str) -> PmmlField:
    """What texts become in a derived field that is a number: 1 and 1.0 are the same."""
    if data_type not in NUMERIC:
        return derived
    if derived.results is not None:
        numbers = {value: finite(str(result), "A result") for value, result in derived.results.items()}
        return replace(derived, results=numbers)
    cuts = [(end, closed, finite(str(result), "A bin")) for end, closed, result in derived.cuts or ()]
    return replace(derived, cuts=tuple(cuts))


def _plain(source: PmmlField, what: str) -> PmmlField:
    if source.results is not None or source.cuts is not None or source.replacement is not None:
        raise ModelRefused(f"{what} of a field that is derived or replaced itself is not read.")
    return source


def _normed(source: PmmlField, expression: Element) -> PmmlField:
    points = expression.findall("LinearNorm")
    if len(points) != 2 or expression.get("outliers", "asIs") != "asIs" or not source.column.ordered:
        raise ModelRefused("NormContinuous is read with two LinearNorm, and outliers as they are.")
    _plain(source, "NormContinuous")
    (x1, y1), (x2, y2) = ((number(point, "orig"), number(point, "norm")) for point in points)
    if x1 == x2:
        raise ModelRefused("NormContinuous has twice the same point.")
    slope = (y2 - y1) / (x2 - x1)
    return PmmlField(source.column, slope=slope * source.slope, shift=y1 - slope * x1 + slope * source.shift)


def _indicator(source: PmmlField, expression: Element) -> PmmlField:
    text = attribute(expression, "value")
    _plain(source, "NormDiscrete")
    if source.column.ordered:
        raise ModelRefused("NormDiscrete of numbers is not read.")
    return PmmlField(source.column, results={value: float(same(value, text)) for value in source.column.values})


def _mapped(source: PmmlField, expression: Element, pair: Element) -> PmmlField:
    _plain(source, "MapValues")
    table = expression.find("InlineTable")
    if table is None or source.column.ordered or expression.get("mapMissingTo") is not None:
        raise ModelRefused("MapValues is read for categories, with an InlineTable and without mapMissingTo.")
    into, out = attribute(pair, "column"), attribute(expression, "outputColumn")
    rows = [{cell.tag: (cell.text or "").strip() for cell in row} for row in table]
    numeric = expression.get("dataType", "string") in ("integer", "float", "double")
    results: dict[Value, str | float] = {}
    for value in source.column.values:
        result = next((row.get(out) for row in rows if same(value, row.get(into, ""))), expression.get("defaultValue"))
        if result is None:
            raise ModelRefused(
                f"MapValues makes {value!r} of column {source.column.name!r} missing, which is not read."
            )
        results[value] = finite(result, "MapValues") if numeric else result
    return PmmlField(source.column, results=results)


def _cut(source: PmmlField, expression: Element) -> PmmlField:
    _plain(source, "Discretize")
    bins = expression.findall("DiscretizeBin")
    cuts: list[tuple[float, bool, str | float]] = []
    low, closed = -math.inf, False  # the end of what is covered so far, and whether it is
    for item in bins:
        interval = item.find("Interval")
        if interval is None or not source.column.ordered:
            raise ModelRefused("Discretize is read for numbers, with an Interval in each bin.")
        left, right = (interval.get(side) for side in ("leftMargin", "rightMargin"))
        begin = -math.inf if left is None else finite(left, "leftMargin")
        end = math.inf if right is None else finite(right, "rightMargin")
        kind = attribute(interval, "closure")
        starts = not kind.startswith("closed")  # then the margin belongs to the bin before
        if not (begin == low and begin < end and (begin == -math.inf or starts == closed)):
            raise ModelRefused("Discretize is read where its bins follow one another without gaps.")
        cuts.append((end, kind.endswith("Closed"), attribute(item, "binValue")))
        low, closed = end, kind.endswith("Closed")
    if not cuts or low != math.inf:
        raise ModelRefused("Discretize is read where its bins cover all numbers.")
    return PmmlField(source.column, cuts=tuple(cuts))
