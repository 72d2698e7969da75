"""scikit-learn's linear models and naive Bayes as `terms` documents (5-decisions §2).

The arithmetic differs from scikit-learn's by rounding: a document folds scalers into its slopes and adds its terms in
another order. Of every record the difference is bounded. With u half a unit in the last place, n features from C
columns, k roundings in the scalers, and M the sum of the absolute values of everything that is added, both sides are
off by at most (n + 2k + 8)·u·M and (n + 3C + 4k + 16)·u·M.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from pydantic import ValidationError
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.svm import LinearSVC

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import Line
from auditor_client.models.features import INTEGERS_MAX, ColumnFeatures, column_features
from auditor_client.models.inventing import Invented
from auditor_client.models.preprocessing import Preprocessing
from auditor_client.models.probing import ThresholdTest, turns
from auditor_client.models.scoring import Numbers, Scoring, by_label
from shared.scores.documents import Term, Terms

_AGAIN: Final = "Save the model again from its source."


@dataclass(frozen=True, slots=True)
class SumOfFeatures:
    """One number of a model: a constant, and of each feature F what it adds; or bounds of their absolute values.

    Attributes:
        constant: Added once.
        linear: Times F, shape (features,).
        square: Times F², shape (features,).
        tables: Instead of both, by raw column: what its features add on each atom; features are then constant there.
    """

    constant: float
    linear: Numbers
    square: Numbers
    tables: Mapping[str, Numbers] = field(default_factory=dict)

    def absolute(self) -> "SumOfFeatures":
        """The absolute values of all parts."""
        return self.combined(self, lambda number, _: abs(number))

    def combined(self, other: "SumOfFeatures", how: Callable[[Any, Any], Any]) -> "SumOfFeatures":
        """Two sums, part by part."""
        return SumOfFeatures(
            float(how(self.constant, other.constant)),
            how(self.linear, other.linear),
            how(self.square, other.square),
            {name: how(table, other.tables[name]) for name, table in self.tables.items()},
        )

    def require_finite(self) -> None:
        """Refuse infinities and what is not a number."""
        parts = [np.array([self.constant]), self.linear, self.square, *self.tables.values()]
        if not all(np.isfinite(part).all() for part in parts):
            raise ModelRefused(f"A number of the model, or a logarithm of a probability, is not finite. {_AGAIN}")

    def document(self, columns: Sequence[ColumnFeatures]) -> Terms:
        """The sum as a document."""
        terms: list[Term] = []
        base = self.constant
        for column in columns:
            added, constant = self._of_column(column)
            terms += added
            base += constant
        return Terms(kind="terms", precision="float64", base=base, terms=tuple(terms))

    def sizes(self, columns: Sequence[ColumnFeatures], records: Invented) -> Numbers:
        """Return what bounds of absolute values add up to, shape (records,)."""
        total = np.full(records.count, self.constant)
        for column in columns:
            if self.tables:
                total += self.tables[column.domain.column.name][column.atoms(records)]
            else:
                sizes, chosen = column.magnitudes(records), list(column.features)
                total += sizes @ self.linear[chosen] + sizes**2 @ self.square[chosen]
        return total

    def _of_column(self, column: ColumnFeatures) -> tuple[list[Term], float]:
        if self.tables:
            return column.terms(0.0, self.tables[column.domain.column.name])
        linear, square = self.linear[list(column.features)], self.square[list(column.features)]
        squared = float((square * column.slopes**2).sum())
        slope = float((column.slopes * (2 * square * column.offsets + linear)).sum())
        is_off_line = ((column.tables != column.offsets) & (column.slopes != 0)).any(axis=1)
        x = np.where(is_off_line & ~np.isnan(column.points), column.points, 0.0)
        features = column.tables + column.slopes * x[:, None]
        table = features**2 @ square + features @ linear - squared * x**2 - slope * x
        return column.terms(slope, table, squared)


@dataclass(frozen=True, slots=True)
class ReadSums:
    """A model's numbers, and what it makes of them.

    Attributes:
        columns: The features.
        sums: The numbers.
        sizes: Of each the absolute values of all that scikit-learn adds up for it.
        scoring: What it makes of them; without documents and bounds.
    """

    columns: list[ColumnFeatures]
    sums: Sequence[SumOfFeatures]
    sizes: Sequence[SumOfFeatures]
    scoring: Scoring


def scoring_of(model: Any, preprocessing: Preprocessing) -> tuple[Scoring, str]:
    """A linear model or naive Bayes as documents, and what it is in words.

    Args:
        model: One of `CLASSIFIERS`, fitted.
        preprocessing: The steps before it.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    name, read = CLASSIFIERS[type(model)]
    classes = np.asarray(model.classes_).tolist()
    features = len(preprocessing.features)
    if len(classes) < 2 or np.asarray(model.classes_).ndim != 1 or model.n_features_in_ != features:
        raise ModelRefused(f"The model and the steps before it do not fit together. {_AGAIN}")
    preprocessing.require_works(
        lambda table: model.predict(preprocessing.transform(table)), preprocessing.features, type(model).__name__
    )
    parts = read(model, preprocessing)
    for part in (*parts.sums, *parts.sizes):
        part.require_finite()
    try:
        documents = tuple(part.document(parts.columns) for part in parts.sums)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ModelRefused(f"The model does not fit a score document: {first['msg']}") from error
    operations = max((column.operations for column in parts.columns), default=0)
    factor = (2 * features + 3 * len(parts.columns) + 6 * operations + 24) * _unit(model, preprocessing) * 1.01

    def bounds(records: Invented) -> Numbers:
        largest: Numbers = np.max([part.sizes(parts.columns, records) for part in parts.sizes], axis=0)
        return factor * largest

    return replace(parts.scoring, documents=documents, bounds=bounds), f"{name} of {features} features"


def _unit(model: Any, preprocessing: Preprocessing) -> float:
    """Half a unit in the last place of 1, in the precision that scikit-learn computes in."""
    matrix = preprocessing.transform(preprocessing.inputs.rows(preprocessing.probes(preprocessing.features[:1])[:1]))
    kinds = [getattr(matrix, "dtype", None), *(getattr(vars(model).get(name), "dtype", None) for name in _WEIGHTS)]
    return 2.0**-24 if any(kind == np.float32 for kind in kinds) else 2.0**-53


_WEIGHTS: Final = ("coef_", "intercept_", "theta_", "var_")


def _linear(model: Any, preprocessing: Preprocessing) -> ReadSums:
    classes, features = len(model.classes_), len(preprocessing.features)
    if classes == 2 and getattr(model, "multi_class", None) == "multinomial":
        raise ModelRefused(
            'The model was fitted by an earlier scikit-learn with multi_class="multinomial" for two classes, whose '
            "probabilities the installed one computes otherwise: fit it with the installed one, and save it again."
        )
    scores = 1 if classes == 2 else classes
    coefficients = np.asarray(getattr(model.coef_, "toarray", lambda: model.coef_)(), np.float64)
    weights = np.atleast_2d(coefficients)
    if weights.shape != (scores, features):
        raise ModelRefused(f"The model has weights of shape {weights.shape}, not {(scores, features)}. {_AGAIN}")
    constants = np.zeros(scores) + np.asarray(model.intercept_, np.float64).reshape(-1)
    sums = [SumOfFeatures(float(c), row, np.zeros(features)) for c, row in zip(constants, weights, strict=True)]

    around = copy.copy(model)  # the model's own code, of numbers that are its decision function already
    vars(around).pop("feature_names_in_", None)
    around.coef_, around.intercept_, around.n_features_in_ = (
        np.eye(scores)[0 if coefficients.ndim == 1 else ...],
        np.zeros(scores),
        scores,
    )

    def own(matrix: Any) -> Numbers:
        numbers = np.asarray(model.decision_function(matrix), np.float64)
        return numbers.reshape(len(numbers), -1)

    scoring = Scoring(
        model.classes_.tolist(),
        (),
        by_label(around.predict, model.classes_),
        probabilities=around.predict_proba if hasattr(around, "predict_proba") else None,
        margins=around.decision_function,
        own=own,
    )
    return ReadSums(column_features(preprocessing), sums, [part.absolute() for part in sums], scoring)


def _bayes(
    model: Any,
    columns: list[ColumnFeatures],
    sums: Sequence[SumOfFeatures],
    sizes: Sequence[SumOfFeatures] | None = None,
) -> ReadSums:
    """Return what naive Bayes makes of its joint log-likelihoods; between two classes, of their difference."""
    two = len(model.classes_) == 2
    sizes = sizes or [part.absolute() for part in sums]
    if two:
        sums, sizes = [sums[1].combined(sums[0], np.subtract)], [sizes[1].combined(sizes[0], np.add)]
    around = copy.copy(model)
    around._check_X = lambda numbers: numbers  # noqa: SLF001
    around._joint_log_likelihood = (  # noqa: SLF001
        lambda numbers: np.column_stack([np.zeros(len(numbers)), numbers]) if two else numbers
    )

    def own(matrix: Any) -> Numbers:
        joint: Numbers = model.predict_joint_log_proba(matrix)
        return joint[:, 1:] - joint[:, :1] if two else joint

    scoring = Scoring(
        model.classes_.tolist(),
        (),
        by_label(around.predict, model.classes_),
        probabilities=around.predict_proba,
        own=own,
    )
    return ReadSums(columns, sums, sizes, scoring)


def _gaussian(model: Any, preprocessing: Preprocessing) -> ReadSums:
    fitted = model.theta_, model.var_, model.class_prior_
    means, variances, priors = (np.asarray(array, np.float64) for array in fitted)
    shape = (len(model.classes_), len(preprocessing.features))
    if not (means.shape == variances.shape == shape and priors.shape == shape[:1] and (variances > 0).all()):
        raise ModelRefused(f"The model's means and variances do not fit its classes. {_AGAIN}")
    with np.errstate(divide="ignore"):
        constants = np.column_stack([np.log(priors), -0.5 * np.log(2 * np.pi * variances), -0.5 * means**2 / variances])
    sums = [
        SumOfFeatures(float(constant.sum()), mean / variance, -0.5 / variance)
        for constant, mean, variance in zip(constants, means, variances, strict=True)
    ]
    sizes = [
        replace(part.absolute(), constant=float(np.abs(constant).sum()))
        for part, constant in zip(sums, constants, strict=True)
    ]
    return _bayes(model, column_features(preprocessing), sums, sizes)


def _multinomial(model: Any, preprocessing: Preprocessing) -> ReadSums:
    shape = (len(model.classes_), len(preprocessing.features))
    weights, priors = _log_probabilities(model, shape)
    sums = [SumOfFeatures(float(prior), row, np.zeros(shape[1])) for prior, row in zip(priors, weights, strict=True)]
    return _bayes(model, column_features(preprocessing), sums)


def _bernoulli(model: Any, preprocessing: Preprocessing) -> ReadSums:
    """Each feature is whether a number is above a threshold: where that turns is asked, and the rest is a table."""
    shape = (len(model.classes_), len(preprocessing.features))
    weights, priors = _log_probabilities(model, shape)
    if model.binarize is None:
        raise ModelRefused("BernoulliNB takes numbers for truth values: train it with `binarize`.")
    threshold = float(model.binarize)
    by_name = preprocessing.inputs.schema.by_name
    tests = [
        ThresholdTest(feature.source, feature.cuts, index, threshold)
        for index, feature in enumerate(preprocessing.features)
        if feature.source in by_name and by_name[feature.source].ordered
    ]
    cuts: dict[str, set[int]] = {}
    for test, keys in zip(tests, turns(preprocessing.inputs, tests, preprocessing.numbers), strict=True):
        cuts.setdefault(test.source, set()).update(keys)
    columns = column_features(preprocessing, cuts)
    with np.errstate(divide="ignore"):
        never = np.log(1 - np.exp(weights))
    tables = [(column.values > threshold, list(column.features)) for column in columns]

    def sums(rows: Numbers, constants: Numbers) -> list[SumOfFeatures]:
        return [
            _tabled(columns, [table * row[features] for table, features in tables], constant)
            for row, constant in zip(rows, constants.tolist(), strict=True)
        ]

    return _bayes(
        model,
        columns,
        sums(weights - never, priors + never.sum(axis=1)),
        sums(np.abs(weights) + np.abs(never), np.abs(priors) + np.abs(never).sum(axis=1)),
    )


def _categorical(model: Any, preprocessing: Preprocessing) -> ReadSums:
    """Each feature is an index: the columns' atoms have one each."""
    classes, features = len(model.classes_), preprocessing.features
    tables = [np.asarray(table, np.float64) for table in model.feature_log_prob_]
    priors = np.asarray(model.class_log_prior_, np.float64)
    if len(tables) != len(features) or any(table.shape[:1] != (classes,) for table in tables):
        raise ModelRefused(f"The model's tables do not fit its classes. {_AGAIN}")
    cuts: dict[str, set[int]] = {}
    for feature in features:
        column = preprocessing.inputs.schema.by_name.get(feature.source)
        if feature.affine is None or column is None:
            continue
        if column.type != "integer" or column.high - column.low >= INTEGERS_MAX:
            raise ModelRefused(
                f"CategoricalNB takes the number {feature.source!r} for an index: encode or bin it, or have its range "
                "declared more narrowly."
            )
        line = Line(column)
        cuts[feature.source] = set(range(line.first, line.last))
    columns = column_features(preprocessing, cuts)

    def sums(parts: Sequence[Numbers], constants: Numbers) -> list[SumOfFeatures]:
        return [
            _tabled(
                columns,
                [
                    np.column_stack(
                        [
                            parts[feature][label][column.values[:, number].astype(int)]
                            for number, feature in enumerate(column.features)
                        ]
                    )
                    for column in columns
                ],
                constant,
            )
            for label, constant in enumerate(constants.tolist())
        ]

    return _bayes(model, columns, sums(tables, priors), sums([np.abs(table) for table in tables], np.abs(priors)))


def _tabled(columns: Sequence[ColumnFeatures], added: Sequence[Numbers], constant: float) -> SumOfFeatures:
    """A sum whose features are constant on every atom.

    Args:
        columns: The features.
        added: By column what each of its features adds on each atom, shape (atoms, features).
        constant: Added once.
    """
    tables = {column.domain.column.name: of_atoms.sum(axis=1) for column, of_atoms in zip(columns, added, strict=True)}
    return SumOfFeatures(constant, np.zeros(0), np.zeros(0), tables)


def _log_probabilities(model: Any, shape: tuple[int, int]) -> tuple[Numbers, Numbers]:
    fitted = model.feature_log_prob_, model.class_log_prior_
    weights, priors = (np.asarray(array, np.float64) for array in fitted)
    if weights.shape != shape or priors.shape != shape[:1]:
        raise ModelRefused(f"The model's probabilities do not fit its classes. {_AGAIN}")
    return weights, priors


CLASSIFIERS: Final[Mapping[type, tuple[str, Callable[[Any, Preprocessing], ReadSums]]]] = {
    LogisticRegression: ("a logistic regression", _linear),
    LogisticRegressionCV: ("a logistic regression", _linear),
    RidgeClassifier: ("a ridge classifier", _linear),
    RidgeClassifierCV: ("a ridge classifier", _linear),
    LinearSVC: ("a linear support vector machine", _linear),
    SGDClassifier: ("a linear model", _linear),
    Perceptron: ("a perceptron", _linear),
    PassiveAggressiveClassifier: ("a linear model", _linear),
    LinearDiscriminantAnalysis: ("a linear discriminant analysis", _linear),
    GaussianNB: ("a Gaussian naive Bayes model", _gaussian),
    BernoulliNB: ("a Bernoulli naive Bayes model", _bernoulli),
    MultinomialNB: ("a multinomial naive Bayes model", _multinomial),
    CategoricalNB: ("a categorical naive Bayes model", _categorical),
}
