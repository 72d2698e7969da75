"""Random estimators of scikit-learn, behind random steps."""

import importlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from sklearn import (
    calibration,
    compose,
    discriminant_analysis,
    ensemble,
    impute,
    linear_model,
    naive_bayes,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

from checks.foreign_models.makers.data import NUMBERS, TEXTS, Table, classes_of, invented
from checks.foreign_models.makers.made import Estimator, Made

Draw = np.random.Generator


def _seed(draw: Draw) -> int:
    return int(draw.integers(2**31 - 1))


def _tree(draw: Draw) -> Any:
    return tree.DecisionTreeClassifier(max_depth=int(draw.integers(1, 6)), random_state=_seed(draw))


def _of(library: str, name: str, **options: Any) -> Callable[[Draw], Any]:
    def make(draw: Draw) -> Any:
        return getattr(importlib.import_module(library), name)(random_state=_seed(draw), **options)

    return make


def _inside(draw: Draw, kind: type, **options: Any) -> Any:
    """An estimator around a tree; the parameter has had two names."""
    try:
        return kind(estimator=_tree(draw), random_state=_seed(draw), **options)
    except TypeError:
        return kind(base_estimator=_tree(draw), random_state=_seed(draw), **options)


ESTIMATORS: Final[dict[str, Callable[[Draw], Any]]] = {
    "DecisionTreeClassifier": _tree,
    "ExtraTreeClassifier": lambda draw: tree.ExtraTreeClassifier(max_depth=4, random_state=_seed(draw)),
    "RandomForestClassifier": lambda draw: ensemble.RandomForestClassifier(
        int(draw.integers(2, 12)), max_depth=int(draw.integers(2, 7)), random_state=_seed(draw)
    ),
    "ExtraTreesClassifier": lambda draw: ensemble.ExtraTreesClassifier(
        6, max_depth=5, criterion="entropy", random_state=_seed(draw)
    ),
    "GradientBoostingClassifier": lambda draw: ensemble.GradientBoostingClassifier(
        n_estimators=int(draw.integers(1, 12)), max_depth=int(draw.integers(1, 4)), random_state=_seed(draw),
        init=None if draw.random() < 0.7 else "zero", subsample=0.8,
    ),
    "HistGradientBoostingClassifier": lambda draw: ensemble.HistGradientBoostingClassifier(
        max_iter=int(draw.integers(1, 12)), max_leaf_nodes=8, random_state=_seed(draw)
    ),
    "AdaBoostClassifier": lambda draw: _inside(draw, ensemble.AdaBoostClassifier, n_estimators=5),
    "AdaBoostClassifier SAMME": lambda draw: ensemble.AdaBoostClassifier(
        n_estimators=6, random_state=_seed(draw), **_samme()
    ),
    "BaggingClassifier": lambda draw: _inside(draw, ensemble.BaggingClassifier, n_estimators=4, max_features=0.7),
    "VotingClassifier": lambda draw: ensemble.VotingClassifier(
        [("a", _tree(draw)), ("b", _tree(draw)), ("c", _tree(draw))], voting=str(draw.choice(["soft", "hard"]))
    ),
    "LogisticRegression": lambda draw: linear_model.LogisticRegression(C=float(draw.choice([0.1, 1.0])), max_iter=300),
    "LogisticRegression balanced": lambda draw: linear_model.LogisticRegression(class_weight="balanced", max_iter=300),
    "RidgeClassifier": lambda draw: linear_model.RidgeClassifier(alpha=float(draw.choice([0.5, 2.0]))),
    "Perceptron": _of("sklearn.linear_model", "Perceptron"),
    "SGDClassifier": lambda draw: linear_model.SGDClassifier(
        loss=str(draw.choice(["hinge", "log_loss", "modified_huber"])), random_state=_seed(draw)
    ),
    "PassiveAggressiveClassifier": _of("sklearn.linear_model", "PassiveAggressiveClassifier"),
    "LinearSVC": lambda draw: svm.LinearSVC(dual=True, random_state=_seed(draw), max_iter=200),
    "LinearDiscriminantAnalysis": lambda draw: discriminant_analysis.LinearDiscriminantAnalysis(),
    "GaussianNB": lambda draw: naive_bayes.GaussianNB(),
    "BernoulliNB": lambda draw: naive_bayes.BernoulliNB(alpha=0.5),
    "MLPClassifier": lambda draw: neural_network.MLPClassifier(
        (int(draw.integers(2, 8)),), activation=str(draw.choice(["relu", "tanh", "logistic", "identity"])),
        max_iter=60, random_state=_seed(draw),
    ),
    "CalibratedClassifierCV": lambda draw: calibration.CalibratedClassifierCV(
        linear_model.LogisticRegression(max_iter=300), ensemble=False, method=str(draw.choice(["sigmoid", "isotonic"]))
    ),
    "CalibratedClassifierCV of five": lambda draw: calibration.CalibratedClassifierCV(_tree(draw), cv=3),
    "SVC": lambda draw: svm.SVC(kernel="rbf"),
}  # fmt: skip
"""By name, an unfitted estimator."""
MISSING_INSIDE: Final = ("HistGradientBoostingClassifier",)
REFUSED: Final = {
    "SVC": "SVC",
    "CalibratedClassifierCV of five": "ensemble",
    "ExtraTreesClassifier": None,
}


def _samme() -> dict[str, Any]:
    """The algorithm that later versions have alone."""
    parameters = ensemble.AdaBoostClassifier().get_params()
    return {"algorithm": "SAMME"} if parameters.get("algorithm") == "SAMME.R" else {}


def skops_file(seed: int) -> Made:
    """A fitted estimator, alone over numbers or behind a ColumnTransformer, as a skops file."""
    skops = importlib.import_module("skops.io")
    model, made = fitted(seed)
    return Made(**{**made, "content": skops.dumps(model), "suffix": ".skops", "model": Estimator(model)})


def fitted(seed: int, names: tuple[str, ...] = tuple(ESTIMATORS)) -> tuple[Any, dict[str, Any]]:
    """A fitted estimator, and what there is to say about it."""
    draw = np.random.default_rng(seed)
    name = names[seed % len(names)]
    values = invented(draw)
    classes = int(draw.choice([2, 2, 2, 3]))
    target = classes_of(draw, values, classes)
    labels: list[Any] = list(range(classes))
    if draw.random() < 0.3:
        labels = ["no", "perhaps", "yes"] if classes == 3 else ["no", "yes"]
        target = np.array(labels)[target]
    inner = ESTIMATORS[name](draw)
    columns = ["tiny", "children", "owner"]
    if draw.random() < 0.6 or name in MISSING_INSIDE:
        columns = [*NUMBERS] if name in MISSING_INSIDE else [*NUMBERS, *TEXTS]
        inner = inner if name in MISSING_INSIDE else pipeline.make_pipeline(_steps(draw), inner)
    table = Table(columns, array=columns[-1] not in TEXTS and draw.random() < 0.4)
    model = inner.fit(table.of(values), target)
    favourable = labels[int(draw.integers(len(labels)))]
    above = None
    if classes == 2 and hasattr(model, "predict_proba") and draw.random() < 0.3 and name != "VotingClassifier":
        above = float(draw.choice([0.3, 0.5, 0.7]))
    return model, {
        "kind": name, "table": table, "classes": labels, "favourable": favourable, "above": above,
        "refused": REFUSED.get(name),
    }  # fmt: skip


def _steps(draw: Draw) -> Any:
    """Imputers, scalers and encoders."""
    strategy = str(draw.choice(["mean", "median", "most_frequent", "constant"]))
    numbers: list[Any] = [impute.SimpleImputer(strategy=strategy, add_indicator=bool(draw.random() < 0.2))]
    scaler = draw.choice(["", "StandardScaler", "MinMaxScaler", "RobustScaler"])
    if scaler:
        numbers.append(getattr(preprocessing, str(scaler))())
    texts: list[Any] = [impute.SimpleImputer(strategy="constant", fill_value="gone")] if draw.random() < 0.5 else []
    if draw.random() < 0.7:
        texts.append(preprocessing.OneHotEncoder(handle_unknown="ignore"))
    else:
        texts.append(preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1))
        texts.append(impute.SimpleImputer(strategy="constant", fill_value=-2))
    return compose.ColumnTransformer(
        [("numbers", pipeline.make_pipeline(*numbers), [*NUMBERS]), ("texts", pipeline.make_pipeline(*texts), [*TEXTS])]
    )
