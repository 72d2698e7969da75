"""PMML's fields, transformations and predicates, as tests of declared columns.

A field is a function of one declared column. A predicate is true, false or unknown, which it is where a field that it
compares is missing; so it becomes a diagram of tests with three ways out.
"""

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.nameable import nameable_column
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers.inputs import (
    InputTest,
    ModelInput,
    float32_at_most,
    float32_below,
    one_of,
)
from auditor_client.models.readers.tree_tables import TestTable, tree_table
from auditor_client.models.tree import examples
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Value
from shared.scores.documents import ScoreTree
from shared.wire import limits

_OPERATORS: Final = {
    "equal": "eq", "notEqual": "ne", "lessThan": "lt", "lessOrEqual": "le", "greaterThan": "gt", "greaterOrEqual": "ge",
}  # fmt: skip

NUMERIC: Final = ("integer", "float", "double")
_SINGLE_EXACT: Final = 2**24
"""Up to which whole numbers are themselves in single precision."""
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


class Diagram:
    """Tests with ways on: what a predicate, a tree or a list of rules becomes, node by node.

    Attributes:
        nodes: Each a test and the nodes behind its two answers, or a leaf's value.
    """

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.nodes: list[Any] = []
        self._asked = 0

    def leaf(self, value: float) -> int:
        """A leaf; NaN is where there is no prediction."""
        return self._add(float(value))

    def step(self, node: Hashable) -> Any:
        """What `tree_table` asks of a node."""
        return self.nodes[node]  # type: ignore[call-overload]

    def table(self, root: int, tests: TestTable) -> ScoreTree:
        """The diagram as a table of a score document.

        Raises:
            ModelRefused: It gives no prediction for a record that the dataset admits; the text has one.
        """
        return tree_table(self._complete(root) if self._has_gaps(root) else root, self.step, tests)

    def _has_gaps(self, root: int) -> bool:
        """Whether some way leads to a leaf without prediction, be it one that nobody takes."""
        waiting, visited = [root], {root}
        while waiting:
            node = self.nodes[waiting.pop()]
            if isinstance(node, float):
                if math.isnan(node):
                    return True
                continue
            waiting += [child for child in node[1:] if child not in visited]
            visited.update(node[1:])
        return False

    def _complete(self, root: int) -> int:
        """The diagram without the ways that no admitted record takes: values of a column that exclude one another."""
        predicates = [node[0] for node in self.nodes if isinstance(node, tuple) and isinstance(node[0], Predicate)]
        by_name = self.fields.request.schema.by_name
        values = {
            name: examples(by_name[name], [test for test in predicates if test.column == name])
            for name in dict.fromkeys(test.column for test in predicates)
        }
        answers = {
            test: sum(1 << index for index, value in enumerate(values[test.column]) if test.matches(value))
            for test in set(predicates)
        }
        everything = {name: (1 << len(listed)) - 1 for name, listed in values.items()}
        done: dict[tuple[int, frozenset[tuple[str, int]]], int] = {}
        waiting: list[tuple[int, dict[str, int], bool]] = [(root, {}, False)]
        while waiting:
            node, state, ready = waiting.pop()
            key, content = (node, frozenset(state.items())), self.nodes[node]
            if key in done:
                continue
            if isinstance(content, float):
                if math.isnan(content):
                    raise _no_prediction({name: values[name][_lowest(mask)] for name, mask in state.items()})
                done[key] = node
                continue
            ways = self._ways(content, state, answers, everything)
            keys = [(child, frozenset(there.items())) for child, there in ways]
            if not ready:
                waiting.append((node, state, True))
                waiting += [(child, there, False) for child, there in reversed(ways)]
            elif len(ways) == 1:
                done[key] = done[keys[0]]
            else:
                done[key] = self._add((content[0], *(done[child_key] for child_key in keys)))
        return done[root, frozenset()]

    @staticmethod
    def _ways(
        inner_node: Any, state: dict[str, int], answers: Mapping[Predicate, int], everything: Mapping[str, int]
    ) -> list[tuple[int, dict[str, int]]]:
        """The nodes behind a test that somebody reaches, with the values that are left there."""
        test, yes, no = inner_node
        if isinstance(test, bool):
            return [(yes if test else no, state)]
        arriving = state.get(test.column, everything[test.column])
        sides = ((yes, arriving & answers[test]), (no, arriving & ~answers[test]))
        return [(child, {**state, test.column: mask}) for child, mask in sides if mask]

    def predicate(self, element: Element, yes: int, no: int, unknown: int) -> int:
        """A predicate with three ways out; a nest of them is followed once for each way, so that is bounded."""
        self._asked += 1
        if self._asked > limits.SCORE_NODES_MAX:
            raise ModelRefused("The model's predicates are nested too deeply.")
        match element.tag:
            case "True":
                return yes
            case "False":
                return no
            case "SimplePredicate":
                return self._simple(element, yes, no, unknown)
            case "SimpleSetPredicate":
                return self._set(element, yes, no, unknown)
            case "CompoundPredicate":
                return self._compound(element, yes, no, unknown)
        raise ModelRefused(f"The predicate {element.tag!r} is not read.")

    def _add(self, node: Any) -> int:
        if len(self.nodes) >= limits.SCORE_NODES_MAX:
            raise ModelRefused("The model has too many tests.")
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _simple(self, element: Element, yes: int, no: int, unknown: int) -> int:
        source = self.fields[attribute(element, "field")]
        operator = attribute(element, "operator")
        if operator in ("isMissing", "isNotMissing"):
            present, gone = (no, yes) if operator == "isMissing" else (yes, no)
            return self._missing(source, gone, present)
        if operator not in _OPERATORS:
            raise ModelRefused(f"The operator {operator[:40]!r} is not read.")
        return self._tested(source, _OPERATORS[operator], [attribute(element, "value")], (yes, no, unknown))

    def _set(self, element: Element, yes: int, no: int, unknown: int) -> int:
        listed = element.find("Array")
        if listed is None:
            raise ModelRefused("A SimpleSetPredicate has no Array.")
        ways = {"isIn": (yes, no, unknown), "isNotIn": (no, yes, unknown)}.get(element.get("booleanOperator", ""))
        if ways is None:
            raise ModelRefused("A SimpleSetPredicate has another operator than isIn and isNotIn.")
        return self._tested(self.fields[attribute(element, "field")], "in", array(listed), ways)

    def _compound(self, element: Element, yes: int, no: int, unknown: int) -> int:
        parts = [child for child in element if child.tag != "Extension"]
        operator = attribute(element, "booleanOperator")
        if operator == "surrogate":
            onward = unknown
            for part in reversed(parts):
                onward = self.predicate(part, yes, no, onward)
            return onward
        if operator in ("and", "or"):
            way_on, maybe = (yes if operator == "and" else no), unknown
            for part in reversed(parts):
                ways = ((way_on, no), (maybe, no)) if operator == "and" else ((yes, way_on), (yes, maybe))
                way_on, maybe = (self.predicate(part, *way, maybe) for way in ways)
            return way_on
        if operator == "xor":
            state = {0: no, 1: yes}  # the way on, by whether an odd number has been true
            for part in reversed(parts):
                state = {parity: self.predicate(part, state[1 - parity], state[parity], unknown) for parity in (0, 1)}
            return state[0]
        raise ModelRefused(f"The operator {operator[:40]!r} of a CompoundPredicate is not read.")

    def _missing(self, source: PmmlField, gone: int, present: int) -> int:
        if not source.may_be_missing:
            return present
        return self._add((Predicate(column=source.column.name, op="is_missing"), gone, present))

    def _tested(self, source: PmmlField, op: str, texts: list[str], ways: tuple[int, int, int]) -> int:
        yes, no, unknown = ways
        column = source.column
        if source.replacement is not None and column.nullable:
            instead = column.model_copy(update={"nullable": False})
            filled = yes if _of_replacement(source, op, texts) else no
            if_present = self._tested(_changed(source, instead), op, texts, ways)
            return self._add((Predicate(column=column.name, op="is_missing"), filled, if_present))
        for_all = self._of_values(source, op, texts, yes, no)
        return self._missing(source, unknown, for_all)

    def _of_values(self, source: PmmlField, op: str, texts: list[str], yes: int, no: int) -> int:
        """The test for those whose value is not missing."""
        column = source.column
        if source.cuts is not None:
            onward = -1
            for end, closed, result in reversed(source.cuts):
                way = yes if any(same(result, text) for text in texts) != (op == "ne") else no
                if op not in ("eq", "ne", "in"):
                    raise ModelRefused("Bins are compared for equality.")
                if onward == -1:
                    onward = way
                else:
                    onward = self._add(
                        (self.fields.known_test(column, InputTest("le" if closed else "lt", end)), way, onward)
                    )
            return onward
        if not column.ordered:
            values = [value for value in column.values if source.answer(value, op, texts)]
            return self._add((one_of(column, values, missing=False), yes, no))
        if (source.slope, source.shift) != (1.0, 0.0):
            raise ModelRefused("A test of a scaled number is not read.")
        exact = column.type == "integer" and max(abs(column.low), abs(column.high)) <= _SINGLE_EXACT
        if source.single and op in ("eq", "ne", "in") and not exact:
            raise ModelRefused("A test of single-precision numbers for equality is not read.")
        if op == "in":
            listed = frozenset(finite(text, "A value") for text in texts)
            return self._add((self.fields.known_test(column, InputTest("in", listed)), yes, no))
        value = finite(texts[0], "A predicate's value")
        if not source.single or op in ("eq", "ne"):
            return self._add((self.fields.known_test(column, InputTest(op, value)), yes, no))  # type: ignore[arg-type]
        below = (float32_at_most if op in ("le", "gt") else float32_below)(float(np.float32(value)))
        ways = (yes, no) if op in ("le", "lt") else (no, yes)
        return self._add((self.fields.known_test(column, below), *ways))

    def alone(self, predicates: Sequence[Element]) -> bool:
        """Whether some predicates of one column cover all its values that are not missing."""
        if _are_opposite(predicates):
            return True
        tags = {element.tag for element in predicates}
        if not tags <= {"SimplePredicate", "SimpleSetPredicate"}:
            return False
        fields = [self.fields[attribute(element, "field")] for element in predicates]
        if len({source.column.name for source in fields}) != 1 or any(source.cuts for source in fields):
            return any(source.cuts for source in fields) and self._covers_bins(fields, predicates)
        if any("issing" in element.get("operator", "") for element in predicates):
            return False
        column = fields[0].column
        own = Diagram(self.fields)
        yes, no = own.leaf(1.0), own.leaf(0.0)
        roots = [own.predicate(element, yes, no, no) for element in predicates]
        tests = [node[0] for node in own.nodes if isinstance(node, tuple) and isinstance(node[0], Predicate)]
        return all(
            any(own.walk(root, value) == 1.0 for root in roots)
            for value in examples(column, tests)
            if value is not None
        )

    def _covers_bins(self, fields: Sequence[PmmlField], predicates: Sequence[Element]) -> bool:
        first = fields[0]
        if any(source is not first for source in fields) or first.cuts is None:
            return False
        texts: list[str] = []
        for element in predicates:
            listed = element.find("Array")
            if element.get("operator", element.get("booleanOperator")) not in ("equal", "isIn"):
                return False
            texts += array(listed) if listed is not None else [attribute(element, "value")]
        return all(any(same(result, text) for text in texts) for _, _, result in first.cuts)

    def walk(self, node: int, value: Value | None) -> float:
        """The leaf that one column's value reaches."""
        while isinstance(content := self.nodes[node], tuple):
            test = content[0]
            node = content[1] if (test if isinstance(test, bool) else test.matches(value)) else content[2]
        return float(content)


_OPPOSITE: Final = (
    {"lessThan", "greaterOrEqual"}, {"lessOrEqual", "greaterThan"}, {"equal", "notEqual"},
)  # fmt: skip


def _are_opposite(predicates: Sequence[Element]) -> bool:
    """Whether they are two tests of one field with one value, each the other's opposite, as most trees have them."""
    if len(predicates) != 2 or any(predicate.tag != "SimplePredicate" for predicate in predicates):
        return False
    first, second = predicates
    alike = all(first.get(name) == second.get(name) is not None for name in ("field", "value"))
    return alike and {first.get("operator"), second.get("operator")} in _OPPOSITE


def _lowest(mask: int) -> int:
    """The index of the lowest bit."""
    return (mask & -mask).bit_length() - 1


def _no_prediction(record: Mapping[str, Value | None]) -> ModelRefused:
    values = ", ".join(f"{name} = {'missing' if value is None else value}" for name, value in record.items())
    return ModelRefused(
        f"The model gives no prediction for some people whom the dataset admits, such as {values or 'everybody'}. Have "
        "the columns declared as they were in training, or give the model a default."
    )


def _changed(source: PmmlField, column: Column) -> PmmlField:
    return PmmlField(column, source.single, source.results, source.cuts, source.slope, source.shift)


def _of_replacement(source: PmmlField, op: str, texts: list[str]) -> bool:
    """The answer for what stands for a missing value."""
    if source.results is not None or source.cuts is not None:
        raise ModelRefused("A replaced value behind a transformation is not read.")
    text = source.replacement or ""
    compares = op not in ("eq", "ne", "in")
    if not source.column.ordered:
        value = next((category for category in source.column.values if same(category, text)), text)
        if not compares:
            return any(same(value, other) or _same_number(text, other) for other in texts) != (op == "ne")
        text = str(float(value)) if isinstance(value, bool) else text
    filled = finite(text, "missingValueReplacement")
    listed = [finite(item, "A value") for item in texts]
    if source.single:
        filled, listed = float(np.float32(filled)), [float(np.float32(number)) for number in listed]
    return InputTest(op, frozenset(listed) if op == "in" else listed[0]).answer(filled)  # type: ignore[arg-type]


def _same_number(text: str, other: str) -> bool:
    try:
        return float(text) == float(other)
    except ValueError:
        return False
