"""Random PMML that adds numbers, and a slow, obvious evaluator of it as referee, in double precision."""

import math
import random
from collections.abc import Callable, Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring  # written here, and not parsed

import numpy as np

from auditor_client.models.checking import Agreement, MakersAnswers, compare
from auditor_client.models.inventing import Invented, invent
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from checks.model_formats.onnx_graphs import NEVER_MISSING, bounds

_ACTIVATIONS: Final[Mapping[str, Callable[[float], float]]] = {
    "logistic": lambda z: 1 / (1 + math.exp(-z)) if z > -700 else 0.0,
    "tanh": math.tanh,
    "rectifier": lambda z: max(z, 0.0),
    "identity": lambda z: z,
}


def network_file(seed: int) -> tuple[bytes, ModelRequest]:
    """A network of one to three layers, by choice, by a share of two classes, or of a number."""
    draw = random.Random(seed)
    kind = draw.choice(["choice", "softmax", "simplemax", "share", "number"])
    root, model = _document(draw, "NeuralNetwork", "regression" if kind == "number" else "classification")
    model.set("activationFunction", draw.choice(list(_ACTIVATIONS)))
    before = []
    inputs = SubElement(model, "NeuralInputs")
    for index, (name, *values) in enumerate([("income",), ("age",), ("home", "own", "rent"), ("work", "x", "y", "z")]):
        for value in values or [""]:
            before.append(f"in{index}{value}")
            field = SubElement(SubElement(inputs, "NeuralInput", id=before[-1]), "DerivedField", optype="continuous")
            if value:
                SubElement(field, "NormDiscrete", field=name, value=value)
                continue
            norm = SubElement(field, "NormContinuous", field=name)
            SubElement(norm, "LinearNorm", orig=str(draw.randrange(-3, 3)), norm="0")
            SubElement(norm, "LinearNorm", orig=str(draw.randrange(10, 30)), norm="1")
    classes = {"number": 1, "softmax": 2}.get(kind, draw.choice((2, 3)))
    widths = [draw.randrange(1, 6) for _ in range(draw.randrange(3))] + [classes]
    for depth, width in enumerate(widths):
        layer = SubElement(model, "NeuralLayer")
        if draw.random() < 0.5:
            layer.set("activationFunction", draw.choice(list(_ACTIVATIONS)))
        names = [f"{depth}.{unit}" for unit in range(width)]
        for name in names:
            neuron = SubElement(layer, "Neuron", id=name, bias=str(draw.gauss(0, 1)))
            for source in draw.sample(before, draw.randrange(len(before)) + 1):
                SubElement(neuron, "Con", {"from": source, "weight": str(draw.gauss(0, 1))})
        before = names
    if kind in ("softmax", "simplemax"):
        layer.set("normalizationMethod", kind)
    if kind == "simplemax":
        layer.set("activationFunction", "logistic")
    outputs = SubElement(model, "NeuralOutputs")
    for label, name in zip(("no", "yes", "maybe"), before, strict=False):
        field = SubElement(SubElement(outputs, "NeuralOutput", outputNeuron=name), "DerivedField")
        if kind == "number":
            norm = SubElement(field, "NormContinuous", field="y")
            SubElement(norm, "LinearNorm", orig="-4", norm="0")
            SubElement(norm, "LinearNorm", orig="6", norm="1")
        else:
            SubElement(field, "NormDiscrete", field="y", value=label)
    above = {"choice": None, "number": 1.0, "share": 0.6}.get(kind, draw.choice([None, 0.4, 0.7]))
    return tostring(root), ModelRequest(NEVER_MISSING, favourable=None if kind == "number" else ["yes"], above=above)


def vectors_file(seed: int) -> tuple[bytes, ModelRequest]:
    """A linear support vector machine: of two classes, one against all, or of a number; by vectors or coefficients."""
    draw = random.Random(seed)
    kind = draw.choice(["two", "all", "number"])
    root, model = _document(draw, "SupportVectorMachineModel", "regression" if kind == "number" else "classification")
    by_vectors = draw.random() < 0.6
    model.set("svmRepresentation", "SupportVectors" if by_vectors else "Coefficients")
    model.set("maxWins", draw.choice(["true", "false"]))
    model.set("threshold", str(draw.choice([0, 0.5, -2])))
    SubElement(model, "LinearKernelType")
    dictionary = SubElement(model, "VectorDictionary")
    fields = SubElement(dictionary, "VectorFields")
    for name in ("income", "age"):
        SubElement(fields, "FieldRef", field=name)
    for name, value in (("home", "own"), ("home", "rent"), ("work", "z")):
        SubElement(fields, "CategoricalPredictor", name=name, value=value, coefficient="1")
    vectors = [f"v{index}" for index in range(draw.randrange(2, 9))] if by_vectors else []
    for name in vectors:
        vector = SubElement(dictionary, "VectorInstance", id=name)
        numbers = [str(draw.gauss(0, 1)) for _ in fields]
        if draw.random() < 0.5:
            SubElement(vector, "Array", type="real", n="5").text = " ".join(numbers)
            continue
        indices = sorted(draw.sample(range(1, 6), 3))
        sparse = SubElement(vector, "REAL-SparseArray", n="5")
        SubElement(sparse, "Indices").text = " ".join(map(str, indices))
        SubElement(sparse, "REAL-Entries").text = " ".join(numbers[:3])
    for label in ["yes", "no", "maybe"] if kind == "all" else ["yes"]:
        machine = SubElement(model, "SupportVectorMachine", targetCategory=label)
        if kind == "two":
            machine.set("alternateTargetCategory", "no")
        used = draw.sample(vectors, draw.randrange(len(vectors)) + 1) if by_vectors else []
        listed = SubElement(machine, "SupportVectors") if by_vectors else Element("none")
        for name in used:
            SubElement(listed, "SupportVector", vectorId=name)
        coefficients = SubElement(machine, "Coefficients", absoluteValue=str(draw.gauss(0, 1)))
        for _ in used or fields:
            SubElement(coefficients, "Coefficient", value=str(draw.gauss(0, 1)))
    if kind == "number":
        return tostring(root), ModelRequest(NEVER_MISSING, above=1.5)
    return tostring(root), ModelRequest(NEVER_MISSING, favourable=[draw.choice(["yes", "no"])])


def agreement(content: bytes, request: ModelRequest, records: int = 1000) -> tuple[ReadModel, Agreement]:
    """What was read beside what the referee decides."""
    model = load_object(content, "model.pmml")
    read = read_object(model, request)
    documents = [column.origin.score for column in read.columns if not isinstance(column.origin, str)]
    predicates = {predicate for rule in read.tree.rules() for predicate in rule.rule.all_of}
    invented = invent(documents, request.schema, records, predicates=predicates)

    def ask(given: Invented) -> MakersAnswers:
        found = [_decides(model.root[1], dict(record), request) for record in given.records(request.schema)]
        return MakersAnswers(favourable=np.array(found, bool), bounds=bounds(read, given, 2.0**-53))

    return read, compare(read, request.schema, ask, invented)


def _document(draw: random.Random, tag: str, function: str) -> tuple[Element, Element]:
    root = Element("PMML", version=draw.choice(["4.1", "4.3", "4.4"]), xmlns="http://www.dmg.org/PMML-4_4")
    dictionary = SubElement(root, "DataDictionary")
    names = {"income": "double", "age": "double", "work": "string", "home": "string", "y": "string"}
    for name, kind in names.items():
        SubElement(dictionary, "DataField", name=name, optype="categorical", dataType=kind)
    model = SubElement(root, tag, functionName=function)
    schema = SubElement(model, "MiningSchema")
    for name in names:
        SubElement(schema, "MiningField", name=name, usageType="target" if name == "y" else "active")
    return root, model


def _decides(model: Element, record: dict[str, Any], request: ModelRequest) -> bool:
    if model.tag == "SupportVectorMachineModel":
        return _by_vectors(model, record, request)
    scores = _network(model, record)
    if request.favourable is None:
        return scores[""] > (request.above or 0.0)
    if request.above is not None:
        return scores["yes"] > request.above
    return max(scores, key=lambda label: scores[label]) == "yes"


def _network(model: Element, record: dict[str, Any]) -> dict[str, float]:
    """The numbers of the classes, or of ""."""
    known = {one.get("id"): _input(one[0][0], record) for one in model.iter("NeuralInput")}
    for layer in model.iter("NeuralLayer"):
        activation = _ACTIVATIONS[layer.get("activationFunction", model.get("activationFunction", ""))]
        made = {}
        for neuron in layer:
            total = float(neuron.get("bias", "0"))
            for connection in neuron:
                total += float(connection.get("weight", "")) * known[connection.get("from")]
            made[neuron.get("id")] = activation(total)
        if layer.get("normalizationMethod") == "softmax":
            largest = max(made.values())
            made = {name: math.exp(max(value - largest, -700)) for name, value in made.items()}
        if layer.get("normalizationMethod") is not None:
            total = sum(made.values())
            made = {name: value / total if total else 0.0 for name, value in made.items()}
        known |= made
    found = {}
    for one in model.iter("NeuralOutput"):
        value = known[one.get("outputNeuron")]
        found[one[0][0].get("value", "")] = value if one[0][0].tag == "NormDiscrete" else value * 10 - 4
    return found


def _by_vectors(model: Element, record: dict[str, Any], request: ModelRequest) -> bool:
    given = [
        float(record[one.get("field", "")]) if one.tag == "FieldRef" else
        float(record[one.get("name", "")] == one.get("value"))
        for one in model.iterfind("VectorDictionary/VectorFields/*")
    ]  # fmt: skip
    vectors = {one.get("id"): _vector(one[0]) for one in model.iterfind("VectorDictionary/VectorInstance")}
    scores = {}
    for machine in model.findall("SupportVectorMachine"):
        coefficients = machine.find("Coefficients")
        assert coefficients is not None
        total = float(coefficients.get("absoluteValue", ""))
        used = machine.findall("SupportVectors/SupportVector")
        for index, one in enumerate(coefficients):
            if model.get("svmRepresentation") == "Coefficients":
                kernel = given[index]
            else:
                kernel = sum(a * b for a, b in zip(vectors[used[index].get("vectorId")], given, strict=True))
            total += float(one.get("value", "")) * kernel
        scores[machine.get("targetCategory", "")] = total
    largest = model.get("maxWins") == "true"
    if request.favourable is None:
        return scores["yes"] > (request.above or 0.0)
    if len(scores) == 1:
        limit = float(model.get("threshold", ""))
        label = "yes" if (scores["yes"] > limit if largest else scores["yes"] < limit) else "no"
    else:
        label = (max if largest else min)(scores, key=lambda name: scores[name])
    return [label] == list(request.favourable)


def _vector(element: Element) -> list[float]:
    if element.tag == "Array":
        return [float(text) for text in (element.text or "").split()]
    indices, entries = ((part.text or "").split() for part in element)
    numbers = dict(zip(map(int, indices), map(float, entries), strict=True))
    return [numbers.get(index, 0.0) for index in range(1, 6)]


def _input(expression: Element, record: dict[str, Any]) -> float:
    value = record[expression.get("field", "")]
    if expression.tag == "NormDiscrete":
        return float(value == expression.get("value"))
    begin, end = (float(point.get("orig", "")) for point in expression)
    return (float(value) - begin) / (end - begin)
