"""An account that adds up ρ, through the real service on both stores (8-time §1)."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from auditor_client import Auditor
from auditor_client.desk.asking import offers
from auditor_client.errors import ApprovalAwaited, HolderLied
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS, TRAININGS
from auditor_client.planning.capacity import Capacity
from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Plan, Quote
from shared.kinds.trainings import Training, TrainingQuote
from shared.wire import limits
from testing.console_visitors import visitor
from testing.holders import TestedHolder
from testing.invented.questions import FOUR_LEAVES
from testing.refusals import refused
from testing.registers import LEARNABLE, learnable_csv, plan, register_csv, training

pytestmark = pytest.mark.usefixtures("coarse_chances")

CAP = {"rho": "0.05", "delta": "0.000001"}
GAUSSIAN = {"name": "gaussian"}


def in_rho(rho: str, **fields: Any) -> dict[str, Any]:
    """A plan of Gaussian noise that is asked for in ρ."""
    body = plan(mechanism=GAUSSIAN, **fields)
    body["batches"][0] = {**body["batches"][0], "rho": rho}
    del body["batches"][0]["epsilon"]
    return body


@pytest.fixture
def monthly(holder: TestedHolder) -> TestedHolder:
    """A holder, on either store, with a dataset "monthly" whose account adds up ρ."""
    return opened(holder)


@pytest.fixture
def sqlite_monthly(sqlite_holder: TestedHolder) -> TestedHolder:
    """The same on SQLite alone, where the store makes no difference."""
    return opened(sqlite_holder)


def opened(holder: TestedHolder) -> TestedHolder:
    for answer in (
        holder.declare("monthly", cap=CAP), holder.load(register_csv(people=60), "monthly"), grant(holder, rho="0.03")
    ):  # fmt: skip
        assert answer.status_code == 200, answer.text
    return holder


def grant(holder: TestedHolder, **limit: str) -> httpx.Response:
    return holder.admin("PUT", "/datasets/monthly/budgets/ADR", json=limit)


def ask(holder: TestedHolder, body: dict[str, Any]) -> httpx.Response:
    return holder.release(body, dataset="monthly")


def budget(holder: TestedHolder) -> dict[str, Any]:
    found: dict[str, Any] = holder.auditor("GET", "/datasets/monthly/budget").json()
    return found


def described(holder: TestedHolder) -> DatasetDescription:
    return DatasetDescription.model_validate(holder.auditor("GET", "/datasets/monthly").json())


def believed(holder: TestedHolder, body: dict[str, Any], answer: httpx.Response) -> None:
    """Have the auditor's client verify a release as it would."""
    dataset = described(holder)
    asked = Plan.model_validate(body).pinned(1)
    quote = Quote.model_validate(holder.auditor("POST", "/datasets/monthly/quotes", json={**body, "version": 1}).json())
    priced = PLANS.priced(asked, quote, RequestContext.of(dataset, "ADR"))
    priced.verified(answer.json(), holder.published_keys())


def test_every_mechanism_is_charged_its_rho(monthly: TestedHolder) -> None:
    asked = [
        (plan(epsilon="0.1"), "0.005"),
        (plan(epsilon="0.1", mechanism={"name": "exponential", "upper": 60}), "0.00125"),
        (in_rho("0.004"), "0.004"),
    ]
    for body, rho in asked:
        answer = ask(monthly, body)

        assert answer.status_code == 201, answer.text
        assert answer.json()["charge"]["rho"] == rho
        assert answer.json()["charge"]["delta"] == "0.000001"
        assert answer.json()["batches"][0]["rho"] == rho
        believed(monthly, body, answer)

    assert budget(monthly)["spent"]["rho"] == "0.01025"
    assert budget(monthly)["remaining"]["rho"] == "0.01975"
    charges = [entry for entry in monthly.entries() if entry["kind"] == "charge"]
    assert [(one["epsilon_nano"], one["rho_nano"]) for one in charges] == [
        (0, 5_000_000),
        (0, 1_250_000),
        (0, 4_000_000),
    ]
    assert monthly.is_intact()


def test_gaussian_noise_by_epsilon_and_delta_costs_the_rho_of_its_sigma(sqlite_monthly: TestedHolder) -> None:
    body = plan(epsilon="0.3", mechanism={**GAUSSIAN, "delta": "0.00001"})

    answer = ask(sqlite_monthly, body)

    noise = answer.json()["batches"][0]["noise"]
    exact = 1 / (2 * noise["scale"] ** 2)
    assert exact <= float(answer.json()["charge"]["rho"]) <= exact + 2e-9
    assert (answer.json()["batches"][0]["epsilon"], answer.json()["batches"][0]["delta"]) == ("0.3", "0.00001")
    believed(sqlite_monthly, body, answer)


def test_overlapping_cells_pay_their_rho_once_per_class(sqlite_monthly: TestedHolder) -> None:
    body = in_rho("0.002")
    body["batches"][0]["cells"].append({"id": "everybody", "all_of": []})

    answer = ask(sqlite_monthly, body)

    assert answer.json()["batches"][0]["composition"] == {"classes": 2}
    assert answer.json()["charge"]["rho"] == "0.004"
    believed(sqlite_monthly, body, answer)


@pytest.mark.slow
def test_an_auditor_sees_how_many_audits_fit_with_either_noise(sqlite_monthly: TestedHolder, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"strategy": "verdict", "people": 60}
    with Auditor(sqlite_monthly.url, sqlite_monthly.auditor_key, receipts=tmp_path / "receipts") as auditor:
        laplace = auditor.plan(FOUR_LEAVES, "monthly", ["sex"], "0.05", **asked)
        gaussian = auditor.plan(FOUR_LEAVES, "monthly", ["sex"], rho="0.000625", **asked)

    # ρ 0.03 is left; ε 0.05 is ρ 0.00125 each, and Gaussian noise of that variance, a little less than 800, half of it.
    assert laplace.capacity == Capacity(24, ("gaussian", 47))
    assert gaussian.capacity == Capacity(48, ("laplace", 24))
    assert "24 fit into the remaining budget, including this one. With Gaussian noise of the same variance: 47." in (
        laplace.summary()
    )
    assert json.loads(laplace.to_json())["audits_that_fit"] == {"asked": 24, "gaussian": 47}
    assert [(one.cost[:1], one.planned, one.fits) for one in offers(laplace, laplace.budget, None)] == [
        ("ρ", True, True)
    ]
    assert [one.fits for one in offers(gaussian, gaussian.budget, None)] == [True] * 5


def test_a_retry_is_free_and_a_second_draw_is_not(monthly: TestedHolder) -> None:
    first, again = ask(monthly, in_rho("0.01")), ask(monthly, in_rho("0.010"))

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.content == again.content
    assert ask(monthly, in_rho("0.01", draw=2)).status_code == 201
    assert budget(monthly)["spent"]["rho"] == "0.02"


def test_answers_for_next_to_nothing_come_to_an_end(
    sqlite_monthly: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a ρ of 0.0000005 a budget of 0.03 would buy 60 000 answers, each stored for good."""
    assert ask(sqlite_monthly, in_rho("0.000001")).status_code == 201
    monkeypatch.setattr(limits, "FREE_BYTES_MAX", 1)

    another = ask(sqlite_monthly, in_rho("0.000001", draw=2))

    assert "cost little or nothing" in refused(another, "conflict", holder=sqlite_monthly)["detail"]
    assert ask(sqlite_monthly, in_rho("0.001")).status_code == 201


def test_budget_and_cap_are_limits_in_rho(sqlite_monthly: TestedHolder) -> None:
    assert ask(sqlite_monthly, in_rho("0.03")).status_code == 201

    refused(ask(sqlite_monthly, in_rho("0.000001")), "budget-exhausted", holder=sqlite_monthly)
    assert grant(sqlite_monthly, rho="1").status_code == 200
    assert ask(sqlite_monthly, in_rho("0.02")).status_code == 201
    problem = refused(ask(sqlite_monthly, plan(epsilon="0.001")), "cap-exhausted", holder=sqlite_monthly)
    assert problem["requested"]["rho"] == "0.0000005"
    assert problem["remaining"]["rho"] == "0"
    assert sqlite_monthly.is_intact()


def test_the_first_charge_fixes_the_kind(sqlite_monthly: TestedHolder) -> None:
    holder = sqlite_monthly
    in_epsilon = {"epsilon": "3", "delta": "0"}

    refused(holder.declare("monthly", cap=in_epsilon), "conflict", holder=holder)
    refused(grant(holder, epsilon="1"), "invalid-request", holder=holder)
    assert grant(holder, epsilon="0").status_code == 200
    assert holder.declare("monthly", cap=in_epsilon).status_code == 200
    refused(ask(holder, in_rho("0.001")), "invalid-plan", holder=holder)
    refused(grant(holder, rho="0.01"), "invalid-request", holder=holder)
    assert holder.declare("monthly", cap=CAP).status_code == 200
    assert grant(holder, rho="0.03").status_code == 200
    assert ask(holder, in_rho("0.001")).status_code == 201
    assert grant(holder, rho="0").status_code == 200

    refused(holder.declare("monthly", cap=in_epsilon), "already-charged", holder=holder)
    assert holder.declare("monthly", cap={"rho": "0.06", "delta": "0.0000001"}).status_code == 200
    assert holder.is_intact()


def test_an_account_in_epsilon_takes_no_rho(sqlite_holder: TestedHolder) -> None:
    refused(sqlite_holder.release(in_rho("0.001")), "invalid-plan", holder=sqlite_holder)
    assert "account" not in sqlite_holder.auditor("GET", "/datasets/register").json()
    assert sqlite_holder.release(plan()).json()["charge"] == {"epsilon": "0.1", "delta": "0"}


@pytest.mark.parametrize(
    "cap",
    [
        {"rho": "0.05"},
        {"rho": "0.05", "epsilon": "1", "delta": "0.000001"},
        {"rho": "501", "delta": "0.000001"},
        {"rho": "1", "delta": "1"},
        {},
    ],
)
def test_a_cap_is_of_one_kind_and_says_at_which_delta(sqlite_holder: TestedHolder, cap: dict[str, str]) -> None:
    answer = sqlite_holder.declare("another", cap=cap)

    assert answer.status_code == 422
    assert "delta" in answer.json()["detail"] or "rho" in answer.json()["detail"]


def test_nothing_is_refined_for_the_difference(sqlite_monthly: TestedHolder) -> None:
    coarse = ask(sqlite_monthly, plan(epsilon="0.05")).json()

    finer = plan(epsilon="0.1", refines=coarse["id"], version=1)

    refused(ask(sqlite_monthly, finer), "invalid-plan", holder=sqlite_monthly)
    assert budget(sqlite_monthly)["spent"]["rho"] == "0.00125"


def test_populations_of_two_kinds_are_not_merged(sqlite_monthly: TestedHolder) -> None:
    refused(
        sqlite_monthly.admin("POST", "/populations/register/merge", json={"population": "monthly"}),
        "conflict",
        holder=sqlite_monthly,
    )


def test_populations_that_add_up_rho_are_merged(sqlite_monthly: TestedHolder) -> None:
    sqlite_monthly.declare("other", cap=CAP)
    ask(sqlite_monthly, in_rho("0.001"))

    answer = sqlite_monthly.admin("POST", "/populations/other/merge", json={"population": "monthly"})

    assert answer.is_success, answer.text
    assert budget(sqlite_monthly)["spent"]["rho"] == "0.001"
    assert sqlite_monthly.is_intact()


def test_a_look_for_common_people_is_charged_in_the_terms_of_each(sqlite_monthly: TestedHolder) -> None:
    pair = {"population": "register", "other": "monthly"}

    assert sqlite_monthly.admin("POST", "/populations/overlaps", json=pair).is_success

    looks = {one["population"]: one for one in sqlite_monthly.entries() if one["kind"] == "overlap-look"}
    assert looks["register"]["epsilon_nano"] == 200_000_000
    assert "rho_nano" not in looks["register"]
    assert (looks["monthly"]["epsilon_nano"], looks["monthly"]["rho_nano"]) == (0, 20_000_000)
    assert sqlite_monthly.is_intact()


def test_a_training_is_charged_its_steps(holder: TestedHolder) -> None:
    assert holder.declare("monthly", cap={"rho": "1", "delta": "0.000001"}, columns=LEARNABLE["columns"]).is_success
    assert holder.load(learnable_csv(people=60), "monthly").is_success
    assert grant(holder, rho="1").is_success
    body = training(epsilon="1", depth=2)

    quoted = holder.auditor("POST", "/datasets/monthly/trainings/quotes", json={**body, "version": 1}).json()
    answer = holder.auditor("POST", "/datasets/monthly/trainings", json=body)

    assert answer.status_code == 201, answer.text
    steps = sum(float(step["epsilon"]) ** 2 / 2 for step in quoted["steps"])
    assert steps <= float(quoted["charge"]["rho"]) <= steps + 1e-8
    assert float(quoted["charge"]["rho"]) < 0.5
    dataset, asked, quote = (
        described(holder),
        Training.model_validate(body).pinned(1),
        TrainingQuote.model_validate(quoted),
    )
    priced = TRAININGS.priced(asked, quote, RequestContext.of(dataset, "ADR"))
    priced.verified(answer.json(), holder.published_keys())
    assert holder.is_intact()


@pytest.mark.parametrize(
    "change",
    [
        lambda quote: quote["charge"].update(rho="0.004"),
        lambda quote: (quote["charge"].update(rho="0.002"), quote["batches"][0].update(rho="0.002")),
        lambda quote: quote["batches"][0].pop("rho"),
        lambda quote: quote["charge"].pop("rho"),
        lambda quote: quote["charge"].update(delta="0.001"),
    ],
)
def test_an_auditor_believes_no_other_price(sqlite_monthly: TestedHolder, change: Any) -> None:
    body = {**in_rho("0.003"), "version": 1}
    dataset, asked = described(sqlite_monthly), Plan.model_validate(body)
    quote = sqlite_monthly.auditor("POST", "/datasets/monthly/quotes", json=body).json()
    PLANS.priced(asked, Quote.model_validate(quote), RequestContext.of(dataset, "ADR"))

    change(quote)

    with pytest.raises(HolderLied):
        PLANS.priced(asked, Quote.model_validate(quote), RequestContext.of(dataset, "ADR"))


def test_a_restore_closes_the_cap_in_its_own_kind(sqlite_monthly: TestedHolder) -> None:
    holder = sqlite_monthly
    assert ask(holder, in_rho("0.001")).status_code == 201
    holder.settings.anchor.unlink()

    assert holder.admin("POST", "/ledger/restore", json={"reason": "lost"}).is_success

    refused(ask(holder, in_rho("0.001", draw=2)), "cap-exhausted", holder=holder)
    refused(holder.declare("monthly", cap={"epsilon": "1"}), "already-charged", holder=holder)
    assert holder.declare("monthly", cap=CAP).is_success
    assert ask(holder, in_rho("0.001", draw=2)).status_code == 201
    assert holder.is_intact()


def test_what_a_restart_finds_is_the_same(sqlite_monthly: TestedHolder) -> None:
    first = ask(sqlite_monthly, in_rho("0.001"))

    with sqlite_monthly.reopened() as again:
        assert ask(again, in_rho("0.001")).content == first.content
        assert budget(again)["spent"]["rho"] == "0.001"
        assert again.is_intact()


def test_an_export_and_the_report_say_rho(sqlite_monthly: TestedHolder, tmp_path: Path) -> None:
    ask(sqlite_monthly, in_rho("0.001"))

    lines = sqlite_monthly.admin("GET", "/ledger?format=jsonl").text.splitlines()
    report = sqlite_monthly.admin("GET", "/datasets/monthly/report").json()

    assert [json.loads(line)["rho_nano"] for line in lines if '"charge"' in line] == [1_000_000]
    assert report["spent_on_population"]["rho"] == report["releases"][0]["charge"]["rho"] == "0.001"


def test_a_watch_is_charged_once_as_pure(sqlite_monthly: TestedHolder) -> None:
    young = {"id": "young", "all_of": [{"column": "age", "op": "le", "value": 40}]}
    old = {"id": "old", "all_of": [{"column": "age", "op": "gt", "value": 40}]}
    watch = {
        "sensitive": ["sex"], "favourable": young, "unfavourable": old, "threshold": "0.8", "verdict": "meets",
        "margin": 5, "epsilon": "0.1",
    }  # fmt: skip

    answer = sqlite_monthly.auditor("POST", "/datasets/monthly/watches", json=watch)

    assert answer.status_code == 201, answer.text
    assert answer.json()["charge"]["rho"] == budget(sqlite_monthly)["spent"]["rho"] == "0.005"
    assert sqlite_monthly.is_intact()


def test_an_administrator_chooses_and_grants_rho_in_the_console(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.declare("monthly", cap={"epsilon": "1"})
    limits = {"epsilon": "", "rho": "0.05", "delta": "0.000001"}
    with visitor(sqlite_holder) as visits:
        assert "fixes whether it is in ε or in ρ" in visits.get("/console/datasets/monthly").text
        changed = visits.send("/console/datasets/monthly", limits, to="cap")
        both = visits.send("/console/datasets/monthly", {**limits, "epsilon": "1"}, to="cap")
        granting = {"dataset": "monthly", "auditor": "ADR", "epsilon": "", "rho": "0.02", "delta": "0", "expires": ""}
        granted = visits.send("/console/budgets", granting)
        again = visits.get("/console/datasets/monthly")

    assert "ρ 0.05 (ε 1.471595 at δ 0.000001)" in changed.text
    assert "either ε or ρ" in both.text
    assert "ρ 0.02" in granted.text
    assert '"rho": "0.05"' in again.text
    assert described(sqlite_holder).terms.kind == "zcdp"
    assert budget(sqlite_holder)["limit"]["rho"] == "0.02"
    text = {"epsilon": "1.471595", "delta": "0.000001", "rho": "0.05"}
    assert sqlite_holder.declare("monthly", cap=text).status_code == 200, "as the console shows it"


def test_what_waits_for_an_approval_is_charged_in_rho(sqlite_monthly: TestedHolder, tmp_path: Path) -> None:
    holder = sqlite_monthly
    required = holder.admin("PUT", "/populations/monthly/approval", json={"required": True, "days": 3})
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path) as auditor:
        asked: dict[str, Any] = {"decision": "hours", "above": "20.5", "rho": "0.005"}
        with pytest.raises(ApprovalAwaited) as waits:
            auditor.audit(None, "monthly", "sex", **asked)
        approval = waits.value.approval
        decided = holder.decide(approval.id)
        found = auditor.audit(None, "monthly", "sex", **asked)

    assert (required.status_code, decided.status_code) == (200, 200), decided.text
    assert found.release.id == approval.id
    assert found.release.charge == approval.charge
    assert budget(holder)["spent"]["rho"] == "0.005"
