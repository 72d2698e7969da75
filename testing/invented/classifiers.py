"""Invented classifiers of every kind that is read as score documents, behind random preprocessing.

People, tables and steps are those of `testing.invented.models`: numbers sit where rounding bites, values are missing,
and categories are declared that training never sees.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from testing.invented.models import BOOLEAN, NUMERIC, TEXTS, as_frame, people, pick, random_steps

Make = Callable[[np.random.Generator, list[Any]], Any]

TWO_CLASSES: Final[list[list[Any]]] = [[0, 1], [False, True], ["no", "yes"]]
SEVERAL: Final[list[list[Any]]] = [["bad", "fair", "good"], [1, 2, 3, 4]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of classifier.

    Attributes:
        make: An unfitted one.
        of_missing: Whether it takes missing values by itself.
        two: Whether it decides between two classes only.
        exact: Whether its score document has no rounding of its own.
        native: Whether it takes the frame's categories as they are, without steps.
        sparse: Whether it takes a sparse matrix.
    """

    make: Make
    of_missing: bool = False
    two: bool = False
    exact: bool = False
    native: bool = False
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class InventedClassifier:
    """A fitted classifier, its columns in order, its classes, and some of them as favourable."""

    model: Any
    columns: tuple[str, ...]
    classes: list[Any]
    favourable: list[Any]


def _seed(draw: np.random.Generator) -> int:
    return int(draw.integers(2**31))


def _tree(draw: np.random.Generator, depths: Sequence[Any] = (2, 3, None)) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=pick(draw, depths), random_state=_seed(draw))


def _forest(draw: np.random.Generator, _: list[Any]) -> Any:
    return RandomForestClassifier(
        pick(draw, [1, 2, 6, 15]), max_depth=pick(draw, [2, 4, None]), random_state=_seed(draw),
        bootstrap=bool(draw.random() < 0.7), n_jobs=pick(draw, [None, 2]),
    )  # fmt: skip


def _boosting(draw: np.random.Generator, _: list[Any]) -> Any:
    return GradientBoostingClassifier(
        n_estimators=pick(draw, [1, 5, 12]), max_depth=pick(draw, [1, 3]), init=pick(draw, [None, "zero"]),
        learning_rate=pick(draw, [0.1, 1 / 3]), random_state=_seed(draw),
    )  # fmt: skip


def _histogram(draw: np.random.Generator, _: list[Any]) -> Any:
    return HistGradientBoostingClassifier(
        max_iter=pick(draw, [2, 8]), min_samples_leaf=pick(draw, [2, 10]), random_state=_seed(draw)
    )


def _codes_as_categories(draw: np.random.Generator, classes: list[Any]) -> Any:
    """Categories by an encoder of its own, of whatever the steps before make."""
    bins = KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")
    model = _histogram(draw, classes).set_params(categorical_features=[0])
    return make_pipeline(SimpleImputer(), bins, model)


def _boosted_votes(draw: np.random.Generator, _: list[Any]) -> Any:
    return AdaBoostClassifier(_tree(draw, (1, 2)), n_estimators=pick(draw, [2, 6]), random_state=_seed(draw))


def _bagging(draw: np.random.Generator, _: list[Any]) -> Any:
    return BaggingClassifier(_tree(draw), pick(draw, [2, 6]), max_features=0.6, random_state=_seed(draw))


def _vote(draw: np.random.Generator, _: list[Any]) -> Any:
    members = [(str(number), make_pipeline(StandardScaler(with_mean=False), _tree(draw))) for number in range(4)]
    count = int(draw.integers(2, 5))
    return VotingClassifier(
        members[:count], voting=pick(draw, ["soft", "hard"]),
        weights=pick(draw, [None, None, [1, 2, 1, 0.5][:count]]),
    )  # fmt: skip


def _calibrated(draw: np.random.Generator, classes: list[Any]) -> Any:
    inside = pick(draw, [_logistic, _forest, _boosting])(draw, classes)
    return CalibratedClassifierCV(inside, ensemble=False, cv=3, method=pick(draw, ["sigmoid", "isotonic"]))


def _threshold(draw: np.random.Generator, classes: list[Any]) -> Any:
    inside = pick(draw, [_logistic, _forest, _boosting, _boosted_votes, _calibrated])(draw, classes)
    if draw.random() < 0.2:
        return TunedThresholdClassifierCV(inside, cv=2, scoring="balanced_accuracy")
    return FixedThresholdClassifier(inside, threshold=pick(draw, [0.4, 0.5, 0.6]), pos_label=pick(draw, classes))


def _logistic(draw: np.random.Generator, _: list[Any]) -> Any:
    return LogisticRegression(C=pick(draw, [0.1, 1, 100]), max_iter=300)


def _linear(draw: np.random.Generator, _: list[Any]) -> Any:
    return pick(
        draw,
        [
            RidgeClassifier(alpha=0.5),
            LinearSVC(random_state=_seed(draw), fit_intercept=bool(draw.random() < 0.8)),
            SGDClassifier(random_state=_seed(draw), loss=pick(draw, ["hinge", "log_loss", "modified_huber"])),
            Perceptron(random_state=_seed(draw)),
            LinearDiscriminantAnalysis(),
        ],
    )


def _discrete(draw: np.random.Generator, _: list[Any]) -> Any:
    bins = KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")
    return pick(
        draw,
        [
            BernoulliNB(binarize=pick(draw, [0.0, 0.5])),
            make_pipeline(bins, CategoricalNB(min_categories=4)),
            make_pipeline(bins, MultinomialNB()),
        ],
    )


def _network(draw: np.random.Generator, _: list[Any]) -> Any:
    return MLPClassifier(
        pick(draw, [(5,), (8, 4), ()]), activation=pick(draw, ["relu", "tanh", "logistic", "identity"]),
        max_iter=20, random_state=_seed(draw), solver=pick(draw, ["adam", "sgd", "lbfgs"]),
    )  # fmt: skip


KINDS: Final[Mapping[str, Kind]] = {
    "forest": Kind(_forest, of_missing=True, exact=True, sparse=True),
    "extra trees": Kind(
        lambda draw, _: ExtraTreesClassifier(5, max_depth=pick(draw, [2, None]), random_state=_seed(draw)),
        of_missing=True,
        exact=True,
    ),
    "gradient boosting": Kind(_boosting, exact=True, sparse=True),
    "histogram boosting": Kind(_histogram, of_missing=True, exact=True),
    "histogram boosting, own categories": Kind(_histogram, of_missing=True, exact=True, native=True),
    "histogram boosting, categories of codes": Kind(_codes_as_categories, exact=True),
    "AdaBoost": Kind(_boosted_votes, exact=True),
    "bagging": Kind(_bagging, exact=True),
    "voting": Kind(_vote, exact=True),
    "logistic regression": Kind(_logistic, sparse=True),
    "linear": Kind(_linear),
    "Gaussian naive Bayes": Kind(lambda draw, _: GaussianNB(var_smoothing=pick(draw, [1e-9, 1e-3]))),
    "discrete naive Bayes": Kind(_discrete),
    "network": Kind(_network, sparse=True),
    "calibrated": Kind(_calibrated, two=True),
    "own threshold": Kind(_threshold, two=True),
}


def invent_classifier(kind: Kind, seed: int) -> InventedClassifier:
    """A random classifier of a kind, trained on random people, whose labels are part rule and part chance."""
    draw = np.random.default_rng(seed)
    frame = as_frame(people(draw, int(draw.integers(90, 180)), unseen=False))
    classes = pick(draw, TWO_CLASSES if kind.two or draw.random() < 0.6 else SEVERAL)
    rule = (frame["age"] > 40).astype(int) + (frame["hours"] > 0) + (frame["city"] == "Bb") + (frame["children"] == 2)
    labels = np.array(classes)[
        np.where(draw.random(len(frame)) < 0.4, draw.integers(0, len(classes), len(frame)), rule % len(classes))
    ]
    columns = tuple(draw.permutation([*NUMERIC, *TEXTS, *BOOLEAN])[: draw.integers(2, 7)].tolist())
    given, steps = frame[list(columns)], []
    if kind.native:
        texts = [name for name in columns if name in TEXTS]
        given = given.astype({name: pd.CategoricalDtype(sorted(set(given[name].dropna()))) for name in texts})
        booleans = [name for name in columns if name == "insured"]
        given = given.drop(columns=booleans)
        columns = tuple(name for name in columns if name not in booleans) or ("age",)
        given = given if len(given.columns) else frame[["age"]]
    else:
        steps = random_steps(draw, columns, framed=True, sparse=kind.sparse)
        steps += [] if kind.of_missing else [SimpleImputer(strategy=pick(draw, ["mean", "most_frequent"]))]
    model: Any = kind.make(draw, classes)
    if kind.two and draw.random() < 0.5:  # what is around the classifier is around its steps, too
        model = _around_steps(model, steps)
    elif steps:
        model = make_pipeline(*steps, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(given, labels)
    favourable = [pick(draw, classes)] if draw.random() < 0.7 else classes[1:]
    return InventedClassifier(model, columns, classes, favourable)


def _around_steps(model: Any, steps: list[Any]) -> Any:
    return model.set_params(estimator=make_pipeline(*steps, model.estimator))
