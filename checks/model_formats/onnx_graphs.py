"""Random ONNX graphs, made by skl2onnx, and ONNX's own reference evaluator as their maker."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from auditor_client.models.checking import Agreement, MakersAnswers, compare
from auditor_client.models.inventing import Invented, invent
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from checks.model_formats.data import SCHEMA, labels, table
from shared.contract.schema import Schema
from shared.scores.documents import Choice, Layers, Terms

Products = Sequence[tuple[float, float]]
NUMBERS: Final = ("income", "age", "children")
NEVER_MISSING: Final = Schema(
    person_key=SCHEMA.person_key,
    columns=tuple(column.model_copy(update={"nullable": False}) for column in SCHEMA.columns),
)
CLASSIFIERS: Final[Mapping[str, Callable[[np.random.Generator], Any]]] = {
    "forest": lambda draw: RandomForestClassifier(int(draw.integers(1, 9)), max_depth=4, random_state=0),
    "extra": lambda draw: ExtraTreesClassifier(int(draw.integers(1, 9)), max_depth=4, random_state=0),
    "boosting": lambda draw: GradientBoostingClassifier(
        n_estimators=int(draw.integers(1, 9)), max_depth=3, random_state=0
    ),
    "tree": lambda _: DecisionTreeClassifier(max_depth=5, random_state=0),
    "logistic": lambda _: LogisticRegression(max_iter=2000),
    "vectors": lambda draw: SVC(kernel="linear", C=float(draw.choice([1.0, 10.0]))),
    "network": lambda draw: MLPClassifier(
        (int(draw.integers(1, 9)),),
        activation=str(draw.choice(["relu", "tanh", "logistic"])),
        max_iter=30,
        random_state=0,
    ),
}


def onnx_file(seed: int, kind: str | None = None) -> tuple[bytes, ModelRequest]:
    """A classifier of two or three classes behind scalers and encoders, converted."""
    from skl2onnx import to_onnx  # noqa: PLC0415 - takes most of a second to import

    draw = np.random.default_rng(seed)
    frame = table(draw, missing=False)
    for name in ("home", "work"):
        frame[name] = frame[name].astype(str)
    for name in NUMBERS:
        frame[name] = frame[name].astype(np.float32)
    name = kind or str(draw.choice(list(CLASSIFIERS)))
    classes = 2 if name == "vectors" else int(draw.choice([2, 2, 3]))
    target = labels(draw, frame, classes)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    scaler: Any = [StandardScaler(), MinMaxScaler(), "passthrough"][
        int(draw.integers(0, 2 if name == "vectors" else 3))
    ]
    steps: Any = make_column_transformer((scaler, list(NUMBERS)), (encoder, ["home", "work"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(steps, CLASSIFIERS[name](draw)).fit(frame[[*NUMBERS, "home", "work"]], target)
        graph = to_onnx(model, frame[[*NUMBERS, "home", "work"]][:1])
    return graph.SerializeToString(), ModelRequest(NEVER_MISSING, favourable=[int(draw.integers(0, classes))])


def agreement(content: bytes, request: ModelRequest, records: int = 2000) -> tuple[ReadModel, Agreement]:
    """What was read beside what the reference evaluator decides."""
    read = read_object(load_object(content, "model.onnx"), request)
    graph = ModelProto.FromString(content)
    for node in [node for node in graph.graph.node if node.op_type == "ZipMap"]:
        graph.graph.node.remove(node)  # the evaluator does not have it, and it only gives probabilities names
    del graph.graph.output[1:]
    evaluator = ReferenceEvaluator(graph)

    def ask(invented: Invented) -> MakersAnswers:
        given: dict[str, Any] = {}
        for one in graph.graph.input:
            values = invented.values[one.name].reshape(-1, 1)
            given[one.name] = values.astype(np.float32 if values.dtype != object else str)
        with np.errstate(all="ignore"):
            answers: Any = evaluator.run(None, given)
        label = np.asarray(answers[0])
        favourable = np.isin(label, list(request.favourable or ()))
        return MakersAnswers(favourable=favourable, bounds=bounds(read, invented, 2.0**-24, of_vectors(graph)))

    documents = [column.origin.score for column in read.columns if not isinstance(column.origin, str)]
    predicates = {predicate for rule in read.tree.rules() for predicate in rule.rule.all_of}
    invented = invent(documents, request.schema, records, predicates=predicates)
    return read, compare(read, request.schema, ask, invented)


def of_vectors(graph: ModelProto) -> list[tuple[float, float]]:
    """The size of the products that a support vector machine adds for each input, and that of their sum."""
    for node in graph.graph.node:
        if node.op_type == "SVMClassifier":
            given = {attribute.name: np.asarray(attribute.floats, float) for attribute in node.attribute}
            vectors = given["support_vectors"].reshape(len(given["coefficients"]), -1)
            added, sums = np.abs(given["coefficients"]) @ np.abs(vectors), given["coefficients"] @ vectors
            return list(zip(added.tolist(), np.abs(sums).tolist(), strict=True))
    return []


def bounds(read: ReadModel, invented: Invented, unit: float, products: Products = ()) -> dict[str, Any]:
    """How far rounding to a unit may be from the document's number: each sum's size, times its roundings.

    `products` are those that the maker adds for each input in place of one; the last are those of tables.
    """
    found = {}
    for column in read.columns:
        document = column.origin.score  # type: ignore[union-attr]
        parts = document.of if isinstance(document, Choice) else (document,)
        if all(isinstance(part, Terms | Layers) for part in parts):
            size = sum((_size(part, invented, products) for part in parts), np.zeros(invented.count))
            found[column.name] = size * 64 * unit
    return found


def _size(part: Any, invented: Invented, products: Products) -> Any:
    terms = part.terms if isinstance(part, Terms) else part.inputs
    total = np.full(invented.count, abs(part.base) if isinstance(part, Terms) else 1.0) + 4.0
    term: Any
    for index, term in enumerate(terms):
        if hasattr(term, "slope"):
            times = products[index][0] / products[index][1] if products else 1.0
            total += np.abs(np.asarray(invented.values[term.columns[0]], float) * term.slope) * 4 * times
        else:
            total += max([*map(abs, term.table), *(added for added, _ in products[index:])])
    for layer in part.layers if isinstance(part, Layers) else ():
        total = total * max(1.0, np.abs(layer.weights).sum(axis=1).max()) + np.abs(layer.bias).max()
    return total
