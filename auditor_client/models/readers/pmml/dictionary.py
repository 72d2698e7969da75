"""What PMML says of values outside of its models: valid, missing and invalid ones, classes that are numbers, targets.

A value that the dictionary takes for invalid or missing is refused where the dataset admits it.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.pmml.fields import (
    NUMERIC,
    PmmlField,
    attribute,
    constant_number,
    finite,
    number,
    same,
)
from shared.contract.schema import Column
from shared.wire import limits

_DEFAULTS: Final = {"priorProbability", "defaultValue"}
_LABELS: Final = (
    ("Node", "score"), ("ScoreDistribution", "value"), ("RegressionTable", "targetCategory"),
    ("PCell", "targetCategory"), ("TargetValueCount", "value"), ("SimpleRule", "score"), ("RuleSet", "defaultScore"),
    ("SupportVectorMachine", "targetCategory"), ("SupportVectorMachine", "alternateTargetCategory"),
    ("GeneralRegressionModel", "targetReferenceCategory"),
)  # fmt: skip


def write_labels_alike(element: Element, data_type: str, listed: Iterable[str]) -> None:
    """Write classes that are numbers as the dictionary writes them: 1 and 1.0 are one class.

    Args:
        element: The model, which changes.
        data_type: The target's in the dictionary.
        listed: The target's values there.

    Raises:
        ModelRefused: A class is not a number, or the dictionary has one twice.
    """
    if data_type not in NUMERIC or element.get("functionName") != "classification":
        return
    spelled: dict[float, str] = {}
    for text in listed:
        if finite(text, "A class") in spelled:
            raise ModelRefused(f"The dictionary has the class {text[:40]!r} twice.")
        spelled[float(text)] = text
    for part in element.iter():
        for tag, name in _LABELS:
            if part.tag == tag and (label := part.get(name)) is not None:
                part.set(name, spelled.setdefault(finite(label, "A class"), label))
        target = part.find("DerivedField/NormDiscrete") if part.tag == "NeuralOutput" else None
        if target is not None:
            text = attribute(target, "value")
            target.set("value", spelled.setdefault(finite(text, "A class"), text))


def require_listed_classes(element: Element, listed: Sequence[str]) -> None:
    """Refuse a class that the dictionary does not list, where it lists any: programs differ in what it is then.

    Raises:
        ModelRefused: There is one; the text names it.
    """
    if not listed or element.get("functionName") != "classification":
        return
    waiting = [element]
    while waiting:
        part = waiting.pop()
        waiting += [child for child in part if child.get("functionName") != "regression"]  # a part of a chain
        for tag, name in _LABELS:
            label = part.get(name) if part.tag == tag else None
            if label is not None and label not in listed:
                raise ModelRefused(f"The class {label[:40]!r} is not among the target's values in the dictionary.")


def require_valid(entry: Element, mining: Element, column: Column) -> None:
    """Refuse a field for which the dataset admits values that the model takes for missing or invalid.

    Args:
        named: The DataField.
        mining: A MiningField of it.
        column: The declared column.

    Raises:
        ModelRefused: Such a value is admitted.
    """
    name = column.name
    if mining.get("optype", entry.get("optype")) != entry.get("optype"):
        raise ModelRefused(f"Field {name!r} has another optype in a MiningSchema than in the DataDictionary.")
    replacement = mining.get("missingValueReplacement")
    if replacement is not None and entry.get("dataType") == "integer" and not re.fullmatch(r"[+-]?\d+", replacement):
        raise ModelRefused(f"Field {name!r} is an integer in PMML, and missing values become {replacement[:40]!r}.")
    for value in entry.findall("Value"):
        kind = value.get("property", "valid")
        text = value.get("value", "")
        if kind != "valid" and _admitted(column, text):
            raise ModelRefused(
                f"Field {name!r}: the model takes {text[:40]!r} for {kind}, and the dataset admits it as a value: "
                "have the column declared without it."
            )
    if mining.get("missingValueTreatment") == "returnInvalid" and column.nullable:
        raise ModelRefused(f"Field {name!r}: a missing value is invalid, and the dataset admits missing values.")
    treatment = mining.get("invalidValueTreatment", "returnInvalid")
    if treatment not in ("returnInvalid", "asIs", "asMissing"):
        raise ModelRefused(f"Field {name!r}: invalid values as {treatment[:40]!r} are not read.")
    intervals = entry.findall("Interval")
    valid = [value for value in entry.findall("Value") if value.get("property", "valid") == "valid"]
    listed = [value.get("value", "") for value in valid]
    unknown = _not_listed(column, listed, intervals) if treatment != "asIs" else []
    if unknown:
        raise ModelRefused(
            f"Field {name!r}: the dataset admits {', '.join(map(repr, unknown[:3]))}, and the model lists other valid "
            "values: have it declared as it was in training."
        )
    if intervals and column.ordered and treatment != "asIs" and not any(_holds(each, column) for each in intervals):
        raise ModelRefused(
            f"Field {name!r}: the dataset declares it from {column.low:g} to {column.high:g}, and some of that is "
            "outside of the model's intervals of valid values: have the column declared as it was in training."
        )


def _not_listed(column: Column, listed: Sequence[str], intervals: Sequence[Element]) -> list[Any]:
    """Some values that the dataset admits and that a list of valid values does not have."""
    if len(listed) > limits.CATEGORIES_PER_COLUMN_MAX:
        raise ModelRefused(f"Field {column.name!r} lists more than {limits.CATEGORIES_PER_COLUMN_MAX} values.")
    if not listed or (intervals and column.ordered):
        return []
    if not column.ordered:
        texts = set(listed)
        truths = [value for value in column.values if isinstance(value, bool)]
        valid = texts | {value for value in truths if any(same(value, text) for text in listed)}
        return [value for value in column.values if value not in valid]
    if column.type == "number":
        return [f"all numbers from {column.low:g} to {column.high:g}"]
    numbers = {finite(text, "A value") for text in listed}
    if column.high - column.low >= len(listed):
        return [f"{column.high - column.low + 1:g} whole numbers"]
    return [value for value in range(int(column.low), int(column.high) + 1) if value not in numbers]


def require_both_types(entry: Element) -> None:
    """Refuse a field of the dictionary without one of its types, or with types that contradict each other.

    Raises:
        ModelRefused: It is one; the text names it.
    """
    name, kind, data_type = entry.get("name", ""), entry.get("optype"), entry.get("dataType")
    if kind is None or data_type is None or (kind, data_type) == ("continuous", "boolean"):
        raise ModelRefused(
            f"Field {name[:40]!r} has optype={kind!r} and dataType={data_type!r} in the DataDictionary: save the model "
            "again."
        )


def require_readable_type(data_type: str, column: Column) -> None:
    """Refuse a field whose type in the dictionary reads a declared value otherwise than it is.

    Raises:
        ModelRefused: It does.
    """
    name, declared = column.name, column.type
    if data_type not in ("", "string", "boolean", *NUMERIC):
        raise ModelRefused(f"Field {name!r} has the type {data_type[:40]!r}, which is not read.")
    if data_type == "boolean" and declared != "boolean":
        raise ModelRefused(f"Field {name!r} is a truth value in PMML, and the dataset declares {declared}.")
    if data_type == "string" and column.ordered:
        raise ModelRefused(f"Field {name!r} is a text in PMML, and the dataset declares {declared}.")
    if data_type == "integer" and declared == "number":
        raise ModelRefused(
            f"Field {name!r} is an integer in PMML, for which fractions are invalid, and the dataset declares number: "
            "have it declared as an integer."
        )
    whole = data_type == "integer" and all(re.fullmatch("0|-?[1-9][0-9]*", str(value)) for value in column.values)
    if data_type in NUMERIC and declared == "category" and not whole:
        raise ModelRefused(f"Field {name!r} is a number in PMML, and the dataset declares categories.")


def require_plain_output(element: Element) -> None:
    """Refuse an Output that makes a decision of its own of a class or its probability.

    Raises:
        ModelRefused: It has such a field.
    """
    for field in element.iterfind("Output/OutputField"):
        feature = field.get("feature", "predictedValue")
        parts = {child.tag for child in field} - {"Extension", "FieldRef", "MapValues"}
        final = field.get("isFinalResult", "true") != "false"
        if feature == "decision" or (feature == "transformedValue" and final and parts):
            raise ModelRefused(
                f"The Output field {field.get('name', '')[:40]!r} ({feature}) is not read: it may decide otherwise "
                "than the class that the model predicts."
            )


def _admitted(column: Column, text: str) -> bool:
    if not column.ordered:
        return any(str(value).lower() == text.lower() for value in column.values)
    try:
        value = float(text)
    except ValueError:
        return False
    return column.low <= value <= column.high and (column.type == "number" or value == math.floor(value))


def _holds(interval: Element, column: Column) -> bool:
    left, right = interval.get("leftMargin"), interval.get("rightMargin")
    low = -math.inf if left is None else finite(left, "leftMargin")
    high = math.inf if right is None else finite(right, "rightMargin")
    closure = attribute(interval, "closure")
    over = low <= column.low if closure.startswith("closed") or low == -math.inf else low < column.low
    under = column.high <= high if closure.endswith("Closed") or high == math.inf else column.high < high
    return over and under


def rescaled(element: Element) -> tuple[float, float]:
    """What a model's Targets multiply its number with, and what they add then.

    Raises:
        ModelRefused: They do anything else, or turn the number round.
    """
    targets = element.find("Targets")
    listed = [] if targets is None else targets.findall("Target")
    factor, constant = 1.0, 0.0
    for target in listed:
        factor, constant = number(target, "rescaleFactor", 1.0), number(target, "rescaleConstant", 0.0)
        further = set(target.attrib) - {"field", "optype", "rescaleConstant", "rescaleFactor"}
        if len(listed) > 1 or further or factor <= 0:
            raise ModelRefused("Targets are read that only rescale, with a positive rescaleFactor.")
    return factor, constant


def require_no_defaults(element: Element, fields: Iterable[PmmlField]) -> None:
    """Refuse a target's own value for people without a prediction, where somebody may have none.

    Raises:
        ModelRefused: A TargetValue has one, and an input may be missing.
    """
    own = [value for value in element.iterfind("Targets/Target/TargetValue") if _DEFAULTS & set(value.attrib)]
    missing = [field.column.name for field in fields if field.may_be_missing]
    if own and missing:
        raise ModelRefused(
            f"The target has a default or prior for people without a prediction, not read where {missing[0]!r} "
            "may be missing."
        )


def predicted_number(element: Element) -> Callable[[float], float]:
    """From a model's sum to the number that it gives: rescaled by its Targets, then transformed by its Output.

    Raises:
        ModelRefused: One of these is not a rising line.
    """
    factor, constant = rescaled(element)
    output = element.find("Output")
    fields = [] if output is None else output.findall("OutputField")
    plain = [field.get("name", "") for field in fields if field.get("feature", "predictedValue") == "predictedValue"]
    slope, shift, transformed = 1.0, 0.0, 0
    for field in fields:
        if field.get("feature") == "decision":
            raise ModelRefused("An Output field that is a decision is not read.")
        if field.get("feature") != "transformedValue" or field.get("isFinalResult", "true") == "false":
            continue
        expression = next((child for child in field if child.tag != "Extension"), None)
        slope, shift = _line(expression, plain, 0)
        transformed += 1
    if transformed > 1 or slope <= 0:
        raise ModelRefused("An Output is read with one transformed number, which rises with the predicted one.")
    if not transformed and (factor, constant) == (1.0, 0.0):
        return float
    return lambda score: (score * factor + constant) * slope + shift


def _line(expression: Element | None, names: list[str], depth: int) -> tuple[float, float]:
    """The slope and the constant of an Output's expression of the predicted number."""
    if expression is not None and expression.tag == "FieldRef" and expression.get("field") in names:
        return 1.0, 0.0
    parts = [] if expression is None else [child for child in expression if child.tag != "Extension"]
    operator = "" if expression is None else expression.get("function", "")
    is_arithmetic = expression is not None and expression.tag == "Apply" and operator in ("+", "-", "*", "/")
    if not is_arithmetic or len(parts) != 2 or depth > 16 or set(expression.attrib) != {"function"}:  # type: ignore[union-attr]
        raise ModelRefused(
            "An Output is read whose transformed number is +, -, * or / of the predicted one and a number."
        )
    if parts[0].tag == "Constant" and operator in ("+", "*"):
        parts.reverse()
    if parts[1].tag != "Constant":
        raise ModelRefused(
            "An Output is read whose transformed number is +, -, * or / of the predicted one and a number."
        )
    slope, shift = _line(parts[0], names, depth + 1)
    by = constant_number(parts[1])
    if operator in ("*", "/"):
        factor = by if operator == "*" else 1 / by if by else 0.0
        return slope * factor, shift * factor
    return slope, shift + (by if operator == "+" else -by)
