"""CatBoost: its JSON export, or a CatBoostClassifier, CatBoostRegressor or CatBoost in memory (by its JSON export).

Read are oblivious and other trees over float features. A number becomes a float32 and is compared with float32 borders;
missing is above or below all of them, as the feature says. Leaves are added in double precision, in order, and then the
bias. A split on one category compares its hash, and an export with its pool says whose hash that is. Splits on
statistics of categories are refused.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.inventing import Invented
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.boosters.category_hashes import require_hash
from auditor_client.models.readers.decisions import by_choice, compared, makers_answers, one_number, two_classes
from auditor_client.models.readers.frames import frame, installed
from auditor_client.models.readers.inputs import InputTest, ModelInputs, float32_at_most
from auditor_client.models.readers.links import logistic
from auditor_client.models.readers.parsing import DocumentPart, parsed_json
from auditor_client.models.readers.tree_tables import TestTable, made, tree_table
from shared.contract.schema import Value
from shared.scores.documents import ScoreTree, Trees
from shared.wire import limits

FEATURES_MAX: Final = 65_536
DEPTH_MAX: Final = 16
_READ: Final = (
    'Read are CatBoost\'s JSON exports (save_model(..., format="json")) of CatBoost 1 with splits on numbers, for '
    "Logloss, CrossEntropy, MultiClass, MultiClassOneVsAll, RMSE, MAE and Quantile."
)
_NUMBERS: Final = ("RMSE", "MAE", "Quantile")


USED: Final = "used"
_STATISTICS: Final = "of splits on statistics of categories, which are refused"
VOCABULARY: Final[Mapping[str, Mapping[str, str]]] = {
    "document": {
        "features_info": USED, "model_info": USED, "oblivious_trees": USED, "trees": USED, "scale_and_bias": USED,
        "ctr_data": _STATISTICS,
    },
    "model_info": {
        "params": USED, "class_params": USED, "catboost_version_info": "the build that wrote it",
        "model_guid": "a number of its own", "train_finish_time": "a time", "output_options": "paths of training",
        "training": "how it was trained",
    },
    "features_info": {
        "float_features": USED, "categorical_features": USED, "cat_features_hash": USED, "ctrs": _STATISTICS,
    },
    "float_features": {
        "feature_id": USED, "feature_index": USED, "flat_feature_index": USED, "nan_value_treatment": USED,
        "borders": USED, "has_nans": USED, "feature_name": "said in feature_id",
    },
    "categorical_features": {
        "feature_id": USED, "feature_index": USED, "flat_feature_index": USED, "values": USED,
        "feature_name": "said in feature_id",
    },
    "oblivious_tree": {"leaf_values": USED, "splits": USED, "leaf_weights": "of training"},
    "node": {"left": USED, "right": USED, "split": USED},
    "leaf": {"value": USED, "weight": "of training"},
    "split": {
        "split_type": USED, "border": USED, "float_feature_index": USED, "cat_feature_index": USED, "value": USED,
        "split_index": USED,
    },
}  # fmt: skip
"""The members of objects that may stand in an export: used, or why they change no prediction; others are refused."""


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
    document.known(*VOCABULARY["document"])
    document["model_info"].known(*VOCABULARY["model_info"])
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
            texts = [str(name) for name in classes]
            decided_as = np.array([texts.index(str(label)) for label in labels])
        return makers_answers(
            read, request, classes=classes, probabilities=probabilities, raw=raw, decided_as=decided_as
        )

    maker = installed("catboost")
    return compared(read, request, ask, f"CatBoost {maker.__version__}")


def _read(document: DocumentPart, request: ModelRequest) -> tuple[ReadModel, list[Any], ModelInputs, list[str]]:
    names, flat, nan_above, categorical = _features(document["features_info"])
    inputs = ModelInputs(names, request)
    hashed = _hashes(document["features_info"])
    scale, bias = _scale_and_bias(document["scale_and_bias"])
    if scale != 1:
        raise ModelRefused(f"The model's scale is {scale}: read is 1, which is what training gives.")
    oblivious = document.get("oblivious_trees")
    parts = (document["trees"] if oblivious is None else oblivious).items(limits.SCORE_TREES_MAX - 1)

    all_splits = _all_splits(document["features_info"])

    def goes_on(part: DocumentPart) -> Any:
        if part["split_type"].value in ("FloatFeature", "OneHotFeature"):
            _require_indexed(part, all_splits)
        if part["split_type"].value == "OneHotFeature":
            part.known(*VOCABULARY["split"])
            index = categorical[part["cat_feature_index"].integer(0, len(categorical) - 1)]
            category_hash = part["value"].integer() % 2**32
            listed = _categories(inputs, index, hashed)
            codes = frozenset(float(code) for code, value in enumerate(listed) if hashed[str(value)] != category_hash)
            return inputs[index].predicate(InputTest("in", codes))
        if part["split_type"].value == "OnlineCtr":
            raise ModelRefused(
                "The model splits on statistics of categories, which its file does not say exactly. Train it with "
                f"one_hot_max_size as large as a column has categories, and export it with pool=. {_READ}"
            )
        if part["split_type"].value != "FloatFeature":
            part["split_type"].refuse(f'"FloatFeature". {_READ}')
        part.known(*VOCABULARY["split"])
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


def _all_splits(part: DocumentPart) -> list[tuple[str, int, float]]:
    """The splits of all features in CatBoost's order: its kind, the feature's index, the border or hash.

    CatBoost itself finds a node's split by its index here, and looks at nothing else.
    """
    splits: list[tuple[str, int, float]] = []
    for kind, listed, name in (
        ("FloatFeature", "float_features", "borders"), ("OneHotFeature", "categorical_features", "values"),
    ):  # fmt: skip
        features = part.get(listed)
        for index, feature in enumerate([] if features is None else features.items(FEATURES_MAX)):
            values = feature.get(name)
            numbers = [] if values is None or values.value is None else values.numbers().tolist()
            if kind == "FloatFeature" and (values is None or sorted(set(numbers)) != numbers):
                feature.refuse("a feature with its borders, ascending")
            splits += [(kind, index, number) for number in numbers]
    return splits


def _require_indexed(part: DocumentPart, all_splits: Sequence[tuple[str, int, float]]) -> None:
    """Refuse a split whose own words are not those of the split that its index names."""
    kind = part["split_type"].text()
    index_part = part["split_index"]
    if type(index_part.value) is not int:
        index_part.refuse("a whole number")
    index = index_part.integer(0, len(all_splits) - 1)
    of, value = ("float_feature_index", "border") if kind == "FloatFeature" else ("cat_feature_index", "value")
    if all_splits[index] != (kind, part[of].integer(), part[value].number()):
        index_part.refuse("the index of this split among those of all features")


def _hashes(part: DocumentPart) -> dict[str, int]:
    """The hash of each category that training knew, by its text."""
    listed = part.get("cat_features_hash")
    listed = None if listed is None or listed.value is None else listed  # an export with a pool without categories
    hashes = {
        entry["value"].text(): entry["hash"].integer(0, 2**32 - 1)
        for entry in ([] if listed is None else listed.items(limits.CATEGORIES_PER_COLUMN_MAX))
    }
    for text, stated in hashes.items():
        require_hash(text, stated)
    return hashes


def _categories(inputs: ModelInputs, index: int, hashed: Mapping[str, int]) -> list[Value]:
    """The declared values of a categorical input, as training knew them."""
    column = inputs.column(index)
    listed: list[Value] = list(column.values)
    if column.type == "integer" and column.high - column.low < limits.CATEGORIES_PER_COLUMN_MAX:
        listed = list(range(int(column.low), int(column.high) + 1))
    if column.type not in ("category", "integer") or not listed or column.nullable:
        raise ModelRefused(
            f"The model takes {column.name!r} for categories, which are read of a category or an integer column with a "
            "range, without missing values (CatBoost has none among categories): have it declared so."
        )
    if not hashed:
        raise ModelRefused(
            "The export has the hashes of categories and not their names: save it with "
            "model.save_model('model.json', format='json', pool=pool), where pool is what the model was trained on."
        )
    unknown = [value for value in listed if str(value) not in hashed]
    if unknown:
        raise ModelRefused(
            f"The dataset declares {unknown[:3]} of {column.name!r}, which the model has never seen: have it declared "
            "as it was in training."
        )
    inputs.encode(index, listed)
    return listed


def _features(part: DocumentPart) -> tuple[list[str], list[int], list[bool], list[int]]:
    """All inputs' names in the model's order; of each float feature its index there, and where missing goes.

    And of each categorical feature its index.
    """
    part.known(*VOCABULARY["features_info"])
    names: dict[int, str] = {}
    flat: list[int] = []
    nan_above: list[bool] = []
    categorical: list[int] = []
    for kind in ("float_features", "categorical_features"):
        listed = part.get(kind)
        for item in [] if listed is None else listed.items(FEATURES_MAX):
            index = item["flat_feature_index"].integer(0, FEATURES_MAX)
            feature_name = item.get("feature_id")
            if index in names:
                item["flat_feature_index"].refuse("an index of its own")
            names[index] = feature_name.text() if feature_name and feature_name.value else str(index)
            of_kind = flat if kind == "float_features" else categorical
            if item["feature_index"].integer() != len(of_kind):
                item["feature_index"].refuse("the feature's place in the list")
            item.known(*VOCABULARY[kind])
            of_kind.append(index)
            if kind == "float_features":
                treatment = item["nan_value_treatment"].one_of("AsIs", "AsFalse", "AsTrue")
                if item["has_nans"].truth() == (treatment == "AsIs"):
                    item["has_nans"].refuse("whether nan_value_treatment is another than AsIs")
                nan_above.append(treatment == "AsTrue")
    if sorted(names) != list(range(len(names))):
        raise ModelRefused(f"The model has inputs that are neither numbers nor categories. {_READ}")
    return [names[index] for index in range(len(names))], flat, nan_above, categorical


def _scale_and_bias(part: DocumentPart) -> tuple[float, list[float]]:
    scale, bias = part.items(2) if len(part.items()) == 2 else part.refuse("a scale and a list of biases")
    if not isinstance(bias.value, list):
        return scale.number(), [bias.number()]
    return scale.number(), [item.number() for item in bias.items(limits.SCORE_CLASSES_MAX)]


def _oblivious(part: DocumentPart, goes_on: Any, tests: TestTable, number: int, classes: int) -> ScoreTree:
    """All nodes of a level ask the same; the answer to the first split is the lowest bit of the leaf's index."""
    part.known(*VOCABULARY["oblivious_tree"])
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
            value = own.known(*VOCABULARY["leaf"])["value"]
            listed = value.numbers(classes) if classes > 1 or isinstance(value.value, list) else [value.number()]
            return float(listed[number])
        own.known(*VOCABULARY["node"])
        children = len(parts), len(parts) + 1
        parts.extend((own["left"], own["right"]))
        return goes_on(own["split"]), *children

    return tree_table(0, step, tests)


def _decided(
    part: DocumentPart, documents: list[Trees], request: ModelRequest, provenance: Provenance
) -> tuple[ReadModel, list[Any]]:
    loss = part["params"]["loss_function"]["type"].text()
    classes: list[Any] = []
    class_params = part.get("class_params")
    if class_params is not None:
        classes = [item.value for item in class_params["class_names"].items(limits.SCORE_CLASSES_MAX)]
        if not all(isinstance(label, str | int | float) for label in classes):
            class_params["class_names"].refuse("a list of texts or numbers")
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
