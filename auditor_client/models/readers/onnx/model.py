"""ONNX graphs as scikit-learn's, XGBoost's and other converters write them: read as data, never run.

Trees compare and add in single precision, in the graph's order, and are read to the last bit. Linear operators and
layers are read in double precision, scalers and encoders folded into their weights: a runtime that computes them in
single precision may differ by its own rounding. Nothing is compared, since that would mean to run the graph: compare
decisions that you have with `examples` in our own JSON, or audit the model that the graph was made of.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.decisions import Adding, by_choice, one_number, two_classes
from auditor_client.models.readers.frames import installed
from auditor_client.models.readers.inputs import ModelInputs
from auditor_client.models.readers.links import expf, logistic
from auditor_client.models.readers.onnx.graph import READ, Graph
from auditor_client.models.readers.onnx.symbols import Chosen, DenseStep, Encoded, Outputs
from auditor_client.models.readers.onnx.tensors import require_own_data
from auditor_client.models.readers.onnx.trees import trees_documents
from auditor_client.models.readers.tree_tables import made
from shared.scores.documents import Axis, Dense, Layers, Product, TableTerm, Term, Terms

IR_VERSIONS: Final = (3, 13)
_OF_TREES: Final = (
    "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_truenodeids",
    "nodes_falsenodeids", "nodes_missing_value_tracks_true", "nodes_hitrates", "class_treeids", "class_nodeids",
    "class_ids", "class_weights", "target_treeids", "target_nodeids", "target_ids", "target_weights", "n_targets",
    "base_values", "aggregate_function", "post_transform", "classlabels_int64s", "classlabels_strings",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A parsed ONNX file.

    Attributes:
        model: Its protobuf message, whose tensors are all in the file itself.
    """

    model: Any

    def __post_init__(self) -> None:
        require_own_data(self.model)


def load_file(content: bytes, name: str) -> OnnxModel:
    """Parse a file's protobuf message; nothing else of it is read.

    Raises:
        ModelRefused: It is damaged, of a later version, or `onnx` is not installed.
    """
    onnx = installed("onnx")
    if onnx is None:
        raise ModelRefused(f"{name} is an ONNX file: install pafer[auditor,onnx] to read it.")
    try:
        model = onnx.ModelProto.FromString(content)
    except Exception as error:  # protobuf's own error, which has no public name
        raise ModelRefused(
            f"{name} is not a whole ONNX file: it is damaged, or another program's, such as TensorFlow's "
            "saved_model.pb. Save the model again, or convert it: python -m tf2onnx.convert --saved-model FOLDER."
        ) from error
    if not IR_VERSIONS[0] <= model.ir_version <= IR_VERSIONS[1]:
        raise ModelRefused(
            f"{name} is of ONNX's IR version {model.ir_version}, or another program's, such as Core ML's. Read are "
            f"{IR_VERSIONS[0]} to {IR_VERSIONS[1]}: save the model as such an ONNX file."
        )
    return OnnxModel(model)


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a graph over a dataset's columns.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    if not isinstance(model, OnnxModel):
        model = OnnxModel(model)
    try:
        return _read(model, request)
    except ModelRefused:
        raise
    except Exception as error:  # a forged graph may contradict itself anywhere
        raise ModelRefused(f"The graph contradicts itself ({type(error).__name__}): save the model again.") from error


def _read(model: OnnxModel, request: ModelRequest) -> ReadModel:
    graph = Graph(model.model)
    inputs = ModelInputs(graph.names, request)
    results = [graph.tensors.get(output.name) for output in model.model.graph.output]
    chosen = next((result for result in results if isinstance(result, Chosen)), None)
    numbers = [result for result in results if isinstance(result, Outputs)]
    outputs = chosen.of if chosen else next(iter(numbers), None)
    if outputs is None:
        raise ModelRefused(f"No output of the graph is a class or a number that is read. {READ}")
    if request.above is not None and chosen and not all(_same_numbers(number, chosen.of) for number in numbers):
        raise ModelRefused(
            "The graph chooses its class by other numbers than it gives as probabilities: leave `above` out."
        )
    about = "trees" if outputs.trees is not None else "layers" if len(outputs.layers) > 1 else "a linear model"
    if model.model.producer_name:
        about += f", made by {model.model.producer_name[:40]} {model.model.producer_version[:20]}"
    provenance = Provenance(f"an ONNX graph: {about}", "onnx")
    decide = _decided_by_layers if outputs.trees is None else _decided_by_trees
    return inputs.noted(decide(outputs, chosen, inputs, request, provenance))


def _same_numbers(output: Outputs, chosen_by: Outputs) -> bool:
    """Return whether an output of a graph has the numbers by which its class is chosen, or their shares of 1."""
    links = (output.link, chosen_by.link)
    same = output.trees is chosen_by.trees and output.layers is chosen_by.layers
    return same and (output.link == chosen_by.link or links == ("Normalizer", "Sigmoid"))


def _decided_by_trees(
    outputs: Outputs, chosen: Chosen | None, inputs: ModelInputs, request: ModelRequest, provenance: Provenance
) -> ReadModel:
    fields = outputs.trees or {}
    for name in fields:
        if name not in _OF_TREES:
            raise ModelRefused(f"A tree ensemble has an attribute {name[:40]!r}, which is not read.")
    kind = "class" if "class_ids" in fields else "target"
    weights = np.asarray(fields.get(f"{kind}_weights", []), np.float64)
    ids = sorted(set(fields.get(f"{kind}_ids", [])))
    link = outputs.link or {"LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax", "NONE": ""}.get(
        fields.get("post_transform", "NONE")
    )
    if link is None:
        raise ModelRefused(f"post_transform {fields['post_transform'][:40]!r} is not read.")
    classes = chosen.classes if chosen else None
    if classes is None or (len(classes) == 2 and len(ids) == 1):
        [document] = trees_documents(fields, kind, ids[:1] or [0], outputs.inputs, inputs)
        if classes is None:
            if len(ids) != 1:
                raise ModelRefused("A regressor of several targets is not read: train one model for each.")
            _require_number(link)
            return one_number(document, request, provenance, image=_logisticf if link == "Sigmoid" else None)
        middle = 0.5 if (weights >= 0).all() else 0.0
        shares = (lambda s: (1 - _logisticf(s), _logisticf(s))) if link == "Sigmoid" else (lambda s: (1 - s, s))
        return two_classes(
            document, request, provenance, classes=classes, decides=lambda score: score > middle,
            shares=None if link == "Softmax" or (not link and middle == 0.0) else shares,
        )  # fmt: skip
    if len(classes) == 2:
        raise ModelRefused(
            "The ensemble has numbers for both of two classes, and ONNX Runtime does not compare them: "
            "save the model with numbers for one class, as skl2onnx does."
        )
    if ids != list(range(len(classes))):
        raise ModelRefused("The ensemble's numbers do not fit its classes.")
    documents = trees_documents(fields, kind, ids, outputs.inputs, inputs)
    return by_choice(documents, request, provenance, classes=classes)


def _require_number(link: str) -> None:
    """Refuse one number behind an operator that makes shares of several."""
    if link not in ("", "Sigmoid"):
        raise ModelRefused(f"A {link} of one number is not read: it makes shares of several.")


def _logisticf(score: float) -> float:
    """The logistic function in single precision, as ONNX Runtime writes it."""
    one = np.float32(1)
    value = one / (one + np.float32(expf(-abs(score))))
    return float(one - value if score < 0 else value)


def _decided_by_layers(
    outputs: Outputs, chosen: Chosen | None, inputs: ModelInputs, request: ModelRequest, provenance: Provenance
) -> ReadModel:
    width = len(outputs.layers[-1].weights)
    classes = chosen.classes if chosen else None
    if chosen is None:
        if width != 1:
            raise ModelRefused("The graph has several numbers and no class: add an ArgMax, or save it with its label.")
        _require_number(outputs.link)
        image = logistic if outputs.link == "Sigmoid" else None
        return one_number(_adding(outputs, 0, inputs), request, provenance, image=image)
    if outputs.both and width == 1:
        names = classes or (0, 1)
        return two_classes(
            _adding(outputs, 0, inputs), request, provenance, classes=names, decides=lambda score: score > 0,
            shares=lambda score: (1 - logistic(score), logistic(score)),
        )  # fmt: skip
    names = classes or tuple(range(width))
    if len(names) != width:
        raise ModelRefused("The graph's numbers do not fit its classes.")
    last = outputs.layers[-1]
    if (
        width == 2
        and outputs.link != "Softmax"
        and np.array_equal(last.weights[0], -last.weights[1])
        and last.bias[0] == -last.bias[1]
    ):
        return two_classes(
            _adding(outputs, 1, inputs), request, provenance, classes=names, decides=lambda score: score > 0,
            shares=(lambda score: (logistic(-score), logistic(score))) if outputs.link == "Sigmoid" else None,
        )  # fmt: skip
    return by_choice([_adding(outputs, unit, inputs) for unit in range(width)], request, provenance, classes=names)


def _adding(outputs: Outputs, unit: int, inputs: ModelInputs) -> Adding:
    """The document of one output's sum, before its link."""
    last = outputs.layers[-1]
    layers = (*outputs.layers[:-1], DenseStep(last.weights[unit : unit + 1], last.bias[unit : unit + 1]))
    affine = [encoded.affine if encoded.codes is None else (1.0, 0.0) for encoded in outputs.inputs]
    constants = np.array([constant for _, constant in affine])
    first = layers[0]
    bias = first.bias + first.weights @ constants
    if len(layers) == 1:
        terms = _merged(outputs.inputs, first.weights[0], inputs)
        return made(Terms, kind="terms", precision="float64", base=float(bias[0]), terms=tuple(terms))
    terms = [term for item in outputs.inputs for term in _merged((item,), np.ones(1), inputs)]
    dense = [
        made(
            Dense, weights=tuple(map(tuple, layer.weights.tolist())),
            bias=tuple((bias if layer is first else layer.bias).tolist()), activation=layer.activation,
        )
        for layer in layers
    ]  # fmt: skip
    return made(Layers, kind="layers", precision="float64", inputs=tuple(terms), layers=tuple(dense))


def _merged(all_encoded: tuple[Encoded, ...], weights: Any, inputs: ModelInputs) -> list[Term]:
    """A term for each number, and one for all numbers of the same text."""
    terms: list[Term] = []
    tables: dict[int, dict[Any, float]] = {}
    for encoded, weight in zip(all_encoded, weights.tolist(), strict=True):
        column = inputs.column(encoded.source)
        if encoded.codes is None:
            _ = inputs[encoded.source]  # refuses a category that is taken for a number
            slope = weight * encoded.affine[0]
            filled = None if np.isnan(encoded.filling) else slope * encoded.filling
            terms.append(
                made(Product, columns=(column.name,), slope=slope, missing=filled if column.nullable else None)
            )
            continue
        if column.type != "category":
            raise ModelRefused(f"The model takes {column.name!r} as a text, and the dataset declares {column.type}.")
        codes, table = dict(encoded.codes), tables.setdefault(encoded.source, {})
        slope, constant = encoded.affine
        for value in column.values:
            number = codes.get(str(value), encoded.otherwise)
            table[value] = table.get(value, 0.0) + weight * (slope * number + constant)
    for source, table in tables.items():
        axis = Axis(column=inputs.column(source).name, values=tuple(table))
        terms.append(made(TableTerm, axes=(axis,), table=tuple(table.values())))
    return terms
