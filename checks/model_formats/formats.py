"""The formats that are checked: how to make a random model of each, and a file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from auditor_client.models.checking import Agreement
from auditor_client.models.read_model import ModelRequest, ReadModel
from checks.model_formats import boosting, onnx_graphs, pmml_sums, pmml_trees


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        model: From a seed to a model in memory, whose maker the reader asks itself, and how to read it.
        file: From a seed to a file's bytes, and how to read it.
        comparison: From a file and how to read it to what was read, and what comparing it with a referee gave.
    """

    model: Callable[[int], tuple[Any, ModelRequest]] | None
    file: Callable[[int], tuple[bytes, ModelRequest]]
    comparison: Callable[[bytes, ModelRequest], tuple[ReadModel, Agreement]] | None = None


FORMATS: Final[Mapping[str, Format]] = {
    "lightgbm": Format(boosting.lightgbm_model, boosting.lightgbm_file),
    "xgboost": Format(boosting.xgboost_model, boosting.xgboost_file),
    "onnx": Format(None, onnx_graphs.onnx_file, onnx_graphs.agreement),
    "pmml": Format(None, pmml_trees.pmml_file, pmml_trees.agreement),
    "pmml networks": Format(None, pmml_sums.network_file, pmml_sums.agreement),
    "pmml vectors": Format(None, pmml_sums.vectors_file, pmml_sums.agreement),
}
