"""What the demonstration audits: models without sensitive columns or label, decisions by hand, a rule for checks."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pafer_demo.open_data import OpenData

DEPTH_MAX: Final = 4
LEAF_SHARE_MIN: Final = 0.01
BOOSTED_TREES: Final = 100
DECIDED_SHARE: Final = 0.8
OTHERWISE_SHARE: Final = 0.1
CHECKED_SHARE: Final = 0.03
GOOD_DECISIONS: Final = ("granted", "not selected")


def trained_tree(data: OpenData) -> Pipeline:
    """Train a tree on the training part, with the encoding of categories and missing values inside its pipeline."""
    tree = DecisionTreeClassifier(
        max_depth=DEPTH_MAX, min_samples_leaf=LEAF_SHARE_MIN, class_weight="balanced", random_state=0
    )
    return _trained(tree, data)


def boosted_model(data: OpenData) -> Pipeline:
    """Train many small trees that are added up; behind the same encoding."""
    return _trained(GradientBoostingClassifier(n_estimators=BOOSTED_TREES, max_depth=3, random_state=0), data)


def scorecard(data: OpenData) -> Pipeline:
    """Train a logistic regression: every value of a column adds its points."""
    return _trained(make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000)), data)


def decisions_by_hand(model: Any, data: OpenData) -> pd.DataFrame:
    """Return what an office decided about most of the people: mostly as a model would, and now and then otherwise.

    Returns:
        The person key, and "granted" or "refused".
    """
    draw = np.random.default_rng(0)
    people = data.test.to_pandas()
    people = people[draw.random(len(people)) < DECIDED_SHARE]
    otherwise = draw.random(len(people)) < OTHERWISE_SHARE
    granted = np.where(otherwise, draw.random(len(people)) < 0.5, model.predict(people[list(data.features)]))
    key = data.declaration.person_key
    return pd.DataFrame({key: people[key], "decision": np.where(granted, "granted", "refused")})


def checks_by_rule(model: Any, data: OpenData) -> pd.DataFrame:
    """Return whom a fraud-control rule selects for a check: those of everybody whom a model trusts least.

    Returns:
        The person key, and "selected" or "not selected".
    """
    people = data.test.to_pandas()
    trust = model.predict_proba(people[list(data.features)])[:, 1]
    selected = trust < np.quantile(trust, CHECKED_SHARE)
    key = data.declaration.person_key
    return pd.DataFrame({key: people[key], "check": np.where(selected, "selected", "not selected")})


def _trained(classifier: Any, data: OpenData) -> Pipeline:
    columns = [data.declaration.table.by_name[name] for name in data.features]
    preprocessing = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [column.name for column in columns if not column.ordered]),
        (SimpleImputer(strategy="median"), [column.name for column in columns if column.ordered]),
    )
    people = data.train.to_pandas()
    return make_pipeline(preprocessing, classifier).fit(people[list(data.features)], people[data.label])


def save(model: Any, path: Path) -> None:
    """Write a model as a skops file."""
    skops.io.dump(model, path)


def true_ratio(model: Any, data: OpenData, sensitive: Sequence[str]) -> float:
    """The statistical parity ratio that the records themselves give: no auditor ever sees it (1-method §3).

    Args:
        model: Decides from `data.features`; or a table with decisions by person key.
        data: Its test part has the records.
        sensitive: Columns whose values, or combinations of values, make the groups.

    Returns:
        min p_k / max p_k over the groups that have members, within [0, 1].
    """
    rates = _favourable_rates(model, data, sensitive)
    return float(rates.min() / rates.max())


def true_adverse_ratio(model: Any, data: OpenData, sensitive: Sequence[str]) -> float:
    """The adverse ratio that the records themselves give, with the same arguments: max q_k / min q_k, q_k = 1 − p_k."""
    rates = 1 - _favourable_rates(model, data, sensitive)
    return float(rates.max() / rates.min())


def _favourable_rates(model: Any, data: OpenData, sensitive: Sequence[str]) -> "pd.Series[float]":
    people = data.test.to_pandas()
    if isinstance(model, pd.DataFrame):
        people = people.merge(model, on=data.declaration.person_key)
        favourable = people[model.columns[-1]].isin(GOOD_DECISIONS)
    else:
        favourable = pd.Series(model.predict(people[list(data.features)]), index=people.index)
    rates: pd.Series[float] = favourable.groupby([people[column] for column in sensitive]).mean()
    return rates


if __name__ == "__main__":
    from pafer_demo.register import register

    save(trained_tree(register()), Path(sys.argv[1]))
