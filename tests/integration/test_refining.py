"""An answer that is refined: both together cost what the finer one does, once, in a chain (8-time §2)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from shared.kinds.plans import Plan
from shared.kinds.releases import Release
from testing.console_visitors import visitor
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, register_csv


def refining(earlier: httpx.Response | dict[str, Any], epsilon: str, **changes: Any) -> dict[str, Any]:
    """The plan that an answer answers, at another ε, as it refines that answer."""
    answered = earlier.json() if isinstance(earlier, httpx.Response) else earlier
    body = {**answered["plan"], "refines": answered["id"], **changes}
    body["batches"] = [{**batch, "epsilon": epsilon} for batch in body["batches"]]
    return body


def test_a_refinement_charges_the_difference_and_names_what_it_refines(holder: TestedHolder) -> None:
    first = holder.release(plan(epsilon="0.1"))

    answer = holder.release(refining(first, "0.4"))

    assert answer.status_code == 201, answer.text
    release = Release.model_validate(answer.json())
    asked = Plan.model_validate(refining(first, "0.4"))
    assert release.id == asked.identity(auditor="ADR", dataset="register") != first.json()["id"]
    assert release.plan.refines == first.json()["id"]
    assert release.charge.document() == {"epsilon": "0.3", "delta": "0"}
    assert [(batch.epsilon, batch.noise.scale) for batch in release.batches] == [("0.3", pytest.approx(2.5))]  # type: ignore[union-attr]
    assert holder.spent() == "0.4"
    [charge] = [entry for entry in holder.entries() if entry.get("subject") == release.id]
    assert (charge["epsilon_nano"], charge["detail"]) == (300_000_000, {"refines": first.json()["id"]})
    assert holder.is_intact()


def test_a_chain_costs_its_last_epsilon_and_every_link_is_replayed_for_nothing(holder: TestedHolder) -> None:
    answers = [holder.release(plan(epsilon="0.1"))]
    for epsilon in ("0.2", "0.25", "10"):
        answers.append(holder.release(refining(answers[-1], epsilon)))

    assert [answer.status_code for answer in answers] == [201] * 4
    assert holder.spent() == "10"
    for answer in answers:
        again = holder.release(answer.json()["plan"])
        assert (again.status_code, again.content) == (200, answer.content)
    assert holder.spent() == "10"
    people = len(register_csv().splitlines()) - 1
    assert sum(counts(answers[-1])) == pytest.approx(people, abs=12), "the noise of epsilon 10 is next to nothing"


def test_the_finer_answer_is_not_an_independent_one(sqlite_holder: TestedHolder) -> None:
    """At nearly the same ε it is mostly the same answer: 400 counts, of which an independent draw repeats few."""
    body = plan(epsilon="0.1")
    cell = {"column": "age", "op": "eq"}
    body["batches"][0]["cells"] = [{"id": str(age), "all_of": [{**cell, "value": age}]} for age in range(100)]
    first = sqlite_holder.release(body)
    finer, other = sqlite_holder.release(refining(first, "0.101")), sqlite_holder.release({**body, "draw": 2})

    alike = [
        sum(one == two for one, two in zip(counts(first), counts(answer), strict=True)) for answer in (finer, other)
    ]

    # w = .98 and .05 of 200 counts; either bound is passed by chance less than once in 10^9 times.
    assert alike[0] > 170
    assert alike[1] < 50


def counts(answer: httpx.Response) -> list[int]:
    return [count for batch in answer.json()["batches"] for cell in batch["cells"] for count in cell["counts"]]


@pytest.mark.parametrize("relation", ["replace", "sensitive_attribute"])
def test_every_relation_can_be_refined(sqlite_holder: TestedHolder, relation: str) -> None:
    sqlite_holder.offer("other", register_csv(), epsilon="5", relation=relation)
    first = sqlite_holder.release(plan(epsilon="0.1"), dataset="other")
    finer = sqlite_holder.release(refining(first, "0.3"), dataset="other")

    assert finer.status_code == 201, finer.text
    assert sqlite_holder.spent(dataset="other") == "0.3"
    assert finer.json()["batches"][0].get("counted_groups") == first.json()["batches"][0].get("counted_groups")


def test_overlapping_cells_cost_the_difference_once_per_class(sqlite_holder: TestedHolder) -> None:
    body = plan(epsilon="0.1")
    body["batches"][0]["cells"].append({"id": "everybody", "all_of": []})
    first = sqlite_holder.release(body)

    finer = sqlite_holder.release(refining(first, "0.15")).json()

    assert finer["charge"]["epsilon"] == "0.1"
    assert sqlite_holder.spent() == "0.3"


def test_a_quote_of_a_refinement_says_the_difference(sqlite_holder: TestedHolder) -> None:
    first = sqlite_holder.release(plan(epsilon="0.1"))
    quoted = sqlite_holder.auditor("POST", "/datasets/register/quotes", json=refining(first, "0.4"))

    assert quoted.status_code == 200, quoted.text
    assert quoted.json()["charge"] == {"epsilon": "0.3", "delta": "0"}
    assert quoted.json()["batches"][0]["noise"]["scale"] == pytest.approx(2.5)
    assert sqlite_holder.spent() == "0.1"
    released = sqlite_holder.release(refining(first, "0.4")).json()
    priced = [{name: value for name, value in batch.items() if name != "cells"} for batch in released["batches"]]
    assert priced == [{name: batch[name] for name in priced[0]} for batch in quoted.json()["batches"]]


def test_batches_that_keep_their_epsilon_keep_their_answer(sqlite_holder: TestedHolder) -> None:
    """Of every mechanism; those that are asked at a larger ε alone are charged."""
    sqlite_holder.declare(cap={"epsilon": "10", "delta": "0.01"})
    sqlite_holder.grant("5", delta="0.01")
    mechanisms: list[dict[str, Any]] = [{"name": "gaussian", "delta": "0.0001"}, {"name": "exponential", "upper": 50}]
    [batch] = plan(epsilon="0.1")["batches"]
    others = [
        {**batch, "name": mechanism["name"], "mechanism": mechanism} for mechanism in (*mechanisms, batch["mechanism"])
    ]
    body = {"sensitive": ["sex"], "batches": [batch, *others]}
    first = sqlite_holder.release(body).json()
    asked = {**first["plan"], "refines": first["id"]}
    asked["batches"] = [{**asked["batches"][0], "epsilon": "0.3"}, *asked["batches"][1:]]

    finer = sqlite_holder.release(asked).json()

    assert finer["charge"] == {"epsilon": "0.2", "delta": "0"}
    assert [batch["cells"] for batch in finer["batches"][1:]] == [batch["cells"] for batch in first["batches"][1:]]
    assert [batch["epsilon"] for batch in finer["batches"]] == ["0.2", "0", "0", "0"]
    for index in (1, 2):
        asked["batches"][index] = {**asked["batches"][index], "epsilon": "0.4"}
        document = refused(
            sqlite_holder.release({**asked, "refines": finer["id"]}), "invalid-plan", holder=sqlite_holder
        )
        assert "cannot be refined" in document["detail"]
        asked["batches"][index] = {**asked["batches"][index], "epsilon": "0.1"}


def test_a_release_is_refined_once(holder: TestedHolder) -> None:
    """A branch, and a second finer answer at the same ε with fresh noise, would lose more than they are charged."""
    first = holder.release(plan(epsilon="0.1"))
    finer = holder.release(refining(first, "0.2")).json()

    for other in (refining(first, "0.3"), refining(first, "0.15")):
        document = refused(holder.release(other), "conflict", holder=holder)
        assert finer["id"] in document["detail"]
        refused(holder.auditor("POST", "/datasets/register/quotes", json=other), "conflict", holder=holder)
    refused(holder.release(refining(first, "0.2", draw=2)), "conflict", holder=holder)

    assert holder.spent() == "0.2"
    assert holder.release(refining(finer, "0.3")).status_code == 201


CHANGES: dict[str, dict[str, Any]] = {
    "draw": {"draw": 2},
    "sensitive": {"sensitive": ["origin"]},
    "batches": {"batches": plan(age=41)["batches"]},
    "name": {"batches": [{**plan()["batches"][0], "name": "other"}]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_refined_is_the_same_question(sqlite_holder: TestedHolder, change: str) -> None:
    first = sqlite_holder.release(plan(epsilon="0.1"))

    document = refused(
        sqlite_holder.release(refining(first, "0.2", **CHANGES[change])), "invalid-plan", holder=sqlite_holder
    )

    assert "the same" in document["detail"]
    assert sqlite_holder.spent() == "0.1"


@pytest.mark.parametrize("epsilon", ["0.1", "0.05"])
def test_a_refinement_asks_for_more(sqlite_holder: TestedHolder, epsilon: str) -> None:
    first = sqlite_holder.release(plan(epsilon="0.1"))

    refused(sqlite_holder.release(refining(first, epsilon)), "invalid-plan", holder=sqlite_holder)

    assert sqlite_holder.spent() == "0.1"


def test_a_refinement_raises_epsilon_by_a_step(sqlite_holder: TestedHolder) -> None:
    """A billionth more is another answer to store, for next to nothing; what was refined so before is read as ever."""
    first = sqlite_holder.release(plan(epsilon="0.1"))

    for epsilon in ("0.100000001", "0.100999999"):
        document = refused(sqlite_holder.release(refining(first, epsilon)), "invalid-plan", holder=sqlite_holder)
        assert "smallest step, 0.001" in document["detail"]
    assert sqlite_holder.spent() == "0.1"
    assert sqlite_holder.release(refining(first, "0.101")).status_code == 201
    assert sqlite_holder.spent() == "0.101"


def test_only_ones_own_releases_of_plans_can_be_refined(sqlite_holder: TestedHolder) -> None:
    first = sqlite_holder.release(plan(epsilon="0.1"))
    stranger = sqlite_holder.open_auditor("second")
    sqlite_holder.offer("other", register_csv(), epsilon="5")

    refused(sqlite_holder.release(refining(first, "0.2"), key=stranger), "not-found", holder=sqlite_holder)
    refused(sqlite_holder.release(refining(first, "0.2"), dataset="other"), "not-found", holder=sqlite_holder)
    unknown = refining(first, "0.2", refines="sha256:" + "0" * 64)
    refused(sqlite_holder.release(unknown), "not-found", holder=sqlite_holder)
    refused(sqlite_holder.release(refining(first, "0.2", refines="first")), "invalid-plan", holder=sqlite_holder)


def test_a_version_that_is_gone_cannot_be_refined(sqlite_holder: TestedHolder) -> None:
    first = sqlite_holder.release(plan(epsilon="0.1"))
    finer = sqlite_holder.release(refining(first, "0.2"))
    sqlite_holder.load(register_csv(seed=1))
    unpinned = refining(finer, "0.3")
    del unpinned["version"]

    for body in (refining(finer, "0.3"), unpinned, refining(finer, "0.3", version=2)):
        refused(sqlite_holder.release(body), "version-gone", holder=sqlite_holder)

    assert sqlite_holder.release(refining(first, "0.2")).content == finer.content, "what was answered stays"
    assert sqlite_holder.spent() == "0.2"


def test_what_was_declared_otherwise_since_cannot_be_refined(sqlite_holder: TestedHolder) -> None:
    """Other columns end a version; what changes nothing of the answer changes nothing here."""
    first = sqlite_holder.release(plan(epsilon="0.1"))
    sqlite_holder.declare(records_max=2_000_000).raise_for_status()

    assert sqlite_holder.release(refining(first, "0.2")).status_code == 201


def test_a_release_from_before_a_restore_cannot_be_refined(holder: TestedHolder) -> None:
    """An answer that refined it may have been lost with the entries that were."""
    first = holder.release(plan(epsilon="0.1"))
    holder.settings.anchor.unlink()
    holder.admin("POST", "/ledger/restore", json={"reason": "tested"}).raise_for_status()
    holder.declare(cap={"epsilon": "10", "delta": "0"}).raise_for_status()

    document = refused(holder.release(refining(first, "0.2")), "conflict", holder=holder)

    assert "restore" in document["detail"]
    second = holder.release(plan(epsilon="0.1", draw=2))
    assert holder.release(refining(second, "0.2")).status_code == 201


def test_of_many_who_refine_one_answer_at_once_one_is_charged(holder: TestedHolder) -> None:
    first = holder.release(plan(epsilon="0.1"))
    epsilons = ["0.2", "0.3", "0.4", "0.5"] * 6

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda epsilon: holder.release(refining(first, epsilon)), epsilons))

    assert sum(answer.status_code == 201 for answer in answers) == 1
    assert {answer.status_code for answer in answers} <= {200, 201, 409}
    bodies = {answer.content for answer in answers if answer.status_code != 409}
    assert len(bodies) == 1
    [finer] = [answer.json() for answer in answers if answer.status_code == 201]
    assert holder.spent() == finer["plan"]["batches"][0]["epsilon"]
    assert holder.is_intact()


def test_a_refinement_that_was_answered_is_priced_as_before(sqlite_holder: TestedHolder) -> None:
    """Else nobody who checks the price first could ask the same again, which is free."""
    first = sqlite_holder.release(plan(epsilon="0.1"))
    body = refining(first, "0.4")
    quoted = sqlite_holder.auditor("POST", "/datasets/register/quotes", json=body)
    sqlite_holder.release(body)

    again = sqlite_holder.auditor("POST", "/datasets/register/quotes", json=body)

    assert (again.status_code, again.content) == (200, quoted.content)


def test_a_refinement_that_does_not_fit_is_refused_whole(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.grant("0.3")
    first = sqlite_holder.release(plan(epsilon="0.1"))

    document = refused(sqlite_holder.release(refining(first, "0.5")), "budget-exhausted", holder=sqlite_holder)

    assert document["requested"]["epsilon"] == "0.4"
    assert sqlite_holder.release(refining(first, "0.3")).status_code == 201


def test_a_restarted_holder_goes_on_with_a_chain(holder: TestedHolder) -> None:
    first = holder.release(plan(epsilon="0.1"))
    with holder.reopened() as again:
        finer = again.release(refining(first, "0.2"))
        assert finer.status_code == 201
    with holder.reopened() as again:
        assert again.release(refining(first, "0.2")).content == finer.content
        refused(again.release(refining(first, "0.3")), "conflict", holder=again)
        assert again.spent() == "0.2"
        assert again.is_intact()


def test_the_console_shows_what_a_charge_refined(sqlite_holder: TestedHolder) -> None:
    first = sqlite_holder.release(plan(epsilon="0.1"))
    finer = sqlite_holder.release(refining(first, "0.2")).json()

    with visitor(sqlite_holder) as visits:
        page = visits.get(f"/console/ledger/{finer['ledger']['sequence']}").text
    report = sqlite_holder.admin("GET", "/datasets/register/report")

    assert "to refine an answer" in page
    assert first.json()["id"] in page
    refined = [one.get("refines") for one in report.json()["releases"]]
    assert refined == [None, first.json()["ledger"]["sequence"]]
