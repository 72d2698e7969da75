"""Numeric features cut into at most seven bins, as the paper does before Experiment 2.

The paper's text: five trees on the numeric features; the split values averaged over the trees for each height, at most
seven; rounded to the nearest natural number. Read here as: five trees on bootstrap samples of the training part, at
most six splits high; for each feature and height the mean of its thresholds there over the five trees, rounded. Six
edges at most make seven bins at most. A feature that no tree uses has one bin and no influence.
"""

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from pafer_demo.open_data import OpenData
from shared.contract.schema import Column

TREES: Final = 5
HEIGHT_MAX: Final = 6

Edges = dict[str, tuple[int, ...]]
"""By numeric feature: upper bounds, included, of all its bins but the last."""


def bin_edges(data: OpenData, *, seed: int) -> Edges:
    """The edges that the training part gives."""
    names = [name for name in data.features if data.declaration.table.by_name[name].ordered]
    values = np.column_stack([data.train[name].to_numpy() for name in names])
    labels = data.train[data.label].to_numpy(zero_copy_only=False)
    generator = np.random.default_rng(seed)
    thresholds: dict[str, dict[int, list[float]]] = {name: {} for name in names}
    for _ in range(TREES):
        sample = generator.integers(0, len(labels), len(labels))
        tree = DecisionTreeClassifier(max_depth=HEIGHT_MAX, random_state=int(generator.integers(2**31)))
        fitted = tree.fit(values[sample], labels[sample]).tree_
        for node, height in enumerate(_heights(fitted.children_left, fitted.children_right)):
            if fitted.children_left[node] >= 0:
                of_feature = thresholds[names[fitted.feature[node]]]
                of_feature.setdefault(height, []).append(float(fitted.threshold[node]))
    return {
        name: tuple(sorted({round(float(np.mean(found))) for found in of_feature.values()}))
        for name, of_feature in thresholds.items()
    }


def binned(data: OpenData, edges: Edges) -> OpenData:
    """The same people with each numeric feature replaced by the number of its bin, from 0 on."""
    declaration = data.declaration.model_copy(
        update={"columns": tuple(_declared(column, edges) for column in data.declaration.columns)}
    )
    return replace(data, declaration=declaration, train=_cut(data.train, edges), test=_cut(data.test, edges))


def _heights(left: NDArray[np.int64], right: NDArray[np.int64]) -> list[int]:
    """How many splits lie above each node; scikit-learn numbers parents before children."""
    heights = [0] * len(left)
    for node, children in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        for child in children:
            if child >= 0:
                heights[child] = heights[node] + 1
    return heights


def _declared(column: Column, edges: Edges) -> Column:
    if column.name not in edges:
        return column
    return Column(name=column.name, type="integer", minimum=0, maximum=max(len(edges[column.name]), 1))


def _cut(table: pa.Table, edges: Edges) -> pa.Table:
    for name, bounds in edges.items():
        bins = np.searchsorted(np.array(bounds, dtype=np.float64), table[name].to_numpy(), side="left")
        table = table.set_column(table.column_names.index(name), name, pa.array(bins, pa.int64()))
    return table
