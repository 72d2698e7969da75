"""Why a model of scikit-learn is not read, by the name of its class alone: so a file is refused as the object is."""

import re
from typing import Any, Final

from auditor_client.models.preprocessing import SUPPORTED

READ: Final = (
    "Of scikit-learn are read: decision trees, forests, extra trees, both gradient boostings, AdaBoost, bagging and "
    "voting over decision trees, linear classifiers, naive Bayes (Gaussian, Bernoulli, multinomial, categorical) and "
    "MLPClassifier, also calibrated with ensemble=False or with a threshold of their own. Of any other model audit the "
    "decisions: send them with `Auditor.link`, or name the column that has them (`decision`)."
)
_CLASS: Final = re.compile(r"sklearn\.(?P<room>[a-z_]+)\.([a-z_.]+\.)?(?P<name>[A-Z][A-Za-z]{0,60})")
_ROOMS_OF_STEPS: Final = (
    "cross_decomposition", "decomposition", "feature_extraction", "feature_selection", "impute",
    "kernel_approximation", "manifold", "preprocessing", "random_projection",
)  # fmt: skip


def why_not(kind: str) -> str | None:
    """Why a model of a class is not read, and what could be; None if the class is not of scikit-learn.

    Args:
        kind: Its full name, such as "sklearn.svm._classes.SVC".
    """
    match = _CLASS.fullmatch(kind)
    if match is None:
        return None
    name = match["name"]
    if name.endswith("SearchCV"):
        return f"{name} is a search: give its best_estimator_."
    if name.startswith("Stacking"):
        return f"{name} decides by a model of models, which is not a sum of trees or terms. Read its parts one by one."
    if name.endswith("Regressor"):
        return f"{name} predicts a number and decides nothing. {READ}"
    if match["room"] in _ROOMS_OF_STEPS:
        return f"{name} before the model cannot be read exactly. {SUPPORTED}"
    return f"{name} is not read exactly. {READ}"


def why_not_read(model: Any) -> str:
    """The same of a model in memory, of whatever class."""
    kind = type(model)
    return why_not(f"{kind.__module__}.{kind.__name__}") or f"{kind.__name__} is not read. {READ}"
