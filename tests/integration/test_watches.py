"""Watches end to end: set once, answered for every version, used up by the first change; on both stores."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from holder_service.keys.watch_seals import SealedState
from holder_service.storage import datasets as stored_datasets
from holder_service.storage import watches as stored_watches
from holder_service.storage.tables import watches
from shared.kinds.releases import SigningKeys, verify_signature
from shared.kinds.watches import ANSWER_KIND, Watch, statement_identity
from testing.console_visitors import visitor
from testing.holders import TestedHolder, opened
from testing.registers import register_csv, watch
from testing.tampering import lose_the_anchored_entry
from testing.waits import wait_until

PATH = "/datasets/register/watches"


def set_watch(holder: TestedHolder, **changes: Any) -> dict[str, Any]:
    """Set a watch; 201, or it fails."""
    answer = holder.auditor("POST", PATH, json=watch(**changes))
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


def shown(holder: TestedHolder, identity: str) -> dict[str, Any]:
    document: dict[str, Any] = holder.auditor("GET", f"{PATH}/{identity}").json()
    return document


def answered(holder: TestedHolder, identity: str, versions: int) -> list[dict[str, Any]]:
    """Its answers once so many are there, and nothing waits."""
    wait_until(lambda: len(shown(holder, identity)["answers"]) >= versions)
    answers: list[dict[str, Any]] = shown(holder, identity)["answers"]
    return answers


def said(answers: list[dict[str, Any]]) -> list[tuple[int, bool]]:
    return [(one["version"], one["watch_answer"]["changed"]) for one in answers]


def test_a_watch_is_charged_once_and_answers_every_version_for_nothing(holder: TestedHolder) -> None:
    made = set_watch(holder, margin=-5000, epsilon="1")
    assert said(answered(holder, made["id"], 1)) == [(1, False)]
    for _ in range(2):
        holder.load(register_csv()).raise_for_status()
        answered(holder, made["id"], int(holder.auditor("GET", "/datasets/register").json()["version"]))

    answers = answered(holder, made["id"], 3)
    assert said(answers) == [(1, False), (2, False), (3, False)]
    assert holder.spent() == "1"
    keys = SigningKeys.model_validate(holder.client.get("/v1/keys").json())
    for one in (made, *answers):
        verify_signature(one, keys)
        entry = holder.auditor("GET", f"/ledger/entries/{one['ledger']['sequence']}").json()
        assert entry == one["ledger"]
    assert [one["charge"] for one in answers] == [{"epsilon": "0", "delta": "0"}] * 3
    assert [one["id"] for one in answers] == [
        statement_identity(ANSWER_KIND, made["id"], auditor="ADR", dataset="register", version=version)
        for version in (1, 2, 3)
    ]
    assert made["id"] == Watch.model_validate(made["watch"]).identity(auditor="ADR", dataset="register")
    assert holder.is_intact()
    again = holder.auditor("POST", PATH, json=watch(margin=-5000, epsilon="1", version=1))
    assert (again.status_code, again.json()) == (200, made)
    assert shown(holder, made["id"])["answers"] == answers
    listed = holder.auditor("GET", PATH).json()["watches"]
    assert [(one["id"], one["answered"], one["changed"], one["pending"]) for one in listed] == [
        (made["id"], 3, False, None)
    ]
    assert holder.auditor("GET", "/datasets/register/releases").json()["releases"] == []


def test_the_first_change_is_the_last_answer(holder: TestedHolder) -> None:
    made = set_watch(holder, margin=5000, epsilon="1")

    first = answered(holder, made["id"], 1)
    holder.load(register_csv()).raise_for_status()
    other = set_watch(holder, margin=-5000, epsilon="1")
    answered(holder, other["id"], 1)

    assert said(first) == [(1, True)]
    assert shown(holder, made["id"])["answers"] == first
    assert shown(holder, made["id"])["pending"] is None
    with visitor(holder) as visits:
        page = visits.get("/console/auditors/ADR").text
    assert "meet a ratio of 0.8, by sex" in page
    assert "version 1: changed" in page
    assert "version 2: unchanged" in page
    for one in (made, other):
        kept = holder.holder.store.look_up(stored_watches.find, one["id"])
        assert kept is not None
        assert str(holder.holder.seals.opened(kept.id, kept.sealed).noisy_threshold) not in page


def test_what_cannot_be_answered_holds_up_nobody_else(holder: TestedHolder) -> None:
    holder.offer("other", register_csv(), epsilon="1")
    dataset = holder.holder.store.look_up(stored_datasets.find_dataset, "other")
    assert dataset is not None
    (holder.holder.files.records / str(dataset.records_file)).write_bytes(b"damaged")
    lost = holder.auditor("POST", "/datasets/other/watches", json=watch(margin=-5000, epsilon="1")).json()

    made = set_watch(holder, margin=-5000, epsilon="1")

    assert said(answered(holder, made["id"], 1)) == [(1, False)]
    assert holder.auditor("GET", f"/datasets/other/watches/{lost['id']}").json()["answers"] == []


def test_what_leaves_of_an_answer_is_one_word(holder: TestedHolder) -> None:
    made = set_watch(holder, margin=-5000, epsilon="1")
    [answer] = answered(holder, made["id"], 1)

    assert set(answer) == {
        "id", "dataset", "version", "auditor", "relation", "nonce", "charge", "watch_answer", "created", "remaining",
        "ledger", "key", "signature",
    }  # fmt: skip
    assert answer["watch_answer"] == {"watch": made["id"], "changed": False}
    entry = next(one for one in holder.entries() if one["sequence"] == answer["ledger"]["sequence"])
    assert entry["detail"] == {"asked": "watch_answer", "watch": made["id"]}


def test_the_threshold_survives_and_is_in_no_answer(holder: TestedHolder) -> None:
    made = set_watch(holder, margin=-1_000_000, epsilon="0.001", draw=2)
    answered(holder, made["id"], 1)
    kept = holder.holder.store.look_up(stored_watches.find, made["id"])
    assert kept is not None

    with holder.reopened() as after:
        after.load(register_csv()).raise_for_status()
        answers = answered(after, made["id"], 2)
        again = after.holder.store.look_up(stored_watches.find, made["id"])

        assert again is not None
        before, now = (after.holder.seals.opened(one.id, one.sealed).noisy_threshold for one in (kept, again))
        assert before == now
        assert str(now) not in json.dumps([made, *answers, after.entries()])
        assert "sealed" not in repr(kept)


def test_an_answer_rests_on_the_threshold_that_is_kept(sqlite_holder: TestedHolder) -> None:
    made = set_watch(sqlite_holder, margin=-5000, epsilon="1")
    answered(sqlite_holder, made["id"], 1)
    sqlite_holder.holder.store.database.write(
        lambda connection: connection.execute(
            update(watches).values(sealed=sqlite_holder.holder.seals.seal(made["id"], SealedState(10**9, False)))
        )
    )
    sqlite_holder.load(register_csv()).raise_for_status()

    assert said(answered(sqlite_holder, made["id"], 2)) == [(1, False), (2, True)]


def test_after_a_recorded_restore_a_watch_has_no_further_answers(sqlite_holder: TestedHolder) -> None:
    made = set_watch(sqlite_holder, margin=-5000, epsilon="1")
    answered(sqlite_holder, made["id"], 1)
    lose_the_anchored_entry(sqlite_holder.settings)
    sqlite_holder.admin("POST", "/ledger/restore", json={"reason": "a disk"}).raise_for_status()
    sqlite_holder.declare().raise_for_status()
    sqlite_holder.load(register_csv()).raise_for_status()
    other = set_watch(sqlite_holder, margin=-5000, epsilon="1")
    answered(sqlite_holder, other["id"], 1)

    assert len(shown(sqlite_holder, made["id"])["answers"]) == 1
    assert shown(sqlite_holder, made["id"])["pending"] is None


def test_a_revoked_budget_ends_the_answers_and_a_grant_lets_them_go_on(holder: TestedHolder) -> None:
    made = set_watch(holder, margin=-5000, epsilon="1")
    answered(holder, made["id"], 1)
    holder.grant("0")
    holder.load(register_csv()).raise_for_status()
    wait_until(lambda: shown(holder, made["id"])["pending"] is None)
    holder.grant("5")
    holder.load(register_csv()).raise_for_status()

    assert said(answered(holder, made["id"], 2)) == [(1, False), (3, False)]
    assert holder.is_intact()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"threshold": "1"}, "invalid-amount"),
        ({"verdict": "undecided"}, "invalid-plan"),
        ({"margin": "5"}, "invalid-plan"),
        ({"sensitive": ["age"]}, "invalid-plan"),
        ({"sensitive": ["nowhere"]}, "unknown-column"),
        ({"unfavourable": {"id": "all", "all_of": []}}, "invalid-plan"),
        ({"version": 7}, "invalid-request"),
        ({"epsilon": "0.0001"}, "invalid-amount"),
    ],
)
def test_what_is_no_watch_is_refused_and_costs_nothing(
    sqlite_holder: TestedHolder, changes: dict[str, Any], code: str
) -> None:
    for path in (PATH, f"{PATH}/quotes"):
        if (path, code) == (f"{PATH}/quotes", "invalid-request"):
            continue
        refused = sqlite_holder.auditor("POST", path, json=watch(**changes))
        assert refused.status_code == 422, refused.text
        assert refused.json()["type"].endswith(code)
    assert sqlite_holder.spent() == "0"


def test_a_quote_says_price_and_noise_and_nothing_is_set(sqlite_holder: TestedHolder) -> None:
    quote = sqlite_holder.auditor("POST", f"{PATH}/quotes", json=watch(epsilon="0.5")).json()

    assert quote["charge"] == {"epsilon": "0.5", "delta": "0"}
    assert quote["noise"] == {
        "threshold": {"distribution": "one_sided_geometric", "scale": pytest.approx(1 / 0.15)},
        "number": {"distribution": "one_sided_geometric", "scale": pytest.approx(2 / 0.35)},
        "shift": 1,
    }
    assert sqlite_holder.auditor("GET", PATH).json()["watches"] == []
    assert sqlite_holder.spent() == "0"


def test_a_watch_of_somebody_else_is_none(sqlite_holder: TestedHolder) -> None:
    made = set_watch(sqlite_holder)
    other = sqlite_holder.open_auditor("other")

    found = sqlite_holder.auditor("GET", f"{PATH}/{made['id']}", key=other)

    assert found.status_code == 404
    assert sqlite_holder.auditor("GET", PATH, key=other).json()["watches"] == []


def test_an_answer_comes_at_its_public_time_and_not_before(sqlite_holder: TestedHolder) -> None:
    """With a quantum, an answer is due whole seconds after it was asked, whatever the records are."""
    settings = replace(sqlite_holder.settings, release_quantum_ms=25)
    with opened(settings, sqlite_holder.admin_key, sqlite_holder.auditor_key) as after:
        made = set_watch(after, margin=-5000)
        before = shown(after, made["id"])
        assert (before["pending"], before["answers"]) == (1, [])
        began = time.time()
        [answer] = answered(after, made["id"], 1)

    assert answer["created"] >= before["due"]
    assert time.time() - began >= 0.1
