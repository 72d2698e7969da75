"""Audits where some people's group is unknown, on a running holder: what is said, kept, passed on and refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.cli import app
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.unknown_bounds import bounds
from auditor_client.estimation.unknown_figures import OpenBecause
from checks.unknown_groups import ends_of, register_of
from testing.holders import TestedHolder, running_holder
from tests.contract.__main__ import required

pytestmark = pytest.mark.usefixtures("coarse_chances")

COLUMNS: Final = [
    {"name": "region", "type": "category", "categories": ["north", "south"]},
    {"name": "chosen", "type": "boolean"},
    {"name": "checked", "type": "boolean"},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True, "nullable": True},
    {"name": "born", "type": "category", "categories": ["here", "there"], "sensitive": True},
    {"name": "faith", "type": "boolean", "sensitive": True, "nullable": True},
]
EPSILON: Final = "1"


def register() -> pd.DataFrame:
    """6 000 people; the sex of every fifth is unknown. Both are chosen alike; of men twice as many are checked."""
    rng = np.random.default_rng(37)
    number = 6000
    sex = rng.choice(["Female", "Male"], number)
    checked = rng.random(number) < np.where(sex == "Female", 0.10, 0.20)
    return pd.DataFrame(
        {
            "id": [f"p{index}" for index in range(number)],
            "region": rng.choice(["north", "south"], number),
            "chosen": np.where(rng.random(number) < 0.6, "true", "false"),
            "checked": np.where(checked, "true", "false"),
            "sex": np.where(rng.random(number) < 0.2, "", sex),
            "born": rng.choice(["here", "there"], number),
            "faith": rng.choice(["true", "false", ""], number, p=[0.5, 0.49, 0.01]),
        }
    )


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return register()


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="50") as tested:
        required(tested.declare("people", columns=COLUMNS, cap={"epsilon": "60"}))
        required(tested.load(people.to_csv(index=False).encode(), "people"))
        required(tested.admin("PUT", "/datasets/people/budgets/ADR", json={"epsilon": "50"}))
        yield tested


@pytest.fixture(scope="module")
def auditor(holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Auditor]:
    receipts = tmp_path_factory.mktemp("auditor") / "receipts"
    with Auditor(str(holder.client.base_url), holder.auditor_key, receipts=receipts) as auditor:
        yield auditor


def audit(auditor: Auditor, decision: str = "chosen", sensitive: Any = "sex", **asked: Any) -> Any:
    given = {"decision": decision, "favourable": decision == "chosen", "intervention": "assistive", **asked}
    return auditor.audit(None, "people", sensitive, EPSILON, **given)


def true_ends(people: pd.DataFrame, decision: str, favourable: str) -> tuple[float, ...]:
    """The true ends of ratio, odds ratio and difference over all allocations: worst three, then best three."""
    outcome = people[decision] == favourable
    counts = {
        value: [int(((people["sex"] == value) & side).sum()) for side in (outcome, ~outcome)]
        for value in ("Female", "Male", "")
    }
    accepted, refused = np.array([counts["Female"], counts["Male"]]).T
    return ends_of(bounds(register_of(accepted, refused, (counts[""][0], counts[""][1]))))


def test_one_in_five_unknown_is_bounded_without_being_asked_for(auditor: Auditor, people: pd.DataFrame) -> None:
    result = audit(auditor)

    unknown = result.parity.unknown
    worst, best = true_ends(people, "chosen", "true")[0], true_ends(people, "chosen", "true")[3]
    # How often intervals hold is measured by `checks.unknown_groups`; this far off noise is once in a million.
    assert unknown.ratio.least == pytest.approx(worst, abs=0.02)
    assert unknown.ratio.most == pytest.approx(best, abs=0.02)
    assert unknown.ratio.low < unknown.ratio.least < unknown.ratio.most <= unknown.ratio.high
    assert unknown.share.value == pytest.approx((people["sex"] == "").mean(), abs=0.01)
    assert unknown.groups == ((None,),)
    assert result.parity.left_out == ((None,),)
    assert result.verdict is unknown.verdict is Verdict.UNDECIDED
    assert unknown.because is OpenBecause.UNKNOWN
    assert unknown.tipping.verdict is Verdict.MEETS
    assert not result.open  # a larger ε would not tell anybody's sex
    assert "because of the people whose group is unknown" in result.report.data.explanation
    assert "at worst" in result.report.data.headline
    assert "It would take" in result.report.data.explanation


def test_a_burden_is_read_in_its_own_direction(auditor: Auditor, people: pd.DataFrame) -> None:
    result = audit(auditor, "checked", favourable=False, intervention="punitive", metrics="adverse-ratio")

    (estimate,) = result.estimates.values()
    unknown = estimate.unknown
    worst, best = (1 / true_ends(people, "checked", "true")[index] for index in (0, 3))
    assert unknown.ratio.most == pytest.approx(worst, rel=0.1)
    assert unknown.ratio.least == pytest.approx(best, rel=0.1)
    text = result.report.data.headline
    assert "times the lowest at worst" in text
    # Men are checked twice as often. The verdict falls if enough of the unknown who were checked are women.
    share = unknown.tipping.share
    assert unknown.tipping.verdict is Verdict.FAILS
    assert (share.group, share.accepted) == (("Female",), True)
    assert share.share > share.known
    sentence = result.report.data.sections[0].unknown.sentences[-2]
    assert "with the decision “yes” would have to belong to the group “Female”" in sentence


def test_a_factor_in_odds_narrows_the_set(auditor: Auditor) -> None:
    asked: list[dict[str, Any]] = [{}, {"unknown_odds": 1}, {"unknown_odds": 2}]
    free, alike, near = (audit(auditor, **one).parity.unknown for one in asked)

    assert alike.ratio.least == pytest.approx(alike.ratio.most, abs=1e-6)
    assert free.ratio.low < near.ratio.low < alike.ratio.low
    assert alike.verdict is Verdict.MEETS
    assert free.curve[0].factor == 1
    assert np.isinf(free.curve[-1].factor)
    lows, highs = ([getattr(point.ratio, end) for point in free.curve] for end in ("least", "most"))
    assert lows == sorted(lows, reverse=True)
    assert highs == sorted(highs)


def test_known_sizes_limit_the_allocations(auditor: Auditor, people: pd.DataFrame) -> None:
    known = people.loc[people["sex"] != "", "sex"].value_counts()
    unknown = int((people["sex"] == "").sum())
    sizes = {"Female": int(known["Female"]) + unknown, "Male": int(known["Male"])}

    limited = audit(auditor, group_totals=sizes).parity.unknown
    free = audit(auditor).parity.unknown

    assert limited.sized
    assert not free.sized
    assert limited.ratio.low > free.ratio.low
    # All unknown people are women: one allocation.
    outcome = people["chosen"] == "true"
    women, men = (people["sex"] != "Male"), (people["sex"] == "Male")
    rates = outcome[women].mean(), outcome[men].mean()
    assert limited.ratio.least == pytest.approx(min(rates) / max(rates), abs=0.02)
    assert limited.ratio.most - limited.ratio.least < 0.01


def test_within_a_further_column_the_unknown_stay_with_their_value(auditor: Auditor) -> None:
    unknown = audit(auditor, sensitive=["born", "sex"]).parity.unknown

    assert unknown.groups == (("here", None), ("there", None))


def test_the_unknown_may_stay_a_group_of_their_own(auditor: Auditor) -> None:
    result = audit(auditor, unknown="group")

    assert result.parity.unknown is None
    assert result.parity.left_out == ()
    assert len(result.parity.judged) == 3


def test_few_unknown_are_bounded_on_request_alone(auditor: Auditor) -> None:
    assert audit(auditor, sensitive="faith").parity.unknown is None
    assert audit(auditor, sensitive="faith", unknown="bounds").parity.unknown is not None


@pytest.mark.parametrize(
    ("sensitive", "asked", "reason"),
    [
        ("born", {"unknown": "bounds"}, "everybody's group is known"),
        (["sex", "faith"], {"unknown": "bounds"}, "one such column at a time"),
        ("sex", {"unknown": "bounds", "by": "region"}, "do not combine with `by`"),
        ("sex", {"unknown_odds": 0.5}, "factor of 1 or more"),
        ("sex", {"unknown_odds": 2, "unknown": "group"}, "a group of their own"),
        ("sex", {"unknown": "bounds", "joint": True}, "joint"),
        ("sex", {"unknown": "bounds", "estimator": "plug-in"}, "plug-in"),
        ("sex", {"unknown_odds": 2, "group_totals": {"Female": 3000, "Male": 3000}}, "group_totals"),
    ],
)
def test_what_does_not_combine_is_refused_before_anything_is_spent(
    auditor: Auditor, sensitive: Any, asked: dict[str, Any], reason: str
) -> None:
    spent = auditor.budget("people").spent

    with pytest.raises(QuestionRefused, match=reason):
        audit(auditor, sensitive=sensitive, **asked)

    assert auditor.budget("people").spent == spent


@pytest.mark.parametrize("language", ["en", "de", "fr", "nl"])
def test_the_page_has_the_section_in_every_language(auditor: Auditor, language: str) -> None:
    page = audit(auditor).to_html(language=language)

    heading = {
        "en": "People whose group is unknown",
        "de": "Personen mit unbekannter Gruppe",
        "fr": "Personnes dont le groupe est inconnu",
        "nl": "Mensen van wie de groep onbekend is",
    }
    assert heading[language] in page


def test_the_document_history_and_bundle_have_it(auditor: Auditor, tmp_path: Path) -> None:
    result = audit(auditor, unknown_odds=3, draw=2)

    document = json.loads(result.to_json())["metrics"]["statistical-parity"]["unknown"]
    again = next(one for one in stored_history(auditor.receipts).audits if one.reading.unknown_odds == 3)
    checked = check_bundle(write_bundle(tmp_path / "bundle.zip", [result], auditor.receipts))

    assert document["factor"] == 3
    assert document["curve"][-1]["factor"] is None
    assert again.parity == result.parity
    assert checked.ok, [(one.fault, one.remark) for one in checked.checks]


def test_the_command_line_takes_it(holder: TestedHolder, auditor: Auditor) -> None:
    run = CliRunner().invoke(
        app,
        ["audit", "--dataset", "people", "--decision", "chosen", "--favourable", "true", "--sensitive", "sex",
         "--epsilon", EPSILON, "--intervention", "assistive", "--unknown", "bounds", "--unknown-odds", "2"],
        env={
            "AUDITOR_HOLDER_URL": str(holder.client.base_url),
            "AUDITOR_API_KEY": holder.auditor_key,
            "AUDITOR_RECEIPTS": str(auditor.receipts.directory),
        },
    )  # fmt: skip

    assert run.exit_code == 0, run.output
    assert "by at most a factor of 2.00 in odds" in " ".join(run.output.split())


def test_a_plan_says_what_the_unknown_would_leave_open(auditor: Auditor) -> None:
    planned = auditor.plan(
        None, "people", "sex", "0.5", decision="chosen", favourable=True, intervention="assistive", people=6000
    )

    rows = planned.forecast.unknown
    assert [row.share for row in rows] == [0.02, 0.05, 0.1, 0.2, 0.4]
    leasts = [row.ratio.least for row in rows]
    assert leasts == sorted(leasts, reverse=True)
    assert rows[-1].decided == 0
    assert "By the share of people whose group is unknown:" in planned.summary()
    assert "stays open at any privacy loss" in planned.to_html()
    without = auditor.plan(None, "people", "born", "0.5", decision="chosen", favourable=True, people=6000)
    assert without.forecast.unknown == ()
