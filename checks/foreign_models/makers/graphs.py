"""scikit-learn's models as ONNX by skl2onnx, and as PMML by sklearn2pmml, asked of the formats' own evaluators."""

import contextlib
import importlib
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn import compose, impute, pipeline, preprocessing

from checks.foreign_models.makers.data import NUMBERS, Table, classes_of, invented, number_of
from checks.foreign_models.makers.estimators import ESTIMATORS
from checks.foreign_models.makers.made import Made

ONNX_KINDS: Final = (
    "DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier",
    "GradientBoostingClassifier", "HistGradientBoostingClassifier", "AdaBoostClassifier SAMME",
    "LogisticRegression", "SGDClassifier", "LinearSVC", "RidgeClassifier", "Perceptron", "MLPClassifier",
    "LinearDiscriminantAnalysis", "GaussianNB", "BaggingClassifier", "VotingClassifier", "RandomForestRegressor",
    "DecisionTreeRegressor", "LinearRegression", "SVC",
)  # fmt: skip
PMML_KINDS: Final = (
    "DecisionTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier",
    "HistGradientBoostingClassifier", "LogisticRegression", "LogisticRegression balanced", "MLPClassifier",
    "LinearSVC", "GaussianNB", "DecisionTreeRegressor", "RandomForestRegressor", "GradientBoostingRegressor",
    "LinearRegression", "Lasso", "AdaBoostClassifier SAMME", "BaggingClassifier", "VotingClassifier", "SVC",
    "XGBClassifier", "LGBMClassifier", "XGBRegressor", "LGBMRegressor", "RidgeClassifier",
)  # fmt: skip
_REGRESSORS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "RandomForestRegressor": ("sklearn.ensemble", {"n_estimators": 5, "max_depth": 5}),
    "GradientBoostingRegressor": ("sklearn.ensemble", {"n_estimators": 5, "max_depth": 3}),
    "DecisionTreeRegressor": ("sklearn.tree", {"max_depth": 5}),
    "LinearRegression": ("sklearn.linear_model", {}),
    "Lasso": ("sklearn.linear_model", {"alpha": 0.1}),
    "XGBRegressor": ("xgboost", {"n_estimators": 5, "max_depth": 4, "n_jobs": 1}),
    "LGBMRegressor": ("lightgbm", {"n_estimators": 5, "num_leaves": 8, "n_jobs": 1, "verbose": -1}),
}
_BOOSTERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "XGBClassifier": ("xgboost", {"n_estimators": 5, "max_depth": 4, "n_jobs": 1}),
    "LGBMClassifier": ("lightgbm", {"n_estimators": 5, "num_leaves": 8, "n_jobs": 1, "verbose": -1}),
}


def _inner(kind: str, draw: np.random.Generator) -> Any:
    if kind in _REGRESSORS or kind in _BOOSTERS:
        library, options = {**_REGRESSORS, **_BOOSTERS}[kind]
        return getattr(importlib.import_module(library), kind)(**options)
    return ESTIMATORS[kind](draw)


@dataclass
class OnnxRuntime:
    """ONNX Runtime over the file."""

    content: bytes
    classifies: bool
    double: bool

    def ask(self, table: Any) -> tuple[Any, Any]:
        """Run the graph."""
        runtime = importlib.import_module("onnxruntime")
        session = runtime.InferenceSession(self.content, providers=["CPUExecutionProvider"])
        numbers: Any = np.float64 if self.double else np.float32
        if isinstance(table, np.ndarray):
            given = {"X": table.astype(numbers)}
        else:
            given = {
                name: (
                    table[name].to_numpy().astype(str)
                    if not pd.api.types.is_numeric_dtype(table[name].dtype)
                    else table[name].to_numpy().astype(np.int64 if table[name].dtype == np.int64 else numbers)
                ).reshape(-1, 1)
                for name in table
            }
        results = session.run(None, given)
        return results[0], results[1] if self.classifies else None


def onnx_file(seed: int) -> Made:
    """A classifier or regressor, over an array or behind a ColumnTransformer, converted by skl2onnx."""
    convert = importlib.import_module("skl2onnx")
    types = importlib.import_module("skl2onnx.common.data_types")
    draw = np.random.default_rng(seed)
    kind = ONNX_KINDS[seed % len(ONNX_KINDS)]
    double = bool(draw.random() < 0.25)
    values = invented(draw)
    array = bool(draw.random() < 0.5)
    of_missing = kind.startswith("Hist")
    columns = [*NUMBERS] if of_missing else ["tiny", "children", "owner"] if array else [*NUMBERS, "home"]
    table = Table(columns, array=array, integers=() if array else ("children",))
    inner = _inner(kind, draw)
    if not array and of_missing:
        array, table = True, Table(columns, array=True)
    if not array:
        numbers = pipeline.make_pipeline(
            impute.SimpleImputer(strategy=str(draw.choice(["mean", "median", "constant"]))),
            *([preprocessing.StandardScaler()] if draw.random() < 0.6 else []),
        )
        steps = compose.ColumnTransformer(
            [("numbers", numbers, [name for name in NUMBERS if name != "children"]),
             ("texts", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["home"]),
             ("rest", "passthrough" if draw.random() < 0.5 else preprocessing.MinMaxScaler(), ["children"])]
        )  # fmt: skip
        inner = pipeline.make_pipeline(steps, inner)
    classes: list[Any] = [] if kind in _REGRESSORS else list(range(int(draw.choice([2, 2, 3]))))
    target = classes_of(draw, values, len(classes)) if classes else number_of(draw, values)
    model = inner.fit(table.of(values), target)
    if array:
        number = types.DoubleTensorType if double else types.FloatTensorType
        initial = [("X", number([None, len(columns)]))]
    else:
        number = types.DoubleTensorType if double else types.FloatTensorType
        of = {"children": types.Int64TensorType, "home": types.StringTensorType}
        initial = [(name, of.get(name, number)([None, 1])) for name in columns]
    options = {id(model): {"zipmap": False}} if classes else None
    opset = int(draw.choice([11, 13, 15, 17, 18]))
    with contextlib.redirect_stdout(io.StringIO()):
        graph = convert.convert_sklearn(model, initial_types=initial, options=options, target_opset=opset)
    content = graph.SerializeToString()
    importlib.import_module("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])  # it is sound
    above = None if classes else float(np.round(np.median(model.predict(table.of(values))), 2))
    favourable = int(draw.choice(classes)) if classes else None
    if len(classes) == 2 and draw.random() < 0.3 and kind not in ("LinearSVC", "RidgeClassifier", "Perceptron", "SVC"):
        above = float(draw.choice([0.3, 0.5, 0.7]))
    name = f"{kind}{' array' if array else ''}{' double' if double else ''}"
    return Made(name, ".onnx", content, table, OnnxRuntime(content, bool(classes), double), classes, favourable, above)


@dataclass
class Jpmml:
    """JPMML's evaluator over the file."""

    content: bytes
    classes: list[Any]

    def ask(self, table: Any) -> tuple[Any, Any]:
        """Evaluate each record."""
        library = importlib.import_module("jpmml_evaluator")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.pmml"
            path.write_bytes(self.content)
            evaluator = library.make_evaluator(str(path)).verify()
            results = evaluator.evaluateAll(pd.DataFrame(table).astype(object).where(pd.notna(table), None))
        if "errors" in results and results["errors"].notna().all():
            raise ValueError(f"JPMML evaluates no record: {results['errors'].iloc[0]}")
        shares = [name for name in results if str(name).startswith("probability(")]
        numbers = results[[f"probability({label})" for label in self.classes]] if self.classes and shares else None
        target = next(name for name in results if name == "y" or not str(name).startswith("probability("))
        predicted = results[target].to_numpy()
        if self.classes and predicted.dtype.kind == "f":  # whole numbers, some of which are missing
            predicted = np.array([None if np.isnan(one) else int(one) for one in predicted.tolist()], object)
        return predicted, None if numbers is None else numbers.to_numpy(np.float64)


def pmml_file(seed: int) -> Made:
    """A classifier or regressor behind steps, converted by sklearn2pmml."""
    library = importlib.import_module("sklearn2pmml")
    of_pmml = importlib.import_module("sklearn2pmml.pipeline")
    draw = np.random.default_rng(seed)
    kind = PMML_KINDS[seed % len(PMML_KINDS)]
    values = invented(draw)
    itself = kind in _BOOSTERS or kind.startswith(("XGB", "LGBM", "Hist"))
    columns = [*NUMBERS, "home"]
    table = Table(columns, integers=("children",), truths=("owner",))
    classes: list[Any] = [] if kind in _REGRESSORS else list(range(int(draw.choice([2, 2, 3]))))
    if classes and draw.random() < 0.3 and not kind.startswith("XGB"):
        classes = ["no", "perhaps", "yes"] if len(classes) == 3 else ["no", "yes"]
    numbers: list[Any] = [] if itself else [impute.SimpleImputer(strategy=str(draw.choice(["mean", "median"])))]
    if not itself and draw.random() < 0.5:
        numbers.append(preprocessing.StandardScaler() if draw.random() < 0.5 else preprocessing.MinMaxScaler())
    texts = preprocessing.OneHotEncoder(handle_unknown="ignore" if draw.random() < 0.5 else "error")
    steps = compose.ColumnTransformer(
        [("numbers", pipeline.make_pipeline(*numbers) if numbers else "passthrough", [*NUMBERS]),
         ("texts", texts, ["home"])]
    )  # fmt: skip
    target = classes_of(draw, values, len(classes)) if classes else number_of(draw, values)
    model = of_pmml.PMMLPipeline([("before", steps), ("decides", _inner(kind, draw))])
    frame = table.of(values)
    model.fit(frame, pd.Series(np.array(classes)[target] if classes else target, name="y"))
    if draw.random() < 0.3:
        model.configure(compact=bool(draw.random() < 0.5)) if hasattr(model, "configure") else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pmml"
        library.sklearn2pmml(model, str(path))
        content = path.read_bytes()
    above = None if classes else float(np.round(np.median(model.predict(frame)), 2))
    favourable = classes[int(draw.integers(len(classes)))] if classes else None
    if len(classes) == 2 and b"probability(" in content and draw.random() < 0.3:
        above = float(draw.choice([0.3, 0.5, 0.7]))
    return Made(kind, ".pmml", content, table, Jpmml(content, classes), classes, favourable, above)
