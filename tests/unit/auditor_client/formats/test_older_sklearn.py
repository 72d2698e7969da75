"""Files that scikit-learn 1.3 and 1.4 saved: read as those versions decide, not as today's would.

`older_sklearn.json` has small models, the records that their makers were asked about, and what they decided.
"""

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io

from auditor_client.errors import ModelRefused
from auditor_client.models import checking, older_sklearn
from auditor_client.models.checking import decisions
from auditor_client.models.inventing import Invented
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.skops_files import _BY_NAME
from checks.foreign_models.makers.estimators import ESTIMATORS, fitted
from shared.contract.schema import Column, Schema

STORED = json.loads((Path(__file__).parent / "older_sklearn.json").read_text())


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "records_count", lambda _: 500)


def schema(*, missing: bool) -> Schema:
    return Schema(
        person_key="id",
        columns=(
            Column(name="age", type="number", minimum=18, maximum=99),
            Column(name="income", type="number", minimum=0, maximum=100, nullable=missing),
        ),
    )


def stored(kind: str) -> Any:
    return next(one for one in STORED if one["kind"] == kind)


@pytest.mark.parametrize("one", STORED, ids=lambda one: f"{one['kind']} of {one['version']}")
def test_decides_as_its_maker_did(one: Any) -> None:
    """Leaves of 1.3 are counts: a forest that adds them without dividing decides otherwise, and so does today's."""
    declared = schema(missing=None in one["income"])
    values = {name: np.array(one[name], np.float64) for name in ("age", "income")}

    read = read_object(load_object(base64.b64decode(one["file"]), "m.skops"), ModelRequest(declared, favourable=[1]))

    assert decisions(read, declared, Invented(len(values["age"]), values)).astype(int).tolist() == one["decided"]


def test_missing_values_that_it_refused_stay_refused() -> None:
    """A random forest takes missing values since 1.4."""
    model = load_object(base64.b64decode(stored("forest")["file"]), "m.skops")

    with pytest.raises(ModelRefused, match="RandomForestClassifier"):
        read_object(model, ModelRequest(schema(missing=True), favourable=[1]))


@pytest.mark.parametrize(
    ("version", "says"), [((1, 3), "rounds and decides ties otherwise"), ((1, 1), "older than 1.2")]
)
def test_what_predicts_otherwise_today_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], says: str
) -> None:
    monkeypatch.setattr("auditor_client.models.skops_files.saved_by", lambda _: version)

    with pytest.raises(ModelRefused, match=says):
        load_object(base64.b64decode(stored("boosting")["file"]), "m.skops")


def test_the_oldest_version_of_a_file_counts() -> None:
    def saved(version: str) -> Any:
        text = {"__loader__": "JsonNode", "content": json.dumps(version)}
        return {"__loader__": "ObjectNode", "content": {"content": {"_sklearn_version": text}}}

    assert older_sklearn.saved_by([saved("1.5.2"), saved("1.3.0"), saved("99.0")]) == (1, 3)


@pytest.mark.filterwarnings("ignore")
def test_what_the_installed_version_saves_is_in_its_vocabulary() -> None:
    """Every estimator of the check's corpus, fitted by the installed scikit-learn, with all its members."""
    for seed in range(len(ESTIMATORS)):
        model, _ = fitted(seed)
        schema_of_file = zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))).read("schema.json")
        for state in older_sklearn.states(json.loads(schema_of_file)):
            kind = _BY_NAME.get(f"{state['__module__']}.{state['__class__']}")
            if kind is not None and state["__loader__"] == "ObjectNode":
                older_sklearn.require_todays_parameters(state, kind, "m.skops")
