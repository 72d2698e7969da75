"""Random PMML: trees and scorecards by the rules of the format, and a slow, obvious evaluator of them as referee."""

import random
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring  # written here, and not parsed

import numpy as np

from auditor_client.models.checking import Agreement, MakersAnswers, compare
from auditor_client.models.inventing import Invented, invent
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from checks.model_formats.data import SCHEMA

_TEXTS: Final = {"work": ["x", "y", "z", "w", "unseen"], "home": ["own", "rent", "other"]}
_ORDERS: Final = ("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual")
_COMPARE: Final = {
    "equal": lambda a, b: a == b, "notEqual": lambda a, b: a != b, "lessThan": lambda a, b: a < b,
    "lessOrEqual": lambda a, b: a <= b, "greaterThan": lambda a, b: a > b, "greaterOrEqual": lambda a, b: a >= b,
}  # fmt: skip


def pmml_file(seed: int) -> tuple[bytes, ModelRequest]:
    """A tree whose nodes always predict, with every kind of predicate, or a scorecard."""
    draw = random.Random(seed)
    root = Element("PMML", version=draw.choice(["4.1", "4.3", "4.4"]), xmlns="http://www.dmg.org/PMML-4_4")
    dictionary = SubElement(root, "DataDictionary")
    for name, kind in (("income", "double"), ("age", "double"), ("work", "string"), ("home", "string")):
        SubElement(dictionary, "DataField", name=name, optype="categorical", dataType=kind)
    target = SubElement(dictionary, "DataField", name="y", optype="categorical", dataType="string")
    for label in ("no", "yes", "maybe"):
        SubElement(target, "Value", value=label)
    if draw.random() < 0.3:
        _scorecard(root, draw)
        return tostring(root), ModelRequest(SCHEMA, above=float(draw.randrange(-5, 40)))
    strategy = draw.choice(["none", "lastPrediction", "defaultChild"])
    tree = SubElement(
        root, "TreeModel", functionName="classification", missingValueStrategy=strategy,
        noTrueChildStrategy="returnLastPrediction",
    )  # fmt: skip
    _schema(tree, draw)
    top = SubElement(tree, "Node", id="0", score=draw.choice(["no", "yes"]))
    SubElement(top, "True")
    _grow(top, draw, 0)
    return tostring(root), ModelRequest(SCHEMA, favourable=["yes"])


def agreement(content: bytes, request: ModelRequest, records: int = 1000) -> tuple[ReadModel, Agreement]:
    """What was read beside what the referee decides."""
    model = load_object(content, "model.pmml")
    read = read_object(model, request)
    predicates = {predicate for rule in read.tree.rules() for predicate in rule.rule.all_of}
    documents = [column.origin.score for column in read.columns if not isinstance(column.origin, str)]
    invented = invent(documents, SCHEMA, records, predicates=predicates)

    def ask(given: Invented) -> MakersAnswers:
        found = [_decides(model.root, dict(record), request) for record in given.records(SCHEMA)]
        return MakersAnswers(favourable=np.array(found, bool))

    return read, compare(read, SCHEMA, ask, invented)


def _schema(model: Element, draw: random.Random) -> None:
    schema = SubElement(model, "MiningSchema")
    SubElement(schema, "MiningField", name="y", usageType="target")
    for name in ("income", "age", "work", "home"):
        field = SubElement(schema, "MiningField", name=name)
        if draw.random() < 0.2:
            field.set("missingValueReplacement", draw.choice(_TEXTS[name]) if name in _TEXTS else "3")


def _grow(node: Element, draw: random.Random, depth: int) -> None:
    if depth == 4 or draw.random() < 0.15:
        return
    for index in range(draw.choice((1, 2, 2, 3))):
        child = SubElement(node, "Node", id=f"{node.get('id')}.{index}", score=draw.choice(["no", "yes", "maybe"]))
        child.append(_random_predicate(draw, 0))
        _grow(child, draw, depth + 1)
    node.set("defaultChild", f"{node.get('id')}.0")


def _random_predicate(draw: random.Random, depth: int) -> Element:
    if depth < 2 and draw.random() < 0.25:
        compound = Element("CompoundPredicate", booleanOperator=draw.choice(["and", "or", "xor", "surrogate"]))
        for _ in range(draw.choice((2, 3))):
            compound.append(_random_predicate(draw, depth + 1))
        return compound
    name = draw.choice(["income", "age", "work", "home"])
    if draw.random() < 0.1:
        return Element("SimplePredicate", field=name, operator=draw.choice(["isMissing", "isNotMissing"]))
    if name not in _TEXTS:
        value = str(draw.choice([draw.gauss(0, 10), draw.randrange(-3, 40), 0.1]))
        return Element("SimplePredicate", field=name, operator=draw.choice(_ORDERS), value=value)
    if draw.random() < 0.5:
        operator = draw.choice(["equal", "notEqual"])
        return Element("SimplePredicate", field=name, operator=operator, value=draw.choice(_TEXTS[name]))
    chosen = Element("SimpleSetPredicate", field=name, booleanOperator=draw.choice(["isIn", "isNotIn"]))
    listed = SubElement(chosen, "Array", type="string", n="2")
    listed.text = " ".join(f'"{text}"' for text in draw.sample(_TEXTS[name], 2))
    return chosen


def _scorecard(root: Element, draw: random.Random) -> None:
    card = SubElement(root, "Scorecard", functionName="regression", initialScore=str(draw.randrange(10)))
    _schema(card, draw)
    characteristics = SubElement(card, "Characteristics")
    for _ in range(draw.randrange(1, 5)):
        one = SubElement(characteristics, "Characteristic")
        for _ in range(draw.randrange(1, 5)):
            part = SubElement(one, "Attribute", partialScore=str(draw.choice([draw.randrange(-9, 20), 0.1, 2.7])))
            part.append(_random_predicate(draw, 0))
        SubElement(SubElement(one, "Attribute", partialScore=str(draw.randrange(9))), "True")


def _decides(root: Element, record: dict[str, Any], request: ModelRequest) -> bool:
    model = root[1]
    for field in model.find("MiningSchema") or ():
        name, instead = field.get("name", ""), field.get("missingValueReplacement")
        if instead is not None and record.get(name) is None:
            record[name] = instead if name in _TEXTS else float(instead)
    if model.tag == "Scorecard":
        total = float(model.get("initialScore", "0"))
        for one in model.find("Characteristics") or ():
            total += next(float(part.get("partialScore", "")) for part in one if _true(part[0], record))
        return total > (request.above or 0.0)
    node, strategy = model.find("Node"), model.get("missingValueStrategy")
    while node is not None:
        onward = None
        for child in node.findall("Node"):
            answer = _true(child[0], record)
            if answer is None and strategy == "lastPrediction":
                return node.get("score") == "yes"
            if answer is None and strategy == "defaultChild":
                onward = next(one for one in node.findall("Node") if one.get("id") == node.get("defaultChild"))
                break
            if answer:
                onward = child
                break
        if onward is None:
            return node.get("score") == "yes"
        node = onward
    return False


def _true(predicate: Element, record: dict[str, Any]) -> bool | None:
    """A predicate's answer: None is unknown."""
    if predicate.tag == "True":
        return True
    if predicate.tag == "CompoundPredicate":
        parts = [_true(part, record) for part in predicate]
        match predicate.get("booleanOperator"):
            case "and":
                return False if False in parts else None if None in parts else True
            case "or":
                return True if True in parts else None if None in parts else False
            case "xor":
                return None if None in parts else sum(map(bool, parts)) % 2 == 1
        return next((part for part in parts if part is not None), None)
    value, operator = record.get(predicate.get("field", "")), predicate.get("operator", "")
    if operator in ("isMissing", "isNotMissing"):
        return (value is None) == (operator == "isMissing")
    if value is None:
        return None
    if predicate.tag == "SimpleSetPredicate":
        listed = (predicate[0].text or "").replace('"', "").split()
        return (value in listed) == (predicate.get("booleanOperator") == "isIn")
    text = predicate.get("value", "")
    return bool(_COMPARE[operator](value, text if isinstance(value, str) else float(text)))
