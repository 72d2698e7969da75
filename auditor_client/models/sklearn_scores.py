"""scikit-learn's classifiers that are more than one tree, as score documents behind their preprocessing.

A model is a nest: pipelines, thresholds and calibration around one that adds numbers. What is inside is read as a
`Scoring`; what is around it is asked what it makes of single numbers, by running its own code on them.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import (
    CalibratedClassifierCV,
    _CalibratedClassifier,
    _SigmoidCalibration,
    _TemperatureScaling,
)
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from auditor_client.errors import ModelRefused
from auditor_client.models import sklearn_ensembles, sklearn_layers, sklearn_terms
from auditor_client.models.checking import Ask, MakersAnswers, checked
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.forests import Ensemble, documents, joined
from auditor_client.models.inventing import Invented
from auditor_client.models.preprocessing import Preprocessing, quietly
from auditor_client.models.probing import Inputs
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.refusals import why_not_read
from auditor_client.models.scoring import Numbers, Scoring, by_label, read
from auditor_client.models.sklearn_tree import inputs_of
from auditor_client.models.soundness import require_fitted
from shared.contract.schema import Schema

_CALIBRATORS: Final = (IsotonicRegression, _SigmoidCalibration, _TemperatureScaling)
_THRESHOLDS: Final = (FixedThresholdClassifier, TunedThresholdClassifierCV)


@dataclass(frozen=True, slots=True)
class _Inside:
    """A model that was read: its numbers, the steps before them, and what it is in words."""

    scoring: Scoring
    preprocessing: Preprocessing
    words: str


class _Reading:
    """Reading one model."""

    def __init__(self, model: Any, request: ModelRequest) -> None:
        self.request = request
        parts = list(_parts(model))
        for part in parts:
            require_fitted(part)
        self.inputs: Inputs = inputs_of(parts, request.schema, request.columns, request.input_dtypes)

    def inside(self, model: Any, steps: Sequence[Any] = ()) -> _Inside:
        if type(model) is Pipeline:
            return self.inside(model.steps[-1][1], (*steps, *(step for _, step in model.steps[:-1])))
        if type(model) is FrozenEstimator:
            return self.inside(model.estimator, steps)
        if type(model) in _THRESHOLDS:
            return self._threshold(model, steps)
        if type(model) is CalibratedClassifierCV:
            return self._calibrated(model, steps)
        if type(model) is VotingClassifier:
            return self._voting(model, steps)
        if type(model) in sklearn_ensembles.ENSEMBLES:
            return self._ensemble(model, steps)
        if type(model) in sklearn_terms.CLASSIFIERS or type(model) is MLPClassifier:
            outside = Preprocessing(steps, self.inputs)
            room = sklearn_layers if type(model) is MLPClassifier else sklearn_terms
            scoring, words = room.scoring_of(model, outside)
            return _Inside(_over_raw(scoring, outside), outside, words)
        raise ModelRefused(why_not_read(model))

    def _ensemble(self, model: Any, steps: Sequence[Any]) -> _Inside:
        outside = Preprocessing(steps, self.inputs)
        preprocessing = Preprocessing([*steps, *sklearn_ensembles.steps_inside(model)], self.inputs)
        scoring, words = sklearn_ensembles.scoring_of(model, preprocessing, outside)
        return _Inside(_over_raw(scoring, outside), preprocessing, words)

    def _voting(self, model: Any, steps: Sequence[Any]) -> _Inside:
        """A vote of single trees, each behind steps of its own: their probabilities, or one vote each."""
        classes = np.asarray(model.classes_).tolist()
        soft, weights = model.voting == "soft", model._weights_not_none  # noqa: SLF001
        outside = Preprocessing(steps, self.inputs)
        trees, parts = [], []
        for number, member in enumerate(model.estimators_):
            own, tree = _tree_of(member)
            if np.asarray(tree.classes_).tolist() != list(range(len(classes))):
                raise ModelRefused("A tree of the vote does not know all classes: train each on all of them.")
            preprocessing = Preprocessing([*steps, *own], self.inputs)
            [fitted] = sklearn_ensembles.single_trees([tree], len(preprocessing.features), len(classes)).trees
            values = fitted.values if soft else np.eye(len(classes))[np.argmax(fitted.values, axis=1)]
            fitted = replace(fitted, values=values if weights is None else values * weights[number])
            trees.append(fitted)
            parts.append((fitted, preprocessing))
        outside.require_works(
            lambda table: model.predict(outside.transform(table)), outside.features, type(model).__name__
        )
        nothing = np.zeros(len(classes))
        each = [documents(Ensemble([fitted], nothing), before, before.matrix) for fitted, before in parts]
        scoring = sklearn_ensembles.mean_of_probabilities(model)
        scoring = replace(
            scoring,
            documents=tuple(joined(of_class, mean=weights is None) for of_class in zip(*each, strict=True)),
            complementary=sklearn_ensembles.complementary(Ensemble(trees, nothing, mean=weights is None)),
            own=scoring.own if soft and weights is None else None,
            probabilities=scoring.probabilities if soft and weights is None else None,
        )
        if weights is not None and soft:
            # Two sums that differ in the last bit may be equal once they are divided by the sum of the weights.
            scoring = replace(scoring, bounds=lambda records: np.full(records.count, 2.0**-51 * sum(weights)))
        return _Inside(_over_raw(scoring, outside), outside, f"a {model.voting} vote of {len(trees)} trees")

    def _threshold(self, model: Any, steps: Sequence[Any]) -> _Inside:
        inner = self.inside(getattr(model, "estimator_", model.estimator), steps)
        classes = inner.scoring.classes
        fixed = type(model) is FixedThresholdClassifier
        label = model.pos_label if fixed else model._curve_scorer._get_pos_label()  # noqa: SLF001
        index = len(classes) - 1 if label is None else classes.index(label)
        scoring = inner.scoring.alone(index)
        around = copy.copy(model)
        around.estimator_ = _AsItself(scoring)
        return replace(inner, scoring=_around(scoring, around), words=f"{inner.words} with a threshold of its own")

    def _calibrated(self, model: Any, steps: Sequence[Any]) -> _Inside:
        if len(model.calibrated_classifiers_) != 1:
            raise ModelRefused(
                f"CalibratedClassifierCV averages {len(model.calibrated_classifiers_)} calibrated models, and no "
                "threshold of their scores says what it decides: fit it with ensemble=False."
            )
        [calibrated] = model.calibrated_classifiers_
        if type(calibrated) is not _CalibratedClassifier or not all(
            type(calibrator) in _CALIBRATORS for calibrator in calibrated.calibrators
        ):
            raise ModelRefused(
                "The model's calibration is not from scikit-learn. Save the model again from its source."
            )
        inner = self.inside(calibrated.estimator, steps)
        if len(inner.scoring.classes) != 2:
            raise ModelRefused("CalibratedClassifierCV is read exactly between two classes.")
        scoring = inner.scoring.alone(1)
        around, inside = copy.copy(model), copy.copy(calibrated)
        inside.estimator = _AsItself(scoring)
        around.calibrated_classifiers_ = [inside]
        return replace(inner, scoring=_around(scoring, around), words=f"{inner.words}, calibrated")


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a fitted classifier as score documents.

    Raises:
        ModelRefused: The model cannot be read exactly; the text says what would help.
    """
    with one_job(model):
        return checked(*read_uncompared(model, request))


def read_uncompared(model: Any, request: ModelRequest) -> tuple[ReadModel, Schema, Ask]:
    """Return what was read, and whom to compare it with.

    Raises:
        ModelRefused: The model cannot be read exactly.
    """
    inside = _Reading(model, request).inside(model)
    favourable = favourable_classes(list(inside.scoring.classes), request.favourable)
    chosen = [label for label in inside.scoring.classes if label in favourable]
    scoring = inside.scoring
    if request.above is not None:
        scoring = scoring.above(request.above, chosen)
    scored = read(scoring, chosen, request.schema)
    own, within = scored.scoring.own, scored.scoring.bounds
    maker = f"scikit-learn {sklearn.__version__}"
    provenance = Provenance(f"{inside.words}, {maker}", "sklearn", maker)

    def ask(records: Invented) -> MakersAnswers:
        table = inside.preprocessing.inputs.invented(records)
        if request.above is None:
            accepted = np.isin(quietly(model.predict, table), np.array(chosen))
        else:
            [column] = np.flatnonzero(np.asarray(model.classes_) == chosen[0])
            accepted = quietly(model.predict_proba, table)[:, column] > request.above
        scores = {} if own is None else _by_column(scored.numbers, quietly(own, table))
        bounds = {} if within is None else dict.fromkeys(scored.numbers, within(records))
        return MakersAnswers(accepted, scores, bounds)

    return replace(scored.model, provenance=provenance), request.schema, ask


def _by_column(parts: Mapping[str, Callable[[Numbers], Numbers]], numbers: Numbers) -> dict[str, Numbers]:
    return {name: part(numbers) for name, part in parts.items()}


def _over_raw(scoring: Scoring, outside: Preprocessing) -> Scoring:
    """The same, its own numbers for tables of raw rows."""
    own = scoring.own
    return replace(scoring, own=None if own is None else lambda table: own(outside.transform(table)))


def _tree_of(member: Any) -> tuple[list[Any], Any]:
    """A member of a vote: the steps before its tree, and the tree."""
    steps: list[Any] = []
    while type(member) is Pipeline:
        steps += [step for _, step in member.steps[:-1]]
        member = member.steps[-1][1]
    if type(member) not in sklearn_ensembles.TREES:
        raise ModelRefused(
            f"A vote of {type(member).__name__}s is not read exactly, because it is no sum of trees or terms: "
            "VotingClassifier is read over DecisionTreeClassifiers, each alone or last in a Pipeline. Read its members "
            "one by one."
        )
    for part in (*steps, member):
        require_fitted(part)
    return steps, member


def _around(scoring: Scoring, model: Any) -> Scoring:
    """Return what a model around another makes of the other's numbers: its own code runs on them."""
    if scoring.probabilities is None and scoring.margins is None:
        raise ModelRefused(f"{type(model).__name__} is around a vote, which does not have a number to compare.")
    return replace(
        scoring,
        decide=by_label(lambda numbers: quietly(model.predict, numbers), scoring.classes),
        probabilities=model.predict_proba if hasattr(model, "predict_proba") else None,
        margins=model.decision_function if hasattr(model, "decision_function") else None,
    )


class _AsItself(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands in for a model whose numbers are known: each row is them."""

    def __init__(self, scoring: Scoring) -> None:
        self.scoring = scoring
        self.classes_ = np.array(scoring.classes)

    def fit(self, *_: Any) -> "_AsItself":
        """Nothing to learn; scikit-learn knows a model by it."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @available_if(lambda self: self.scoring.probabilities is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, numbers: Numbers) -> Numbers:
        return self.scoring.probabilities(numbers)  # type: ignore[misc]  # it is there

    @available_if(lambda self: self.scoring.margins is not None)  # type: ignore[untyped-decorator]
    def decision_function(self, numbers: Numbers) -> Numbers:
        return self.scoring.margins(numbers)  # type: ignore[misc]  # it is there


def _parts(model: Any) -> Iterator[Any]:
    """A model and what is in it, as rows pass through."""
    if type(model) is Pipeline:
        for _, step in model.steps:
            yield from _parts(step)
        return
    yield model


@contextmanager
def one_job(model: Any) -> Iterator[None]:
    """Let a model predict in one job: with several, a forest adds its trees in any order."""
    changed = []
    for part in _nested(model):
        jobs = vars(part).get("n_jobs")
        if jobs not in (None, 1):
            changed.append((part, jobs))
            part.n_jobs = 1
    try:
        yield
    finally:
        for part, jobs in changed:
            part.n_jobs = jobs


def _nested(model: Any) -> Iterator[Any]:
    """A model and the models in it."""
    waiting, visited = [model], set()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, BaseEstimator) or id(part) in visited:
            continue
        visited.add(id(part))
        yield part
        state = vars(part)
        waiting += [step for _, step in state.get("steps", ())]
        waiting += [state[name] for name in ("estimator", "estimator_") if name in state]
        waiting += [classifier.estimator for classifier in state.get("calibrated_classifiers_", ())]
