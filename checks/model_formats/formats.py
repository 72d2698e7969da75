"""The formats that are checked: how to make a random model of each, and a file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from auditor_client.models.read_model import ModelRequest
from checks.model_formats import boosting


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        model: From a seed to a model, in memory or as a file's parts, and how to read it.
        file: From a seed to a file's bytes, and how to read it.
    """

    model: Callable[[int], tuple[Any, ModelRequest]]
    file: Callable[[int], tuple[bytes, ModelRequest]]


FORMATS: Final[Mapping[str, Format]] = {
    "lightgbm": Format(boosting.lightgbm_model, boosting.lightgbm_file),
    "xgboost": Format(boosting.xgboost_model, boosting.xgboost_file),
}
