"""The holder's log as the auditor checks it: every way of lying about it is refused with a sentence of its own."""

import base64
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auditor_client.errors import HolderLied, ReceiptsDamaged
from auditor_client.exchange.ledger_log import LogFolder, PublicLog, RequiredWitnesses, first_difference
from shared.kinds.releases import LedgerPosition, SigningKey, SigningKeys
from shared.log.checkpoints import Checkpoint
from shared.log.merkle import leaf_hash, nodes_of, root_of
from shared.log.notes import COSIGNATURE, SignedNote, SigningNoteKey

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
ORIGIN = "holder.example/ledger"
HOLDER = Ed25519PrivateKey.from_private_bytes(b"1" * 32)
STRANGER = Ed25519PrivateKey.from_private_bytes(b"2" * 32)
ONE, TWO, THREE = (
    SigningNoteKey.of(
        f"witness.example/{n}", Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32), algorithm=COSIGNATURE
    )
    for n in (3, 4, 5)
)
KEYS = SigningKeys(
    keys=(
        SigningKey(
            id="key", algorithm="ed25519",
            public_key=base64.b64encode(HOLDER.public_key().public_bytes_raw()).decode(), valid_from=NOW,
        ),
    )
)  # fmt: skip


def hashes(size: int, *, changed: int | None = None) -> list[bytes]:
    """Hashes of entries; that of one number from 1 is another."""
    return [
        hashlib.sha256(f"{number}{'!' if number == changed else ''}".encode()).digest() for number in range(1, size + 1)
    ]


def log_of(
    entries: list[bytes], *, origin: str = ORIGIN, key: Ed25519PrivateKey = HOLDER, root: bytes | None = None,
    by: tuple[SigningNoteKey, ...] = (), seen: datetime = NOW,
) -> PublicLog:  # fmt: skip
    """A log as a holder and witnesses sign it."""
    root = root_of(len(entries), nodes_of(list(map(leaf_hash, entries)))) if root is None else root
    text = Checkpoint(origin, len(entries), root).text
    signatures = (SigningNoteKey.of(origin, key).sign(text), *(witness.cosign(text, now=seen) for witness in by))
    return PublicLog(SignedNote(text, signatures), b"".join(entries))


def test_a_log_that_grew_is_true() -> None:
    earlier, later = log_of(hashes(40)), log_of(hashes(47))
    for log in (earlier, later, log_of([])):
        log.require_true(KEYS)
    assert later.fault_before(earlier) is None
    assert earlier.fault_before(earlier) is None
    assert later.hash_at(47) == "sha256:" + hashes(47)[46].hex()
    assert later.hash_at(48) is later.hash_at(0) is None


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (log_of(hashes(40), key=STRANGER), "not signed by any of the keys"),
        (replace(log_of(hashes(40)), entries=b"".join(hashes(40, changed=3))), "do not make the root"),
        (replace(log_of(hashes(40)), entries=b"".join(hashes(39))), "covers 40 entries, and 39 came"),
        (replace(log_of(hashes(40)), entries=b"".join(hashes(40)) + b"x"), "covers 40 entries"),
        (log_of(hashes(40), root=bytes(32)), "do not make the root"),
        (PublicLog(SignedNote("a\nb\nc\n", log_of([]).note.signatures), b""), "not valid"),
        (
            PublicLog(
                SignedNote(log_of(hashes(2)).note.text, log_of(hashes(2, changed=1)).note.signatures),
                b"".join(hashes(2)),
            ),
            "not valid: The signature of .* is false",
        ),
    ],
    ids=[
        "another key",
        "entry changed",
        "entry left out",
        "odd length",
        "another root",
        "malformed",
        "signature moved",
    ],
)
def test_a_false_log_is_refused(log: PublicLog, words: str) -> None:
    with pytest.raises(HolderLied, match=words):
        log.require_true(KEYS)


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (log_of(hashes(47, changed=17)), "Entry 17 of the holder's log is another one"),
        (log_of(hashes(40, changed=40)), "Entry 40 of the holder's log is another one"),
        (log_of(hashes(38)), "ends at entry 38, and when you last looked it ended at entry 40"),
        (log_of(hashes(47), origin=f"{ORIGIN}/1"), "is now called"),
    ],
    ids=["rewritten", "the same size, another root", "truncated", "another name"],
)
def test_a_true_log_of_another_history_is_a_fault(later: PublicLog, words: str) -> None:
    later.require_true(KEYS)
    assert words in str(later.fault_before(log_of(hashes(40))))


def reused(witness: SigningNoteKey) -> PublicLog:
    """A log under which a cosignature stands that the witness made for a log of another name."""
    log, other = log_of(hashes(40)), log_of(hashes(40), origin="another.example/ledger", by=(witness,))
    return replace(log, note=SignedNote(log.note.text, (*log.note.signatures, other.note.signatures[-1])))


@pytest.mark.parametrize(
    ("log", "needed", "words"),
    [
        (log_of(hashes(40)), 1, "the checkpoint has 0 (none)"),
        (log_of(hashes(40), by=(ONE,)), 2, "of 2 of 2 witnesses, and the checkpoint has 1 (witness.example/3)"),
        (log_of(hashes(40), by=(THREE,)), 1, "the checkpoint has 0 (none)"),
        (log_of(hashes(40), by=(ONE, ONE)), 2, "two signatures of 'witness.example/3'"),
        (log_of(hashes(40), by=(ONE,), seen=NOW + timedelta(minutes=6)), 1, "1 more are from the future"),
        (reused(ONE), 1, "The signature of 'witness.example/3' is false"),
    ],
    ids=["none", "too few", "a stranger", "one twice", "from the future", "made for another log"],
)
def test_missing_and_false_cosignatures_are_faults(log: PublicLog, needed: int, words: str) -> None:
    witnesses = RequiredWitnesses((ONE.verifier, TWO.verifier), needed)
    assert words in str(witnesses.fault(log.note, now=NOW))


def test_enough_cosignatures_are_enough() -> None:
    log = log_of(hashes(40), by=(ONE, THREE, TWO), seen=NOW + timedelta(minutes=4))
    assert RequiredWitnesses((ONE.verifier, TWO.verifier), 2).fault(log.note, now=NOW) is None
    assert RequiredWitnesses().fault(log_of([]).note, now=NOW) is None


def test_a_receipt_is_looked_up_in_the_log() -> None:
    log = log_of(hashes(40))
    true = LedgerPosition(sequence=7, hash="sha256:" + hashes(7)[6].hex())
    assert log.receipt_fault(true) is None
    assert log.receipt_fault(LedgerPosition(sequence=41, hash=true.hash)) is None
    assert "another history" in str(log.receipt_fault(LedgerPosition(sequence=8, hash=true.hash)))


@pytest.mark.parametrize(("one", "other", "at"), [(5, 9, None), (9, 5, None), (0, 3, None)])
def test_a_log_that_begins_another_differs_nowhere(one: int, other: int, at: int | None) -> None:
    assert first_difference(log_of(hashes(one)), log_of(hashes(other))) is at


def test_a_saved_log_reads_as_it_was_also_if_the_next_was_written_in_part(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path)
    assert folder.saved() is None
    folder.save(log_of(hashes(40)))
    assert folder.saved() == log_of(hashes(40))
    (folder.path / "entries").write_bytes(b"".join(hashes(45)))
    assert folder.saved() == log_of(hashes(40))
    (folder.path / "checkpoint").write_bytes(b"nothing")
    with pytest.raises(ReceiptsDamaged):
        folder.saved()
