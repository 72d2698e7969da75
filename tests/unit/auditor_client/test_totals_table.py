"""Public totals of groups: read from tables and mappings, kept with a request, and supposed in forecasts."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.group_totals import GroupTotals
from auditor_client.asking.request import AuditRequest
from auditor_client.asking.totals_table import read_group_totals
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.measurements import COUNT_MAX, SizeBounds
from auditor_client.findings.answers import Rate, read
from auditor_client.planning.forecasting import expectation, forecast
from auditor_client.planning.forecasts import Knowledge
from auditor_client.report.known_totals import totals_words, trusted_totals
from shared.contract.schema import Group
from testing.invented.people import PEOPLE
from testing.invented.questions import exact_release, question

SEXES: tuple[Group, ...] = (("Female",), ("Male",))
BOTH: tuple[Group, ...] = (("Female", True), ("Female", None), ("Male", True), ("Male", None))


def totals(given: Any, groups: tuple[Group, ...] = SEXES, sensitive: tuple[str, ...] = ("sex",)) -> GroupTotals:
    return read_group_totals(given, "Census, table 7", groups, sensitive)


@pytest.mark.parametrize(
    ("given", "people"),
    [
        ({"Female": 120, "Male": (100, 140)}, ((120, 120), (100, 140))),
        ({("Male",): (100, None)}, ((0, None), (100, None))),
        (pd.DataFrame({"people": [5, None], "sex": ["Male", "Female"]}), ((0, None), (5, 5))),
        (pd.DataFrame({"sex": ["Male"], "people_min": [3.0], "people_max": [4]}), ((0, None), (3, 4))),
    ],
)
def test_totals_are_read_in_the_groups_order(given: Any, people: tuple[Any, ...]) -> None:
    found = totals(given)

    assert found.people == people
    assert found.source == "Census, table 7"


def test_a_file_has_a_row_for_each_group(tmp_path: Path) -> None:
    (tmp_path / "census.csv").write_text(
        "sex,disabled,people_min,people_max,note\nFemale,True,90,110,a\nFemale,,7,,b\nMale,true,,80,c\nMale,,12,12,d\n"
    )

    found = totals(tmp_path / "census.csv", BOTH, ("sex", "disabled"))

    assert found.people == ((90, 110), (7, None), (0, 80), (12, 12))
    assert found.bounds.least == (90, 7, 0, 12)
    by_sex, by_other = (found.merged(BOTH, [column]) for column in (0, 1))
    assert by_sex is not None
    assert by_other is not None
    assert by_sex.people == ((97, None), (12, 92))
    assert by_other.people == ((90, 190), (19, None))


REFUSED: dict[str, tuple[Any, str]] = {
    "another group": ({"Other": 4}, "'Other'"),
    "a group twice": (pd.DataFrame({"sex": ["Male", "Male"], "people": [4, 4]}), "twice"),
    "a part of somebody": ({"Male": 4.5}, "a whole number of people"),
    "a word": ({"Male": "many"}, "a whole number of people"),
    "a negative number": ({"Male": -4}, "zero people or more"),
    "a range that holds nobody": ({"Male": (5, 4)}, "at most its upper bound"),
    "nothing": ({}, "are empty"),
    "no column of the group": (pd.DataFrame({"people": [4]}), "do not have the column 'sex'"),
    "no column of people": (pd.DataFrame({"sex": ["Male"], "people_min": [4]}), "do not have the column 'people_max'"),
    "no file": ("nowhere.csv", "cannot be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_of_totals_is_refused(case: str) -> None:
    given, refusal = REFUSED[case]

    with pytest.raises(QuestionRefused, match=refusal):
        totals(given)


def test_a_request_keeps_them_and_one_without_is_as_it_was() -> None:
    known = AuditRequest(sensitive=("sex",), epsilon="0.1", known_totals=totals({"Female": 120}))

    assert AuditRequest.model_validate_json(known.model_dump_json()) == known
    assert "known_totals" not in AuditRequest(sensitive=("sex",)).model_dump(mode="json")


def test_totals_do_not_change_what_is_sent() -> None:
    known = question(known_totals=totals({"Female": 120}))

    assert known.plan == question().plan


def test_totals_of_other_groups_or_of_no_asked_figure_are_refused() -> None:
    with pytest.raises(QuestionRefused, match="2 groups"):
        question(known_totals=GroupTotals(people=((5, 5),)))
    with pytest.raises(QuestionRefused, match="statistical-parity"):
        question(known_totals=totals({"Female": 120}), metrics="equal-opportunity")


def test_only_rates_of_everybody_are_bounded() -> None:
    asked = question(known_totals=totals({"Female": (0, 10**6)}), metrics=["statistical-parity", "equal-opportunity"])

    counts = read(exact_release(asked.plan, PEOPLE), asked)

    assert counts[Rate.ACCEPTANCE].measurement.bounds == SizeBounds((0, 0), (10**6, COUNT_MAX))
    assert counts[Rate.TRUE_POSITIVE].measurement.bounds is None


def test_the_assumption_has_the_known_sizes() -> None:
    known = GroupTotals(people=((200, 400), (0, None)))

    assert known.assumed(Assumption(people=1_000)).counts(2)[1] == (300, 500)
    assert known.assumed(Assumption(people=1_000, shares=(1, 2, 3))).shares == (1, 2, 3)


def test_the_supposed_ratio_is_that_of_a_group_that_has_people() -> None:
    known = GroupTotals(people=((0, 0), (200, 200), (400, 400)))

    accepted, sizes = known.assumed(Assumption(ratio=0.5)).counts(3)

    assert sizes == (0, 200, 400)
    assert accepted[1] / 200 == pytest.approx(accepted[2] / 400 / 2)


@pytest.mark.slow
def test_a_plan_shows_what_knowing_buys() -> None:
    """Group totals and supports each make the interval narrower for small groups, and both together most."""
    found = forecast(question(epsilon="0.1", assumption=Assumption(people=2_000, accepted=0.2))).knowing
    width = {(known.supports, known.totals): expected.width for known, expected in found.items()}

    assert next(iter(found)) == Knowledge(supports=False, totals=False)
    assert width[True, True] < min(width[True, False], width[False, True])
    assert max(width[True, False], width[False, True]) < width[False, False]


@pytest.mark.slow
def test_a_forecast_uses_the_totals_that_are_given() -> None:
    asked = question(epsilon="0.1", assumption=Assumption(people=2_000, accepted=0.2))
    known = asked.changed(known_totals=GroupTotals(people=((1_000, 1_000), (1_000, 1_000))))

    found = forecast(known)

    assert expectation(known).width == found.chosen.width < expectation(asked).width
    assert found.knowing[Knowledge(supports=False, totals=True)].width == pytest.approx(found.chosen.width)


def test_a_forecast_about_a_part_of_the_people_has_no_totals() -> None:
    found = forecast(question(epsilon="0.5", metrics="equal-opportunity")).knowing

    assert [known.totals for known in found] == [False, False]


def test_reports_say_what_was_known_and_from_where() -> None:
    known = totals({"Female": 1_200, "Male": (1_100, 1_300)})
    asked = question(known_totals=known, metrics=["equal-opportunity", "statistical-parity"])

    words = totals_words(asked)

    assert words.startswith("Female 1\u202f200; Male 1\u202f100 to 1\u202f300. Source: Census, table 7.")
    assert "Statistical parity" in words
    assert "Equal opportunity" not in words
    assert "relies on the group totals" in trusted_totals(asked)[0]
    assert (totals_words(question()), trusted_totals(question())) == ("", ())
