"""The ledger's public log: checkpoints that witnesses cosign and tiles prove, none of it in the path of a release."""

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, compare_bundles, write_bundle
from auditor_client.errors import ReceiptsDamaged
from auditor_client.exchange.ledger_log import RequiredWitnesses
from auditor_client.exchange.receipts import Receipts, ReceiptsReport, check_receipts
from holder_service.keys.signing import SigningKeyPair
from holder_service.services.running.publication import publication
from holder_service.settings.holder import Witness
from shared.kinds.bundles import read_bundle
from shared.kinds.releases import SigningKeys
from shared.log.checkpoints import Checkpoint
from shared.log.merkle import HASH_BYTES, consistency_proof, leaf_hash, nodes_of, root_of, verify_consistency
from shared.log.notes import SignedNote, SigningNoteKey
from shared.log.tiles import Tile, nodes_from, parse_entry_bundle
from shared.wire.canonical import sha256_name
from testing.holders import TestedHolder, opened
from testing.ports import reserved_port
from testing.registers import plan
from testing.tampering import lose_the_anchored_entry
from testing.waits import wait_until
from testing.witnesses import ORIGIN, log_keys, new_witness, witnessing


def checkpoint_of(holder: TestedHolder) -> SignedNote | None:
    """The published checkpoint, asked for without a key."""
    answer = holder.client.get("/v1/log/checkpoint")
    return SignedNote.parse(answer.content) if answer.status_code == 200 else None


def size_of(holder: TestedHolder) -> int:
    note = checkpoint_of(holder)
    return 0 if note is None else Checkpoint.parse(note.text).size


def head_of(holder: TestedHolder) -> int:
    sequence: int = holder.auditor("GET", "/ledger/head").json()["sequence"]
    return sequence


def published_whole(holder: TestedHolder) -> None:
    """Wait until the whole ledger is published."""
    head = head_of(holder)
    wait_until(lambda: size_of(holder) >= head)


def hashes_of(holder: TestedHolder) -> list[bytes]:
    return [bytes.fromhex(entry["hash"].removeprefix("sha256:")) for entry in holder.entries()]


def tile_of(holder: TestedHolder, tile: Tile) -> bytes:
    answer = holder.client.get(f"/v1/log/tile/{tile.path}")
    assert answer.status_code == 200, answer.text
    return answer.content


@pytest.fixture(scope="module")
def log_holder(set_up_holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder with a log, for tests that change nothing."""
    with set_up_holder.copied(tmp_path_factory.mktemp("log"), log_origin=ORIGIN) as holder:
        published_whole(holder)
        yield holder


def test_the_checkpoint_is_the_tree_over_the_ledger_signed_by_the_holder(
    set_up_holder: TestedHolder, tmp_path: Path
) -> None:
    with set_up_holder.copied(tmp_path, log_origin=ORIGIN) as holder:
        holder.release(plan())
        published_whole(holder)
        note = checkpoint_of(holder)
        assert note is not None
        hashes = hashes_of(holder)
        checkpoint = Checkpoint.parse(note.text)

        leaves = list(map(leaf_hash, hashes))
        assert checkpoint == Checkpoint(ORIGIN, len(hashes), root_of(len(hashes), nodes_of(leaves)))
        assert list(note.verified(log_keys(holder.settings))) == list(log_keys(holder.settings))
        node = nodes_from(checkpoint.size, lambda tile: tile_of(holder, tile))
        assert root_of(checkpoint.size, node) == checkpoint.root
        assert parse_entry_bundle(tile_of(holder, Tile(None, 0, checkpoint.size))) == hashes


def test_metrics_show_how_far_the_log_is_behind(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with set_up_holder.copied(tmp_path, log_origin=ORIGIN) as holder:
        published_whole(holder)
        assert holder.holder.publisher is not None
        holder.holder.publisher.close()
        before = holder.metrics().text
        for draw in (1, 2):
            holder.release(plan(draw=draw))

        behind = holder.metrics().text

        assert {"holder_log_waiting_entries 0.0", "holder_log_waiting_seconds 0.0"} <= set(before.splitlines())
        assert "holder_log_waiting_entries 2.0" in behind.splitlines()
        [age] = [line.split()[1] for line in behind.splitlines() if line.startswith("holder_log_waiting_seconds ")]
        oldest = datetime.fromisoformat(holder.entries()[-2]["at"])
        assert 0 < float(age) <= (datetime.now(UTC) - oldest).total_seconds()
        holder.settings.log_checkpoint.unlink()
        assert f"holder_log_waiting_entries {len(holder.entries())}.0" in holder.metrics().text.splitlines()


def test_a_holder_without_an_origin_has_no_log(unmoved_holder: TestedHolder) -> None:
    assert "holder_log_" not in unmoved_holder.metrics().text
    for path in ("checkpoint", "tile/0/000.p/1"):
        answer = unmoved_holder.client.get(f"/v1/log/{path}")
        assert answer.status_code == 404
        assert "does not publish" in answer.json()["detail"]


@pytest.mark.parametrize(
    "path", ["0/000", "0/000.p/200", "0/001.p/1", "1/000.p/1", "entries/000.p/200", "0/0", "..%2F..%2Fanchor"]
)
def test_only_what_the_checkpoint_covers_is_served(log_holder: TestedHolder, path: str) -> None:
    assert log_holder.client.get(f"/v1/log/tile/{path}").status_code == 404


def test_a_witness_cosigns_every_later_checkpoint_and_the_release_does_not_wait(
    set_up_holder: TestedHolder, tmp_path: Path
) -> None:
    """While the witness is down the log stays where it was witnessed last, and releases are answered."""
    folder = new_witness(tmp_path / "witness", set_up_holder.settings)
    with reserved_port() as port, ExitStack() as up:
        witness = up.enter_context(witnessing(folder, port=port))
        with set_up_holder.copied(tmp_path / "holder", log_origin=ORIGIN, witnesses=(witness,)) as holder:
            published_whole(holder)
            first = checkpoint_of(holder)
            assert first is not None
            assert first.verified([witness.key])[witness.key] is not None
            up.close()

            assert holder.release(plan(draw=1)).status_code == 201
            holder.holder.publisher.publish()  # type: ignore[union-attr]
            assert checkpoint_of(holder) == first

            up.enter_context(witnessing(folder, port=port))
            holder.holder.publisher.publish()  # type: ignore[union-attr]
            published_whole(holder)
            second = checkpoint_of(holder)
            assert second is not None
            assert list(second.verified([witness.key])) == [witness.key]
            before, after = Checkpoint.parse(first.text), Checkpoint.parse(second.text)
            assert before.size < after.size
            node = nodes_from(after.size, lambda tile: tile_of(holder, tile))
            verify_consistency(
                first=before.size, second=after.size, first_root=before.root, second_root=after.root,
                proof=consistency_proof(before.size, after.size, node),
            )  # fmt: skip


def test_a_log_that_forks_is_not_cosigned(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    """Two copies of one holder, with one key, charge different plans: the witness cosigns the first alone."""
    folder = new_witness(tmp_path / "witness", set_up_holder.settings)
    with witnessing(folder) as witness:
        settings: dict[str, Any] = {"log_origin": ORIGIN, "witnesses": (witness,)}
        with set_up_holder.copied(tmp_path / "one", **settings) as first:
            first.release(plan(draw=1))
            published_whole(first)
            seen = checkpoint_of(first)
            assert seen is not None
            assert len(seen.verified([witness.key])) == 1
        with set_up_holder.copied(tmp_path / "two", **settings) as second:
            second.release(plan(draw=2))
            second.release(plan(draw=3))
            published_whole(second)
            forked = checkpoint_of(second)
            assert forked is not None
            assert forked.verified([witness.key]) == {}
    assert folder.logs()[ORIGIN].root == Checkpoint.parse(seen.text).root


def test_a_ledger_that_was_rolled_back_with_its_anchor_gets_no_checkpoint(
    set_up_holder: TestedHolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Database and anchor are put back together, which the anchor alone does not notice; the published log does."""
    with set_up_holder.copied(tmp_path, log_origin=ORIGIN) as holder:
        settings = holder.settings
        holder.release(plan(draw=1))
        published_whole(holder)
        published = checkpoint_of(holder)
    for name in ("holder.sqlite", "anchor"):
        shutil.copy(set_up_holder.settings.home.parent / name, settings.anchor.parent / name)
    for leftover in settings.anchor.parent.glob("holder.sqlite-*"):
        leftover.unlink()
    with opened(settings, set_up_holder.admin_key, set_up_holder.auditor_key) as rolled_back:
        for draw in (2, 3):
            assert rolled_back.release(plan(draw=draw)).status_code == 201
        rolled_back.holder.publisher.publish()  # type: ignore[union-attr]
        assert checkpoint_of(rolled_back) == published
    assert "the ledger lacks entries of its published log" in caplog.messages


def test_a_restored_ledger_is_another_log(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with set_up_holder.copied(tmp_path, log_origin=ORIGIN) as holder:
        holder.release(plan(draw=1))
        published_whole(holder)
        lose_the_anchored_entry(holder.settings)
        assert checkpoint_of(holder) is None
        assert holder.client.get("/v1/log/tile/0/000.p/1").status_code == 404

        assert holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"}).status_code == 201

        published_whole(holder)
        note = checkpoint_of(holder)
        assert note is not None
        checkpoint = Checkpoint.parse(note.text)
        [restore] = [entry["hash"] for entry in holder.entries() if entry["kind"] == "restore"]
        assert checkpoint.origin == f"{ORIGIN}/{restore.removeprefix('sha256:')[:8]}"
        leaves = list(map(leaf_hash, hashes_of(holder)))
        assert checkpoint.root == root_of(len(leaves), nodes_of(leaves))


def audited(holder: TestedHolder, receipts: Path, *, above: float, witness: Witness | None = None) -> Auditor:
    """An auditor who asked one question, when its entry is in the published log."""
    auditor = Auditor(
        holder.url, holder.auditor_key, receipts=receipts, witnesses=None if witness is None else str(witness.key)
    )
    auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="hours", above=above)
    published_whole(holder)
    return auditor


def states(report: ReceiptsReport) -> list[str]:
    return [row[3] for row in report.table.rows]


def test_receipts_are_checked_against_the_public_log_and_its_witness(
    set_up_holder: TestedHolder, tmp_path: Path
) -> None:
    folder = new_witness(tmp_path / "witness", set_up_holder.settings)
    with ExitStack() as up:
        witness = up.enter_context(witnessing(folder))
        holder = up.enter_context(set_up_holder.copied(tmp_path / "holder", log_origin=ORIGIN, witnesses=(witness,)))
        auditor = up.enter_context(audited(holder, tmp_path / "receipts", above=20.5, witness=witness))
        report = auditor.verify()
        assert (report.ok, states(report)) == (True, ["valid, witnessed"])
        assert report.log is not None
        assert report.log.sentence == (
            f"The holder's public log {ORIGIN} has {head_of(holder)} entries, cosigned by witness.example/one."
        )
        assert auditor.verify().to_document() == report.to_document()
        holder.holder.publisher.close()  # type: ignore[union-attr]
        auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="hours", above=30.5)
        assert sorted(states(auditor.verify())) == ["valid, not yet in the public log", "valid, witnessed"]

        stranger = new_witness(tmp_path / "other", set_up_holder.settings, "witness.example/two").key().verifier
        with Auditor(
            holder.url, holder.auditor_key, receipts=tmp_path / "receipts", witnesses=f"{witness.key} {stranger}"
        ) as demanding:
            refused = demanding.verify()
    assert not refused.ok
    assert "of 2 of 2 witnesses, and the checkpoint has 1" in str(refused.log)
    offline = check_receipts(Receipts(tmp_path / "receipts"), None, RequiredWitnesses((witness.key,), 1))
    assert sorted(states(offline)) == ["valid, not yet in the public log", "valid, witnessed"]


def test_a_holder_without_a_log_does_not_satisfy_who_requires_witnesses(
    unmoved_holder: TestedHolder, tmp_path: Path
) -> None:
    key = new_witness(tmp_path / "witness", unmoved_holder.settings).key().verifier
    (tmp_path / "receipts").mkdir()
    for named, ok in ((str(key), False), (None, True)):
        with Auditor(
            unmoved_holder.url, unmoved_holder.auditor_key, receipts=tmp_path / "receipts", witnesses=named
        ) as auditor:
            assert auditor.verify().ok == ok


@pytest.mark.slow
def test_a_forked_ledger_is_caught_from_two_bundles_offline(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    """Two copies of one holder answer two auditors; each bundle holds, and the two together prove the fork."""
    bundles = []
    for number, above in enumerate((20.5, 30.5)):
        with (
            set_up_holder.copied(tmp_path / f"holder-{number}", log_origin=ORIGIN) as holder,
            audited(holder, tmp_path / f"receipts-{number}", above=above) as auditor,
        ):
            forked_at = head_of(holder)
            assert auditor.verify().ok
            bundles.append(write_bundle(tmp_path / f"{number}.zip", auditor.history().audits, auditor.receipts))
            if number == 0:
                auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="hours", above=40.5)
                published_whole(holder)
                auditor.verify()
                bundles.append(write_bundle(tmp_path / "later.zip", auditor.history().audits, auditor.receipts))
    first, later, second = bundles
    for bundle in bundles:
        found = check_bundle(bundle)
        assert found.ok
        assert found.log is not None
        assert found.log.origin == ORIGIN
    same = compare_bundles(first, later)
    assert (same.fault, same.common) == (None, forked_at)
    for one in (first, later):
        assert f"entry {forked_at} of its ledger is not the same" in str(compare_bundles(one, second).fault)
        assert f"entry {forked_at} of its ledger is not the same" in str(compare_bundles(second, one).fault)


def frozen_and_forked(set_up_holder: TestedHolder, tmp_path: Path) -> tuple[Path, Path]:
    """A bundle of an honest log; and one of a holder that answers from a fork and shows a log that ends before it."""
    bundles = []
    for number, above in enumerate((20.5, 30.5)):
        with (
            set_up_holder.copied(tmp_path / f"holder-{number}", log_origin=ORIGIN) as holder,
            ExitStack() as up,
        ):
            if number == 1:
                published_whole(holder)
                holder.holder.publisher.close()  # type: ignore[union-attr]
            auditor = up.enter_context(
                Auditor(holder.url, holder.auditor_key, receipts=tmp_path / f"receipts-{number}")
            )
            auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="hours", above=above)
            if number == 0:
                published_whole(holder)
            assert auditor.verify().ok
            bundles.append(write_bundle(tmp_path / f"{number}.zip", auditor.history().audits, auditor.receipts))
    honest, frozen = bundles
    return honest, frozen


@pytest.mark.slow
def test_a_fork_is_caught_from_a_receipt_that_the_shown_log_does_not_reach(
    set_up_holder: TestedHolder, tmp_path: Path
) -> None:
    honest, frozen = frozen_and_forked(set_up_holder, tmp_path)
    for pair in ((honest, frozen), (frozen, honest)):
        assert "signed two histories" in str(compare_bundles(*pair).fault)
    found = check_bundle(frozen)
    assert found.ok
    assert found.log is not None
    assert found.log.newer == 1
    assert "are not in it yet" in found.log.sentence
    demanding = check_bundle(frozen, witnesses=RequiredWitnesses((), 1))
    assert not demanding.ok
    assert "is not covered by the checkpoint in the bundle" in str(demanding.log)


def test_a_made_up_bundle_accuses_nobody(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    """Somebody adds a key of their own to a bundle, rewrites an entry and signs: no common key vouches for it."""
    with (
        set_up_holder.copied(tmp_path / "holder", log_origin=ORIGIN) as holder,
        audited(holder, tmp_path / "receipts", above=20.5) as auditor,
    ):
        assert auditor.verify().ok
        honest = write_bundle(tmp_path / "honest.zip", auditor.history().audits, auditor.receipts)
    manifest, files = read_bundle(honest)
    forger = Ed25519PrivateKey.generate()
    keys = SigningKeys.model_validate_json(files["keys.json"])
    own = SigningKeyPair.of(forger).public_key(valid_from=keys.keys[0].valid_from)
    entries = bytearray(files["log/entries"])
    entries[0] ^= 1
    size = len(entries) // HASH_BYTES
    leaves = [leaf_hash(bytes(entries[at * HASH_BYTES : (at + 1) * HASH_BYTES])) for at in range(size)]
    text = Checkpoint(ORIGIN, size, root_of(size, nodes_of(leaves))).text
    note = SignedNote(text, (SigningNoteKey.of(ORIGIN, forger).sign(text),))
    files |= {"log/entries": bytes(entries), "log/checkpoint": str(note).encode()}
    for shown, message in (((*keys.keys, own), "No trusted key vouches"), ((own,), "do not share a signing key")):
        files["keys.json"] = SigningKeys(keys=shown).model_dump_json().encode()
        listed = manifest.model_copy(update={"files": {name: sha256_name(files[name]) for name in manifest.files}})
        forged = tmp_path / "forged.zip"
        with zipfile.ZipFile(forged, "w") as written:
            for name, content in {**files, "manifest.json": listed.model_dump_json().encode()}.items():
                written.writestr(name, content)
        with pytest.raises(ReceiptsDamaged, match=message):
            compare_bundles(honest, forged)


def test_a_log_that_ends_before_an_old_receipt_is_a_fault_for_who_requires_witnesses(
    set_up_holder: TestedHolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_witness(tmp_path / "witness", set_up_holder.settings)
    with ExitStack() as up:
        witness = up.enter_context(witnessing(folder))
        holder = up.enter_context(set_up_holder.copied(tmp_path / "holder", log_origin=ORIGIN, witnesses=(witness,)))
        published_whole(holder)
        holder.holder.publisher.close()  # type: ignore[union-attr]
        auditor = up.enter_context(
            Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts", witnesses=str(witness.key))
        )
        auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="hours", above=20.5)
        report = auditor.verify()
        assert (report.ok, states(report)) == (True, ["valid, not yet in the public log"])
        assert report.to_document()["receipts"][0]["state"] == "valid, not yet in the public log"
        monkeypatch.setattr("auditor_client.exchange.receipts.PUBLISHED_AFTER_MAX", timedelta(0))
        late = auditor.verify()
    assert not late.ok
    assert "the holder's public log still ends at entry" in str(late.checks[0].fault)


def test_a_log_without_its_witnesses_goes_on_when_the_holder_names_none(
    set_up_holder: TestedHolder, tmp_path: Path
) -> None:
    folder = new_witness(tmp_path / "witness", set_up_holder.settings)
    with (
        witnessing(folder) as witness,
        set_up_holder.copied(tmp_path / "holder", log_origin=ORIGIN, witnesses=(witness,)) as holder,
    ):
        published_whole(holder)
        settings = holder.settings
    with opened(replace(settings, witnesses=()), set_up_holder.admin_key, set_up_holder.auditor_key) as alone:
        alone.release(plan(draw=1))
        published_whole(alone)
        note = checkpoint_of(alone)
    assert note is not None
    assert len(note.signatures) == 1


@pytest.mark.slow
def test_a_bundle_with_the_log_is_published(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with (
        set_up_holder.copied(tmp_path / "holder", log_origin=ORIGIN) as holder,
        audited(holder, tmp_path / "receipts", above=20.5) as auditor,
    ):
        assert auditor.verify().ok
        bundle = write_bundle(tmp_path / "audit.zip", auditor.history().audits, auditor.receipts)
        (tmp_path / "room").mkdir()
        published = publication(
            holder.holder.store, organisation=None, bundles=(bundle,), only=(), room=tmp_path / "room"
        )
    assert len(published.answers) == 1


def test_a_rewritten_ledger_is_named_by_its_entry(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    """The auditor who saw one copy of a holder looks at the other: entry, evidence and receipt say what happened."""
    with (
        set_up_holder.copied(tmp_path / "one", log_origin=ORIGIN) as first,
        audited(first, tmp_path / "receipts", above=20.5) as auditor,
    ):
        assert auditor.verify().ok
        forked_at = head_of(first)
    with set_up_holder.copied(tmp_path / "two", log_origin=ORIGIN) as second:
        for draw in range(3):
            second.release(plan(draw=draw))
        published_whole(second)
        with Auditor(second.url, second.auditor_key, receipts=tmp_path / "receipts") as again:
            report = again.verify()
    assert not report.ok
    assert report.log is not None
    assert f"Entry {forked_at} of the holder's log is another one" in str(report.log.fault)
    assert len(list((tmp_path / "receipts" / "log" / "refused").iterdir())) == 1
