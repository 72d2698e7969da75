"""LightGBM and XGBoost behind scikit-learn's steps, compared with the whole pipeline's own predictions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models import checking, forests
from auditor_client.models.forests import Ensemble
from auditor_client.models.preprocessing import Preprocessing
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import pipelines, read_object
from auditor_client.models.readers.boosters import lightgbm, xgboost
from auditor_client.models.score_tests import NumberTest
from testing.invented.models import SCHEMA, as_frame, people, random_steps

COLUMNS = ("age", "debt", "children", "education", "city", "insured")


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "RECORDS_MIN", 1500)
    monkeypatch.setattr(checking, "RECORDS_MAX", 1500)


def booster(maker: str, seed: int) -> Any:
    if maker == "lightgbm":
        return LGBMClassifier(
            n_estimators=8, num_leaves=8, min_child_samples=3, n_jobs=1, verbose=-1, random_state=seed
        )
    return XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, random_state=seed)


def usual_steps(*, sparse: bool) -> ColumnTransformer:
    """One-hot, a scaler, an imputer; `children` is left as it is and missing debt comes through."""
    return ColumnTransformer(
        [
            ("hot", OneHotEncoder(handle_unknown="ignore"), ["education", "city"]),
            ("filled", make_pipeline(SimpleImputer(), MinMaxScaler(clip=True)), ["debt"]),
            ("scaled", StandardScaler(), ["age", "debt"]),
            ("flag", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["insured"]),
            ("kept", "passthrough", ["children"]),
        ],
        sparse_threshold=1.0 if sparse else 0.0,
    )


def fitted(maker: str, seed: int, steps: Any, classes: int = 2) -> Pipeline:
    draw = np.random.default_rng(seed)
    frame = as_frame(people(draw, 300, unseen=False))[list(COLUMNS)]
    score = (frame["age"] > 40).astype(int) + (frame["debt"] > 0) + (frame["city"] == "Bb") + (frame["children"] == 0)
    labels = np.where(draw.random(len(frame)) < 0.2, draw.integers(0, classes, len(frame)), score % classes)
    return make_pipeline(*(steps if isinstance(steps, list) else [steps]), booster(maker, seed)).fit(frame, labels)


def request(classes: int = 2) -> ModelRequest:
    return ModelRequest(SCHEMA, favourable=[1] if classes == 2 else [2])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("maker", ["lightgbm", "xgboost"])
@pytest.mark.parametrize(("seed", "classes"), [(1, 2), (2, 3)])
def test_a_pipeline_is_read_as_it_decides(maker: str, seed: int, classes: int, sparse: bool) -> None:
    """Every margin to the last bit. XGBoost takes what a sparse matrix leaves out for missing, LightGBM for 0."""
    model = fitted(maker, seed, usual_steps(sparse=sparse), classes)

    provenance = read_object(model, request(classes)).provenance

    assert provenance is not None
    assert (provenance.differing, provenance.largest) == (0, 0.0)
    assert provenance.probes >= 1500
    assert maker in str(provenance.compared_with).lower()


@pytest.mark.parametrize("maker", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_random_steps_are_read_through(maker: str, seed: int) -> None:
    steps = random_steps(np.random.default_rng(seed), COLUMNS, framed=True)

    provenance = read_object(fitted(maker, seed, steps), request()).provenance

    assert provenance is not None
    assert (provenance.differing, provenance.largest) == (0, 0.0)


@pytest.mark.parametrize("fault", ["sparse", "zero", "float64", "missing", "base", "steps", "of LightGBM"])
def test_a_fault_in_reading_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    model = fitted("lightgbm" if fault == "of LightGBM" else "xgboost", 1, usual_steps(sparse=fault != "of LightGBM"))
    numbers = pipelines._numbers

    def other_way(feature: int, threshold: float, nan_left: bool) -> NumberTest:
        return NumberTest(feature, threshold, not nan_left)

    def documents(ensemble: Ensemble, *given: Any) -> Any:
        trees = [replace(tree, tests=[of_double(test) for test in tree.tests]) for tree in ensemble.trees]
        return forests.documents(replace(ensemble, trees=trees, precision="float64"), *given)

    def of_double(test: NumberTest | None) -> NumberTest | None:
        return test and test._replace(threshold=float(np.nextafter(np.float32(test.threshold), np.float32(np.inf))))

    faults: dict[str, tuple[Any, str, Any]] = {
        "sparse": (pipelines, "_numbers", lambda made, absent_is_missing: numbers(made, absent_is_missing=False)),
        "zero": (Preprocessing, "cut_at_zero", lambda _: None),
        "float64": (pipelines, "documents", documents),
        "missing": (xgboost, "NumberTest", other_way),
        "base": (xgboost, "_margin", lambda _, base: base),
        "steps": (pipelines, "_numbers", lambda made, **given: numbers(made, **given)[:, ::-1]),
        "of LightGBM": (lightgbm, "NumberTest", other_way),
    }
    monkeypatch.setattr(*faults[fault])

    with pytest.raises(ModelRefused, match=r"decides otherwise|cannot be said"):
        read_object(model, request())


def test_categories_of_the_boosters_own_are_refused() -> None:
    model = fitted("lightgbm", 1, usual_steps(sparse=False))
    frame = as_frame(people(np.random.default_rng(1), 300, unseen=False))[list(COLUMNS)]
    own = LGBMClassifier(n_estimators=3, min_child_samples=3, n_jobs=1, verbose=-1, max_cat_to_onehot=1)
    matrix = model[:-1].transform(frame)
    labels = np.isin(frame["children"], [0, 2]).astype(int)
    model.steps[-1] = ("own", own.fit(matrix, labels, categorical_feature=[matrix.shape[1] - 1]))

    with pytest.raises(ModelRefused, match="OneHotEncoder"):
        read_object(model, request())
