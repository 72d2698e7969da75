"""Skops files, which may come from anybody: a zip of JSON and arrays, which names the types that it wants built.

They are checked here against our own list before skops sees the file, because skops by itself trusts every
scikit-learn estimator and every numpy function.
"""

import io
import json
import re
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any, Final

import skops.io
from sklearn import (
    calibration,
    compose,
    discriminant_analysis,
    dummy,
    ensemble,
    frozen,
    impute,
    isotonic,
    linear_model,
    model_selection,
    naive_bayes,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.exceptions import InconsistentVersionWarning

from auditor_client.errors import ModelRefused, UnsafeModelFile
from auditor_client.models.files import SAVE, refuse_archive
from auditor_client.models.older_sklearn import (
    completed,
    require_todays_parameters,
    saved_by,
    states,
    with_todays_nodes,
    without_earlier_objects,
)
from auditor_client.models.readers.boosters.saved_boosters import put_back, taken_out
from auditor_client.models.refusals import why_not

UNPACKED_BYTES_MAX: Final = 256 * 1024 * 1024
ENTRIES_MAX: Final = 50_000

_ESTIMATORS: Final = (
    *(compose.ColumnTransformer, compose.make_column_selector, frozen.FrozenEstimator, pipeline.Pipeline),
    *(impute.MissingIndicator, impute.SimpleImputer),
    *(model_selection.FixedThresholdClassifier, model_selection.TunedThresholdClassifierCV),
    *(preprocessing.FunctionTransformer, preprocessing.KBinsDiscretizer),
    *(preprocessing.OneHotEncoder, preprocessing.OrdinalEncoder),
    *(preprocessing.MaxAbsScaler, preprocessing.MinMaxScaler, preprocessing.RobustScaler, preprocessing.StandardScaler),
    *(preprocessing.LabelBinarizer, preprocessing.LabelEncoder),
    *(tree.DecisionTreeClassifier, tree.DecisionTreeRegressor, tree.ExtraTreeClassifier),
    *(ensemble.AdaBoostClassifier, ensemble.BaggingClassifier, ensemble.ExtraTreesClassifier),
    *(ensemble.GradientBoostingClassifier, ensemble.HistGradientBoostingClassifier),
    *(ensemble.RandomForestClassifier, ensemble.VotingClassifier, dummy.DummyClassifier),
    *(linear_model.LogisticRegression, linear_model.LogisticRegressionCV, linear_model.Perceptron),
    *(linear_model.PassiveAggressiveClassifier, linear_model.RidgeClassifier, linear_model.RidgeClassifierCV),
    *(linear_model.SGDClassifier, svm.LinearSVC, discriminant_analysis.LinearDiscriminantAnalysis),
    *(naive_bayes.BernoulliNB, naive_bayes.CategoricalNB, naive_bayes.GaussianNB, naive_bayes.MultinomialNB),
    *(neural_network.MLPClassifier, calibration.CalibratedClassifierCV, isotonic.IsotonicRegression),
)
_BY_NAME: Final = {f"{kind.__module__}.{kind.__name__}": kind for kind in _ESTIMATORS}
_BESIDES: Final = (  # what estimators keep of their search or training, and what older ColumnTransformers keep
    "sklearn._loss.link.HalfLogitLink",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.ExponentialLoss",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
_BIT_GENERATORS: Final = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_NUMPY_SCALARS: Final = r"numpy\.(bool_?|str_|float(16|32|64)|u?int(8|16|32|64))"
_ALLOWED: Final[Mapping[str, re.Pattern[str]]] = {
    "DTypeNode": re.compile(r"numpy\.dtype"),
    "DictNode": re.compile(r"builtins\.dict|sklearn\.utils\._bunch\.Bunch"),
    "FunctionNode": re.compile(
        r"sklearn\.metrics\._classification\.(accuracy|balanced_accuracy|cohen_kappa|f1|jaccard|precision|recall)_score"
        r"|sklearn\.utils\.validation\.check_array"
    ),
    "JsonNode": re.compile(r"builtins\.str"),
    "LossNode": re.compile(
        r"sklearn\._loss\._loss\.Cy(Exponential|HalfBinomial|HalfMultinomial)Loss"
        r"|sklearn\.linear_model\._sgd_fast\.(Hinge|Log|ModifiedHuber|SquaredHinge)"
    ),
    "ListNode": re.compile(r"builtins\.list"),
    "NdArrayNode": re.compile(rf"numpy\.ndarray|{_NUMPY_SCALARS}"),
    "ObjectNode": re.compile(
        "|".join(
            re.escape(name) for name in (*(f"{kind.__module__}.{kind.__name__}" for kind in _ESTIMATORS), *_BESIDES)
        )
    ),
    "PartialNode": re.compile(r"functools\.partial"),
    "RandomGeneratorNode": re.compile(r"numpy\.random\._generator\.Generator"),
    "RandomStateNode": re.compile(r"numpy\.random\.mtrand\.RandomState"),
    "SetNode": re.compile(r"builtins\.set"),
    "SliceNode": re.compile(r"builtins\.slice"),
    "TreeNode": re.compile(r"sklearn\.tree\._tree\.Tree"),
    "TupleNode": re.compile(r"builtins\.tuple"),
    "TypeNode": re.compile(rf"builtins\.(bool|float|int|str)|{_NUMPY_SCALARS}"),
}


def load_file(content: bytes, name: str) -> Any:
    """A model out of a skops file, to be given to a reader.

    Nothing in the file is executed. Do not call the model's own methods before a reader has accepted
    it: a forged tree could make scikit-learn crash.

    Args:
        content: The file's bytes.
        name: The file's name, for errors.

    Raises:
        UnsafeModelFile: The file names a type that is not on our list.
        ModelRefused: It is damaged; the text says what to do.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            schema = _schema(archive, name)
            older = saved_by(schema)
            if older:
                without_earlier_objects(schema)
            boosters = taken_out(schema, name)
            types = _types(schema, name)
            if boosters or older:
                content = _with_schema(archive, schema, older=older)
            with warnings.catch_warnings():  # an older version was looked at already
                warnings.simplefilter("ignore", InconsistentVersionWarning)
                model = skops.io.loads(content, trusted=sorted(types))
                if older:
                    completed(model, older, name)
            return put_back(model, boosters, archive, name)
    except ModelRefused:
        raise
    except Exception as error:  # a hostile file may make the reader fail in any way: one answer
        raise ModelRefused(
            f"{name} is damaged, or was saved by an incompatible version of skops or scikit-learn "
            f"({type(error).__name__}: {str(error)[:200]}). {SAVE}"
        ) from error


def _with_schema(archive: zipfile.ZipFile, schema: Any, *, older: tuple[int, int] | None) -> bytes:
    """The archive with another schema, and with the nodes of trees as the installed scikit-learn has them."""
    before_missing = older is not None and older < (1, 3)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as changed:
        for entry in archive.infolist():
            if entry.filename != "schema.json":
                stored = archive.read(entry)
                array = before_missing and entry.filename.endswith(".npy")
                changed.writestr(entry.filename, with_todays_nodes(stored) if array else stored)
        changed.writestr("schema.json", json.dumps(schema))
    return content.getvalue()


def _schema(archive: zipfile.ZipFile, name: str) -> Any:
    """Return what a skops file says that it holds; unpacks within bounds."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if "schema.json" not in names or any(entry.endswith((".pkl", ".pickle", ".joblib")) for entry in names):
        refuse_archive(names, name)
    plain = all(entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries)
    unpacked = sum(entry.file_size for entry in entries)
    if not (plain and len(entries) <= ENTRIES_MAX and unpacked <= UNPACKED_BYTES_MAX):
        raise ModelRefused(
            f"{name} unpacks to {unpacked} bytes in {len(entries)} entries: too large for a model. {SAVE}"
        )
    return json.loads(archive.read("schema.json"))


def _types(schema: Any, name: str) -> set[str]:
    """The types that a skops file wants built, all of them on our list."""
    types = set()
    for state in states(schema):
        loader, kind = str(state.get("__loader__")), f"{state.get('__module__')}.{state.get('__class__')}"
        allowed = _ALLOWED.get(loader)
        if allowed is None or not allowed.fullmatch(kind) or not _plain_inside(state):
            why = why_not(kind) if loader == "ObjectNode" else None
            raise UnsafeModelFile(
                f"{name}: {why}"
                if why
                else f"{name} holds {kind} ({loader}), which is not on the list of what a readable model is made of. "
                "Give a classifier that is read (docs/models.md), alone or in a Pipeline of scikit-learn's encoders, "
                "scalers, bins and imputers."
            )
        types.add(kind)
        if loader == "ObjectNode" and kind in _BY_NAME:
            require_todays_parameters(state, _BY_NAME[kind], name)
    return types


def _plain_inside(state: Mapping[str, Any]) -> bool:
    """Whether what names a function or a class by a text, and not as a type of its own, names one of ours.

    skops calls what a random generator's state names; and a partial is a function that a model may call later.
    """
    content = state.get("content")
    if state["__loader__"] == "RandomGeneratorNode":
        try:
            generator = json.loads(content["bit_generator"]["content"]["bit_generator"]["content"])  # type: ignore[index]
        except (KeyError, TypeError, ValueError):
            return False
        return generator in _BIT_GENERATORS
    if state["__loader__"] == "PartialNode":
        function = content.get("func") if isinstance(content, dict) else None
        return isinstance(function, dict) and function.get("__class__") == "check_array"
    return True
