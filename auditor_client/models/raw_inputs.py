"""Whether a model takes the dataset's own values, or numbers that a scaler or an encoder made of them.

A booster that was saved from behind a scaler is a model of other numbers. Its file does not say so, but its splits do:
they are where the declared values are not. And whoever names its inputs says what they are, so the names are noted.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from shared.contract.schema import Column, Schema

SPLITS_MIN: Final = 3
"""From so many different splits on, a column's splits show what they are made on."""
_OUTSIDE_SHARE: Final = 0.25
_NARROW: Final = 0.1
_PARTS_MAX: Final = 100_000
_WHOLE_MAX: Final = 2.0**22
"""Beyond it float32 does not hold halves."""


def columns_of(names: Sequence[str], request: ModelRequest) -> list[str]:
    """The dataset's column for each of the model's inputs, in the model's order.

    Raises:
        ModelRefused: `request.columns` has another number of names, or one twice.
    """
    if request.columns is None:
        return list(names)
    columns = [str(name) for name in request.columns]
    if len(columns) != len(names) or len(set(columns)) != len(columns):
        raise ModelRefused(
            f"The model has {len(names)} inputs, and `columns` names {len(columns)}: name one column for each input, "
            "each one once. If an encoder stands before the model, its columns are not the dataset's: give the whole "
            "pipeline."
        )
    return columns


def named_inputs(names: Sequence[str], columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The column and the model's own name of each input where they differ."""
    return tuple((column, name[:80]) for name, column in zip(names, columns, strict=True) if column != name)


def require_raw(compared: Iterable[tuple[Column, Collection[float]]]) -> tuple[str, ...]:
    """Refuse a model that splits columns where they have no values; return the columns that are in doubt.

    Args:
        compared: Each ordered column, and the numbers that the model compares it with.

    Returns:
        The integer columns that are mostly split elsewhere than half-way between whole numbers, or on them.

    Raises:
        ModelRefused: All splits of a column are outside of its declared range; or many are, and all lie close together.
    """
    doubtful = []
    for column, numbers in compared:
        splits = sorted(number for number in numbers if math.isfinite(number))
        if len(splits) < SPLITS_MIN:
            continue
        outside = [number for number in splits if not column.low <= number <= column.high]
        narrow = splits[-1] - splits[0] <= _NARROW * (column.high - column.low)
        if len(outside) == len(splits) or (narrow and len(outside) >= _OUTSIDE_SHARE * len(splits)):
            raise ModelRefused(
                f"The model splits {column.name!r} from {splits[0]:.4g} to {splits[-1]:.4g}, and the dataset declares "
                f"it from {column.low:g} to {column.high:g}: it was trained on scaled or encoded numbers, or its "
                "inputs are named in another order. Give the whole pipeline, with the scaler in front, as a skops file."
            )
        if column.type == "integer" and sum(map(_fractional, splits)) > len(splits) / 2:
            doubtful.append(column.name)
    return tuple(doubtful)


def _fractional(split: float) -> bool:
    """Whether a split is not one that whole numbers give: on one of them, or half-way between two."""
    return abs(split) < _WHOLE_MAX and abs(2 * split - round(2 * split)) > min(1e-5 * max(1.0, abs(split)), 0.01)


def fitted_splits(model: Any, columns: Sequence[str], schema: Schema) -> list[tuple[Column, set[float]]]:
    """Each ordered column, and where the trees of a scikit-learn model split it; nothing of a Pipeline."""
    splits_by_feature: dict[int, set[float]] = {}
    waiting, count = [model], 0
    while waiting and count < _PARTS_MAX:
        part = waiting.pop()
        count += 1
        if isinstance(part, list | tuple | np.ndarray):
            waiting += list(part)
            continue
        tree = getattr(part, "tree_", None)
        if tree is not None:
            for feature, threshold in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True):
                if feature >= 0:
                    splits_by_feature.setdefault(feature, set()).add(threshold)
        waiting += [list(getattr(part, "estimators_", ()))]
    inputs = [(index, splits) for index, splits in splits_by_feature.items() if index < len(columns)]
    split_columns = [(schema.by_name.get(columns[index]), splits) for index, splits in inputs]
    return [(column, splits) for column, splits in split_columns if column is not None and column.ordered]
