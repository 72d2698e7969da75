"""A model that looks at sex and age, audited by either, under every relation and on either database.

Figures are compared with the truth at ε = 8, where the noise's scale is 2/8 at most: a count is off by more than 8
with a chance below 10⁻¹³, and no test looks at more than a hundred counts.
"""

import json
import random
from typing import Any

import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from auditor_client import Auditor
from auditor_client.errors import ModelRefused, QuestionRefused
from auditor_client.findings.direct_use import direct_use
from shared.contract.relations import Relation
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan

PEOPLE = 4000
INPUTS = ["hours", "age", "sex"]
SEX = {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True}
COLUMNS = [
    {"name": "hours", "type": "integer", "minimum": 0, "maximum": 60},
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120, "sensitive": True, "bands_from": [25, 45]},
    SEX,
]
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace", "sensitive_attribute")
BY_SEX = [
    {"id": sex, "all_of": [{"column": "sex", "op": "eq", "value": sex}]} for sex in ("Female", "Male")
]  # fmt: skip


def invented(people: int, seed: int) -> pd.DataFrame:
    source = random.Random(seed)
    rows = [
        {
            "id": f"p{person}", "hours": source.randint(0, 60), "age": source.randint(16, 90),
            "sex": source.choice(["Female", "Male"]),
        }
        for person in range(people)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return invented(PEOPLE, 5)


def learnt(others: pd.DataFrame, estimator: Any, wanted: pd.Series) -> Pipeline:
    """A model behind an encoder of sex."""
    encoder = ColumnTransformer([("sex", OneHotEncoder(), ["sex"])], remainder="passthrough")
    return Pipeline([("encode", encoder), ("model", estimator)]).fit(others[INPUTS], wanted)


@pytest.fixture(scope="module")
def model() -> Pipeline:
    """A tree that accepts men at 20 hours, and women at 35, between 30 and 60."""
    others = invented(2000, 6)
    wanted = (others["hours"] > 20 + 15 * (others["sex"] == "Female")) & others["age"].between(30, 60)
    return learnt(others, DecisionTreeClassifier(max_depth=5, random_state=0), wanted)


@pytest.fixture(scope="module")
def by_sex_in_part() -> Pipeline:
    """A tree that looks at sex from 31 to 45 hours alone, and at age nowhere."""
    others = invented(2000, 6)
    wanted = (others["hours"] > 30) & ((others["hours"] > 45) | (others["sex"] == "Male"))
    return learnt(others, DecisionTreeClassifier(random_state=0), wanted)


@pytest.fixture(scope="module")
def by_score() -> Pipeline:
    """A score of hours, age and sex."""
    others = invented(2000, 6)
    wanted = others["hours"] + others["age"] + 20 * (others["sex"] == "Male") > 90
    return learnt(others, LogisticRegression(max_iter=5000), wanted)


def decided(model: Pipeline, people: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """A model's decisions, and what they would be if it took women for men and men for women."""
    mistaken = people.assign(sex=people["sex"].map({"Female": "Male", "Male": "Female"}))
    accepted, swapped = (pd.Series(model.predict(who[INPUTS]), index=people.index) for who in (people, mistaken))
    return accepted, swapped


@pytest.fixture(scope="module")
def holder(lasting_holders: TestedHolder, people: pd.DataFrame) -> TestedHolder:
    content = people.to_csv(index=False).encode()
    for relation in RELATIONS:
        lasting_holders.offer(
            f"open-{relation}", content, columns=COLUMNS, relation=relation, epsilon="60", sensitive_in_rules=True
        )  # fmt: skip
    lasting_holders.offer("closed", content, columns=COLUMNS)
    return lasting_holders


@pytest.mark.statistical
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_figures_are_the_models_own_up_to_the_noise(
    auditor: Auditor, model: Pipeline, people: pd.DataFrame, relation: str
) -> None:
    """A model that mistook the sexes would be found."""
    accepted, swapped = decided(model, people)
    bands = pd.cut(people["age"], [-1, 24, 44, 120], labels=["under 25", "25 to 44", "45 and above"]).astype(str)
    for column, groups in (("sex", people["sex"]), ("age", bands)):
        found = auditor.audit(model, f"open-{relation}", [column], "8", strategy="verdict", favourable=[1])

        assert found.release.batches[0].counted_groups is None
        for group in found.parity.groups:
            members = groups == group.group[0]
            assert abs(group.accepted.value - accepted[members].sum()) <= 10
            assert abs(group.size.value - members.sum()) <= 18
            assert column == "age" or abs(group.accepted.value - swapped[members].sum()) > 10


def test_the_report_says_that_the_model_looks_at_sex_and_how_often(
    auditor: Auditor, model: Pipeline, people: pd.DataFrame
) -> None:
    found = auditor.audit(model, "open-add_remove", ["sex"], "8", strategy="rules", favourable=[1])

    use = direct_use(found)
    assert use is not None
    assert (use.columns, use.compared, use.score) == (("age", "sex"), ("sex",), False)
    assert 0 < use.rules <= use.of
    page, document = found.to_html(), json.loads(found.to_json())
    assert "direct use" in page
    assert "The rules do not use" not in page
    assert document["direct_use"]["columns"] == ["age", "sex"]


@pytest.mark.statistical
def test_how_often_rules_that_name_sex_decide_is_estimated_by_group(
    auditor: Auditor, people: pd.DataFrame, by_sex_in_part: Pipeline
) -> None:
    """Half a per cent is ten people; the share that the other rules decide about would be found."""
    found = auditor.audit(by_sex_in_part, "open-add_remove", ["sex"], "8", strategy="rules", favourable=[1])

    use = direct_use(found)
    naming = [rule.rule for rule in found.rules if any(one.column == "sex" for one in rule.rule.all_of)]
    assert use is not None
    assert (use.columns, use.rules) == (("sex",), len(naming))
    for group in use.shares:
        members: list[Any] = people[people["sex"] == group.group[0]].to_dict("records")
        truth = sum(any(rule.matches(person) for rule in naming) for person in members) / len(members)
        assert group.rate.low - 0.005 <= truth <= group.rate.high + 0.005
        assert not group.rate.low - 0.005 <= 1 - truth <= group.rate.high + 0.005


def test_a_score_of_age_and_sex_is_made_and_audited(auditor: Auditor, by_score: Pipeline) -> None:
    found = auditor.audit(by_score, "open-sensitive_attribute", ["sex"], "8", favourable=[1])

    assert found.release.batches[0].counted_groups is None, "a change of sex changes the score"
    assert "its score is computed from" in found.to_html()


@pytest.mark.statistical
def test_the_figures_of_a_score_of_age_and_sex_are_its_own_up_to_the_noise(
    auditor: Auditor, people: pd.DataFrame, by_score: Pipeline
) -> None:
    """A score that mistook the sexes would be found."""
    found = auditor.audit(by_score, "open-sensitive_attribute", ["sex"], "8", favourable=[1])

    accepted, swapped = decided(by_score, people)
    for group in found.parity.groups:
        members = people["sex"] == group.group[0]
        assert abs(group.accepted.value - accepted[members].sum()) <= 10
        assert abs(group.accepted.value - swapped[members].sum()) > 10


def test_where_it_is_not_declared_the_refusal_says_what_to_ask_for(
    auditor: Auditor, model: Pipeline, holder: TestedHolder
) -> None:
    with pytest.raises(ModelRefused, match='declare the dataset with "sensitive_in_rules": true'):
        auditor.audit(model, "closed", ["sex"], "1", favourable=[1])
    document = refused(holder.release(plan(cells=BY_SEX), dataset="closed"), "sensitive-column", holder=holder)

    assert "sensitive_in_rules" in document["detail"]
    assert holder.spent(dataset="closed") == "0"


def test_of_two_groups_both_are_counted_only_where_a_rule_names_a_sensitive_column(holder: TestedHolder) -> None:
    young = {"id": "long", "all_of": [{"column": "hours", "op": "gt", "value": 30}]}
    by_age = [{"id": "old", "all_of": [{"column": "age", "op": "gt", "value": 40}]}]
    counted = {}
    for name, cells in (("features", [young]), ("sex", BY_SEX), ("age", by_age), ("both", [young, *by_age])):
        batch = holder.release(plan(cells=cells, epsilon="0.1"), dataset="open-sensitive_attribute").json()["batches"][
            0
        ]
        counted[name] = batch.get("counted_groups"), round(batch["noise"]["scale"])

    assert counted == {"features": ([["Female"]], 10), "sex": (None, 20), "age": (None, 20), "both": (None, 20)}


def test_the_papers_strategy_cannot_mix_both(auditor: Auditor, model: Pipeline) -> None:
    with pytest.raises(QuestionRefused, match="ask with another strategy"):
        auditor.audit(model, "open-sensitive_attribute", ["sex"], "1", strategy="pafer", favourable=[1])


def test_a_permission_comes_and_goes_without_loading_again(holder: TestedHolder, people: pd.DataFrame) -> None:
    """Under `sensitive_attribute` it does not come once a loss was charged; records and answers stay."""
    content = people.head(50).to_csv(index=False).encode()
    for name, relation in (("moving", "add_remove"), ("fixed", "sensitive_attribute")):
        holder.offer(name, content, columns=COLUMNS, relation=relation)
        assert holder.release(plan(cells=[{"id": "all", "all_of": []}]), dataset=name).status_code == 201
        fields = {"columns": COLUMNS, "relation": relation}
        again = holder.declare(name, **fields, sensitive_in_rules=True)
        asked = holder.release(plan(cells=BY_SEX), dataset=name)
        if relation == "add_remove":
            assert (again.status_code, asked.status_code) == (200, 201)
            assert asked.json()["version"] == 1
            assert holder.declare(name, **fields).status_code == 200
            assert holder.release(plan(cells=BY_SEX), dataset=name).content == asked.content, "it was paid for"
            other = holder.release(plan(cells=BY_SEX[:1]), dataset=name)
            refused(other, "sensitive-column", holder=holder)
        else:
            refused(again, "already-charged", holder=holder)
            refused(asked, "sensitive-column", holder=holder)


def test_stopping_it_takes_scores_of_sensitive_columns_away(holder: TestedHolder, people: pd.DataFrame) -> None:
    holder.offer("scored", people.head(50).to_csv(index=False).encode(), columns=COLUMNS, sensitive_in_rules=True)
    document = {"kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": 1.0}]}
    column = {"name": "score", "type": "number", "from": {"score": document}}
    assert holder.derive(column, "scored").status_code == 201

    assert holder.declare("scored", columns=COLUMNS).status_code == 200

    assert holder.auditor("GET", "/datasets/scored/columns").json()["columns"] == []
    refused(holder.derive(column, "scored"), "sensitive-column", holder=holder)


@pytest.mark.statistical
def test_the_share_whose_decision_depends_on_their_sex_is_asked_directly(
    auditor: Auditor, people: pd.DataFrame, by_sex_in_part: Pipeline
) -> None:
    """Stability with the sensitive column free: who would be decided about alike as a woman and as a man.

    Two per cent are forty people; a sex that was not free, with everybody decided about alike, would be found.
    """
    found = auditor.audit(
        by_sex_in_part, "open-add_remove", ["sex"], "8", metrics="stability", free="sex", favourable=[1]
    )

    alike = ~people["hours"].between(31, 45)
    for group in found.first.groups:  # type: ignore[union-attr]  # one rate
        assert abs(group.rate.value - alike[people["sex"] == group.group[0]].mean()) < 0.02
        assert abs(group.rate.value - 1) > 0.02
