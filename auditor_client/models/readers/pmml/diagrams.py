"""PMML's predicates, as tests of declared columns.

A predicate is true, false or unknown, which it is where a field that it compares is missing; so it becomes a diagram of
tests with three ways out.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.inputs import InputTest, float32_at_most, float32_below, one_of
from auditor_client.models.readers.pmml.fields import Fields, PmmlField, array, attribute, finite, same
from auditor_client.models.readers.tree_tables import TestTable, tree_table
from auditor_client.models.tree import examples
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Value
from shared.scores.documents import ScoreTree
from shared.wire import limits

_OPERATORS: Final = {
    "equal": "eq", "notEqual": "ne", "lessThan": "lt", "lessOrEqual": "le", "greaterThan": "gt", "greaterOrEqual": "ge",
}  # fmt: skip

_SINGLE_EXACT: Final = 2**24
"""Up to which whole numbers are themselves in single precision."""


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
        """Add a leaf, and return its number; NaN stands for a missing prediction."""
        return self._add(float(value))

    def step(self, node: Hashable) -> Any:
        """Return the step of a node, as `tree_table` reads it."""
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
            raise ModelRefused("A SimpleSetPredicate without an Array is not read.")
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
