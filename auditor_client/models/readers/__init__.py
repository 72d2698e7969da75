"""Who reads which model: from anything that is a model to a `ReadModel` (3-estimation §5, 5-decisions §3).

An object in memory is recognised by the name of its class, a file by its content. So no library is imported but that
of the model that is there, and nothing in a file is executed.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from auditor_client.errors import ModelNamesItself, ModelRefused, needs
from auditor_client.models.files import model_file, refuse_file
from auditor_client.models.raw_inputs import fitted_splits, named_inputs, require_raw
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers.recognising import (
    is_catboost,
    is_lightgbm,
    is_onnx,
    is_own_json,
    is_pmml,
    is_xgboost,
)
from auditor_client.models.tree import Tree
from shared.wire.canonical import sha256_name


@dataclass(frozen=True, slots=True)
class Reader:
    """A module of `models` that reads models of one kind.

    Attributes:
        module: Its name. It is imported when it is needed, and has `read_object(model, request) -> ReadModel` if it
            lists classes, and `load_file(content, name) -> object` if it lists a kind of file: what that returns is
            then read like an object in memory.
        classes: The beginnings of the names of the classes that it reads, "module.Class"; the longest beginning of
            all readers decides. What wraps another model, such as a Pipeline, goes by the model that decides.
        is_file: Whether some bytes are a file that it loads, which the beginning of a format should show.
    """

    module: str
    classes: tuple[str, ...] = ()
    is_file: Callable[[bytes], bool] = lambda _: False


_SCORED_BY_SKLEARN: Final = tuple(
    f"sklearn.{room}."
    for room in (
        "calibration", "discriminant_analysis", "ensemble", "linear_model", "naive_bayes", "neural_network", "svm",
    )
)  # fmt: skip
_SCORES: Final = Reader("sklearn_scores", classes=_SCORED_BY_SKLEARN)
_RULES: Final = Reader("sklearn_tree", classes=("",))
"""Refuses by name what no other reader reads."""
_READERS: Final = "auditor_client.models.readers."
_SAVED_LIGHTGBM: Final = f"{_READERS}boosters.saved_boosters.SavedLightGBM"
_SAVED_XGBOOST: Final = f"{_READERS}boosters.saved_boosters.SavedXGBoost"
READERS: Final = (
    Reader("skops_files", is_file=lambda content: content.startswith(b"PK\x03\x04")),
    Reader("readers.own.own_json", (f"{_READERS}own.own_json.OwnModel",), is_own_json),
    Reader(
        "readers.boosters.lightgbm",
        ("lightgbm.", f"{_READERS}boosters.lightgbm_text.", _SAVED_LIGHTGBM),
        is_lightgbm,
    ),
    Reader(
        "readers.boosters.xgboost",
        ("xgboost.", f"{_READERS}boosters.xgboost_document.", _SAVED_XGBOOST),
        is_xgboost,
    ),
    Reader("readers.boosters.catboost", ("catboost.", f"{_READERS}boosters.catboost.CatBoostModel"), is_catboost),
    Reader("readers.onnx.model", ("onnx.", f"{_READERS}onnx.model.OnnxModel"), is_onnx),
    Reader("readers.pmml.document", (f"{_READERS}pmml.document.PmmlFile",), is_pmml),
    Reader("readers.boosters.ebm", ("interpret.",)),
    Reader("readers.own.rule_lists", ("imodels.", "corels.")),
    _SCORES,
    _RULES,
)
"""The first whose kind a file is loads it."""

_OWN: Final = f"{_READERS}own.own_json.OwnModel"
_WRAPPERS: Final = {
    "sklearn.pipeline.Pipeline": lambda model: model.steps[-1][1],
    "sklearn.frozen._frozen.FrozenEstimator": lambda model: model.estimator,
    **dict.fromkeys(
        (
            "sklearn.model_selection._classification_threshold.FixedThresholdClassifier",
            "sklearn.model_selection._classification_threshold.TunedThresholdClassifierCV",
        ),
        lambda model: getattr(model, "estimator_", model.estimator),
    ),
}
"""What only hands on to another model, and to which."""
_WRAPPED_MAX: Final = 32
_NOTES_INPUTS: Final = ("catboost", "ebm", "lightgbm", "onnx", "pmml", "xgboost")


def read_model(model: Any, request: ModelRequest) -> tuple[ReadModel, str | None]:
    """Read a model, whatever it is.

    Args:
        model: A fitted model in memory, the path of a model's file, a `Tree`, or a `ReadModel`.
        request: The columns to read it over, and which decisions are favourable.

    Returns:
        The model, and the SHA-256 of its file, "sha256:<hex>", or None if it came from memory. A model of our own
        format in memory has the file that it would be written as.

    Raises:
        ModelRefused: It cannot be read exactly; the text says what would help.
    """
    if isinstance(model, str | Path):
        content, name = model_file(model), Path(model).name
        return read_object(load_object(content, name), request), sha256_name(content)
    return read_object(model, request), model.digest if _class_name(model) == _OWN else None


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a model in memory.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    if isinstance(model, Tree):
        model = ReadModel(model)
    if isinstance(model, ReadModel):
        if request.favourable is not None or request.columns is not None or request.above is not None:
            raise ModelNamesItself("A Tree names its favourable leaves and its columns itself: leave the lists out.")
        model.check(request.schema)
        return model
    reader = _reader_of(model)
    if request.above is not None and reader.module == _RULES.module:
        reader = _SCORES  # a tree's probability above a threshold is a question about a score
    try:
        with needs(f"A model of the class {_class_name(model)}"):
            read: ReadModel = _noted(_module(reader).read_object(model, request), model, request)
        read.check(request.schema)
    except ModelRefused:
        raise
    except Exception as error:  # a model out of a file may be forged, and fail anywhere
        raise ModelRefused(
            f"The model fails while it is read ({type(error).__name__}): save it again from its source."
        ) from error
    return read


def _noted(read: ReadModel, model: Any, request: ModelRequest) -> ReadModel:
    """Note how the auditor named the inputs of a model in memory; readers of files note it themselves."""
    if request.columns is None or read.provenance is None or read.provenance.reader.startswith(_NOTES_INPUTS):
        return read
    columns = list(map(str, request.columns))
    names = getattr(model, "feature_names_in_", None)
    own = [f"input {number + 1}" for number in range(len(columns))] if names is None else list(map(str, names))
    fractional = require_raw(fitted_splits(model, columns, request.schema))
    provenance = replace(read.provenance, inputs=named_inputs(own, columns), fractional=fractional)
    return replace(read, provenance=provenance)


def load_object(content: bytes, name: str) -> Any:
    """The model in a file, as an object that `read_object` reads. Do not call its own methods: it may be forged.

    Args:
        content: The file's bytes.
        name: The file's name, for errors.

    Raises:
        UnsafeModelFile: The file is of a kind that can run code when it is opened, or holds types not on the list.
        ModelRefused: It is damaged, or of a kind that nobody reads.
    """
    reader = next((reader for reader in READERS if reader.is_file(content)), None)
    if reader is None:
        refuse_file(content, name)
    with needs(name):
        return _module(reader).load_file(content, name)


def _reader_of(model: Any) -> Reader:
    name = _class_name(_deciding(model))
    lengths = {
        reader: max((len(start) for start in reader.classes if name.startswith(start)), default=-1)
        for reader in READERS
    }
    return max(READERS, key=lengths.__getitem__)


def _deciding(model: Any) -> Any:
    """The model inside of those that only hand on to it."""
    for _ in range(_WRAPPED_MAX):
        inside = _WRAPPERS.get(_class_name(model))
        if inside is None:
            return model
        try:
            model = inside(model)
        except (AttributeError, IndexError, TypeError):
            return model  # the reader says what is wrong with it
    return model


def _class_name(model: Any) -> str:
    return f"{type(model).__module__}.{type(model).__qualname__}"


def _module(reader: Reader) -> Any:
    return importlib.import_module(f"auditor_client.models.{reader.module}")
