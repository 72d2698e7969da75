"""A model that was saved from behind a scaler or an encoder is refused, or what is not known is said."""

from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models.raw_inputs import require_raw
from auditor_client.models.read_model import ModelRequest, Provenance
from auditor_client.models.readers import load_object, read_object
from auditor_client.report.subject import provenance_words
from shared.contract.schema import Column, Schema

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=18, maximum=99),
        Column(name="income", type="number", minimum=0, maximum=1_000_000),
        Column(name="children", type="integer", minimum=0, maximum=9),
        Column(name="debt", type="number"),
    ),
)
COLUMNS = ("age", "income", "children", "debt")


def people() -> Any:
    draw = np.random.default_rng(1)
    age, children = draw.integers(18, 99, 600), draw.integers(0, 7, 600)
    income, debt = draw.lognormal(10.5, 0.6, 600).round(2), draw.normal(0, 5000, 600)
    table = np.column_stack([age, income, children, debt]).astype(float)
    score = (age > 40).astype(int) + (income > 40_000) + (children < 3) + (debt < 0)
    return table, (score + draw.integers(0, 2, 600) > 2).astype(int)


def saved(maker: str, table: Any, labels: Any) -> Any:
    """A model out of its maker's file, or, of scikit-learn's, itself."""
    if maker == "lightgbm":
        model = LGBMClassifier(n_estimators=8, num_leaves=8, verbose=-1, n_jobs=1).fit(table, labels)
        return load_object(model.booster_.model_to_string().encode(), "model.txt")
    if maker == "xgboost":
        booster = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(table, labels).get_booster()
        return load_object(bytes(booster.save_raw("json")), "model.json")
    makers = {"tree": DecisionTreeClassifier(max_depth=5), "forest": RandomForestClassifier(5, max_depth=4)}
    return makers[maker].fit(table, labels)


@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler])
@pytest.mark.parametrize("maker", ["lightgbm", "xgboost", "tree", "forest"])
def test_a_model_of_scaled_numbers_is_refused(maker: str, scaler: Any) -> None:
    table, labels = people()
    model = saved(maker, scaler().fit_transform(table), labels)

    with pytest.raises(ModelRefused, match="scaled or encoded numbers"):
        read_object(model, ModelRequest(SCHEMA, favourable=[1], columns=COLUMNS))


@pytest.mark.parametrize("maker", ["lightgbm", "xgboost", "tree", "forest"])
def test_a_model_of_the_values_themselves_is_read_and_its_names_are_noted(maker: str) -> None:
    """The negative control: the same model without a scaler."""
    model = saved(maker, *people())

    read = read_object(model, ModelRequest(SCHEMA, favourable=[1], columns=COLUMNS))

    assert read.provenance is not None
    assert [column for column, _ in read.provenance.inputs] == list(COLUMNS)
    assert read.provenance.fractional == ()
    own = {"lightgbm": "Column_0", "xgboost": "f0"}.get(maker, "input 1")
    assert f"named its inputs: age ← {own}, income ←" in provenance_words(read.provenance)


def test_a_linear_model_says_how_its_inputs_were_named() -> None:
    """Nothing in it shows whether its numbers were scaled."""
    table, labels = people()
    model = LogisticRegression().fit(StandardScaler().fit_transform(table), labels)

    read = read_object(model, ModelRequest(SCHEMA, favourable=[1], columns=COLUMNS))

    assert read.provenance is not None
    assert read.provenance.inputs[0] == ("age", "input 1")
    assert "was not read" in provenance_words(read.provenance)


def test_names_that_agree_are_not_the_auditors() -> None:
    table, labels = people()
    booster = LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(table, labels).booster_
    text = booster.model_to_string().replace("Column_0 Column_1 Column_2 Column_3", " ".join(COLUMNS))

    read = read_object(load_object(text.encode(), "m.txt"), ModelRequest(SCHEMA, favourable=[1], columns=COLUMNS))

    assert read.provenance is not None
    assert read.provenance.inputs == ()
    assert "auditor named" not in provenance_words(read.provenance)


def test_the_advice_to_name_inputs_warns_of_what_stands_before_the_model() -> None:
    model = saved("xgboost", *people())

    with pytest.raises(ModelRefused, match=r"'f\d'.*`columns`. Do not if a scaler, an encoder or an imputer"):
        read_object(model, ModelRequest(SCHEMA, favourable=[1]))
    with pytest.raises(ModelRefused, match="If an encoder stands before the model"):
        read_object(model, ModelRequest(SCHEMA, favourable=[1], columns=("age", "income")))


@pytest.mark.parametrize(
    ("column", "splits", "doubtful"),
    [
        ("children", [0.5, 1.5, 4.0], False),
        ("children", [-0.31, 0.22, 1.37, 2.5], True),
        ("children", [0.31, 1.22], False),  # too few to tell
        ("debt", [-0.3, 0.2, 1.3], False),  # no range to compare with
        ("income", [20_000.0, 40_000.0, 2_000_000.0, 3_000_000.0], False),  # a wider world in training
    ],
)
def test_splits_of_whole_numbers_and_fractions_are_distinguished(
    column: str, splits: list[float], *, doubtful: bool
) -> None:
    assert require_raw([(SCHEMA.by_name[column], splits)]) == ((column,) if doubtful else ())


def test_a_provenance_is_kept_as_before_where_nothing_is_noted() -> None:
    from pydantic import TypeAdapter

    kept = TypeAdapter(Provenance).dump_python(Provenance("a model", "lightgbm"))

    assert "inputs" not in kept
    assert "fractional" not in kept
