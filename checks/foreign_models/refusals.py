"""Which refusals are right: what their text says, and of which files."""

import re
from collections.abc import Mapping
from typing import Any, Final

_RIGHT: Final[tuple[tuple[str, str, str, str], ...]] = (
    (".*", ".*", "there is nothing to ask|decides alike for everybody", "the model decides alike about everybody"),
    ("skops", "AdaBoostClassifier", "SAMME.R", "SAMME.R, which scikit-learn has no more"),
    ("skops", "GradientBoostingClassifier", "decides ties otherwise", "a gradient boosting before 1.4"),
    ("lightgbm", "multiclassova.*", "sums of the model's classes are so large", "probabilities that round to the same"),
    ("onnx", "AdaBoost.*", "operator 'Shape' is not read", "AdaBoost as skl2onnx writes it"),
    ("onnx", "(Bagging|Voting|GaussianNB).*", "The operator '|A Reshape|A Concat|Gather", "operators around models"),
    ("onnx", "SVC.*", "LINEAR kernel", "a kernel"),
    ("pmml", "(?!L).*", "A test of a scaled number", "a tree behind a scaler"),
    ("pmml", "SVC", "RadialBasisKernelType", "a kernel"),
    ("pmml", "GaussianNB", "neither derived nor replaced", "a naive Bayes behind an imputer"),
    ("pmml", "RidgeClassifier", "Chains are read of", "a chain of regressions"),
)
"""The format and the kind of a file, what the refusal says, and why that is right."""


def right_refusal(name: str, about: Mapping[str, Any], text: str) -> str | None:
    """In a few words why a refusal is right; None if it is not.

    Args:
        name: The format.
        about: What the maker's side says of the file.
        text: The refusal.
    """
    expected = about["refused"]
    if expected is not None and re.search(expected, text):
        return f"{name}: {expected}"
    for formats, kind, said, why in _RIGHT:
        if re.fullmatch(formats, name) and re.fullmatch(kind, about["kind"]) and re.search(said, text):
            return f"{name}: {why}"
    return None
