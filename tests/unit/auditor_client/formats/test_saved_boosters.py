"""LightGBM and XGBoost at the end of a Pipeline in a skops file: read as the pipeline in memory, and never built."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import skops.io
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from auditor_client.errors import ModelRefused, UnsafeModelFile
from auditor_client.models import checking
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.boosters import saved_boosters
from testing.invented.models import SCHEMA, as_frame, people
from tests.unit.auditor_client.formats.test_pipelines import fitted, usual_steps

NUMBERS = ["age", "children", "hours"]


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "RECORDS_MIN", 1500)
    monkeypatch.setattr(checking, "RECORDS_MAX", 1500)


def from_file(model: Any, request: ModelRequest) -> ReadModel:
    return read_object(load_object(skops.io.dumps(model), "model.skops"), request)


@pytest.mark.parametrize("maker", ["lightgbm", "xgboost"])
@pytest.mark.parametrize(("seed", "classes", "sparse"), [(1, 2, False), (2, 3, True), (3, 2, True)])
def test_a_pipeline_in_a_file_is_the_one_in_memory(maker: str, seed: int, classes: int, *, sparse: bool) -> None:
    model = fitted(maker, seed, usual_steps(sparse=sparse), classes)
    request = ModelRequest(SCHEMA, favourable=[1])

    read, in_memory = from_file(model, request), read_object(model, request)

    assert read.columns == in_memory.columns
    assert read.tree == in_memory.tree
    assert read.provenance is not None
    assert (read.provenance.differing, read.provenance.largest) == (0, 0.0)
    assert read.provenance.probes >= 1500


def table_and_score() -> tuple[Any, Any]:
    frame = as_frame(people(np.random.default_rng(5), 300, unseen=False))[NUMBERS]
    return frame, ((frame["age"] > 40) ^ (frame["hours"] > frame["hours"].median())).astype(int)


@pytest.mark.parametrize("kind", ["words", "early", "early xgboost", "number", "number of xgboost", "nested"])
def test_what_the_estimator_adds_to_its_booster_is_kept(kind: str) -> None:
    """The labels of classes; the best iteration; a number; a Pipeline in a Pipeline."""
    frame, score = table_and_score()
    scaler = StandardScaler().fit(frame)
    scaled = scaler.transform(frame)
    options: dict[str, Any] = {"n_estimators": 40, "n_jobs": 1}
    last: Any
    match kind:
        case "words" | "nested":
            last = LGBMClassifier(**options, verbose=-1).fit(scaled, np.where(score, "granted", "refused"))
        case "early":
            held = {"eval_X": scaled[::2], "eval_y": 1 - score[::2]}
            last = LGBMClassifier(**options, verbose=-1)
            last.fit(scaled, score, **held, callbacks=[early_stopping(2, verbose=False)])
            assert last.best_iteration_ < 40
        case "early xgboost":
            last = XGBClassifier(**options, early_stopping_rounds=2)
            last.fit(scaled, score, eval_set=[(scaled[::2], 1 - score[::2])], verbose=False)
        case "number":
            last = LGBMRegressor(**options, verbose=-1).fit(scaled, score)
        case _:
            last = XGBRegressor(**options).fit(scaled, score)
    model = Pipeline([("scaler", scaler), ("last", last)])
    if kind == "nested":
        model = Pipeline([("nothing", "passthrough"), ("whole", model)])
    asked: dict[str, Any] = {"above": 0.4} if "number" in kind else {"favourable": ["1"]}
    if kind in ("words", "nested"):
        asked = {"favourable": ["granted"]}
    request = ModelRequest(SCHEMA, **asked)

    read, in_memory = from_file(model, request), read_object(model, request)

    assert read.columns == in_memory.columns
    assert read.tree == in_memory.tree


def test_a_fault_in_the_steps_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: a booster that predicts otherwise than its trees do is found."""
    right = saved_boosters.SavedLightGBM._raw
    monkeypatch.setattr(
        saved_boosters.SavedLightGBM, "_raw",
        lambda self, table, *, margin: right(self, table, margin=margin) + 0.1,
    )  # fmt: skip

    with pytest.raises(ModelRefused, match="decides otherwise"):
        from_file(fitted("lightgbm", 1, usual_steps(sparse=False)), ModelRequest(SCHEMA, favourable=[1]))


def test_a_model_by_itself_is_sent_to_its_own_format() -> None:
    frame, score = table_and_score()

    with pytest.raises(ModelRefused, match=r"save_model\('model.txt'\)"):
        load_object(skops.io.dumps(LGBMClassifier(n_estimators=2, verbose=-1).fit(frame, score)), "m.skops")


def test_a_model_that_takes_a_number_for_missing_is_refused() -> None:
    frame, score = table_and_score()
    model = make_pipeline(StandardScaler(), XGBClassifier(n_estimators=2, missing=-999.0)).fit(frame, score)

    with pytest.raises(ModelRefused, match="-999"):
        load_object(skops.io.dumps(model), "m.skops")


def _changed(change: Callable[[dict[str, Any]], Any], maker: str) -> bytes:
    """A file whose booster's state is changed."""
    frame, score = table_and_score()
    last: Any = LGBMClassifier(n_estimators=2, verbose=-1) if maker == "lightgbm" else XGBClassifier(n_estimators=2)
    content = skops.io.dumps(make_pipeline(StandardScaler(), last).fit(frame, score))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries.pop("schema.json"))
    change(schema["content"]["content"]["steps"]["content"][1]["content"][1])
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, entry in (*entries.items(), ("schema.json", json.dumps(schema).encode())):
            archive.writestr(name, entry)
    return changed.getvalue()


def _state(node: dict[str, Any]) -> dict[str, Any]:
    state: dict[str, Any] = node["content"]["content"]["_Booster"]["content"]["content"]
    return state


HOSTILE: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a text that is none": ("lightgbm", lambda node: _state(node)["_handle"].update(content='"tree\\nhello"')),
    "no text": ("lightgbm", lambda node: _state(node).pop("_handle")),
    "another object": ("lightgbm", lambda node: _state(node)["_handle"].update(__loader__="ObjectNode")),
    "bytes of another file": ("xgboost", lambda node: _state(node)["handle"].update(file="/etc/hostname")),
    "bytes of another entry": ("xgboost", lambda node: _state(node)["handle"].update(file="schema.json")),
    "a subclass": ("xgboost", lambda node: node.update(__class__="XGBRanker")),
    "another module": ("lightgbm", lambda node: node.update(__module__="os")),
    "classes that are code": (
        "lightgbm",
        lambda node: node["content"]["content"].update(
            _classes={"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "content": {}}
        ),
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_forged_state_is_refused(kind: str) -> None:
    maker, change = HOSTILE[kind]

    with pytest.raises((ModelRefused, UnsafeModelFile)):
        load_object(_changed(change, maker), "m.skops")


def test_the_unchanged_file_is_read() -> None:
    """The negative control."""
    for maker in ("lightgbm", "xgboost"):
        read_object(load_object(_changed(lambda _: None, maker), "m.skops"), ModelRequest(SCHEMA, favourable=[1]))


def test_skops_builds_nothing_of_the_makers(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    right = skops.io.loads

    def loads(content: bytes, **given: Any) -> Any:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            built.append(archive.read("schema.json").decode())
        return right(content, **given)

    monkeypatch.setattr(skops.io, "loads", loads)
    load_object(_changed(lambda _: None, "xgboost"), "m.skops")

    assert len(built) == 1
    assert "xgboost" not in built[0].lower().replace("xgbclassifier", "")


@pytest.mark.parametrize(("best", "trees"), [(0, 2), (1, 1), (2, 2)])
def test_only_the_trees_up_to_the_best_iteration_decide(best: int, trees: int) -> None:
    content = _changed(lambda node: _state(node)["best_iteration"].update(content=str(best)), "lightgbm")

    assert len(load_object(content, "m.skops").steps[-1][1].document.trees) == trees
