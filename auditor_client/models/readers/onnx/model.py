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
from auditor_client.models.readers.inputs import (
    InputTest,
    ModelInputs,
    float32_at_most,
    float32_below,
    one_of,
    opposite,
)
from auditor_client.models.readers.links import expf, least, logistic
from auditor_client.models.readers.onnx.graph import READ, Graph
from auditor_client.models.readers.onnx.symbols import Chosen, DenseStep, Encoded, Outputs
from auditor_client.models.readers.onnx.tensors import require_own_data
from auditor_client.models.readers.parsing import DocumentPart
from auditor_client.models.readers.tree_tables import TestTable, made, tree_table
from shared.contract.rules import Predicate
from shared.contract.schema import Column
from shared.scores.documents import Axis, Dense, Layers, Product, ScoreTree, TableTerm, Term, Terms, Trees
from shared.wire import limits

_SINGLE_EXACT: Final = 2**24
IR_VERSIONS: Final = (3, 13)
_MODES: Final = {
    "BRANCH_LEQ": "le", "BRANCH_LT": "lt", "BRANCH_GTE": "ge", "BRANCH_GT": "gt", "BRANCH_EQ": "eq", "BRANCH_NEQ": "ne",
}  # fmt: skip
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
        raise ModelRefused(f"{name} is damaged, and is not a whole ONNX file. Save the model again.") from error
    if not IR_VERSIONS[0] <= model.ir_version <= IR_VERSIONS[1]:
        raise ModelRefused(
            f"{name} is of ONNX's IR version {model.ir_version}. Read are {IR_VERSIONS[0]} to {IR_VERSIONS[1]}."
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
    outputs = chosen.of if chosen else next((result for result in results if isinstance(result, Outputs)), None)
    if outputs is None:
        raise ModelRefused(f"No output of the graph is a class or a number that is read. {READ}")
    about = "trees" if outputs.trees is not None else "layers" if len(outputs.layers) > 1 else "a linear model"
    if model.model.producer_name:
        about += f", made by {model.model.producer_name[:40]} {model.model.producer_version[:20]}"
    provenance = Provenance(f"an ONNX graph: {about}", "onnx")
    decide = _decided_by_layers if outputs.trees is None else _decided_by_trees
    return inputs.noted(decide(outputs, chosen, inputs, request, provenance))


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
        document = _trees(fields, kind, ids[0] if ids else 0, outputs.inputs, inputs)
        if classes is None:
            if len(ids) != 1:
                raise ModelRefused("A regressor of several targets is not read: train one model for each.")
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
    documents = [_trees(fields, kind, number, outputs.inputs, inputs) for number in ids]
    return by_choice(documents, request, provenance, classes=classes)


def _logisticf(score: float) -> float:
    """The logistic function in single precision, as ONNX Runtime writes it."""
    one = np.float32(1)
    value = one / (one + np.float32(expf(-abs(score))))
    return float(one - value if score < 0 else value)


def _trees(fields: dict[str, Any], kind: str, number: int, encoded: tuple[Encoded, ...], inputs: ModelInputs) -> Trees:
    """The document of one output."""
    part = {name: DocumentPart(value, name) for name, value in fields.items()}
    count = len(fields.get("nodes_treeids", []))
    if not 1 <= count <= limits.SCORE_NODES_MAX or fields.get("aggregate_function", "SUM") not in ("SUM", "AVERAGE"):
        raise ModelRefused("A tree ensemble has no nodes, too many, or takes another aggregate than SUM and AVERAGE.")
    keys = list(zip(fields["nodes_treeids"], fields["nodes_nodeids"], strict=True))
    index = {key: position for position, key in enumerate(keys)}
    tracks = fields.get("nodes_missing_value_tracks_true") or [0] * count
    columns = part["nodes_featureids"].integers(0, len(encoded) - 1, count)
    values, modes = part["nodes_values"].numbers(count), fields["nodes_modes"]
    if len(index) != count or len(tracks) != count or len(modes) != count:
        raise ModelRefused("A tree ensemble's nodes do not fit together: save the model again.")
    leaves = np.zeros(count)
    listed = zip(
        fields[f"{kind}_treeids"],
        fields[f"{kind}_nodeids"],
        fields[f"{kind}_ids"],
        fields[f"{kind}_weights"],
        strict=True,
    )
    for tree, node, of, weight in listed:
        if of == number:
            if modes[index[tree, node]] != "LEAF" or leaves[index[tree, node]] != 0:
                raise ModelRefused("A tree ensemble has two numbers in a leaf, or one in a node.")
            leaves[index[tree, node]] = weight
    tests, predicates = TestTable(), dict[tuple[int, Any, float, bool], Predicate | bool]()
    numbers = values.tolist()
    roots: dict[Any, int] = {}
    for position, (tree, _) in enumerate(keys):
        roots.setdefault(tree, position)

    def step(position: Any) -> Any:
        if modes[position] == "LEAF":
            return float(leaves[position])
        if modes[position] not in _MODES:
            raise ModelRefused(f"A node of the mode {str(modes[position])[:40]!r} is not read.")
        tree = keys[position][0]
        try:
            yes, no = (
                index[tree, fields["nodes_truenodeids"][position]],
                index[tree, fields["nodes_falsenodeids"][position]],
            )
        except KeyError as error:
            raise ModelRefused(f"A tree's node {error} is not there.") from error
        test = columns[position], _MODES[modes[position]], numbers[position], bool(tracks[position])
        if test not in predicates:
            predicates[test] = _predicate(encoded[test[0]], *test[1:], inputs)
        return predicates[test], yes, no

    trees = [tree_table(root, step, tests) for root in roots.values()]
    base = fields.get("base_values") or []
    if len(base) > 1 and len(base) <= number:
        raise ModelRefused("The ensemble's base values do not fit its outputs.")
    mean = fields.get("aggregate_function", "SUM") == "AVERAGE"
    if base:
        if mean:
            raise ModelRefused("A mean of trees with base values is not read.")
        own = float(base[number] if len(base) > 1 else base[0])
        trees.append(made(ScoreTree, tests=(), yes=(), no=(), values=(own,)))
    return made(Trees, kind="trees", precision="float32", tests=tests.tests, trees=tuple(trees), mean=mean)


def _predicate(encoded: Encoded, op: Any, threshold: float, tracks: bool, inputs: ModelInputs) -> Predicate | bool:
    """A test of a number behind encoders and scalers, as a predicate of the column that it comes from."""
    kind = InputTest(op, float(np.float32(threshold)), missing=tracks or op == "ne")
    column = inputs.column(encoded.source)
    if encoded.codes is not None:
        if column.type != "category":
            raise ModelRefused(f"The model takes {column.name!r} as a text, and the dataset declares {column.type}.")
        codes = dict(encoded.codes)
        yes = [
            value for value in column.values if kind.answer(_coded(codes.get(str(value), encoded.otherwise), encoded))
        ]
        if column.nullable:
            raise ModelRefused(
                f"The model takes {column.name!r} as a text, which is never missing in ONNX: it is nullable."
            )
        return one_of(column, yes, missing=False)
    _require_rounded_once(encoded, column)
    missing = kind.missing if np.isnan(encoded.filling) else kind.answer(float(encoded.image(encoded.filling)))
    source = inputs[encoded.source]
    if column.type == "boolean":
        yes_values = [value for value in (False, True) if kind.answer(float(encoded.image(value)))]
        return one_of(column, yes_values, missing)
    if op in ("eq", "ne"):
        if column.type != "integer" or encoded.steps:
            raise ModelRefused("A tree that tests numbers for equality is read for integers without scaling.")
        return source.predicate(InputTest(op, kind.value, missing))
    if encoded.kind == "double":
        return source.predicate(InputTest(op, kind.value, missing))
    if not encoded.steps:
        below = (float32_at_most if op in ("le", "gt") else float32_below)(threshold)
        falls = op in ("ge", "gt")
    else:
        rising = np.prod([np.sign(number) for name, number in encoded.steps if name in ("Mul", "Div")] or [1.0]) > 0
        falls = (op in ("ge", "gt")) == bool(rising)

        def turned(number: float) -> bool:
            return kind.answer(float(encoded.image(number))) == falls

        below = float32_below(least(turned, "float32"))
    if not falls:
        return source.predicate(InputTest(below.op, below.value, missing))
    predicate = source.predicate(InputTest(below.op, below.value, not missing))
    return not predicate if isinstance(predicate, bool) else opposite(predicate, column)


def _require_rounded_once(encoded: Encoded, column: Column) -> None:
    """Refuse numbers that are computed in double precision before a tree compares them, and large whole ones."""
    if encoded.steps and encoded.kind in ("double", "widened"):
        raise ModelRefused(
            f"A tree compares {column.name!r} behind steps in double precision, which is not read: export the model "
            "with float inputs."
        )
    if encoded.kind == "whole" and max(abs(column.low), abs(column.high)) > _SINGLE_EXACT:
        raise ModelRefused(
            f"A tree compares whole numbers of {column.name!r} beyond 2²⁴, which runtimes round in different ways: "
            "export the model with float inputs, or declare a narrower range."
        )


def _coded(number: float, encoded: Encoded) -> float:
    return float(encoded.image(number))


def _decided_by_layers(
    outputs: Outputs, chosen: Chosen | None, inputs: ModelInputs, request: ModelRequest, provenance: Provenance
) -> ReadModel:
    width = len(outputs.layers[-1].weights)
    classes = chosen.classes if chosen else None
    if chosen is None:
        if width != 1:
            raise ModelRefused("The graph has several numbers and no class: add an ArgMax, or save it with its label.")
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
