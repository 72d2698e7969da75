"""XGBoost: its JSON and UBJSON, or a Booster, XGBClassifier or XGBRegressor in memory (which is read by its document).

A number becomes a float32, rounded to nearest, and goes left if it is below a float32 threshold; missing goes where the
split says. A category goes right if its code is listed. Leaves are added in single precision, in order, to the base
score, which the objective turns into a margin first. Those of dart are multiplied with their tree's weight; where an
estimator predicts, the margin is added to each leaf and taken away again before.
"""

import importlib
import json
import math
from dataclasses import replace
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.forests import Ensemble, FittedTree
from auditor_client.models.inventing import Invented
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.boosters.xgboost_document import XGBoostModel, XGBoostTree, parsed
from auditor_client.models.readers.decisions import by_choice, compared, makers_answers, one_number, two_classes
from auditor_client.models.readers.frames import frame, installed
from auditor_client.models.readers.inputs import InputTest, ModelInputs, all_float32_below
from auditor_client.models.readers.links import expf, logf
from auditor_client.models.readers.tree_tables import TestTable, binary_table, made
from auditor_client.models.score_tests import NumberTest
from shared.contract.rules import Predicate
from shared.scores.documents import ScoreTree, Trees

_LOGISTIC: Final = ("binary:logistic", "reg:logistic")
_EXPONENTIAL: Final = ("count:poisson", "reg:gamma", "reg:tweedie")
_SAME: Final = (
    "reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror", "rank:pairwise", "rank:ndcg",
    "rank:map",
)  # fmt: skip
_READ: Final = (
    "Read are XGBoost's JSON and UBJSON of 1.6 to 3 and boosters in memory, with the objectives binary:logistic, "
    "binary:hinge, multi:softprob, multi:softmax, reg:logistic, reg:squarederror, reg:absoluteerror, "
    "reg:pseudohubererror, rank:*, count:poisson, reg:gamma and reg:tweedie."
)
TIES: Final = 2.0**-22
"""Classes whose margins are nearer than this may have probabilities that round to the same float32."""


def load_file(content: bytes, name: str) -> XGBoostModel:
    """Take a file's document apart; XGBoost itself does not see it yet.

    Raises:
        ModelRefused: It is damaged, or of a kind that is not read.
    """
    return parsed(content, name)


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a model over a dataset's columns.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    if type(model).__name__ == "Pipeline":
        return _pipeline(model, request)
    document, labels = (model, None) if isinstance(model, XGBoostModel) else _in_memory(model)
    inputs = ModelInputs(document.names, request)
    for index, categories in document.categories.items():
        if categories is not None:
            inputs.encode(index, categories)
    documents = [_document(document, inputs, number) for number in range(document.classes)]
    read, classes = _decided(document, documents, request, labels)
    read = inputs.noted(read)
    maker = installed("xgboost")
    if maker is None:
        return read

    def ask(records: Invented) -> MakersAnswers:
        table = frame(records, request.schema, inputs.names, document.names, _known(document))
        predicted, raw = _predictions(model, document, maker, table)
        if document.objective in ("multi:softmax", "binary:hinge") and predicted.ndim == 1:
            decided_as = predicted.astype(np.intp)
        elif document.classes > 1:
            decided_as = np.argmax(predicted, axis=1)
        else:
            decided_as = (predicted > np.float32(0.5)).astype(np.intp)
        if len(classes) == 2 and document.classes == 1:
            predicted = np.column_stack([np.float32(1) - predicted, predicted])
        return makers_answers(
            read, request, classes=classes, probabilities=predicted, raw=raw, decided_as=decided_as,
            ties=TIES if document.objective == "multi:softprob" else None,
        )  # fmt: skip

    return compared(read, request, ask, f"XGBoost {maker.__version__}")


def _in_memory(model: Any) -> tuple[XGBoostModel, list[Any] | None]:
    """A model's document, and the labels of its classes."""
    if isinstance(getattr(model, "document", None), XGBoostModel):  # out of a skops file
        return model.document, model.classes_.tolist() or None
    if type(model).__name__ not in ("Booster", "XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"):
        raise ModelRefused(f"{type(model).__name__} is not read as an XGBoost model. {_READ}")
    missing = getattr(model, "missing", math.nan)
    if not (isinstance(missing, float) and math.isnan(missing)):
        raise ModelRefused(f"The model takes {missing!r} for missing: train it with missing values as NaN.")
    labels = model.classes_.tolist() if hasattr(model, "n_classes_") else None
    scikit = hasattr(model, "get_booster")
    content = bytes((model.get_booster() if scikit else model).save_raw("json"))
    return parsed(content, "The model", stopped_early=scikit), labels


def _pipeline(model: Any, request: ModelRequest) -> ReadModel:
    """A scikit-learn Pipeline that ends in a model."""
    from auditor_client.models.readers.pipelines import BoosterPipeline  # noqa: PLC0415 - needs scikit-learn

    whole = BoosterPipeline(model, request)
    document, labels = _in_memory(whole.booster)
    if set(document.class_of) != set(range(document.classes)):
        raise ModelRefused("One of the model's classes has no tree.")
    trees = [_fitted(tree, score) for tree, score in zip(_weighted(document), document.class_of, strict=True)]
    base = np.array([_margin(document.objective, one) for one in document.base])
    documents = whole.documents(Ensemble(trees, base, precision="float32"), absent_is_missing=True)
    read, classes = _decided(document, documents, request, labels)
    maker = importlib.import_module("xgboost")
    return whole.compared(
        read, classes, f"XGBoost {maker.__version__}", lambda table: model.predict(table, output_margin=True),
        TIES if document.objective == "multi:softprob" else None,
    )  # fmt: skip


def _fitted(tree: XGBoostTree, score: int) -> FittedTree:
    """A tree over the float32 numbers that the steps of a pipeline make."""
    if tree.categories:
        raise ModelRefused(
            "Behind the steps of a Pipeline, XGBoost is read with its inputs as numbers: encode categories with "
            "OneHotEncoder."
        )
    leaf = [child == -1 for child in tree.left]
    with np.errstate(over="ignore"):
        below = np.nextafter(np.array(tree.condition, np.float32), np.float32(-np.inf)).tolist()
    tests = [
        None if leaf[node] else NumberTest(feature, below[node], tree.default_left[node])
        for node, feature in enumerate(tree.feature)
    ]
    return FittedTree(tests, tree.left, tree.right, np.where(leaf, tree.condition, 0.0)[:, None], (score,))


def _predictions(model: Any, document: XGBoostModel, maker: Any, table: Any) -> tuple[Any, Any]:
    """XGBoost's own predictions and margins: of the model in memory, or of the document that was checked."""
    if hasattr(model, "get_booster"):
        table.columns = getattr(model, "feature_names_in_", table.columns)
        answer = model.predict_proba if hasattr(model, "n_classes_") else model.predict
        predicted = answer(table)
        if document.classes == 1 and predicted.ndim == 2:
            predicted = predicted[:, 1]
        return predicted, model.predict(table, output_margin=True)
    own = model
    if isinstance(model, XGBoostModel):
        own = maker.Booster(model_file=bytearray(json.dumps(document.document).encode()))
    matrix = maker.DMatrix(
        table, enable_categorical=True, feature_types=_types(document), feature_names=own.feature_names
    )
    if document.weights is not None and document.by_estimator:
        return own.inplace_predict(table), own.inplace_predict(table, predict_type="margin")
    return own.predict(matrix), own.predict(matrix, output_margin=True)


def _known(document: XGBoostModel) -> list[int]:
    return [index for index, categories in document.categories.items() if categories is not None]


def _types(document: XGBoostModel) -> list[str]:
    return ["c" if index in document.categories else "float" for index in range(len(document.names))]


def _document(document: XGBoostModel, inputs: ModelInputs, number: int) -> Trees:
    tests = TestTable()
    chosen = [tree for tree, of in zip(_weighted(document), document.class_of, strict=True) if of == number]
    trees = tuple(_table(tree, inputs, tests) for tree in chosen)
    if not trees:
        raise ModelRefused("One of the model's classes has no tree.")
    base = _margin(document.objective, document.base[number])
    return made(Trees, kind="trees", precision="float32", base=base, tests=tests.tests, trees=trees)


def _weighted(document: XGBoostModel) -> list[XGBoostTree]:
    """The trees with what their leaves add."""
    if document.weights is None:
        return document.trees
    bases = [np.float32(_margin(document.objective, base)) for base in document.base]
    weighted = []
    for tree, weight, number in zip(document.trees, document.weights, document.class_of, strict=True):
        values = np.array(tree.condition, np.float32)
        with np.errstate(all="ignore"):
            added = ((bases[number] + values) - bases[number] if document.by_estimator else values) * np.float32(weight)
        if not np.isfinite(added[np.array(tree.left) == -1]).all():
            raise ModelRefused("A leaf of dart times its tree's weight is not finite.")
        condition = np.where(np.array(tree.left) == -1, added, values).tolist()
        weighted.append(replace(tree, condition=condition))
    return weighted


def _margin(objective: str, base: float) -> float:
    """The base score as a margin, in the objective's own single-precision arithmetic."""
    one = np.float32(1)
    with np.errstate(all="ignore"):
        if objective in _LOGISTIC and 0 < base < 1:
            return -logf(float(one / np.float32(base) - one))
        if objective in _EXPONENTIAL and base > 0:
            return logf(base)
    if objective in (*_LOGISTIC, *_EXPONENTIAL):
        raise ModelRefused(f"The base score {base} does not fit the objective {objective!r}.")
    return base


def _table(tree: XGBoostTree, inputs: ModelInputs, tests: TestTable) -> ScoreTree:
    inner = [node for node, left in enumerate(tree.left) if left != -1]
    leaves = [node for node, left in enumerate(tree.left) if left == -1]
    number = {node: position for position, node in enumerate(inner)} | {
        node: ~position for position, node in enumerate(leaves)
    }
    yes, no = [number[tree.left[node]] for node in inner], [number[tree.right[node]] for node in inner]
    answers: list[Predicate | bool] = []
    below = all_float32_below([tree.condition[node] for node in inner])
    for position, (node, (op, value)) in enumerate(zip(inner, below, strict=True)):
        index, default = tree.feature[node], tree.default_left[node]
        if node in tree.categories:
            listed = _listed(tree.categories[node], not default, inputs, index)
            answers.append(inputs[index].predicate(listed))
            yes[position], no[position] = no[position], yes[position]
        else:
            answers.append(inputs[index].compared_with(op, value, default))
    return binary_table(yes, no, answers, [tree.condition[node] for node in leaves], tests)


def _listed(codes: frozenset[float], missing: bool, inputs: ModelInputs, index: int) -> InputTest:
    column = inputs.column(index)
    if inputs.encoded(index):
        codes_by_category = inputs[index].codes or {}
        unknown = [value for value in column.values if value not in codes_by_category]
        if unknown or column.ordered:
            raise ModelRefused(
                f"The dataset declares {unknown[:3] or column.type} of {column.name!r}, which the model has never seen "
                "and XGBoost refuses: have it declared as it was in training."
            )
    elif column.type != "integer" or not 0 <= column.low <= column.high < 2**24:
        raise ModelRefused(
            f"The model takes {column.name!r} for categories, and its file has their codes and not their names, as "
            "XGBoost before 3.1 writes them. Train it with XGBoost 3.1 or later on a DataFrame whose column is "
            "categorical, or have the codes declared as an integer column with its range."
        )
    return InputTest("in", codes, missing)


def _decided(
    document: XGBoostModel, documents: list[Trees], request: ModelRequest, labels: list[Any] | None
) -> tuple[ReadModel, list[Any]]:
    objective = document.objective
    count, version = len(document.trees), ".".join(map(str, document.version))
    about = f"a gradient-boosted model of {count} tree{'s' if count > 1 else ''}, XGBoost {version}"
    provenance = Provenance(about, "xgboost")
    if objective in ("multi:softprob", "multi:softmax") and len(documents) > 1:
        classes = list(range(len(documents))) if labels is None else labels
        return by_choice(documents, request, provenance, classes=classes), classes
    if objective in ("binary:logistic", "binary:hinge") and len(documents) == 1:
        classes = [0, 1] if labels is None else labels
        hinge = objective == "binary:hinge"
        read = two_classes(
            documents[0], request, provenance, classes=classes,
            decides=(lambda score: score > 0) if hinge else (lambda score: bool(_sigmoid(score) > 0.5)),
            shares=None if hinge else (lambda score: (float(np.float32(1) - _sigmoid(score)), float(_sigmoid(score)))),
        )  # fmt: skip
        return read, classes
    if len(documents) == 1 and labels is None and objective in (*_SAME, *_EXPONENTIAL, "reg:logistic"):
        image = expf if objective in _EXPONENTIAL else (lambda score: float(_sigmoid(score)))
        return one_number(documents[0], request, provenance, image=None if objective in _SAME else image), []
    raise ModelRefused(f"The objective {objective[:80]!r} is not read. {_READ}")


def _sigmoid(score: float) -> np.float32:
    """As XGBoost computes it: 1/(e^min(−x, 88.7) + 1 + 1e-16), step by step in single precision."""
    with np.errstate(all="ignore"):
        power = np.float32(expf(float(np.minimum(np.float32(-score), np.float32(88.7)))))
        return np.float32(1) / (power + np.float32(1) + np.float32(1e-16))
