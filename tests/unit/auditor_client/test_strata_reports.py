"""Results and reports of conditional parity: what an audit by strata shows, and what it leaves out."""

import json

import pytest

from auditor_client import AuditResult
from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import ODDS
from auditor_client.findings.insight import leaf_shares
from auditor_client.findings.notes import Note
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasting import forecast
from testing.exact_audits import audited
from testing.invented_questions import question

REGIONS = ("North", "South", "East")


@pytest.fixture(scope="module")
def audits() -> dict[str, AuditResult]:
    """Audits by region, of exact answers."""
    return {
        strategy: audited(strategy=strategy, by="region", metrics=("statistical-parity", ODDS))
        for strategy in ("verdict", "rules")
    }


def test_every_form_of_a_result_has_the_strata(audits: dict[str, AuditResult]) -> None:
    result = audits["verdict"]

    text, page, document = result.summary(), result.to_html(), result.to_document()

    for region in REGIONS:
        assert f"  {region} " in text
        assert f"<bdi>{region}</bdi>" in page
    assert 'id="strata"' in page
    assert "Standardised rates" in page
    assert document["by"] == "region"
    of_parity = document["strata"]["statistical-parity"]
    assert [one["value"] for one in of_parity["strata"]] == list(REGIONS)
    assert of_parity["every"]["ratio"]["low"] <= min(one["estimate"]["ratio"]["value"] for one in of_parity["strata"])
    assert len(document["strata"][ODDS]["standardised"]) == 2
    json.dumps(document, allow_nan=False)


def test_without_strata_nothing_speaks_of_them() -> None:
    result = audited()

    assert "strata" not in result.to_document()
    assert 'id="strata"' not in result.to_html()
    assert result.by_stratum == {}


def test_the_published_estimator_is_shown_without_statements_over_strata() -> None:
    result = audited(by="region", reading=Reading(estimator="plug-in"))

    assert "together" not in result.summary()
    assert result.to_document()["strata"]["statistical-parity"]["every"] is None
    assert 'id="strata"' in result.to_html()


def test_shares_of_rules_say_of_which_stratum_they_are(audits: dict[str, AuditResult]) -> None:
    by_rules = audits["rules"]

    bars = by_rules.view.data.bars

    assert bars is not None
    assert {bar.people.split(",")[0] for bar in bars.bars} == set(REGIONS)
    assert set(by_rules.rule_ids) == {"a", "b", "c", "d"}
    assert audits["verdict"].rule_ids == ()


def test_a_leaf_that_is_counted_in_parts_has_no_share_in_the_tree(audits: dict[str, AuditResult]) -> None:
    in_labels = audited(metrics=("statistical-parity", ODDS))
    whole = audited()

    assert leaf_shares(audits["rules"]) == leaf_shares(in_labels) == {}
    assert set(leaf_shares(whole)) == {"a", "b", "c", "d"}


def test_a_note_gives_the_strata_again(audits: dict[str, AuditResult]) -> None:
    note = audits["verdict"].note

    again = Note.model_validate_json(note.model_dump_json()).question()

    assert again.plan == audits["verdict"].plan
    assert again.strata == audits["verdict"].question.strata


def test_a_forecast_says_what_strata_give_and_cost() -> None:
    asked = question(by="region", strategy="verdict", assumption=Assumption(people=3_000))

    found = forecast(asked).strata

    assert found is not None
    assert (found.number, found.people) == (3, 1_000)
    assert found.without.width < forecast(asked).chosen.width < found.within.width
    assert forecast(question()).strata is None
