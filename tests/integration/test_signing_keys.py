"""Signing keys hand over to each other: pinned clients follow, old receipts verify, and no crash is in between."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from auditor_client.errors import HolderLied
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts, check_receipts
from auditor_client.exchange.verification import signed_as
from holder_service.domain.errors import Conflict
from holder_service.services.running.holder import Holder, NotInitialised, initialise, replace_lost_key
from shared.kinds.releases import Release
from testing.holders import FORKING, TestedHolder, forked, running_holder, stopped_holder
from testing.refusals import refused
from testing.registers import plan

KILLS = 4


def rotate(holder: TestedHolder) -> str:
    answer = holder.admin("POST", "/signing-keys")
    assert answer.status_code == 201, answer.text
    identity: str = answer.json()["id"]
    return identity


@pytest.fixture
def auditor(holder: TestedHolder) -> Iterator[HolderClient]:
    with HolderClient(url=holder.url, key=holder.auditor_key) as client:
        yield client


def test_a_new_key_signs_at_once_and_the_one_before_ends(holder: TestedHolder) -> None:
    before = holder.release(plan(draw=1)).json()

    made = rotate(holder)

    after = holder.release(plan(draw=2)).json()
    first, second = holder.published_keys().keys
    assert (before["key"], after["key"], made) == (first.id, second.id, second.id)
    assert (first.valid_to, second.valid_to) == (second.valid_from, None)
    assert second.handover is not None
    assert (first.handover, second.handover.by) == (None, first.id)
    for release in (before, after):
        signed_as(Release, release, holder.published_keys())
    assert holder.release(plan(draw=1)).json() == before, "a stored answer keeps its signature"
    assert holder.admin("POST", "/ledger/verify").json()["reason"] is None


def test_a_rotation_is_an_entry_that_names_both_keys(sqlite_holder: TestedHolder) -> None:
    made = rotate(sqlite_holder)

    entry = sqlite_holder.entries()[-1]

    assert (entry["kind"], entry["actor"], entry["subject"]) == ("signing-key", "administrator", made)
    first, second = sqlite_holder.published_keys().keys
    assert second.handover is not None
    assert entry["detail"]["handover"] == second.handover.model_dump()
    assert entry["detail"]["public_key"] == second.public_key
    assert second.handover.by == first.id


def test_a_pinned_client_follows_several_rotations_and_its_old_receipts_verify(
    holder: TestedHolder, auditor: HolderClient, tmp_path: Path
) -> None:
    receipts = Receipts(tmp_path / "receipts")
    receipts.pin(auditor.keys())
    for draw in (1, 2, 3):
        answer = holder.release(plan(draw=draw))
        receipts.keep(answer.json()["id"], answer.content)
        rotate(holder)
        rotate(holder)

    report = check_receipts(receipts, auditor)

    assert report.ok, report
    assert len(receipts.pinned().keys) == 7


def test_rotations_at_the_same_time_leave_one_chain(
    holder: TestedHolder, auditor: HolderClient, tmp_path: Path
) -> None:
    receipts = Receipts(tmp_path / "receipts")
    receipts.pin(auditor.keys())
    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda _: holder.admin("POST", "/signing-keys").status_code, range(8)))
        releases = list(pool.map(lambda draw: holder.release(plan(epsilon="0.001", draw=draw)), range(1, 9)))

    assert set(statuses) <= {201, 409}
    found = receipts.pin(auditor.keys())
    assert len(found.keys) == 1 + statuses.count(201)
    assert [key.id for key in found.keys if key.valid_to is None] == [found.keys[-1].id]
    for release in releases:
        signed_as(Release, release.json(), found)


def test_releases_while_keys_rotate_are_signed_with_the_key_of_their_time(
    holder: TestedHolder, auditor: HolderClient
) -> None:
    """A release that was counted under one key and charged after a rotation is signed with the next one."""
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(holder.release, plan(epsilon="0.001", draw=draw)) for draw in range(1, 61)]
        for _ in range(5):
            rotate(holder)

        published = auditor.keys()
        for answer in asked:
            signed_as(Release, answer.result().json(), published)


@pytest.mark.slow
def test_every_process_signs_with_the_new_key(tmp_path: Path) -> None:
    stopped = stopped_holder(tmp_path)
    with ExitStack() as stack:
        served = [stack.enter_context(forked(stopped.settings)) for _ in range(2)]
        processes = [stack.enter_context(stopped.at(one.url)) for one in served]

        def ask(draw: int) -> set[str]:
            asked = [one.release(plan(epsilon="0.001", draw=draw + n)).json() for n, one in enumerate(processes)]
            return {release["key"] for release in asked}

        before = ask(1)
        made = processes[0].admin("POST", "/signing-keys").json()["id"]
        after = ask(11)

    assert (len(before), after) == (1, {made})
    assert before != after


def _rotate_for_ever(settings: object) -> None:
    from holder_service.services.ledger import key_rotation

    holder = Holder.open(settings)  # type: ignore[arg-type]  # it crossed a process boundary
    while True:
        key_rotation.rotate(holder.store, holder.signing, actor="administrator")


@pytest.mark.slow
def test_killed_in_the_midst_of_rotations_the_holder_still_works(tmp_path: Path, database_url: str) -> None:
    """Time and again: whatever the moment of the kill -9, one key is in force, it is here, and the chain is whole."""
    with running_holder(tmp_path, database_url) as holder:
        receipts = Receipts(tmp_path / "receipts")
        receipts.pin(holder.published_keys())
    draws = iter(range(1, 100))
    for kill in range(KILLS):
        process = FORKING.Process(target=_rotate_for_ever, args=(holder.settings,))
        process.start()
        count = len(list(holder.settings.signing_keys.glob("*")))
        until_s = time.monotonic() + 60
        while len(list(holder.settings.signing_keys.glob("*"))) < count + 2 and time.monotonic() < until_s:
            time.sleep(0.001 * (kill + 1))
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        process.close()

        with holder.reopened() as after:
            answer = after.release(plan(epsilon="0.001", draw=next(draws)))
            assert answer.status_code == 201, answer.text
            signed_as(Release, answer.json(), receipts.pin(after.published_keys()))
            rotate(after)
            assert after.admin("POST", "/ledger/verify").json()["reason"] is None
            published = {key.id for key in after.published_keys().keys}
            left = {file.stem for file in after.settings.signing_keys.glob("*.pem")} - published
            assert not left, "what the kill left was put in force by the next rotation"


def test_a_lost_key_stops_releases_until_it_is_replaced_and_no_pinned_client_follows_unasked(
    tmp_path: Path, database_url: str
) -> None:
    with running_holder(tmp_path, database_url) as holder:
        receipts = Receipts(tmp_path / "receipts")
        receipts.pin(holder.published_keys())
        answered = holder.release(plan(draw=1))
    with pytest.raises(Conflict, match="not lost"):
        replace_lost_key(holder.settings, reason="a whim")
    kept = holder.settings.signing_keys.rename(tmp_path / "away")
    with pytest.raises(NotInitialised, match="holder init"):
        Holder.open(holder.settings)
    with pytest.raises(Conflict, match="replace-lost-key"):
        initialise(holder.settings)

    made = replace_lost_key(holder.settings, reason="the disk failed")

    with holder.reopened() as after:
        assert after.release(plan(draw=2)).json()["key"] == made.id
        assert after.entries()[-2]["detail"]["reason"] == "the disk failed"
        with pytest.raises(HolderLied, match="vouches"):
            receipts.pin(after.published_keys())
        fresh = Receipts(tmp_path / "fresh")
        signed_as(Release, answered.json(), fresh.pin(after.published_keys()))
        assert after.admin("POST", "/ledger/verify").json()["reason"] is None
    assert len(list(kept.iterdir())) == 1


def test_a_key_that_goes_away_under_a_running_holder_charges_nothing(sqlite_holder: TestedHolder) -> None:
    rotate(sqlite_holder)
    spent = sqlite_holder.spent()
    for file in sqlite_holder.settings.signing_keys.iterdir():
        file.write_bytes(b"")
    sqlite_holder.holder.signing._pairs.clear()

    refused(sqlite_holder.release(plan()), "unavailable", holder=sqlite_holder)
    refused(sqlite_holder.admin("POST", "/signing-keys"), "unavailable", holder=sqlite_holder)

    assert sqlite_holder.spent() == spent
    assert len(sqlite_holder.published_keys().keys) == 2
