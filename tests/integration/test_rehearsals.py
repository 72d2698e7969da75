"""Rehearsals: invented people, drawn from the declaration alone; and nothing about them is taken for a real answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from holder_service.domain.errors import Conflict
from holder_service.records.invented import invented_values
from holder_service.services.datasets.overlaps import find_overlaps
from holder_service.services.running.publication import publication
from shared.contract.datasets import DatasetDescription
from shared.kinds.releases import verify_signature
from testing.console_visitors import visitor
from testing.holders import TestedHolder, running_holder
from testing.registers import LEARNABLE, linked_column, plan, register_csv, training, watch
from testing.tampering import edit, put_back
from testing.waits import wait_until

SEED: Final = "0123456789abcdef" * 2
NAME: Final = "register-rehearsal"


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("rehearsals"), epsilon="1") as served:
        published(served, "register", people=400, seed=SEED)
        yield served


def published(holder: TestedHolder, name: str, **request: Any) -> dict[str, Any]:
    answer = holder.admin("POST", f"/datasets/{name}/rehearsal", json=request)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_everybody_asks_freely_and_nothing_is_charged(holder: TestedHolder) -> None:
    key = holder.open_auditor("no-budget")

    quote = holder.auditor("POST", f"/datasets/{NAME}/quotes", key=key, json=plan(epsilon="10")).json()
    answers = [holder.release({**plan(epsilon="10"), "draw": draw}, dataset=NAME, key=key) for draw in (1, 2)]

    assert [answer.status_code for answer in answers] == [201, 201], answers[0].text
    release = answers[0].json()
    assert quote["charge"] == release["charge"] == {"epsilon": "0", "delta": "0"}
    assert quote["rehearsal"] == release["rehearsal"] == {
        "of": "register", "would_cost": {"epsilon": "10", "delta": "0"}
    }  # fmt: skip
    assert release["remaining"]["epsilon"] == "999.999999999"
    verify_signature(release, holder.published_keys())
    budget = holder.auditor("GET", f"/datasets/{NAME}/budget", key=key).json()
    assert (budget["rehearsal_of"], budget["spent"]["epsilon"]) == ("register", "0")
    assert holder.auditor("GET", "/datasets/register/budget", key=key).json()["limit"]["epsilon"] == "0"
    counted = [count for cell in release["batches"][0]["cells"] for count in cell["counts"]]
    assert abs(sum(counted) - 400) < 20
    assert holder.is_intact()


def test_its_people_follow_from_what_is_published_and_from_no_record(holder: TestedHolder) -> None:
    """The planted fault is a rehearsal that is drawn from the records, or as many people as there are."""
    columns = DatasetDescription.model_validate(holder.auditor("GET", f"/datasets/{NAME}").json())
    assert columns.rehearsal is not None
    cells = [
        {"id": value, "all_of": [{"column": "education", "op": "eq", "value": value}]}
        for value in ("low", "middle", "high")
    ]
    batch = {"name": "a", "mechanism": {"name": "laplace"}, "epsilon": "10", "cells": cells}
    everybody = {"sensitive": ["sex"], "batches": [batch]}
    expected = list(
        zip(*(invented_values(columns.table.by_name[name], columns.rehearsal) for name in ("education", "sex")),
            strict=True)
    )  # fmt: skip

    for people in (300, 10):
        holder.load(register_csv(people=people, seed=people)).raise_for_status()
        again = published(holder, "register", people=400, seed=SEED)
        assert (again["rehearsal"]["people"], again["rehearsal"]["seed"]) == (400, SEED)
        for cell in holder.release(everybody, dataset=NAME).json()["batches"][0]["cells"]:
            for noisy, sex in zip(cell["counts"], ("Female", "Male"), strict=True):
                assert abs(noisy - expected.count((cell["id"], sex))) < 5


def test_published_marginals_are_followed_and_named(holder: TestedHolder) -> None:
    holder.declare("other").raise_for_status()
    marginals = {
        "sex": [{"value": "Female", "weight": 3}, {"value": "Male", "weight": 1}],
        "age": [{"minimum": 20, "maximum": 29, "weight": 1}],
        "hours": [{"missing": True, "weight": 1}, {"minimum": 0.5, "maximum": 1.5, "weight": 0}],
    }

    published(holder, "other", people=1000, marginals=marginals)

    found = DatasetDescription.model_validate(holder.auditor("GET", "/datasets/other-rehearsal").json())
    assert found.rehearsal is not None
    assert found.rehearsal.model_dump(mode="json")["marginals"] == marginals
    values = {name: invented_values(found.table.by_name[name], found.rehearsal) for name in marginals}
    assert abs(values["sex"].count("Female") - 750) < 100
    assert set(values["age"]) == set(range(20, 30))
    assert set(values["hours"]) == {None}
    for wrong, why in (
        ({"sex": [{"value": "none", "weight": 1}]}, "does not declare the value"),
        ({"gender": [{"value": "f", "weight": 1}]}, "declares no column"),
        ({"age": [{"minimum": 20, "maximum": 200, "weight": 1}]}, "within its range"),
        ({"age": [{"missing": True, "weight": 1}]}, "not nullable"),
        ({"sex": [{"value": "Male", "weight": 0}]}, "the weight 0"),
    ):
        refusal = holder.admin("POST", "/datasets/other/rehearsal", json={"marginals": wrong})
        assert (refusal.status_code, why in refusal.text) == (422, True), refusal.text


def test_no_record_and_no_budget_gets_into_it_and_no_real_people_are_taken_for_it(holder: TestedHolder) -> None:
    """The planted fault is a rehearsal into which records can be loaded, for then they are asked about freely."""
    refusals = {
        "records": holder.load(register_csv(), NAME),
        "a check of records": holder.admin(
            "PUT", f"/datasets/{NAME}/records?check=true", content=register_csv(), headers={"Content-Type": "text/csv"}
        ),
        "a declaration": holder.declare(NAME),
        "another's population": holder.declare("new", population=NAME),
        "its name": holder.declare("new-rehearsal"),
        "a population's name": holder.declare("new", population="new-rehearsal"),
        "a budget": holder.grant("1", dataset=NAME),
        "a merge": holder.admin("POST", "/populations/register/merge", json={"population": NAME}),
        "the other merge": holder.admin("POST", f"/populations/{NAME}/merge", json={"population": "register"}),
        "a look": holder.admin("POST", "/populations/overlaps", json={"population": "register", "other": NAME}),
        "a rehearsal of it": holder.admin("POST", f"/datasets/{NAME}/rehearsal", json={}),
    }

    assert {what: answer.status_code for what, answer in refusals.items() if answer.status_code not in (409, 422)} == {}
    assert all("rehearsal" in answer.json()["detail"] for answer in refusals.values())
    overlaps = find_overlaps(holder.holder.store, holder.holder.engine, holder.holder.files).overlaps
    assert not any(name.endswith("-rehearsal") for overlap in overlaps for name in overlap.populations)


def test_every_answer_of_the_interface_says_that_it_is_one(holder: TestedHolder) -> None:
    holder.declare("loans", **LEARNABLE).raise_for_status()
    of = "loans"
    name = published(holder, of, people=200)["dataset"]
    path = f"/datasets/{name}"
    release = holder.release(plan(), dataset=name).json()
    asked = {
        "trainings": holder.auditor("POST", f"{path}/trainings", json=training()),
        "watches": holder.auditor("POST", f"{path}/watches", json=watch(margin=-10000)),
        "quote of a training": holder.auditor("POST", f"{path}/trainings/quotes", json=training()),
        "quote of a watch": holder.auditor("POST", f"{path}/watches/quotes", json=watch()),
        "quote of a plan": holder.auditor("POST", f"{path}/quotes", json=plan()),
        "release again": holder.auditor("GET", f"{path}/releases/{release['id']}"),
    }
    refined = {**release["plan"], "refines": release["id"]}
    refined["batches"] = [{**batch, "epsilon": "2"} for batch in refined["batches"]]
    asked["refined"] = holder.release(refined, dataset=name)
    for what, answer in asked.items():
        assert answer.is_success, answer.text
        assert (answer.json()["rehearsal"]["of"], answer.json()["charge"]["epsilon"]) == (of, "0"), what
    watched = f"{path}/watches/{asked['watches'].json()['id']}"
    wait_until(lambda: holder.auditor("GET", watched).json()["answers"])
    [answered] = holder.auditor("GET", watched).json()["answers"]
    assert answered["rehearsal"] == {"of": of, "would_cost": {"epsilon": "0", "delta": "0"}}

    holder.derive(linked_column(b"id,value\n"), name).raise_for_status()
    for listed in ("releases", "trainings", "watches", "columns"):
        [first, *_] = holder.auditor("GET", f"{path}/{listed}").json()[listed]
        assert first["rehearsal_of"] == of, listed
    assert holder.auditor("GET", path).json()["rehearsal"]["of"] == of
    assert holder.auditor("GET", f"{path}/budget").json()["rehearsal_of"] == of
    report = holder.admin("GET", f"{path}/report?format=json").json()
    assert (report["rehearsal"]["of"], len(report["releases"])) == (of, 4)
    about = [entry for entry in holder.entries() if entry.get("population") == name]
    assert {entry["detail"]["rehearsal_of"] for entry in about} == {of}
    assert [entry["kind"] for entry in about].count("rehearsal") == 5
    assert sum(entry["epsilon_nano"] + entry["delta_nano"] for entry in about) == 0
    assert holder.is_intact()


def test_no_answer_about_real_people_has_a_member_of_it(holder: TestedHolder) -> None:
    holder.grant("5")
    release = holder.release(plan())
    said = [
        release, holder.auditor("POST", "/datasets/register/quotes", json=plan()),
        *(holder.auditor("GET", f"/datasets/register{path}") for path in ("", "/budget", "/releases")),
        holder.admin("GET", "/datasets/register/report?format=json"),
    ]  # fmt: skip

    assert [answer.status_code for answer in said] == [201, 200, 200, 200, 200, 200]
    assert not any("rehears" in answer.text for answer in said)


def test_real_people_that_are_made_a_rehearsal_behind_the_holders_back_are_found(holder: TestedHolder) -> None:
    """The planted fault is a table whose column no entry speaks of."""
    holder.declare("loans", **LEARNABLE)
    with put_back(holder):
        edit(
            holder.settings,
            "UPDATE datasets SET rehearsal = (SELECT rehearsal FROM datasets WHERE rehearsal IS NOT NULL LIMIT 1) "
            "WHERE name = 'register'",
        )
        found = holder.admin("POST", "/ledger/verify").json()

    assert (found["intact"], "another rehearsal of 'register'" in found["reason"]) == (False, True)


def test_it_ends_with_its_dataset_and_its_answers_stay(holder: TestedHolder) -> None:
    """The planted fault retires the dataset alone."""
    name = "short-lived-rehearsal"
    holder.declare("short-lived").raise_for_status()
    published(holder, "short-lived", people=50)
    kept = holder.release(plan(), dataset=name).json()
    files = set(holder.settings.records.iterdir())

    holder.admin("DELETE", "/datasets/short-lived").raise_for_status()

    listed = [one["name"] for one in holder.auditor("GET", "/datasets").json()["datasets"]]
    assert not {"short-lived", name} & set(listed)
    assert NAME in listed
    ended = [one for one in holder.entries()[-2:] if one["kind"] == "retirement"]
    assert [(one["dataset"], one["detail"].get("rehearsal_of")) for one in ended] == [
        ("short-lived", None), (name, "short-lived")
    ]  # fmt: skip
    assert len(files - set(holder.settings.records.iterdir())) == 1
    assert holder.release({**plan(), "draw": 2}, dataset=name).json()["type"] == "/problems/no-records"
    assert holder.auditor("GET", f"/datasets/{name}/releases/{kept['id']}").json() == kept
    verify_signature(kept, holder.published_keys())
    holder.declare("short-lived").raise_for_status()
    assert holder.auditor("GET", f"/datasets/{name}").status_code == 404
    assert published(holder, "short-lived", people=50)["version"] == 2
    assert holder.is_intact()


def test_its_pages_say_that_it_is_one(holder: TestedHolder) -> None:
    """Each page of the console that shows it, and the published report."""
    with visitor(holder) as visits:
        entry = holder.release({**plan(), "draw": 9}, dataset=NAME).json()["ledger"]
        pages = {
            "dataset": visits.get(f"/console/datasets/{NAME}"),
            "datasets": visits.get("/console/datasets"),
            "overview": visits.get("/console"),
            "ledger": visits.get(f"/console/ledger?population={NAME}"),
            "entry": visits.get(f"/console/ledger/{entry['sequence']}"),
            "report": visits.get(f"/console/datasets/{NAME}/report.html"),
        }
        for what, page in pages.items():
            assert page.status == 200
            assert "rehearsal of register" in page.text.lower() or what == "datasets", what
            assert "ε 999" not in page.text, what
        assert NAME not in visits.get("/console/budgets").text
        real = visits.get("/console/datasets/register")
        assert "Rehearsal of" not in real.text
        made = visits.send("/console/datasets/register", {"people": "250"}, to="rehearsal")
        assert f"{NAME} is published" in made.text


def test_it_is_in_no_publication_of_what_was_released_about_people(holder: TestedHolder, tmp_path: Path) -> None:
    store = holder.holder.store

    made = publication(store, organisation=None, bundles=(), only=(), room=tmp_path)

    assert "register" in {report.dataset.name for report in made.reports}
    assert not any(report.dataset.rehearsal for report in made.reports)
    with pytest.raises(Conflict, match="is a rehearsal of 'register'"):
        publication(store, organisation=None, bundles=(), only=(NAME,), room=tmp_path)
