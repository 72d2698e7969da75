"""Invented records as the table that a maker's own predictions are asked of."""

import importlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from auditor_client.models.inventing import Invented
from shared.contract.schema import Schema


def frame(
    records: Invented,
    schema: Schema,
    columns: Sequence[str],
    names: Sequence[str],
    categories: Collection[int],
) -> Any:
    """A DataFrame with the model's own names for its inputs.

    Args:
        records: Invented records.
        schema: The dataset's declared columns.
        columns: The dataset's column for each of the model's inputs; one that no test can use is missing everywhere.
        names: What the model calls them.
        categories: The indices of the inputs that are given as pandas' categories, in an order that is not the model's;
            or by index the categories that the model knows.
    """
    import pandas as pd  # noqa: PLC0415  # a plain audit does not need it

    series = {}
    for index, (name, column_name) in enumerate(zip(names, columns, strict=True)):
        column = schema.by_name.get(column_name)
        values = records.values.get(column_name)
        if column is None or values is None or (column.type == "category" and index not in categories):
            values = np.full(records.count, np.nan)
        if index in categories:
            kind: Any = str if column is None or column.type == "category" else {"boolean": bool}.get(column.type, int)
            numeric = isinstance(categories, Mapping) and all(type(each) in (int, float) for each in categories[index])
            if kind is str and numeric:  # codes that the dataset declares as texts
                kind = float
            listed = [None if _gone(value) else kind(value) for value in values]
            ordered = sorted({value for value in listed if value is not None}, reverse=True)
            series[name] = pd.Series(pd.Categorical(listed, categories=ordered or ["none"]))
        elif column is not None and column.type == "boolean":
            missing = any(value is None for value in values)
            series[name] = pd.Series(
                np.array([np.nan if value is None else float(value) for value in values])
                if missing
                else values.astype(bool)
            )
        else:
            series[name] = pd.Series(values)
    return pd.DataFrame(series)


def installed(library: str) -> Any:
    """A maker's library, imported; None if it is not installed."""
    try:
        return importlib.import_module(library)
    except ImportError:
        return None


def _gone(value: Any) -> bool:
    return value is None or value != value  # noqa: PLR0124  # NaN
