"""The decision model that the demonstration audits: a tree that sees neither the sensitive columns nor the label."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import skops.io
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from pafer_demo.open_data import OpenData

DEPTH_MAX: Final = 4
LEAF_SHARE_MIN: Final = 0.01


def trained_tree(data: OpenData) -> Pipeline:
    """Train a tree on the training part, with the encoding of categories and missing values inside its pipeline."""
    columns = [data.declaration.table.by_name[name] for name in data.features]
    preprocessing = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [column.name for column in columns if not column.ordered]),
        (SimpleImputer(strategy="median"), [column.name for column in columns if column.ordered]),
    )
    tree = DecisionTreeClassifier(
        max_depth=DEPTH_MAX, min_samples_leaf=LEAF_SHARE_MIN, class_weight="balanced", random_state=0
    )
    people = data.train.to_pandas()
    return make_pipeline(preprocessing, tree).fit(people[list(data.features)], people[data.label])


def save(model: Any, path: Path) -> None:
    """Write a model as a skops file."""
    skops.io.dump(model, path)


def true_ratio(model: Any, data: OpenData, sensitive: Sequence[str]) -> float:
    """The statistical parity ratio that the records themselves give: no auditor ever sees it (1-method §3).

    Args:
        model: Decides from `data.features`.
        data: Its test part has the records.
        sensitive: Columns whose values, or combinations of values, make the groups.

    Returns:
        min p_k / max p_k over the groups that have members, within [0, 1].
    """
    people = data.test.to_pandas()
    accepted = people.assign(accepted=model.predict(people[list(data.features)]))
    rates = accepted.groupby(list(sensitive))["accepted"].mean()
    return float(rates.min() / rates.max())


if __name__ == "__main__":
    from pafer_demo.register import register

    save(trained_tree(register()), Path(sys.argv[1]))
