"""Results and reports of conditional parity: what an audit by strata shows, and what it leaves out."""

import json
import re

import pytest

from auditor_client import AuditResult
from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import ODDS
from auditor_client.findings.insight import leaf_shares
from auditor_client.findings.notes import Note
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasting import forecast
from auditor_client.report.formats import percent
from auditor_client.report.strata_data import StrataData, strata_data
from testing.exact_audits import audited
from testing.invented.people import PEOPLE
from testing.invented.questions import FOUR_LEAVES, question

REGIONS = ("North", "South", "East")


@pytest.fixture(scope="module")
def audits() -> dict[str, AuditResult]:
    """Audits by region, of exact answers."""
    return {
        strategy: audited(
            strategy=strategy, by="region", intervention="assistive", metrics=("statistical-parity", ODDS)
        )
        for strategy in ("verdict", "rules")
    }


def strata_of(result: AuditResult) -> StrataData:
    """What a report shows of its strata."""
    found = strata_data(result)
    assert found is not None
    return found


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_region_of_a_table_has_a_name_of_its_own_and_no_tags_in_it(audits: dict[str, AuditResult]) -> None:
    names = re.findall(r'role="region" aria-label="([^"]*)"', audits["verdict"].to_html())

    assert "Statistical parity, by region" in names
    assert len(names) == len(set(names))
    assert not [name for name in names if "<" in name or "&lt;" in name]


def test_without_strata_nothing_speaks_of_them() -> None:
    result = audited()

    assert "strata" not in result.to_document()
    assert 'id="strata"' not in result.to_html()
    assert result.by_stratum == {}


def test_the_published_estimator_is_shown_without_statements_over_strata() -> None:
    result = audited(by="region", reading=Reading(estimator="plug-in"))

    assert "together" not in result.summary()
    assert "Intervals “together”" not in result.to_html()
    assert result.to_document()["strata"]["statistical-parity"]["every"] is None
    assert 'id="strata"' in result.to_html()


def test_rates_of_nobody_accepted_are_shown_and_said_to_have_no_ratio() -> None:
    refused = [person for person in PEOPLE if not FOUR_LEAVES.decide(dict(person)).favourable]
    nobody_accepted = audited(
        by="region", intervention="assistive", strategy="verdict", epsilon="5", people=10 * refused
    )
    found = nobody_accepted.by_stratum["statistical-parity"]
    (section,) = strata_of(nobody_accepted).sections
    (table,) = section.standardised

    assert not found.standardised[0].ratio.defined
    assert [len(found.standardised[0].weights), len(table.rows)] == [3, 2]
    assert "none of its values has people" not in table.conclusion
    assert {section.conclusion, table.conclusion} == {
        "The answer does not show a rate above zero in any group, so the ratio is not defined."
    }
    assert {row.verdict for row in section.rows} == {"undefined"}


def test_the_strata_that_are_left_out_are_named_also_where_there_is_no_ratio() -> None:
    refused = [person for person in PEOPLE if not FOUR_LEAVES.decide(dict(person)).favourable]
    one_sex = [person for person in 10 * refused if (person["region"], person["sex"]) != ("South", "Male")]
    (section,) = strata_of(
        audited(by="region", intervention="assistive", strategy="verdict", epsilon="5", people=one_sex)
    ).sections

    assert section.standardised[0].left_out.startswith("That leaves out “South”")


def test_without_people_of_every_group_in_any_stratum_there_are_no_standardised_rates() -> None:
    apart = [person for person in PEOPLE if (person["region"] == "South") == (person["sex"] == "Male")]
    (section,) = strata_of(
        audited(by="region", intervention="assistive", strategy="verdict", epsilon="5", people=10 * apart)
    ).sections
    (table,) = section.standardised

    assert "none of its values has people of every group" in table.conclusion
    assert (table.rows, table.left_out) == ((), "")


@pytest.mark.parametrize(("epsilon", "shown"), [("5", "below it"), ("0.1", "would lie between")])
def test_a_ratio_of_standardised_rates_that_is_not_known_is_shown_as_its_interval(epsilon: str, shown: str) -> None:
    result = audited(by="region", intervention="assistive", strategy="verdict", epsilon=epsilon)
    figures = result.by_stratum["statistical-parity"].standardised[0]
    (section,) = strata_of(result).sections

    assert figures.ratio.known == (epsilon == "5")
    assert shown in section.standardised[0].conclusion
    assert (percent(figures.ratio.value) in section.standardised[0].conclusion) == figures.ratio.known


def test_rates_within_a_stratum_are_shown_as_those_over_all(audits: dict[str, AuditResult]) -> None:
    result = audits["verdict"]
    page, rows = result.to_html(), strata_of(result).sections[0].rows

    for row in rows:
        (table,) = row.rates
        assert f"<b><bdi>{row.name}</bdi></b>: {table.words.caption}, highest first" in page
        for group in table.rows:
            assert f"population {group.population}" in page
            assert f">{group.accepted}</td>" in page
    assert page.count("for the population that they stand for") == 3 * (1 + len(rows))  # of three tables each


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


@pytest.mark.slow
def test_a_forecast_says_what_strata_give_and_cost() -> None:
    asked = question(by="region", strategy="verdict", assumption=Assumption(people=3_000))

    found = forecast(asked).strata

    assert found is not None
    assert (found.number, found.people) == (3, 1_000)
    assert found.without.width < forecast(asked).chosen.width < found.within.width
    assert forecast(question()).strata is None
