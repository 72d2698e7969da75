"""Explainable boosting machines and rule lists by their fitted attributes; their libraries are not installed for tests.

A machine's attributes and numbers were recorded from interpret 0.7.8. The rule lists were written by the libraries' own
rules, which the classes below repeat: what imodels 3.0 and CORELS 1.1 do, line by line.
"""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers.boosters import ebm
from auditor_client.models.readers.own import rule_lists
from checks.model_formats.data import SCHEMA
from checks.model_formats.onnx_graphs import NEVER_MISSING
from shared.scores.documents import Choice
from shared.scores.values import score_value

RECORDED = json.loads((Path(__file__).parent / "ebm_models.json").read_text())["models"]


class ExplainableBoostingClassifier:
    """The attributes of a fitted machine, and its sums, table by table."""

    def __init__(self, recorded: dict[str, Any]) -> None:
        self.feature_names_in_, self.link_ = recorded["feature_names_in_"], recorded["link_"]
        self.bins_, self.term_features_ = recorded["bins_"], recorded["term_features_"]
        self.classes_ = np.array(recorded["classes_"])
        self.intercept_ = np.array(recorded["intercept_"])
        self.term_scores_ = [np.array(scores) for scores in recorded["term_scores_"]]

    def decision_function(self, table: Any) -> Any:
        sums = np.tile(self.intercept_, (len(table), 1)).astype(float)
        for features, scores in zip(self.term_features_, self.term_scores_, strict=True):
            for row in range(len(table)):
                index = tuple(self._bin(feature, table.iloc[row, feature], len(features)) for feature in features)
                sums[row] += scores[index]
        return sums[:, 0] if len(self.classes_) == 2 else sums

    def predict(self, table: Any) -> Any:
        sums = self.decision_function(table)
        return self.classes_[(sums > 0).astype(int) if sums.ndim == 1 else sums.argmax(axis=1)]

    def predict_proba(self, table: Any) -> Any:
        sums = self.decision_function(table)
        if sums.ndim == 1:
            return np.column_stack([1 / (1 + np.exp(sums)), 1 / (1 + np.exp(-sums))])
        powers = np.exp(sums - sums.max(axis=1)[:, None])
        return powers / powers.sum(axis=1)[:, None]

    def _bin(self, feature: int, value: Any, order: int) -> int:
        bins = self.bins_[feature][min(len(self.bins_[feature]), order) - 1]
        if value is None or value != value:  # noqa: PLR0124  # NaN
            return 0
        if isinstance(bins, dict):
            return int(bins.get(str(value) if isinstance(value, str) else str(int(value)), -1))
        return int(np.searchsorted(bins, float(value), side="right")) + 1


@pytest.mark.parametrize("recorded", RECORDED)
def test_a_machine_is_read_as_it_decides(recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was recorded of interpret itself, and on invented records with the same sums."""
    monkeypatch.setattr("auditor_client.models.checking.records_count", lambda _: 300)
    model = ExplainableBoostingClassifier(recorded)
    read = ebm.read_object(model, ModelRequest(SCHEMA, favourable=[recorded["classes_"][-1]]))

    assert read.provenance is not None
    assert read.provenance.differing == 0
    assert read.provenance.bound is not None
    document = read.columns[0].origin.score  # type: ignore[union-attr]
    for record, scores, decision in zip(recorded["records"], recorded["scores"], recorded["decisions"], strict=True):
        parts = document.of if isinstance(document, Choice) else (document,)
        ours: Any = [score_value(part, record) for part in parts]
        assert np.allclose(ours, scores, rtol=0, atol=read.provenance.bound)
        decided = read.tree.decide({"score": score_value(document, record)})
        assert decided.favourable == (decision == recorded["classes_"][-1])


@pytest.mark.parametrize(("version", "known"), [("0.7.8", True), ("0.4.4", False), ("1.0.0", False)])
def test_a_machine_of_another_version_is_refused(version: str, monkeypatch: pytest.MonkeyPatch, *, known: bool) -> None:
    monkeypatch.setattr("auditor_client.models.checking.records_count", lambda _: 300)
    monkeypatch.setattr(ebm, "installed", lambda _: SimpleNamespace(__version__=version))
    asked = ModelRequest(SCHEMA, favourable=[RECORDED[0]["classes_"][-1]])

    if known:
        assert ebm.read_object(ExplainableBoostingClassifier(RECORDED[0]), asked).provenance
        return
    with pytest.raises(ModelRefused, match=version):
        ebm.read_object(ExplainableBoostingClassifier(RECORDED[0]), asked)


@pytest.mark.parametrize(("name", "value"), [("offsets_", 1), ("link_param_", 1.5)])
def test_an_attribute_outside_the_table_is_refused(name: str, value: Any) -> None:
    """What is not known might change what the machine predicts."""
    model = ExplainableBoostingClassifier(RECORDED[0])
    setattr(model, name, value)

    with pytest.raises(ModelRefused, match=name):
        ebm.read_object(model, ModelRequest(SCHEMA, favourable=[RECORDED[0]["classes_"][-1]]))


def test_every_attribute_of_a_machine_has_a_reason() -> None:
    """What interpret 0.7.8 sets on a fitted machine."""
    used = {"bins_", "classes_", "feature_names_in_", "intercept_", "link_", "term_features_", "term_scores_"}

    assert {name for name, why in ebm.VOCABULARY.items() if why == ebm.USED} == used
    assert all(ebm.VOCABULARY.values())


def test_booleans_taken_for_categories_are_zero_and_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As interpret 0.7 writes them where `feature_types` says nominal; training saw one of `insured` alone."""
    monkeypatch.setattr("auditor_client.models.checking.records_count", lambda _: 300)
    model = ExplainableBoostingClassifier(RECORDED[0])
    model.bins_ = [*model.bins_[:6], [{"0": 1, "1": 2}], [{"1": 1}]]
    model.term_features_ = [(6,), (7,), (6, 7)]
    model.term_scores_ = [
        np.array([0.5, -1.0, 1.0, 0.0]),
        np.array([0.25, 2.0, -2.0]),
        np.arange(12.0).reshape(4, 3) / 8,
    ]

    read = ebm.read_object(model, ModelRequest(SCHEMA, [1]))

    assert read.provenance is not None
    assert read.provenance.differing == 0
    assert read.provenance.largest == 0


def test_categories_that_training_never_saw_are_not_taken_for_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor_client.models.checking.records_count", lambda _: 300)
    model = ExplainableBoostingClassifier(RECORDED[0])
    model.bins_ = [*model.bins_[:4], [{"": 1, "w": 2}], *model.bins_[5:]]
    model.term_features_ = [(4,)]
    model.term_scores_ = [np.array([0.0, 3.0, 1.0, -2.0])]

    read = ebm.read_object(model, ModelRequest(SCHEMA, [1]))

    assert read.provenance is not None
    assert read.provenance.differing == 0


def test_a_machine_that_is_read_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: cuts that belong to the bin below."""
    monkeypatch.setattr("auditor_client.models.checking.records_count", lambda _: 300)
    monkeypatch.setattr("auditor_client.models.readers.boosters.ebm.np.nextafter", lambda cuts, _: cuts)

    with pytest.raises(ModelRefused, match="decides otherwise"):
        ebm.read_object(ExplainableBoostingClassifier(RECORDED[0]), ModelRequest(SCHEMA, [1]))


class GreedyRuleListClassifier:
    """As imodels writes it."""

    classes_ = np.array([0, 1])
    feature_names_: Any = ("income", "children")
    rules_: Any = (
        {"index_col": 0, "cutoff": 10.5, "flip": False, "val": 0.4, "val_right": 0.9},
        {"index_col": 1, "cutoff": 2.5, "flip": True, "val": 0.6, "val_right": 0.2},
        {"val": 0.7, "num_pts": 4},
    )

    def predict_proba(self, table: Any) -> Any:
        probs = np.zeros(len(table))
        for i, x in enumerate(table):
            for j, rule in enumerate(self.rules_):
                if j == len(self.rules_) - 1:
                    probs[i] = rule["val"]
                    continue
                regular, flipped = x[rule["index_col"]] >= rule["cutoff"], x[rule["index_col"]] < rule["cutoff"]
                if flipped if rule["flip"] else regular:
                    probs[i] = rule["val_right"]
                    break
        return np.vstack((1 - probs, probs)).transpose()

    def predict(self, table: Any) -> Any:
        return np.argmax(self.predict_proba(table), axis=1)


class _OfATable(GreedyRuleListClassifier):
    """As imodels leaves it after fitting a DataFrame, with a rule that no record of training matched."""

    feature_names_ = pd.Index(["income", "children"])
    rules_ = ({"index_col": 0, "cutoff": 10.5, "flip": False, "val": 0.4, "val_right": math.nan}, {"val": 0.7})


_OfATable.__name__ = "GreedyRuleListClassifier"


class CorelsClassifier:
    """As CORELS writes it: a feature's number from 1, negative for "is not"."""

    class rl_:  # noqa: N801
        features = ("owner", "insured")
        rules = (
            {"antecedents": [1, -2], "prediction": True},
            {"antecedents": [2], "prediction": False},
            {"antecedents": [0], "prediction": True},
        )

    def predict(self, table: Any) -> Any:
        found = []
        for x in table:
            for rule in self.rl_.rules:
                if all(one == 0 or x[abs(one) - 1] == (one > 0) for one in rule["antecedents"]):  # type: ignore[attr-defined]
                    found.append(rule["prediction"])
                    break
        return np.array(found)


@pytest.mark.parametrize("above", [None, 0.15, 0.8])
@pytest.mark.parametrize("favourable", [0, 1])
def test_a_greedy_list(above: float | None, favourable: int) -> None:
    read = rule_lists.read_object(GreedyRuleListClassifier(), ModelRequest(NEVER_MISSING, [favourable], above=above))

    assert read.columns == ()
    assert read.provenance is not None
    assert (read.provenance.differing, read.provenance.bound) == (0, None)
    assert read.provenance.probes >= 4000


@pytest.mark.parametrize("above", [None, 0.15, 0.8])
@pytest.mark.parametrize("favourable", [0, 1])
def test_a_list_fitted_on_a_table_with_a_share_of_nobody(above: float | None, favourable: int) -> None:
    read = rule_lists.read_object(_OfATable(), ModelRequest(NEVER_MISSING, [favourable], above=above))

    assert read.provenance is not None
    assert (read.provenance.differing, read.provenance.bound) == (0, None)


def test_an_optimal_list() -> None:
    read = rule_lists.read_object(CorelsClassifier(), ModelRequest(NEVER_MISSING, [1]))

    assert [str(rule.rule) for rule in read.tree.merged().rules()]
    assert read.provenance is not None
    assert read.provenance.differing == 0


def test_a_list_of_numbers_that_may_be_missing_is_refused() -> None:
    with pytest.raises(ModelRefused, match="may be missing"):
        rule_lists.read_object(GreedyRuleListClassifier(), ModelRequest(SCHEMA, [1]))
