"""PMML's NeuralNetwork, as layers.

A neuron is its bias and its connections' weighted inputs, added in the order of the layer before, in double precision;
another order, or single precision, differs by its own rounding.
"""

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

from auditor_client.errors import ModelRefused
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.read_model import ReadModel
from auditor_client.models.readers.decisions import by_choice, by_threshold, one_number, two_classes
from auditor_client.models.readers.links import logistic
from auditor_client.models.readers.pmml.dictionary import predicted_number
from auditor_client.models.readers.pmml.fields import attribute, number
from auditor_client.models.readers.pmml.terms import PmmlModel, number_term
from auditor_client.models.readers.tree_tables import made
from shared.scores.documents import Dense, Layers, Term
from shared.wire import limits

_ACTIVATIONS: Final = {"logistic": "logistic", "tanh": "tanh", "rectifier": "relu", "identity": "identity"}
_NORMS: Final = ("none", "softmax", "simplemax")


def network(model: PmmlModel) -> ReadModel:
    """Read a NeuralNetwork.

    Raises:
        ModelRefused: An activation, a connection or an output of it is not read.
    """
    inputs, shifts, neuron_indices = _inputs(model)
    layers: list[Dense] = []
    elements = model.element.findall("NeuralLayer")
    if not 1 <= len(elements) < limits.SCORE_LAYERS_MAX:  # an output may need one more
        raise ModelRefused(f"A NeuralNetwork is read with 1 to {limits.SCORE_LAYERS_MAX - 1} layers.")
    norms = [_norm(layer, model.element) for layer in elements]
    if any(norm != "none" for norm in norms[:-1]):
        raise ModelRefused("A NeuralNetwork is read that normalises no other layer than its last: say `none` of them.")
    for element in elements:
        layer, neuron_indices = _layer(element, neuron_indices, model.element)
        if not layers:
            bias = [
                own + sum(weight * shift for weight, shift in zip(row, shifts, strict=True))
                for own, row in zip(layer.bias, layer.weights, strict=True)
            ]
            layer = made(Dense, weights=layer.weights, bias=tuple(bias), activation=layer.activation)
        layers.append(layer)

    def combined(weights: Sequence[float]) -> Layers:
        """The last layer's neurons, each times a weight, added."""
        last = Dense(weights=(tuple(weights),), bias=(0.0,), activation="identity")
        return made(Layers, kind="layers", precision="float64", inputs=inputs, layers=(*layers, last))

    def alone(neuron: int) -> Layers:
        last = layers[-1]
        output = made(
            Dense, weights=(last.weights[neuron],), bias=(last.bias[neuron],), activation=last.activation
        )  # fmt: skip
        return made(Layers, kind="layers", precision="float64", inputs=inputs, layers=(*layers[:-1], output))

    outputs = _outputs(model, neuron_indices)
    if not model.classifies:
        if len(outputs) != 1 or norms[-1] != "none":
            raise ModelRefused("A NeuralNetwork of numbers is read with one output that is not normalised.")
        [(neuron, expression)] = outputs
        slope, shift = _of_target(expression)
        prediction = predicted_number(model.element)
        return one_number(
            alone(neuron), model.request, model.provenance, image=lambda score: prediction((score - shift) / slope)
        )
    if any(expression.tag != "NormDiscrete" for _, expression in outputs) or len(outputs) < 2:
        raise ModelRefused("A NeuralNetwork of classes is read with a NormDiscrete output for each of them.")
    neurons = [neuron for neuron, _ in outputs]
    classes = [attribute(expression, "value") for _, expression in outputs]
    width = len(layers[-1].bias)
    if norms[-1] != "none" and sorted(neurons) != list(range(width)):
        raise ModelRefused("A normalised layer is read with one output for each of its neurons.")
    if norms[-1] == "simplemax" and layers[-1].activation != "logistic":
        raise ModelRefused("simplemax is read of logistic neurons, whose sum is positive.")
    if norms[-1] == "softmax" and width == 2:
        difference = [float(index == neurons[1]) - float(index == neurons[0]) for index in range(width)]
        return two_classes(
            combined(difference), model.request, model.provenance, classes=classes, decides=lambda score: score > 0,
            shares=lambda score: (logistic(-score), logistic(score)),
        )  # fmt: skip
    limit = model.request.above
    if limit is None:
        return by_choice([alone(neuron) for neuron in neurons], model.request, model.provenance, classes=classes)
    is_favourable = [label in favourable_classes(classes, model.request.favourable) for label in classes]
    if norms[-1] == "softmax" or sum(is_favourable) != 1:
        raise ModelRefused("`above` is read for one favourable class: of two by softmax, or of any number without it.")
    index = is_favourable.index(True)
    neuron, labels = neurons[index], (classes[index], " or ".join(classes[:index] + classes[index + 1 :]))
    document, threshold = alone(neuron), limit
    if norms[-1] == "simplemax":  # above a share of the sum: less that share of each, above 0
        document, threshold = combined([float(index == neuron) - limit for index in range(width)]), 0.0
    return by_threshold(
        document, model.request, model.provenance, threshold=threshold, strict=True, labels=labels
    )  # fmt: skip


def _norm(layer: Element, around: Element) -> str:
    norm = layer.get("normalizationMethod") or around.get("normalizationMethod") or "none"
    if norm not in _NORMS:
        raise ModelRefused(f"normalizationMethod {norm[:40]!r} is not read. Read are {', '.join(_NORMS)}.")
    return norm


def _inputs(model: PmmlModel) -> tuple[tuple[Term, ...], list[float], dict[str, int]]:
    """The inputs' terms, what is added to each, and their indices by their ids."""
    terms: list[Term] = []
    shifts: list[float] = []
    indices: dict[str, int] = {}
    for neural_input in model.element.iterfind("NeuralInputs/NeuralInput"):
        derived = neural_input.find("DerivedField")
        if derived is None or attribute(neural_input, "id") in indices:
            raise ModelRefused("A NeuralInput has no DerivedField, or the id of another one.")
        indices[attribute(neural_input, "id")] = len(terms)
        input_terms, constant = number_term(model.fields.derive(derived), 1.0)
        terms += input_terms
        shifts.append(constant)
    return tuple(terms), shifts, indices


def _layer(element: Element, before: dict[str, int], around: Element) -> tuple[Dense, dict[str, int]]:
    """A layer, and the indices of its neurons by their ids."""
    activation = element.get("activationFunction") or attribute(around, "activationFunction")
    if activation not in _ACTIVATIONS:
        raise ModelRefused(f"activationFunction {activation[:40]!r} is not read. Read are {', '.join(_ACTIVATIONS)}.")
    neurons = element.findall("Neuron")
    if len(neurons) * len(before) > limits.SCORE_WEIGHT_MAX:
        raise ModelRefused(f"A layer has more than {limits.SCORE_WEIGHT_MAX} weights.")
    indices: dict[str, int] = {}
    rows: list[tuple[float, ...]] = []
    for neuron in neurons:
        if attribute(neuron, "id") in indices:
            raise ModelRefused("Two neurons of a layer have the same id.")
        indices[attribute(neuron, "id")] = len(rows)
        row: dict[int, float] = {}
        for connection in neuron.findall("Con"):
            source = before.get(attribute(connection, "from"), -1)
            if source == -1 or source in row:
                raise ModelRefused("Neurons are read whose connections come, once each, from the layer before.")
            row[source] = number(connection, "weight")
        rows.append(tuple(row.get(source, 0.0) for source in range(len(before))))
    bias = tuple(number(neuron, "bias", 0.0) for neuron in neurons)
    return made(Dense, weights=tuple(rows), bias=bias, activation=_ACTIVATIONS[activation]), indices


def _outputs(model: PmmlModel, known: dict[str, int]) -> list[tuple[int, Element]]:
    """The index of each output's neuron in the last layer, and the expression of its field."""
    found = []
    for one in model.element.iterfind("NeuralOutputs/NeuralOutput"):
        expression = one.find("DerivedField/*")
        neuron = known.get(attribute(one, "outputNeuron"))
        if neuron is None or expression is None:
            raise ModelRefused("An output is read of a neuron of the last layer, with a DerivedField.")
        if model.target and expression.get("field") != model.target:
            raise ModelRefused("An output is read of the field that the model predicts.")
        found.append((neuron, expression))
    return found


def _of_target(expression: Element) -> tuple[float, float]:
    """The slope and the shift by which the predicted number became a neuron's."""
    if expression.tag == "FieldRef":
        return 1.0, 0.0
    points = expression.findall("LinearNorm")
    if expression.tag != "NormContinuous" or len(points) != 2 or expression.get("outliers", "asIs") != "asIs":
        raise ModelRefused("An output of numbers is read by FieldRef, or by NormContinuous of two LinearNorm.")
    (x1, y1), (x2, y2) = ((number(point, "orig"), number(point, "norm")) for point in points)
    if x1 == x2 or (y2 - y1) / (x2 - x1) <= 0:
        raise ModelRefused("The NormContinuous of an output is read where it rises.")
    slope = (y2 - y1) / (x2 - x1)
    return slope, y1 - slope * x1
