"""Data perturbed at their source, audited end to end: free, unbiased, compared with what the same loss would buy."""

import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from auditor_client import Auditor, AuditResult
from auditor_client.errors import QuestionRefused
from shared.privacy.amounts import NO_LOSS
from shared.wire import limits
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import four_leaves
from testing.refusals import refused
from testing.registers import DECLARATION

pytestmark = pytest.mark.usefixtures("coarse_chances")

PEOPLE = 40_000
KEPT = 0.8
ORIGINS = ["here", "there", "elsewhere"]
OVER_40 = four_leaves(False, False, True, True)


def perturbed(value: str, values: list[str], source: random.Random) -> str:
    """Randomised response, as the person who is asked would do it."""
    return value if source.random() < KEPT else source.choice([other for other in values if other != value])


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Everybody, with their true groups, which nobody but they themselves knows."""
    source = random.Random(11)
    rows = []
    for person in range(PEOPLE):
        sex, origin = source.choice(["Female", "Male"]), source.choices(ORIGINS, [0.5, 0.3, 0.2])[0]
        scale = {"here": 9, "there": 11, "elsewhere": 8}[origin] + (2 if sex == "Female" else 0)
        age = min(int(source.gammavariate(4, scale)), 120)
        rows.append({"id": f"p{person}", "age": age, "sex": sex, "origin": origin})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    """A holder that was only ever given reports."""
    home = tmp_path_factory.mktemp("holder")
    source = random.Random(12)
    reports = people.assign(
        sex=[perturbed(value, ["Female", "Male"], source) for value in people["sex"]],
        origin=[perturbed(value, ORIGINS, source) for value in people["origin"]],
    )
    response = {"sensitive": True, "randomised_response": {"kept": str(KEPT)}}
    columns = [
        DECLARATION["columns"][0],
        {"name": "sex", "type": "category", "categories": ["Female", "Male"], **response},
        {"name": "origin", "type": "category", "categories": ORIGINS, **response},
    ]
    with running_holder(home) as tested:
        content = reports.to_csv(index=False).encode()
        tested.offer("survey", content, columns=columns, relation="sensitive_attribute", records_max=PEOPLE)
        yield tested


@pytest.fixture(scope="module")
def by_origin(holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> AuditResult:
    """An audit by origin: three groups."""
    with auditor(holder, tmp_path_factory.mktemp("receipts")) as asking:
        return asking.audit(OVER_40, "survey", ["origin"])


def auditor(holder: TestedHolder, receipts: Path) -> Auditor:
    """The auditor of the holder."""
    return Auditor(holder.url, holder.auditor_key, receipts=receipts)


def true_ratio(people: pd.DataFrame, accepted: "pd.Series[bool]", column: str) -> float:
    """The ratio that nobody sees."""
    rates = accepted.groupby(people[column]).mean()
    return float(rates.min() / rates.max())


def accepts(people: pd.DataFrame) -> "pd.Series[bool]":
    """What the tree decides; it looks at age alone here."""
    rules = [rule.rule for rule in OVER_40.rules() if rule.favourable]
    decisions = [any(rule.matches({"age": int(age)}) for rule in rules) for age in people["age"]]
    return pd.Series(decisions, index=people.index)


@pytest.mark.slow
def test_an_audit_of_perturbed_groups_costs_nothing_and_finds_the_truth(
    by_origin: AuditResult, holder: TestedHolder, people: pd.DataFrame
) -> None:
    truth = true_ratio(people, accepts(people), "origin")

    assert by_origin.ratio.low <= truth <= by_origin.ratio.high
    assert by_origin.ratio.width < 0.3, "an interval that wide would show nothing"
    assert holder.spent(dataset="survey") == "0"


def test_two_groups_need_the_auditors_own_data(holder: TestedHolder, people: pd.DataFrame, tmp_path: Path) -> None:
    truth = true_ratio(people, accepts(people), "sex")
    own = tmp_path / "own.csv"
    people[["age"]].to_csv(own, index=False)

    with auditor(holder, tmp_path / "receipts") as asking:
        found = asking.audit(OVER_40, "survey", ["sex"], supports_from=own)

    assert found.ratio.low <= truth <= found.ratio.high
    assert truth < 0.95, "reports taken for true groups would lie nearer to parity"


def test_the_report_compares_with_what_the_same_loss_would_buy(by_origin: AuditResult) -> None:
    outlook = by_origin.outlook()

    assert outlook is not None
    assert outlook.central is not None
    assert outlook.central.asked.epsilon_nano == pytest.approx(2.0794e9, rel=1e-4), "ln(0.8 · 2/0.2)"
    assert outlook.central.width < by_origin.ratio.width
    assert "would give an interval of the ratio" in by_origin.to_html(outlook=True)


def test_the_report_states_the_reports_own_epsilon(by_origin: AuditResult, holder: TestedHolder) -> None:
    """ln(0.8 · 2/0.2) = ln 8; the ledger's ε is 0, and says nothing of them."""
    page = by_origin.to_html()
    published = " ".join(holder.admin("GET", "/datasets/survey/report?format=html").text.split())

    for text in (page, published):
        assert "for origin, with ε = 2.08 of its own, the odds change by a factor of at most e^ε = 8, and" in text
        assert "e^ε = 1," not in text
    assert "for sex, with ε = 1.39 of its own" in published, "whoever asks may count by it too"
    assert "For these columns together ε = 3.47" in published
    assert "and that costs nothing. No answer" in published
    assert "apart from the perturbed reports’ own" in published


def test_noise_is_not_asked_for_on_top(holder: TestedHolder, tmp_path: Path) -> None:
    with auditor(holder, tmp_path) as asking, pytest.raises(QuestionRefused, match="perturbed"):
        asking.audit(OVER_40, "survey", ["origin"], "0.5", mechanism="laplace")


def test_free_answers_come_to_an_end_and_are_answered_again(
    holder: TestedHolder, by_origin: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No budget ends them, so their size does."""
    listed = holder.auditor("GET", "/datasets/survey/releases").json()["releases"]
    answered = holder.auditor("GET", f"/datasets/survey/releases/{listed[0]['id']}").json()
    monkeypatch.setattr(limits, "FREE_BYTES_MAX", 1)

    again = holder.release(answered["plan"], dataset="survey")
    another = holder.release({**answered["plan"], "draw": 2}, dataset="survey")

    assert again.status_code == 200
    refused(another, "conflict", holder=holder)
    assert "cost little or nothing" in another.json()["detail"]


@pytest.mark.slow
def test_an_audit_that_costs_nothing_is_planned_without_epsilon(holder: TestedHolder, tmp_path: Path) -> None:
    with auditor(holder, tmp_path) as asking:
        planned = asking.plan(OVER_40, "survey", ["origin"], metrics=["statistical-parity"])

    assert planned.quote.charge == NO_LOSS
    assert 0 < planned.expectation.width < 1


@pytest.mark.statistical
def test_one_report_has_the_figures_by_each_column(holder: TestedHolder, people: pd.DataFrame, tmp_path: Path) -> None:
    """By sex from the reports of both columns: every group has 20 000 people, so a rate is off by .05 with a chance
    below 10⁻⁹.
    """
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as asking:
        result = asking.audit(OVER_40, "survey", ["sex", "origin"])

    for group in result.by("sex").parity.groups:
        part = people[people["sex"] == group.group[0]]
        assert group.rate.value == pytest.approx(float((part["age"] > 40).mean()), abs=0.05)
        assert group.size.value == pytest.approx(len(part), abs=2000)
    assert "By fewer attributes, from the same answer" in result.to_html()
