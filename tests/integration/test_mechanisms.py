"""Every mechanism through the running service: what it charges, what it says of its noise, what it refuses."""

from typing import Any

import pytest

from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.calibration import mechanism_of
from holder_service.services.releases import priced
from shared.kinds.plans import Batch
from shared.kinds.releases import Release
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import DECLARATION, plan

GAUSSIAN = {"name": "gaussian", "delta": "0.000001"}
EXPONENTIAL = {"name": "exponential", "upper": 1000}
PERTURBED = [
    {**column, "randomised_response": {"kept": "0.75"}} if column["name"] == "sex" else column
    for column in DECLARATION["columns"]
]


@pytest.fixture
def local(sqlite_holder: TestedHolder) -> TestedHolder:
    """The holder with a second dataset, "survey", whose sex was perturbed at its source."""
    records = "id,age,hours,education,citizen,sex,origin\n" + "".join(
        f"p{person},{person},,low,true,{'Female' if person % 3 else 'Male'},here\n" for person in range(90)
    )
    sqlite_holder.offer("survey", records.encode(), columns=PERTURBED, relation="sensitive_attribute")
    return sqlite_holder


@pytest.mark.parametrize(
    ("mechanism", "loss", "noise"),
    [
        ({"name": "laplace"}, {"epsilon": "0.1", "delta": "0"}, {"distribution": "discrete_laplace"}),
        (GAUSSIAN, {"epsilon": "0.1", "delta": "0.000001"}, {"distribution": "discrete_gaussian"}),
        (EXPONENTIAL, {"epsilon": "0.1", "delta": "0"}, {"distribution": "exponential", "upper": 1000}),
    ],
)
def test_quote_and_release_state_loss_and_noise_alike(
    sqlite_holder: TestedHolder, mechanism: dict[str, Any], loss: dict[str, str], noise: dict[str, Any]
) -> None:
    sqlite_holder.declare(cap={"epsilon": "100", "delta": "0.001"})
    sqlite_holder.grant("1", delta="0.001")
    asked = plan(mechanism=mechanism)

    quoted = sqlite_holder.auditor("POST", "/datasets/register/quotes", json=asked).json()
    answer = sqlite_holder.release(asked)

    assert answer.status_code == 201
    release = Release.model_validate(answer.json())
    assert quoted["charge"] == loss == answer.json()["charge"]
    assert quoted["batches"][0]["noise"] == answer.json()["batches"][0]["noise"]
    assert noise.items() <= quoted["batches"][0]["noise"].items()
    assert all(isinstance(count, int) for cell in release.batches[0].cells for count in cell.counts)
    if mechanism is EXPONENTIAL:
        assert all(0 <= count <= 1000 for cell in release.batches[0].cells for count in cell.counts)


@pytest.mark.parametrize("mechanism", [{"name": "laplace"}, GAUSSIAN, EXPONENTIAL], ids=lambda found: found["name"])
def test_ten_plans_of_a_tenth_fit_exactly_into_a_budget_of_one(
    sqlite_holder: TestedHolder, mechanism: dict[str, Any]
) -> None:
    sqlite_holder.declare(cap={"epsilon": "1", "delta": "0.00001"})
    sqlite_holder.grant("1", delta="0.00001")

    answers = [sqlite_holder.release(plan(mechanism=mechanism, draw=draw)) for draw in range(1, 11)]
    beyond = sqlite_holder.release(plan(mechanism=mechanism, draw=11, epsilon="0.001"))

    assert [answer.status_code for answer in answers] == [201] * 10
    assert answers[-1].json()["remaining"]["epsilon"] == "0"
    assert beyond.status_code == 403


def test_delta_is_a_budget_of_its_own(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.declare(cap={"epsilon": "100", "delta": "0.001"})
    sqlite_holder.grant("10", delta="0.000001")

    first = sqlite_holder.release(plan(mechanism=GAUSSIAN))
    second = sqlite_holder.release(plan(mechanism=GAUSSIAN, draw=2))

    assert first.status_code == 201
    assert first.json()["remaining"] == {"epsilon": "9.9", "delta": "0"}
    document = refused(second, "budget-exhausted", holder=sqlite_holder)
    assert document["requested"] == {"epsilon": "0.1", "delta": "0.000001"}


def test_overlapping_cells_pay_delta_once_per_class(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.declare(cap={"epsilon": "100", "delta": "0.001"})
    asked = plan(mechanism=GAUSSIAN)
    asked["batches"][0]["cells"].append({"id": "everybody", "all_of": []})

    quoted = sqlite_holder.auditor("POST", "/datasets/register/quotes", json=asked).json()

    assert quoted["batches"][0]["composition"] == {"classes": 2}
    assert quoted["charge"] == {"epsilon": "0.2", "delta": "0.000002"}


@pytest.mark.parametrize(
    "mechanism",
    [
        *({"name": name} for name in ("gaussian", "exponential", "geometric", "randomised_response")),
        *({"name": "gaussian", "delta": delta} for delta in ("0", "0.01", 0.000001)),
        {"name": "laplace", "delta": "0.000001"},
        *({"name": "exponential", "upper": upper} for upper in (9, 1e3, 10**10)),
    ],
)
def test_a_mechanism_that_cannot_be_is_refused_and_costs_nothing(
    unmoved_holder: TestedHolder, mechanism: dict[str, Any]
) -> None:
    assert unmoved_holder.release(plan(mechanism=mechanism)).status_code == 422


def test_noise_of_another_loss_than_the_plans_answers_nothing(
    sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_little(batch: Batch, **declared: Any) -> Mechanism:
        return mechanism_of(batch.model_copy(update={"epsilon": 2 * batch.loss.epsilon_nano}), **declared)

    monkeypatch.setattr(priced, "mechanism_of", too_little)
    refused(sqlite_holder.release(plan()), "internal", holder=sqlite_holder)
    refused(sqlite_holder.auditor("POST", "/datasets/register/quotes", json=plan()), "internal", holder=sqlite_holder)
    assert sqlite_holder.spent() == "0"

    monkeypatch.undo()
    assert sqlite_holder.release(plan()).status_code == 201


def test_locally_perturbed_counts_are_exact_and_free_and_say_so(local: TestedHolder) -> None:
    asked = plan(mechanism={"name": "randomised_response"}, age=29)

    answer = local.release(asked, dataset="survey")

    assert answer.status_code == 201
    batch = answer.json()["batches"][0]
    assert batch["noise"] == {
        "distribution": "randomised_response",
        "kept": [{"column": "sex", "probability": "0.75"}],
    }
    assert batch["counted_groups"] == [["Female"]]
    assert [cell["counts"] for cell in batch["cells"]] == [[20], [40]]
    assert answer.json()["charge"] == {"epsilon": "0", "delta": "0"}
    assert local.spent(dataset="survey") == "0"
    assert local.entries()[-1]["kind"] == "charge"
    assert local.admin("POST", "/ledger/verify").json()["intact"]


def test_only_columns_that_were_perturbed_are_counted_without_noise(local: TestedHolder) -> None:
    asked = plan(mechanism={"name": "randomised_response"}, sensitive=["sex", "origin"])

    answer = local.release(asked, dataset="survey")

    assert answer.status_code == 422
    assert "origin" in answer.json()["detail"]


def test_nobody_without_a_grant_gets_locally_perturbed_counts(local: TestedHolder) -> None:
    stranger = local.open_auditor("stranger", dataset="survey")

    answer = local.release(plan(mechanism={"name": "randomised_response"}), dataset="survey", key=stranger)

    refused(answer, "budget-exhausted", holder=local)


def test_the_probabilities_cannot_change_once_counts_were_released(local: TestedHolder) -> None:
    local.release(plan(mechanism={"name": "randomised_response"}), dataset="survey")
    changed = [
        {**column, "randomised_response": {"kept": "0.8"}} if column["name"] == "sex" else column
        for column in PERTURBED
    ]

    answer = local.declare("survey", columns=changed, relation="sensitive_attribute")

    refused(answer, "already-charged", holder=local)


@pytest.mark.parametrize(
    ("kept", "changes", "relation", "status"),
    [
        ("0.75", {}, "sensitive_attribute", 200),
        ("0.75", {}, "add_remove", 422),
        ("0.75", {}, "replace", 422),
        ("0.75", {"sensitive": False}, "sensitive_attribute", 422),
        ("0.75", {"nullable": True}, "sensitive_attribute", 422),
        *((kept, {}, "sensitive_attribute", 422) for kept in ("0.5", "0.1", "1", "0", "1.5", 0.75, "0.999999999")),
        ("0.999954602", {}, "sensitive_attribute", 200),
        ("0.999954603", {}, "sensitive_attribute", 422),
        ("0.999909208", {"categories": ["a", "b", "c"]}, "sensitive_attribute", 200),
        ("0.999909209", {"categories": ["a", "b", "c"]}, "sensitive_attribute", 422),
    ],
)
def test_a_perturbation_protects_everybody_and_reveals_no_more_than_an_epsilon_of_ten(
    sqlite_holder: TestedHolder, kept: object, changes: dict[str, Any], relation: str, status: int
) -> None:
    """ln(p·(K − 1)/(1 − p)) is 10 at p = e¹⁰/(K − 1 + e¹⁰), of which the wire has nine decimals."""
    column = {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True, **changes}
    columns = [{**column, "randomised_response": {"kept": kept}}, *DECLARATION["columns"][:4]]
    columns.append({"name": "other", "type": "boolean", "sensitive": True})

    assert sqlite_holder.declare("survey", columns=columns, relation=relation).status_code == status
