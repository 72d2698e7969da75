"""scikit-learn's ensembles, linear models, naive Bayes and networks decide as their score documents do."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models import checking, forests
from auditor_client.models.checking import Agreement
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import read_model
from auditor_client.models.readers.links import negated
from checks.model_readers import READERS, check_one
from shared.scores.columns import ScoreOrigin
from shared.scores.documents import Document, Layers, Terms, Trees
from testing.invented.classifiers import KINDS
from testing.invented.models import SCHEMA, as_frame, people

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FRAME = as_frame(people(np.random.default_rng(1), 120, unseen=False))[["age", "hours", "owner"]]
LABELS = ((FRAME["age"] > 40) ^ (FRAME["hours"] > 0.3)).astype(int)


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers compare on thousands of records; here on fewer, because each test compares again."""
    monkeypatch.setattr(checking, "RECORDS_MIN", 500)
    monkeypatch.setattr(checking, "RECORDS_MAX", 500)


def read(model: Any, **options: Any) -> ReadModel:
    return read_model(model, ModelRequest(SCHEMA, **{"favourable": [1], **options}))[0]


def document(model: Any, **options: Any) -> Document:
    origin = read(model, **options).columns[0].origin
    assert isinstance(origin, ScoreOrigin)
    return origin.score


@pytest.mark.slow
@pytest.mark.parametrize("kind", READERS)
def test_every_kind_decides_as_its_maker_does(kind: str) -> None:
    """The short form of `./run check model_readers`: one model of each kind that is not refused."""
    found = next(agreement for seed in range(100, 120) if (agreement := _checked(kind, seed)))

    assert found.outside == 0
    assert found.probes > 1500
    if kind in KINDS and KINDS[kind].exact:
        assert found.differing == 0


def _checked(kind: str, seed: int) -> Agreement | None:
    try:
        return check_one(READERS[kind], seed, count=1500)
    except ModelRefused:
        return None


def test_thresholds_are_rounded_to_float32_as_the_maker_rounds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: without the rounding to float32, neighbours of a threshold go the wrong way."""
    model = RandomForestClassifier(8, random_state=0).fit(FRAME * [1, 0.1, 1], LABELS)
    assert read(model).provenance is not None
    plain = forests.documents

    def unrounded(ensemble: Any, preprocessing: Any, _: Any) -> Any:
        return plain(ensemble, preprocessing, preprocessing.numbers)

    monkeypatch.setattr("auditor_client.models.sklearn_ensembles.documents", unrounded)
    with pytest.raises(ModelRefused, match="decides otherwise than the model itself"):
        read(model)


def test_a_threshold_that_is_itself_on_the_other_side_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: less than, where the tree says at most."""
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(FRAME.astype({"age": float}), LABELS)
    plain = forests.documents

    def strict(*arguments: Any) -> Any:
        def changed(part: Trees) -> Trees:
            tests = [
                test.model_copy(update={"op": {"le": "lt", "lt": "le"}[test.op]}) if test.op in ("le", "lt") else test
                for test in part.tests
            ]
            return part.model_copy(update={"tests": tuple(tests)})

        return tuple(map(changed, plain(*arguments)))

    monkeypatch.setattr("auditor_client.models.sklearn_ensembles.documents", strict)
    with pytest.raises(ModelRefused, match="decides otherwise than the model itself"):
        read(model)


def test_a_slope_that_is_slightly_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control for models with a bound: a millionth of a slope is more than rounding."""
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(FRAME, LABELS)
    assert read(model).provenance is not None
    plain = Terms.__init__

    def off(self: Terms, **members: Any) -> None:
        first, *rest = members["terms"]
        plain(self, **{**members, "terms": (first.model_copy(update={"slope": first.slope * (1 + 1e-6)}), *rest)})

    monkeypatch.setattr(Terms, "__init__", off)
    with pytest.raises(ModelRefused, match="decides otherwise than the model itself"):
        read(model)


def test_a_fully_grown_forest_is_one_score_and_another_a_choice_and_a_score() -> None:
    grown = read(RandomForestClassifier(5, bootstrap=False, random_state=0).fit(FRAME, LABELS))
    cut = read(RandomForestClassifier(5, max_depth=2, random_state=0).fit(FRAME, LABELS))

    assert [column.name for column in grown.columns] == ["score"]
    assert (grown.score, grown.thresholds) == ("score", (0.5,))
    assert str(grown.tree.rules()[0].rule) == "score > 0.5"
    assert [(column.name, column.type) for column in cut.columns] == [("decision", "category"), ("score", "number")]
    assert (cut.score, cut.thresholds) == ("score", ())
    assert cut.provenance is not None
    assert cut.provenance.description.startswith("a random forest of 5 trees, scikit-learn ")


def test_the_threshold_is_moved_to_the_scores_own_scale_to_the_last_bit() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(FRAME, LABELS)

    found = read(model, above=0.9)
    [threshold] = found.thresholds

    around = model[-1]
    shown = [around.coef_.copy(), around.intercept_.copy()]
    around.coef_, around.intercept_, around.n_features_in_ = np.ones((1, 1)), np.zeros(1), 1
    beside = np.array([[threshold], [np.nextafter(threshold, np.inf)]])
    assert (around.predict_proba(beside)[:, 1] > 0.9).tolist() == [False, True]
    assert shown[0].shape == (1, 3)
    assert found.provenance is not None
    assert found.provenance.bound is not None


def test_a_model_that_likes_the_other_class_is_the_negative_score() -> None:
    model = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(FRAME, LABELS)
    liked, disliked = document(model, favourable=[1]), document(model, favourable=[0])

    assert isinstance(liked, Trees)
    assert isinstance(disliked, Trees)
    assert disliked == negated(liked)
    assert liked.base == -disliked.base


def test_a_single_tree_is_still_read_as_rules() -> None:
    assert read(DecisionTreeClassifier(max_depth=2).fit(FRAME, LABELS)).columns == ()


def test_a_single_tree_with_a_threshold_for_its_probability_is_a_score() -> None:
    found = read(DecisionTreeClassifier(max_depth=2, random_state=0).fit(FRAME, LABELS), above=0.8)

    assert found.thresholds == (0.8,)


def test_clipping_is_looked_up_for_few_whole_numbers_and_refused_where_it_acts_on_others() -> None:
    young = FRAME[FRAME["age"] < 60]
    model = make_pipeline(MinMaxScaler(clip=True), LogisticRegression())
    ages = model.fit(young[["age"]], LABELS[FRAME["age"] < 60])
    assert isinstance(document(ages), Terms)

    with pytest.raises(ModelRefused, match="leave `clip` out"):
        read(model.fit(FRAME[["hours"]], LABELS))


def test_a_network_is_layers() -> None:
    model = make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=20, random_state=0)).fit(FRAME, LABELS)

    layers = document(model)

    assert isinstance(layers, Layers)
    assert [len(layer.weights) for layer in layers.layers] == [4, 1]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (CalibratedClassifierCV(LogisticRegression()), "averages 5 calibrated models.*ensemble=False"),
        (VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())]), "vote of LogisticRegressions"),
        (StackingClassifier([("a", DecisionTreeClassifier())]), "model of models"),
        (SVC(), "SVC is not read exactly. Of scikit-learn are read"),
        (GridSearchCV(LogisticRegression(), {"C": [1, 2]}), "best_estimator_"),
        (BaggingClassifier(LogisticRegression(), 2), "made of LogisticRegressions"),
        (GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()), "begins with a LogisticRegression"),
        (AdaBoostClassifier(LogisticRegression(), n_estimators=2), "made of LogisticRegressions"),
    ],
)
def test_a_refusal_says_what_would_be_read(model: Any, reason: str) -> None:
    with pytest.raises(ModelRefused, match=reason):
        read(model.fit(FRAME, LABELS))


def test_a_model_that_decides_the_same_about_everybody_is_refused() -> None:
    model = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=1, learning_rate=1e-9))

    with pytest.raises(ModelRefused, match="above"):
        read(model.fit(FRAME, [0, 1, 2, 3] * 30), favourable=[1], above=0.5)


# Files from anybody.


def forged(model: Any, change: Any) -> bytes:
    """A skops file whose arrays were changed by hand."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as source, zipfile.ZipFile(target, "w") as archive:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith(".npy"):
                buffer = io.BytesIO()
                np.save(buffer, change(np.load(io.BytesIO(data))))
                data = buffer.getvalue()
            archive.writestr(entry.filename, data)
    return target.getvalue()


def test_a_file_gives_the_same_documents_as_the_model_in_memory(tmp_path: Path) -> None:
    models = [
        RandomForestClassifier(3, random_state=0),
        HistGradientBoostingClassifier(max_iter=2, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CalibratedClassifierCV(GradientBoostingClassifier(n_estimators=2), ensemble=False, method="isotonic"),
        MLPClassifier((3,), max_iter=5, random_state=0),
    ]
    for model in models:
        model.fit(FRAME, LABELS)
        skops.io.dump(model, tmp_path / "model.skops")

        assert read(tmp_path / "model.skops") == read(model)


def _broken_child(array: Any) -> Any:
    if array.dtype.names and "left" in array.dtype.names:
        array["left"] = np.where(array["is_leaf"] == 1, array["left"], 0)  # back to the root: a cycle
    return array


def _broken_feature(array: Any) -> Any:
    if array.dtype.names and "feature_idx" in array.dtype.names:
        array["feature_idx"] = 10**6
    return array


def _not_a_number(array: Any) -> Any:
    if array.dtype.kind == "f" and array.size:
        array[...] = np.nan
    for name in ("value", "num_threshold", "threshold"):
        if array.dtype.names and name in array.dtype.names:
            array[name] = np.nan
    return array


def _cycle(array: Any) -> Any:
    if array.dtype.names and "left_child" in array.dtype.names:
        array["left_child"] = np.where(array["left_child"] == -1, -1, 0)
    return array


def _shorter(array: Any) -> Any:
    return array[:-1] if array.ndim and len(array) > 1 else array


FORGERIES = (_broken_child, _broken_feature, _not_a_number, _cycle, _shorter)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5),
        RandomForestClassifier(2, max_depth=3),
        GradientBoostingClassifier(n_estimators=2),
        LogisticRegression(),
        GaussianNB(),
        MLPClassifier((3,), max_iter=5, random_state=0),
    ],
)
def test_a_forged_estimator_is_refused(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    plain = forged(model.fit(FRAME, LABELS), lambda array: array)
    honest = json.dumps(read(model).columns[0].document())

    for change in FORGERIES:
        path.write_bytes(content := forged(model, change))
        if content == plain:
            continue  # the change touches nothing of this model
        try:
            found = read(path)
        except ModelRefused:
            continue
        assert json.dumps(found.columns[0].document()) == honest, change  # it touched nothing that decides
