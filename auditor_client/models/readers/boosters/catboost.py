"""CatBoost: its JSON export, or a CatBoostClassifier, CatBoostRegressor or CatBoost in memory (by its JSON export).

Read are oblivious and other trees over float features. A number becomes a float32 and is compared with float32 borders;
missing is above or below all of them, as the feature says. Leaves are added in double precision, in order, and then the
bias. Splits on categories are refused: CatBoost keeps hashes and statistics of them.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.inventing import Invented
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.decisions import by_choice, compared, makers_answers, one_number, two_classes
from auditor_client.models.readers.frames import frame, installed
from auditor_client.models.readers.inputs import InputTest, ModelInputs, float32_at_most
from auditor_client.models.readers.links import logistic
from auditor_client.models.readers.parsing import DocumentPart, parsed_json
from auditor_client.models.readers.tree_tables import TestTable, made, tree_table
from shared.scores.documents import ScoreTree, Trees
from shared.wire import limits

FEATURES_MAX: Final = 65_536
DEPTH_MAX: Final = 16
_READ: Final = (
    'Read are CatBoost\'s JSON exports (save_model(..., format="json")) of CatBoost 1 with splits on numbers, for '
    "Logloss, CrossEntropy, MultiClass, MultiClassOneVsAll, RMSE, MAE and Quantile."
)
_NUMBERS: Final = ("RMSE", "MAE", "Quantile")


@dataclass(frozen=True, slots=True)
class CatBoostModel:
    """A CatBoost model as its export says it.

    Attributes:
        document: The export.
    """

    document: DocumentPart


def load_file(content: bytes, name: str) -> CatBoostModel:
    """Read the export's JSON.

    Raises:
        ModelRefused: It is damaged.
    """
    document = DocumentPart(parsed_json(content, name), name)
    document.known("features_info", "model_info", "oblivious_trees", "trees", "scale_and_bias", "ctr_data")
    return CatBoostModel(document)


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a model over a dataset's columns.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    if isinstance(model, CatBoostModel):
        return _read(model.document, request)[0]
    if not hasattr(model, "save_model"):
        raise ModelRefused(f"A CatBoost model inside of a {type(model).__name__} is not read: give the model itself.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        document = load_file(path.read_bytes(), "The model").document
    read, classes, inputs, names = _read(document, request)

    def ask(records: Invented) -> MakersAnswers:
        table = frame(records, request.schema, inputs.names, names, ())
        raw = model.predict(table, prediction_type="RawFormulaVal", thread_count=1)
        probabilities = raw
        if classes:
            probabilities = model.predict(table, prediction_type="Probability", thread_count=1)
        decided_as = None
        if classes:
            labels = model.predict(table, prediction_type="Class", thread_count=1).ravel().tolist()
            decided_as = np.array([[str(one) for one in classes].index(str(label)) for label in labels])
        return makers_answers(
            read, request, classes=classes, probabilities=probabilities, raw=raw, decided_as=decided_as
        )

    maker = installed("catboost")
    return compared(read, request, ask, f"CatBoost {maker.__version__}")


def _read(document: DocumentPart, request: ModelRequest) -> tuple[ReadModel, list[Any], ModelInputs, list[str]]:
    names, flat, nan_above = _features(document["features_info"])
    inputs = ModelInputs(names, request)
    scale, bias = _scale_and_bias(document["scale_and_bias"])
    if scale != 1:
        raise ModelRefused(f"The model's scale is {scale}: read is 1, which is what training gives.")
    oblivious = document.get("oblivious_trees")
    parts = (document["trees"] if oblivious is None else oblivious).items(limits.SCORE_TREES_MAX - 1)

    def goes_on(part: DocumentPart) -> Any:
        if part["split_type"].value != "FloatFeature":
            part["split_type"].refuse(f'"FloatFeature". {_READ}')
        index = part["float_feature_index"].integer(0, len(flat) - 1)
        below = float32_at_most(part["border"].number())
        return inputs[flat[index]].predicate(InputTest(below.op, below.value, not nan_above[index]))

    documents = []
    for number in range(len(bias)):
        tests = TestTable()
        make = _nested if oblivious is None else _oblivious
        trees = [make(part, goes_on, tests, number, len(bias)) for part in parts]
        trees.append(made(ScoreTree, tests=(), yes=(), no=(), values=(bias[number],)))
        documents.append(made(Trees, kind="trees", precision="float64", tests=tests.tests, trees=tuple(trees)))
    provenance = Provenance(f"a gradient-boosted model of {len(parts)} trees, CatBoost", "catboost")
    read, classes = _decided(document["model_info"], documents, request, provenance)
    return inputs.noted(read), classes, inputs, names


def _features(part: DocumentPart) -> tuple[list[str], list[int], list[bool]]:
    """All inputs' names in the model's order; of each float feature its index there, and where missing goes."""
    part.known("float_features", "categorical_features", "ctrs")
    names: dict[int, str] = {}
    flat: list[int] = []
    nan_above: list[bool] = []
    for kind in ("float_features", "categorical_features"):
        listed = part.get(kind)
        for item in [] if listed is None else listed.items(FEATURES_MAX):
            index = item["flat_feature_index"].integer(0, FEATURES_MAX)
            named = item.get("feature_id")
            if index in names:
                item["flat_feature_index"].refuse("an index of its own")
            names[index] = named.text() if named and named.value else str(index)
            if kind == "float_features":
                if item["feature_index"].integer() != len(flat):
                    item["feature_index"].refuse("the feature's place in the list")
                flat.append(index)
                nan_above.append(item["nan_value_treatment"].one_of("AsIs", "AsFalse", "AsTrue") == "AsTrue")
    if sorted(names) != list(range(len(names))):
        raise ModelRefused(f"The model has inputs that are neither numbers nor categories. {_READ}")
    return [names[index] for index in range(len(names))], flat, nan_above


def _scale_and_bias(part: DocumentPart) -> tuple[float, list[float]]:
    scale, bias = part.items(2) if len(part.items()) == 2 else part.refuse("a scale and a list of biases")
    if not isinstance(bias.value, list):
        return scale.number(), [bias.number()]
    return scale.number(), [item.number() for item in bias.items(limits.SCORE_CLASSES_MAX)]


def _oblivious(part: DocumentPart, goes_on: Any, tests: TestTable, number: int, classes: int) -> ScoreTree:
    """All nodes of a level ask the same; the answer to the first split is the lowest bit of the leaf's index."""
    part.known("leaf_values", "leaf_weights", "splits")
    listed = part["splits"]
    splits = [] if listed.value is None else listed.items(DEPTH_MAX)  # of a tree that is one leaf, CatBoost says null
    values = part["leaf_values"].numbers((1 << len(splits)) * classes)
    predicates = [goes_on(split) for split in splits]

    def step(node: Any) -> Any:
        level, leaf = node
        if level == len(splits):
            return float(values[leaf * classes + number])
        return predicates[level], (level + 1, leaf), (level + 1, leaf | 1 << level)

    return tree_table((0, 0), step, tests)


def _nested(part: DocumentPart, goes_on: Any, tests: TestTable, number: int, classes: int) -> ScoreTree:
    parts = [part]

    def step(node: Any) -> Any:
        own = parts[node]
        if own.get("split") is None:
            value = own.known("value", "weight")["value"]
            listed = value.numbers(classes) if classes > 1 or isinstance(value.value, list) else [value.number()]
            return float(listed[number])
        own.known("left", "right", "split")
        children = len(parts), len(parts) + 1
        parts.extend((own["left"], own["right"]))
        return goes_on(own["split"]), *children

    return tree_table(0, step, tests)


def _decided(
    part: DocumentPart, documents: list[Trees], request: ModelRequest, provenance: Provenance
) -> tuple[ReadModel, list[Any]]:
    loss = part["params"]["loss_function"]["type"].text()
    classes: list[Any] = []
    named = part.get("class_params")
    if named is not None:
        classes = [item.value for item in named["class_names"].items(limits.SCORE_CLASSES_MAX)]
        if not all(isinstance(label, str | int | float) for label in classes):
            named["class_names"].refuse("a list of texts or numbers")
    if loss in ("Logloss", "CrossEntropy") and len(documents) == 1 and len(classes) in (0, 2):
        classes = classes or [0, 1]
        read = two_classes(
            documents[0], request, provenance, classes=classes, decides=lambda score: score > 0,
            shares=lambda score: (1.0 - logistic(score), logistic(score)),
        )  # fmt: skip
        return read, classes
    if loss in ("MultiClass", "MultiClassOneVsAll") and len(documents) == len(classes) > 1:
        return by_choice(documents, request, provenance, classes=classes), classes
    if loss in _NUMBERS and len(documents) == 1 and not classes:
        return one_number(documents[0], request, provenance), []
    raise ModelRefused(f"The loss {loss[:60]!r} is not read. {_READ}")
