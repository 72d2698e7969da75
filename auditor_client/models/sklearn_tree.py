"""A scikit-learn decision tree, bare or behind its preprocessing, as the same tree over the dataset's columns.

Exact: every person reaches the leaf that the model itself would reach (3-estimation §5). Where each
split flips, what each leaf decides, and whether the result is right are all asked of the model itself,
with rows that are invented from the declared domains; no record is needed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sklearn
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.preprocessing import Preprocessing
from auditor_client.models.probing import DTYPES, Inputs
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.refusals import why_not_read
from auditor_client.models.soundness import require_fitted, require_sound_tree
from auditor_client.models.splits import Splits, Witnesses
from auditor_client.models.tree import Tree
from shared.contract.schema import Schema


def read_tree(
    model: Any,
    schema: Schema,
    *,
    favourable: Collection[Any] | None = None,
    columns: Sequence[str] | None = None,
    input_dtypes: Mapping[str, str] | None = None,
) -> Tree:
    """Read a fitted classifier as a tree over a dataset's columns.

    Args:
        model: A DecisionTreeClassifier, alone or last in a Pipeline (`preprocessing.SUPPORTED` says of
            what), also inside a FixedThresholdClassifier or TunedThresholdClassifierCV.
        schema: The dataset's declared columns. The tree may split on those that are neither sensitive
            nor the label.
        favourable: The classes that count as favourable, found by their value or their text. They are never guessed.
        columns: The dataset's column for each of the model's inputs, in the model's order: needed if
            the model was fitted on an array, or if it has other names for its inputs.
        input_dtypes: By column, "float32", "float64" or "object", if the model was trained on that and
            is used with it. Default: float64 for ordered columns, bool for boolean ones (object, if
            missing values occur), Python texts for categories.

    Returns:
        A tree whose every leaf decides as the model does. Leaves that no declared value can reach are
        left out. Values beyond the range of float32, which scikit-learn refuses, go where the largest
        accepted value goes.

    Raises:
        ModelRefused: The model cannot be read exactly; the text says what would help.
    """
    return read_object(model, ModelRequest(schema, favourable, columns, input_dtypes=input_dtypes or {})).tree


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a fitted classifier, as `read_tree` does, with how it was read."""
    steps, classifier = _unwrapped(model)
    require_sound_tree(classifier)
    favourable = favourable_classes(classifier.classes_.tolist(), request.favourable)
    inputs = inputs_of([*steps, classifier], request.schema, request.columns, request.input_dtypes)
    splits = Splits(classifier, Preprocessing(steps, inputs))
    witnesses = Witnesses(splits)
    decisions = {leaf: (str(label), label in favourable) for leaf, label in witnesses.decisions(model).items()}
    tree = splits.tree(decisions)
    tree.check(request.schema)
    witnesses.require_same_leaves(tree)
    maker = f"scikit-learn {sklearn.__version__}"
    description = f"a decision tree of {classifier.tree_.n_leaves} leaves, {maker}"
    return ReadModel(tree, provenance=Provenance(description, "sklearn_tree", maker, len(witnesses)))


def _unwrapped(model: Any) -> tuple[list[Any], Any]:
    """The steps before the tree, in order, and the tree."""
    steps: list[Any] = []
    while type(model) not in (DecisionTreeClassifier, ExtraTreeClassifier):
        if type(model) is Pipeline:
            steps += [step for _, step in model.steps[:-1]]
            model = model.steps[-1][1]
        elif type(model) in (FixedThresholdClassifier, TunedThresholdClassifierCV):
            model = getattr(model, "estimator_", model.estimator)
        elif type(model) is FrozenEstimator:
            model = model.estimator
        else:
            raise ModelRefused(why_not_read(model))
    for part in (*steps, model):
        require_fitted(part)
    return steps, model


def inputs_of(parts: Sequence[Any], schema: Schema, columns: Sequence[str] | None, dtypes: Mapping[str, str]) -> Inputs:
    """Return how the model wants its rows: as the first of its parts that knows says."""
    first = next(part for part in parts if hasattr(part, "n_features_in_"))
    names = getattr(first, "feature_names_in_", None)
    if columns is None:
        columns = names
    if columns is None:
        raise ModelRefused(
            "The model was fitted on an array: name the dataset's columns, in its order, with `columns`."
        )
    chosen = tuple(map(str, columns))
    if len(chosen) != first.n_features_in_ or len(set(chosen)) != len(chosen):
        raise ModelRefused(f"The model has {first.n_features_in_} inputs: name as many columns, each one once.")
    for name, dtype in dtypes.items():
        if name not in chosen or dtype not in DTYPES:
            raise ModelRefused(
                f"`input_dtypes` gives one of {', '.join(DTYPES)} to a column of the model, not {dtype!r} to {name!r}."
            )
    return Inputs(schema, chosen, None if names is None else tuple(names), dict(dtypes))
