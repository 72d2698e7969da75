"""The formats that are checked: how to make a random model of each, and a file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from auditor_client.models.checking import Agreement
from auditor_client.models.read_model import ModelRequest, ReadModel
from checks.model_formats import boosting, makers, onnx_graphs, pmml_sums, pmml_trees


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        model: From a seed to a model in memory, whose maker the reader asks itself, and how to read it.
        file: From a seed to a file's bytes, and how to read it; None: there are no files of it.
        comparison: From a file and how to read it to what was read, and what comparing it with a referee gave.
        library: The maker's, if it is not among those that are installed for tests.
    """

    model: Callable[[int], tuple[Any, ModelRequest]] | None
    file: Callable[[int], tuple[bytes, ModelRequest]] | None
    comparison: Callable[[bytes, ModelRequest], tuple[ReadModel, Agreement]] | None = None
    library: str | None = None


FORMATS: Final[Mapping[str, Format]] = {
    "lightgbm": Format(boosting.lightgbm_model, boosting.lightgbm_file),
    "xgboost": Format(boosting.xgboost_model, boosting.xgboost_file),
    "onnx": Format(None, onnx_graphs.onnx_file, onnx_graphs.agreement),
    "pmml": Format(None, pmml_trees.pmml_file, pmml_trees.agreement),
    "pmml networks": Format(None, pmml_sums.network_file, pmml_sums.agreement),
    "pmml vectors": Format(None, pmml_sums.vectors_file, pmml_sums.agreement),
    "catboost": Format(makers.catboost_model, boosting.catboost_file, library="catboost"),
    "ebm": Format(makers.ebm_model, None, library="interpret.glassbox"),
    "imodels": Format(makers.greedy_model, None, library="imodels"),
    "corels": Format(makers.optimal_model, None, library="corels"),
}
