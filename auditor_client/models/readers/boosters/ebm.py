"""InterpretML's explainable boosting machines in memory: a table for each feature and pair of features, added.

A number is in the bin of how many cuts it reaches; bin 0 is for missing, the last for what training never saw.
InterpretML adds its tables in an order of its own, so scores agree within what rounding of that many sums can make.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.inventing import Invented
from auditor_client.models.nameable import nameable_column
from auditor_client.models.raw_inputs import columns_of, named_inputs
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.decisions import by_choice, compared, makers_answers, one_number, two_classes
from auditor_client.models.readers.frames import installed
from auditor_client.models.readers.links import logistic
from auditor_client.models.readers.tree_tables import made
from shared.contract.schema import Column, Value
from shared.scores.documents import Axis, TableTerm, Terms

_READ: Final = (
    "Read are ExplainableBoostingClassifier and -Regressor of interpret 0.5 to 0.7, with tables of one or two features "
    "and the links logit, mlogit and identity."
)

USED: Final = "used"
_TRAINING: Final = "of training"
_SPREAD: Final = "how sure a table is"
VOCABULARY: Final[Mapping[str, str]] = {
    "bins_": USED, "classes_": USED, "feature_names_in_": USED, "intercept_": USED, "link_": USED,
    "term_features_": USED, "term_scores_": USED,
    "link_param_": "refused unless NaN: a link with a parameter is not read",
    "feature_types_in_": "said by the kind of the bins", "n_features_in_": "as many as names",
    "term_names_": "made of the features' names", "has_fitted_": "said by term_scores_",
    "feature_bounds_": "of pictures", "histogram_edges_": "of pictures", "histogram_weights_": "of pictures",
    "unique_val_counts_": "of pictures", "min_target_": "of pictures", "max_target_": "of pictures",
    **dict.fromkeys(("bagged_scores_", "bagged_intercept_", "standard_deviations_"), _SPREAD),
    **dict.fromkeys(
        (
            "bag_weights_", "best_iteration_", "bin_weights_", "n_samples_", "noise_scale_binning_",
            "noise_scale_boosting_", "feature_names", "feature_types", "max_bins", "max_interaction_bins",
            "interactions", "exclude", "validation_size", "outer_bags", "inner_bags", "learning_rate", "greedy_ratio",
            "cyclic_progress", "smoothing_rounds", "interaction_smoothing_rounds", "max_rounds",
            "early_stopping_rounds", "early_stopping_tolerance", "callback", "min_samples_leaf", "min_hessian",
            "reg_alpha", "reg_lambda", "max_delta_step", "gain_scale", "min_cat_samples", "cat_smooth", "max_leaves",
            "missing", "monotone_constraints", "objective", "n_jobs", "random_state",
        ),
        _TRAINING,
    ),
}  # fmt: skip
"""The attributes of a fitted machine: used, or why they change no prediction; others are refused by name."""


def _require_known(model: Any) -> None:
    for name in vars(model):
        if name not in VOCABULARY and name != "_estimator_type":
            raise ModelRefused(f"The model has an attribute {name[:60]!r}, which is not known here. {_READ}")
    value = getattr(model, "link_param_", None)
    if value is not None and not (isinstance(value, float) and math.isnan(value)):
        raise ModelRefused(f"The model's link_param_ is {value!r:.40}, which is not read. {_READ}")


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a fitted machine over a dataset's columns.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    if type(model).__name__ not in ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor"):
        raise ModelRefused(f"{type(model).__name__} is not read. {_READ}")
    if not hasattr(model, "term_scores_"):
        raise ModelRefused("The model is not fitted: fit it first.")
    _require_known(model)
    maker = installed("interpret")
    version = str(getattr(maker, "__version__", ""))
    if version and not re.match(r"0\.[5-7]\.", version):
        raise ModelRefused(f"The model is of interpret {version[:20]}, whose tables may mean something else. {_READ}")
    names = [str(name) for name in model.feature_names_in_]
    columns = columns_of(names, request)
    classes = model.classes_.tolist() if hasattr(model, "classes_") else []
    link, width = getattr(model, "link_", None), max(1, len(classes) if len(classes) > 2 else 1)
    if link not in {0: ("identity",), 2: ("logit",)}.get(len(classes), ("mlogit",)):
        raise ModelRefused(f"The link {link!r} is not read. {_READ}")
    documents = [_document(model, columns, request, number, width) for number in range(width)]
    about = f"an explainable boosting machine of {len(model.term_features_)} tables"
    provenance = Provenance(about, "ebm", inputs=named_inputs(names, columns))
    if not classes:
        read = one_number(documents[0], request, provenance)
    elif len(classes) == 2:
        read = two_classes(
            documents[0], request, provenance, classes=classes, decides=lambda score: score > 0,
            shares=lambda score: (1.0 - logistic(score), logistic(score)),
        )  # fmt: skip
    else:
        read = by_choice(documents, request, provenance, classes=classes)
    largest = sum(float(np.abs(scores).max(initial=0.0)) for scores in model.term_scores_)
    largest += float(np.abs(np.atleast_1d(model.intercept_)).max())
    bound = 2 * len(model.term_scores_) * largest * 2.0**-52

    def ask(records: Invented) -> MakersAnswers:
        table = _table(records, names, columns, request)
        predicted = model.predict(table)
        if not classes:
            return makers_answers(read, request, classes=(), probabilities=predicted, raw=predicted, ties=bound)
        index = np.array([classes.index(label) for label in predicted.tolist()])
        return makers_answers(
            read, request, classes=classes, probabilities=model.predict_proba(table),
            raw=model.decision_function(table), decided_as=index, ties=bound,
        )  # fmt: skip

    return compared(read, request, ask, f"interpret {version}".strip())


def _document(model: Any, columns: Sequence[str], request: ModelRequest, number: int, width: int) -> Terms:
    terms = []
    for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
        if not 1 <= len(features) <= 2:
            raise ModelRefused(f"A table of {len(features)} features is not read. {_READ}")
        table = np.asarray(scores, np.float64)
        table = table[..., number] if width > 1 else table
        axes, picked = [], []
        for feature in features:
            bins = model.bins_[feature]
            axis, indices = _axis(
                nameable_column(columns[feature], request.schema), bins[min(len(bins), len(features)) - 1]
            )
            axes.append(axis)
            picked.append(indices)
        own = table[
            np.ix_(
                *[
                    [index if index >= 0 else size - 1 for index in indices_of_axis]
                    for indices_of_axis, size in zip(picked, table.shape, strict=True)
                ]
            )
        ]
        terms.append(made(TableTerm, axes=tuple(axes), table=tuple(own.ravel().tolist())))
    base = float(np.atleast_1d(model.intercept_)[number])
    return made(Terms, kind="terms", precision="float64", base=base, terms=tuple(terms))


def _axis(column: Column, bins: Any) -> tuple[Axis, list[int]]:
    """A document's axis, and the index in the machine's table of each of its steps; −1 is the last."""
    gone = [0] * column.nullable
    if isinstance(bins, dict):
        if column.ordered:
            raise ModelRefused(
                f"The model takes {column.name!r} for categories, and the dataset declares {column.type}."
            )
        indices = [_of_category(bins, value) for value in column.values]
        return made(Axis, column=column.name, values=column.values, missing=column.nullable), [*indices, *gone]
    cuts = np.asarray(bins, np.float64)
    if column.ordered:
        below = tuple(cut for cut in np.nextafter(cuts, -np.inf).tolist())
        return made(Axis, column=column.name, cuts=below, missing=column.nullable), [*range(1, len(cuts) + 2), *gone]
    if column.type == "category":
        raise ModelRefused(f"The model takes {column.name!r} for a number, and the dataset declares categories.")
    indices = [int(np.searchsorted(cuts, float(value), side="right")) + 1 for value in (False, True)]
    return made(Axis, column=column.name, values=(False, True), missing=column.nullable), [*indices, *gone]


def _of_category(bins: Mapping[str, int], value: Value) -> int:
    """A category's index, −1 for one that training never saw; interpret 0.7 writes a boolean as 0 or 1."""
    other = str(int(value)) if isinstance(value, bool) else str(value)
    return int(bins.get(str(value), bins.get(other, -1)))


def _table(records: Invented, names: Sequence[str], columns: Sequence[str], request: ModelRequest) -> Any:
    import pandas as pd  # noqa: PLC0415  # a plain audit does not need it

    series = {}
    for name, column_name in zip(names, columns, strict=True):
        column = request.schema.by_name.get(column_name)
        values = records.values.get(column_name, np.full(records.count, np.nan))
        if column is not None and column.type == "boolean" and any(value is None for value in values):
            values = np.array([np.nan if value is None else float(value) for value in values])
        elif column is not None and column.type == "boolean":
            values = values.astype(bool)
        series[name] = pd.Series(values)
    return pd.DataFrame(series)
