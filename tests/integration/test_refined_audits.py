"""Audits that refine an earlier answer: what they cost, what they rest on, what reports say, and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor_client import Auditor, AuditResult
from auditor_client.desk.asking import offers
from auditor_client.errors import QuestionRefused
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FOUR_LEAVES
from tests.contract.audits import declare, invented_people


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="50") as tested:
        declare(tested, invented_people())
        yield tested


@pytest.fixture
def auditor(holder: TestedHolder, tmp_path: Path) -> Iterator[Auditor]:
    """Of an account of its own: a release is refined once."""
    key = holder.open_auditor(tmp_path.name.replace("_", "-")[:60], epsilon="10", dataset="loans")
    with Auditor(str(holder.client.base_url), key, receipts=tmp_path / "receipts") as auditor:
        yield auditor


ASKED: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": ["sex"], "strategy": "rules"}


def refining(auditor: Auditor, earlier: AuditResult, epsilon: str, **more: Any) -> AuditResult:
    return auditor.audit(**ASKED, epsilon=epsilon, refines=earlier.stored.release.id, **more)


def test_a_finer_answer_costs_the_difference_and_is_read_by_itself(auditor: Auditor) -> None:
    first = auditor.audit(**ASKED, epsilon="0.1")
    second = refining(auditor, first, "0.4")
    third = refining(auditor, second, "4")

    assert [one.stored.release.charge.document()["epsilon"] for one in (first, second, third)] == ["0.1", "0.3", "3.6"]
    assert [one.stored.release.loss.document()["epsilon"] for one in (first, second, third)] == ["0.1", "0.4", "4"]
    assert third.parity.groups[0].rate.width < first.parity.groups[0].rate.width
    assert auditor.budget("loans").spent.document()["epsilon"] == "4"
    assert auditor.verify().ok


@pytest.mark.slow
def test_a_plan_of_a_finer_answer_has_its_price_and_no_other(auditor: Auditor) -> None:
    """What other ε would cost only the holder says; as answers by themselves they would seem to cost more."""
    first = auditor.audit(**ASKED, epsilon="0.1")

    by_itself = auditor.plan(**ASKED, epsilon="0.4", people=1000)
    finer = auditor.plan(**ASKED, epsilon="0.4", people=1000, refines=first.release.id)

    assert [one.cost for one in offers(by_itself, by_itself.budget, None)] == [
        "ε = 0.1",
        "ε = 0.2",
        "ε = 0.4",
        "ε = 0.8",
        "ε = 1.6",
    ]
    assert [(one.amount, one.cost, one.planned) for one in offers(finer, finer.budget, None)] == [
        ("0.4", "ε = 0.3", True)
    ]
    assert "ε = 0.3" in finer.summary()


def test_a_report_says_what_the_chain_loses_and_what_the_answer_cost(auditor: Auditor) -> None:
    """What anybody may conclude of one person follows from ε of the last answer, not from its charge."""
    first = auditor.audit(**ASKED, epsilon="0.5")
    second = refining(auditor, first, "1")

    page = second.to_html()
    history = auditor.history()

    assert "This audit cost" in page
    assert "ε = 0.5" in page
    assert "73.1" in page or "73.2" in page, "a chance of one half becomes at most this, at 1"
    assert second.to_document()["release"]["charge"] == {"epsilon": "0.5", "delta": "0"}
    assert "Refines release</dt>" in page
    assert f"ε = 0.5, to refine {first.receipt.stem[:12]}" in history.summary()
    assert [one.get("refines") for one in history.to_document()["audits"]] == [None, first.release.id]


def test_answers_of_one_chain_are_not_joined(auditor: Auditor) -> None:
    """The noise of each is in the others': as independent answers they would seem more exact than they are."""
    first = auditor.audit(**ASKED, epsilon="0.2")
    second = refining(auditor, first, "0.4")

    third = auditor.audit(**ASKED, epsilon="0.4", draw=2, join=True)
    again = auditor.audit(**ASKED, epsilon="0.2", join=True)

    assert {one.release.id for one in third.stored.answers} == {third.stored.release.id, second.stored.release.id}
    assert second.stored.release.id not in {one.release.id for one in again.stored.answers}


def test_what_cannot_be_refined_is_refused_before_anything_is_sent(auditor: Auditor) -> None:
    first = auditor.audit(**ASKED, epsilon="0.1")
    spent = auditor.budget("loans").spent

    with pytest.raises(QuestionRefused, match="receipt"):
        auditor.audit(**ASKED, epsilon="0.2", refines="sha256:" + "0" * 64)
    with pytest.raises(QuestionRefused, match="another question"):
        auditor.audit(**{**ASKED, "sensitive": ["origin"]}, epsilon="0.2", refines=first.stored.release.id)
    with pytest.raises(QuestionRefused, match="refines"):
        auditor.audit(**ASKED, epsilon="0.2", refines="../keys")

    assert auditor.budget("loans").spent == spent
