"""A release end to end through the real service: charged once, stored, signed, replayed for nothing."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.kinds.plans import Plan
from shared.kinds.releases import Release, SigningKeys, verify_signature
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.holders import TestedHolder, running_holder
from testing.refusals import refused
from testing.registers import plan, register_csv
from testing.tampering import edit


def test_a_plan_is_answered_charged_and_signed(holder: TestedHolder) -> None:
    answer = holder.release(plan(epsilon="0.1"))

    assert answer.status_code == 201
    release = Release.model_validate(answer.json())
    asked = Plan.model_validate(plan(epsilon="0.1")).pinned(1)
    assert release.id == asked.identity(auditor="ADR", dataset="register")
    assert release.plan == asked
    assert (release.relation, release.version) == ("add_remove", 1)
    assert release.batches[0].groups == (("Female",), ("Male",))
    assert [cell.id for cell in release.batches[0].cells] == ["young", "old"]
    assert release.batches[0].composition == {"classes": 1}
    assert isinstance(release.batches[0].noise, DiscreteLaplaceNoise)
    assert release.batches[0].noise.scale == pytest.approx(10.0)
    assert release.charge.document() == {"epsilon": "0.1", "delta": "0"}
    assert release.remaining.document() == {"epsilon": "9.9", "delta": "0"}
    assert holder.spent() == "0.1"
    verify_signature(answer.json(), SigningKeys.model_validate(holder.client.get("/v1/keys").json()))
    entry = holder.auditor("GET", f"/ledger/entries/{release.ledger.sequence}").json()
    assert entry == {"sequence": release.ledger.sequence, "hash": release.ledger.hash}


def test_the_same_plan_again_is_the_same_bytes_and_costs_nothing(holder: TestedHolder) -> None:
    first = holder.release(plan())

    again = holder.release(plan(epsilon="0.100", age=40.0, version=1, draw=1))

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content
    assert holder.spent() == "0.1"


def test_a_second_draw_is_another_answer_and_is_charged(sqlite_holder: TestedHolder) -> None:
    first, second = sqlite_holder.release(plan()), sqlite_holder.release(plan(draw=2))

    assert second.status_code == 201
    assert first.json()["id"] != second.json()["id"]
    assert sqlite_holder.spent() == "0.2"


def test_noise_is_around_the_true_count(sqlite_holder: TestedHolder) -> None:
    sexes = [line.split(",")[5] for line in register_csv().decode().splitlines()[1:]]

    release = sqlite_holder.release(plan(epsilon="10", age=120)).json()

    (female, male), empty = (cell["counts"] for cell in release["batches"][0]["cells"])
    # At scale 0.1 noise beyond 3 has probability e^-30.
    assert abs(female - sexes.count("Female")) <= 3
    assert abs(male - sexes.count("Male")) <= 3
    assert all(abs(count) <= 3 for count in empty)


def test_overlapping_cells_are_charged_once_per_class(sqlite_holder: TestedHolder) -> None:
    body = plan(epsilon="0.1")
    body["batches"][0]["cells"].append({"id": "everybody", "all_of": []})

    release = sqlite_holder.release(body).json()

    assert release["batches"][0]["composition"] == {"classes": 2}
    assert release["batches"][0]["epsilon"] == "0.2"
    assert release["charge"]["epsilon"] == "0.2"
    assert sqlite_holder.spent() == "0.2"


def test_missing_values_of_a_sensitive_column_are_a_group(sqlite_holder: TestedHolder) -> None:
    release = sqlite_holder.release(plan() | {"sensitive": ["sex", "origin"]}).json()

    assert release["batches"][0]["groups"] == [
        ["Female", "here"], ["Female", "there"], ["Female", None],
        ["Male", "here"], ["Male", "there"], ["Male", None],
    ]  # fmt: skip


def test_a_plan_over_the_budget_is_refused_whole_and_says_what_is_left(sqlite_holder: TestedHolder) -> None:
    body = plan(epsilon="6")
    body["batches"].append({**body["batches"][0], "name": "second"})

    document = refused(sqlite_holder.release(body), "budget-exhausted", holder=sqlite_holder)

    assert document["requested"] == {"epsilon": "12", "delta": "0"}
    assert document["remaining"] == {"epsilon": "10", "delta": "0"}
    assert sqlite_holder.spent() == "0"


def test_ten_plans_of_a_tenth_fit_exactly_into_one(sqlite_holder: TestedHolder) -> None:
    key = sqlite_holder.open_auditor("exact", epsilon="1")

    answers = [sqlite_holder.release(plan(epsilon="0.1", draw=draw), key=key).status_code for draw in range(1, 12)]

    assert answers == [201] * 10 + [403]


def test_the_cap_holds_over_all_auditors(holder: TestedHolder) -> None:
    holder.declare(cap={"epsilon": "1", "delta": "0"})
    other = holder.open_auditor("other", epsilon="5")

    first = holder.release(plan(epsilon="0.7"))
    second = holder.release(plan(epsilon="0.7"), key=other)

    assert first.status_code == 201
    assert refused(second, "cap-exhausted", holder=holder)["remaining"] == {"epsilon": "0.3", "delta": "0"}


def test_a_lowered_limit_leaves_nothing_and_a_revoked_one_refuses(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.release(plan(epsilon="0.5"))

    lowered = sqlite_holder.grant("0.2").json()

    assert lowered["remaining"] == {"epsilon": "0", "delta": "0"}
    refused(sqlite_holder.release(plan(epsilon="0.001")), "budget-exhausted", holder=sqlite_holder)
    assert sqlite_holder.release(plan(epsilon="0.5")).status_code == 200, "what was paid for stays retrievable"


def test_an_expired_grant_is_no_budget(sqlite_holder: TestedHolder) -> None:
    grant = {"epsilon": "5", "expires": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    sqlite_holder.admin("PUT", "/datasets/register/budgets/ADR", json=grant).raise_for_status()
    assert sqlite_holder.release(plan()).status_code == 201
    sqlite_holder.holder.store.clock = lambda: datetime.now(UTC) + timedelta(hours=1)

    refused(sqlite_holder.release(plan(draw=2)), "budget-exhausted", holder=sqlite_holder)


def test_many_who_ask_the_same_at_once_get_one_answer_and_one_charge(holder: TestedHolder) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: holder.release(plan(epsilon="0.3")), range(32)))

    assert len({answer.content for answer in answers}) == 1
    assert sorted(answer.status_code for answer in answers) == [200] * 31 + [201], "one is new"
    assert holder.spent() == "0.3"


def test_a_new_version_makes_a_new_plan_and_the_old_answer_stays(holder: TestedHolder) -> None:
    old = holder.release(plan())
    assert holder.load(register_csv(seed=1)).json() == {"dataset": "register", "version": 2}

    pinned_again = holder.release(plan(version=1))
    fresh = holder.release(plan())
    pinned_new_question = holder.release(plan(version=1, age=50))
    never = holder.release(plan(version=3))

    assert pinned_again.content == old.content
    assert fresh.status_code == 201
    assert fresh.json()["version"] == 2
    refused(pinned_new_question, "version-gone", holder=holder)
    assert never.status_code == 422
    assert holder.spent() == "0.2"


def test_a_quote_touches_neither_budget_nor_records(sqlite_holder: TestedHolder) -> None:
    quoted = sqlite_holder.auditor("POST", "/datasets/register/quotes", json=plan(epsilon="0.1"))
    sqlite_holder.load(register_csv(people=5, seed=3))
    after = sqlite_holder.auditor("POST", "/datasets/register/quotes", json=plan(epsilon="0.1"))

    assert quoted.json()["charge"] == {"epsilon": "0.1", "delta": "0"}
    assert {**quoted.json(), "version": 2} == after.json()
    assert sqlite_holder.spent() == "0"


def test_an_auditor_sees_its_own_releases_alone(sqlite_holder: TestedHolder) -> None:
    mine = sqlite_holder.release(plan()).json()
    other = sqlite_holder.open_auditor("other", epsilon="1")

    listed = sqlite_holder.auditor("GET", "/datasets/register/releases").json()["releases"]
    seen_by_other = sqlite_holder.auditor("GET", f"/datasets/register/releases/{mine['id']}", key=other)

    assert [release["id"] for release in listed] == [mine["id"]]
    assert sqlite_holder.auditor("GET", f"/datasets/register/releases/{mine['id']}").json() == mine
    assert seen_by_other.status_code == 404


def test_what_is_stored_for_another_auditor_is_not_even_read(sqlite_holder: TestedHolder) -> None:
    """Reading it takes time by its length, which would confirm a guess of the plan: its identity is no secret."""
    mine = sqlite_holder.release(plan()).json()
    other = sqlite_holder.open_auditor("other", epsilon="1")
    edit(sqlite_holder.settings, "UPDATE releases SET body = CAST(X'FF' AS TEXT)")  # who reads it fails

    asked = sqlite_holder.auditor("GET", f"/datasets/register/releases/{mine['id']}", key=other)

    assert sqlite_holder.auditor("GET", f"/datasets/register/releases/{mine['id']}").status_code == 503
    assert asked.status_code == 404


def test_a_restart_forgets_nothing(tmp_path: Path, database_url: str) -> None:
    with running_holder(tmp_path, database_url) as before:
        answer = before.release(plan())
    with before.reopened() as after:
        assert after.spent() == "0.1"
        assert after.release(plan()).content == answer.content
        assert after.admin("POST", "/ledger/verify").json()["intact"]


def test_the_ledger_verifies_and_exports(holder: TestedHolder) -> None:
    holder.release(plan())

    assert holder.admin("POST", "/ledger/verify").json()["intact"]
    entries = holder.admin("GET", "/ledger?limit=1000").json()["entries"]
    exported = holder.admin("GET", "/ledger?format=csv").text.splitlines()
    assert len(exported) == len(entries) + 2, "a header, the entries, and the line that says that it is whole"
    assert entries[-1]["kind"] == "charge"
    assert [entry["sequence"] for entry in entries] == list(range(1, len(entries) + 1))


def test_the_ledger_holds_nothing_derived_from_records(holder: TestedHolder, tmp_path: Path) -> None:
    """Two holders that differ in their records alone have ledgers that differ in ids and digests of answers alone."""
    with running_holder(tmp_path / "other", people=7) as other:
        ledgers = [one.admin("GET", "/ledger?limit=1000").json()["entries"] for one in (holder, other)]

    volatile = {"at", "nonce", "hash", "previous", "subject"}
    # Drawn at random, or a time; nothing of them follows from records.
    random_details = {"public_key", "valid_from", "secret_digest", "records_file", "people_file"}
    stripped = [
        [
            {
                **{name: value for name, value in entry.items() if name not in volatile},
                "detail": {name: value for name, value in entry["detail"].items() if name not in random_details},
            }
            for entry in ledger
        ]
        for ledger in ledgers
    ]
    assert json.dumps(stripped[0]) == json.dumps(stripped[1])


def test_a_deleted_and_recreated_dataset_gives_nothing_back(holder: TestedHolder) -> None:
    answer = holder.release(plan(epsilon="1"))
    assert holder.admin("DELETE", "/datasets/register").status_code == 204
    assert holder.auditor("GET", "/datasets/register").status_code == 404

    assert holder.declare().status_code == 200
    assert holder.load(register_csv()).json()["version"] == 2

    assert holder.spent() == "1"
    assert holder.release(plan(epsilon="1", version=1)).content == answer.content
    assert holder.release(plan(epsilon="1")).status_code == 201


def test_a_second_dataset_of_the_same_people_shares_their_budget(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.release(plan(epsilon="1"))
    assert sqlite_holder.declare("second", population="register", cap=None).status_code == 200
    sqlite_holder.load(register_csv(), "second")

    sqlite_holder.release(plan(epsilon="2"), dataset="second")

    assert sqlite_holder.spent() == "3"
    assert sqlite_holder.spent(dataset="second") == "3"


def test_merged_populations_add_their_spending(holder: TestedHolder) -> None:
    holder.release(plan(epsilon="1"))
    holder.offer("second", register_csv(), epsilon="4")
    holder.release(plan(epsilon="2"), dataset="second")

    merged = holder.admin("POST", "/populations/register/merge", json={"population": "second"})

    assert merged.status_code == 204
    assert holder.spent() == "3"
    assert holder.spent(dataset="second") == "3"
    assert holder.auditor("GET", "/datasets/second/budget").json()["limit"]["epsilon"] == "10"
    assert holder.release(plan(epsilon="3", draw=2), dataset="second").status_code == 201
    assert holder.spent() == "6"
    assert holder.admin("POST", "/ledger/verify").json()["intact"]
    again = holder.admin("POST", "/populations/register/merge", json={"population": "second"})
    assert again.status_code == 409


@pytest.mark.parametrize("change", [{"relation": "replace"}, {"person_key": "key"}])
def test_what_losses_are_in_terms_of_is_frozen_by_the_first_charge(
    sqlite_holder: TestedHolder, change: dict[str, Any]
) -> None:
    sqlite_holder.release(plan())

    refused(sqlite_holder.declare(**change), "already-charged", holder=sqlite_holder)


def test_whole_numbers_can_be_listed(sqlite_holder: TestedHolder) -> None:
    """A list is its numbers, in any order and spelling; and a list and its complement cost ε once."""

    def asked(inside: list[float], outside: list[float]) -> dict[str, Any]:
        some = {"id": "some", "all_of": [{"column": "age", "op": "in", "values": inside}]}
        return plan(cells=[some, {"id": "others", "all_of": [{"column": "age", "op": "not_in", "values": outside}]}])

    first = sqlite_holder.release(asked([40, 20, 200], [20, 40, 200]))
    again = sqlite_holder.release(asked([200.0, 20, 40, 20], [40, 200, 20.0]))

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content
    assert first.json()["batches"][0]["composition"]["classes"] == 1


def test_replace_doubles_the_noise_and_names_itself(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.offer("swapped", register_csv(), relation="replace")

    release = sqlite_holder.release(plan(epsilon="0.1"), dataset="swapped").json()

    assert release["relation"] == "replace"
    assert release["batches"][0]["noise"]["scale"] == pytest.approx(20.0)


def test_under_sensitive_attribute_two_groups_need_one_count(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.offer("attribute", register_csv(), relation="sensitive_attribute")

    batch = sqlite_holder.release(plan(epsilon="0.1"), dataset="attribute").json()["batches"][0]

    assert batch["counted_groups"] == [["Female"]]
    assert [len(cell["counts"]) for cell in batch["cells"]] == [1, 1]
    assert batch["noise"]["scale"] == pytest.approx(10.0)
