"""Receipts: kept whole, pinned to the first key, and compared with the holder's ledger."""

import errno
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auditor_client.errors import HolderLied, ReceiptsDamaged
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts, check_receipts
from holder_service.keys.signing import SigningKeyPair
from shared.kinds.plans import Plan
from shared.kinds.releases import SigningKey, SigningKeys
from testing.registers import LOANS, plan
from testing.simulated_holder import KEY, SimulatedHolder, simulated_holder
from testing.simulated_trainings import loans_training


def key(name: str, public_key: str = "AAAA", valid_to: datetime | None = None) -> SigningKey:
    return SigningKey(
        id=name,
        algorithm="ed25519",
        public_key=public_key,
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        valid_to=valid_to,
    )


def published(*keys: SigningKey) -> SigningKeys:
    return SigningKeys(keys=keys)


def plan_of(epsilon: str) -> Plan:
    return Plan.model_validate(plan(epsilon=epsilon, version=1))


@pytest.fixture
def receipts(tmp_path: Path) -> Receipts:
    return Receipts(tmp_path / "kept" / "receipts")


@pytest.fixture
def client(simulated: SimulatedHolder, http: httpx.Client) -> HolderClient:
    return HolderClient(http, url=simulated.url, key=KEY)


def fill(receipts: Receipts, client: HolderClient, *epsilons: str) -> None:
    """Ask plans and keep their releases."""
    receipts.pin(client.keys())
    for epsilon in epsilons:
        release = client.release("register", plan_of(epsilon))
        receipts.keep(release.document["id"], release.body)


def test_a_receipt_is_kept_byte_for_byte_under_its_identity(receipts: Receipts) -> None:
    path = receipts.keep("sha256:" + "ab" * 32, b'{"as": "it came"}')

    assert path.name == "ab" * 32 + ".json"
    assert path.read_bytes() == b'{"as": "it came"}'
    assert [entry.name for entry in receipts.directory.iterdir()] == [path.name]


def test_a_receipt_is_kept_where_no_folder_can_be_opened(receipts: Receipts, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, which the auditor's side is for too."""
    opened = os.open

    def refuse_folders(path: Path, *more: int) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *more)

    monkeypatch.setattr(os, "open", refuse_folders)
    monkeypatch.setattr(sys, "platform", "win32")
    path = receipts.keep("sha256:ab", b"what came")

    assert path.read_bytes() == b"what came"


def test_the_same_answer_again_is_the_same_receipt(receipts: Receipts) -> None:
    first = receipts.keep("sha256:" + "ab" * 32, b"{}")

    assert receipts.keep("sha256:" + "ab" * 32, b"{}") == first


def test_another_answer_to_the_same_plan_is_a_lie(receipts: Receipts) -> None:
    path = receipts.keep("sha256:" + "ab" * 32, b'{"counts": 1}')

    with pytest.raises(HolderLied, match="same request"):
        receipts.keep("sha256:" + "ab" * 32, b'{"counts": 2}')

    assert path.read_bytes() == b'{"counts": 1}'


def test_a_refused_answer_is_kept_apart(receipts: Receipts) -> None:
    path = receipts.keep_refused(b"lies")

    assert path.read_bytes() == b"lies"
    assert receipts.files() == ()


def test_the_first_key_is_pinned_and_lasts(receipts: Receipts) -> None:
    receipts.pin(published(key("k1")))

    assert Receipts(receipts.directory).pinned() == published(key("k1"))


def handed_over() -> SigningKeys:
    """A key, its end, and its successor."""
    first, second = (SigningKeyPair.of(Ed25519PrivateKey.generate()) for _ in range(2))
    begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
    ended = first.public_key(valid_from=begin).model_copy(update={"valid_to": end})
    return published(ended, first.hand_over(second.public_key(valid_from=end)))


def test_a_key_that_was_handed_over_to_and_the_end_of_the_one_before_are_taken_over(receipts: Receipts) -> None:
    rotated = handed_over()
    receipts.pin(published(rotated.keys[0].model_copy(update={"valid_to": None})))

    assert receipts.pin(rotated) == rotated
    assert receipts.pinned() == rotated


def test_a_key_that_nothing_pinned_vouches_for_is_not_pinned(receipts: Receipts) -> None:
    rotated = handed_over()
    receipts.pin(published(rotated.keys[0]))
    unvouched = published(rotated.keys[0], rotated.keys[1].model_copy(update={"handover": None}))

    with pytest.raises(HolderLied, match="vouches"):
        receipts.pin(unvouched)

    assert receipts.pinned() == published(rotated.keys[0])


def test_at_first_contact_a_hand_over_that_is_claimed_has_to_be_true(receipts: Receipts) -> None:
    first, second = handed_over().keys
    stranger = handed_over().keys[1]

    with pytest.raises(HolderLied, match="vouches"):
        receipts.pin(published(first, stranger))

    assert receipts.pin(published(first, second)).keys == (first, second)


def test_what_a_pinned_key_says_of_its_predecessor_does_not_change(receipts: Receipts) -> None:
    """Else a holder could take a hand-over back, and then let the same key hand over to another one."""
    first, second = handed_over().keys
    receipts.pin(published(first, second))

    with pytest.raises(HolderLied, match="signing key"):
        receipts.pin(published(first, second.model_copy(update={"handover": None})))


@pytest.mark.parametrize(
    "now",
    [
        published(key("k1", "BBBB")),
        published(key("k2", "AAAA")),
        published(SigningKey.model_validate({**key("k1").model_dump(), "algorithm": "none"})),
        published(),
        published(key("k1"), key("k1", "BBBB")),
    ],
)
def test_a_key_that_changed_or_is_gone_is_a_lie(receipts: Receipts, now: SigningKeys) -> None:
    receipts.pin(published(key("k1")))

    with pytest.raises(HolderLied, match="signing key"):
        receipts.pin(now)

    assert receipts.pinned() == published(key("k1"))


@pytest.mark.parametrize("now", [published(), published(key("k1"), key("k1", "BBBB"))])
def test_no_key_or_two_of_one_id_are_not_pinned(receipts: Receipts, now: SigningKeys) -> None:
    with pytest.raises(HolderLied, match="signing key"):
        receipts.pin(now)

    assert receipts.pinned() == published()


def test_damaged_pins_are_not_replaced(receipts: Receipts) -> None:
    receipts.directory.mkdir(parents=True)
    (receipts.directory / "keys.json").write_text('{"keys": [', encoding="utf-8")

    with pytest.raises(ReceiptsDamaged, match=r"keys\.json"):
        receipts.pin(published(key("k1")))


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory", encoding="utf-8")

    with pytest.raises(ReceiptsDamaged, match="cannot be"):
        Receipts(tmp_path / "file").pin(published(key("k1")))


def test_good_receipts_pass(receipts: Receipts, client: HolderClient) -> None:
    fill(receipts, client, "0.1", "0.2")

    found = check_receipts(receipts, client)

    assert found.ok
    assert len(found.checks) == 2
    assert found.to_document()["head"]["sequence"] == 2


def test_trainings_have_receipts_like_plans(
    receipts: Receipts, client: HolderClient, simulated: SimulatedHolder
) -> None:
    fill(receipts, client, "0.3")
    simulated.dataset = LOANS
    trained = client.release("register", loans_training())
    path = receipts.keep(trained.document["id"], trained.body)

    good = check_receipts(receipts, client)
    path.write_bytes(trained.body.replace(b'"positive": [200', b'"positive": [201'))
    changed = check_receipts(receipts, client)

    assert good.ok
    assert {check.release.id for check in good.checks if check.release} >= {trained.document["id"]}
    assert [check.file for check in changed.checks if check.fault] == [path]


def test_signatures_can_be_checked_without_the_holder(receipts: Receipts, client: HolderClient) -> None:
    fill(receipts, client, "0.1")

    assert check_receipts(receipts, None).ok
    assert check_receipts(receipts, None).head is None


def test_a_changed_receipt_is_found_out(receipts: Receipts, client: HolderClient) -> None:
    fill(receipts, client, "0.1", "0.2")
    path = receipts.files()[0]
    document = json.loads(path.read_bytes())
    document["batches"][0]["cells"][0]["counts"][0] += 1
    path.write_text(json.dumps(document), encoding="utf-8")

    found = check_receipts(receipts, client)

    assert not found.ok
    assert [check.fault is None for check in found.checks] == [False, True]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"a": NaN}'])
def test_a_file_that_is_no_release_is_reported(receipts: Receipts, client: HolderClient, content: bytes) -> None:
    fill(receipts, client, "0.1")
    (receipts.directory / f"{'0' * 64}.json").write_bytes(content)

    found = check_receipts(receipts, client)

    assert "cannot be read as a release" in str(found.checks[0].fault)
    assert found.checks[1].fault is None


def test_a_renamed_receipt_is_reported(receipts: Receipts, client: HolderClient) -> None:
    fill(receipts, client, "0.1")
    path = receipts.files()[0]
    path.rename(path.with_name("0" * 64 + ".json"))

    assert "not named after" in str(check_receipts(receipts, client).checks[0].fault)


def test_a_ledger_that_lost_an_entry_is_found_out(
    receipts: Receipts, client: HolderClient, simulated: SimulatedHolder
) -> None:
    fill(receipts, client, "0.1", "0.2")
    simulated.ledger.pop()

    found = check_receipts(receipts, client)

    assert sum("rolled back" in str(check.fault) for check in found.checks) == 1
    assert found.fault is not None
    assert "ends at entry 1" in found.fault


def test_a_ledger_that_was_rolled_back_and_regrown_is_found_out(
    receipts: Receipts, client: HolderClient, simulated: SimulatedHolder
) -> None:
    fill(receipts, client, "0.1", "0.2")
    simulated.ledger[1:] = ["sha256:" + "f" * 64, "sha256:" + "e" * 64]

    found = check_receipts(receipts, client)

    assert sum("rewritten" in str(check.fault) for check in found.checks) == 1
    assert found.fault is None


def test_a_head_that_contradicts_the_newest_receipt_is_found_out(
    receipts: Receipts, client: HolderClient, simulated: SimulatedHolder
) -> None:
    fill(receipts, client, "0.1")
    simulated.head = {"sequence": 1, "hash": "sha256:" + "f" * 64}

    assert "head" in str(check_receipts(receipts, client).fault)


def test_two_releases_of_one_entry_are_found_out(
    receipts: Receipts, client: HolderClient, simulated: SimulatedHolder
) -> None:
    """A holder that charges once and answers twice keeps no ledger of the second."""
    fill(receipts, client, "0.1")
    simulated.before_signing = lambda document: document.update(ledger=simulated.position(1))
    fill(receipts, client, "0.2")

    found = check_receipts(receipts, client)

    assert sum("another receipt" in str(check.fault) for check in found.checks) == 1


def test_a_holder_with_another_key_cannot_confirm_receipts(
    receipts: Receipts, client: HolderClient, http: httpx.Client
) -> None:
    fill(receipts, client, "0.1")

    with simulated_holder() as other, pytest.raises(HolderLied, match="signing key"):
        check_receipts(receipts, HolderClient(http, url=other.url, key=KEY))


def test_a_directory_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ReceiptsDamaged, match=r"receipts directory .* does not exist"):
        check_receipts(Receipts(tmp_path / "none"), None)


def test_no_receipt_holds_the_key(receipts: Receipts, client: HolderClient) -> None:
    fill(receipts, client, "0.1")

    assert all(KEY.encode() not in path.read_bytes() for path in receipts.directory.iterdir())
