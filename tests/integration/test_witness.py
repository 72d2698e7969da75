"""A witness on loopback: what it cosigns, and every reason for which it does not."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from holder_service.cli import app
from holder_service.settings.holder import Witness
from holder_service.witnessing.calls import NotCosigned, WitnessCalls
from holder_service.witnessing.requests import BODY_BYTES_MAX, AddCheckpoint
from holder_service.witnessing.state import STATE_FILE, UnusableWitness, WitnessFolder
from shared.log.checkpoints import Checkpoint
from shared.log.merkle import consistency_proof, leaf_hash, nodes_of, root_of
from shared.log.notes import Signature, SignedNote, SigningNoteKey
from testing.witnesses import ORIGIN, witnessing

LOG_KEY = SigningNoteKey.of(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"1" * 32))
STRANGER = SigningNoteKey.of(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"2" * 32))
LEAVES = [leaf_hash(bytes([number])) for number in range(60)]
FORKED = [*LEAVES[:4], leaf_hash(b"another"), *LEAVES[5:]]


def note_of(
    size: int, *, leaves: list[bytes] = LEAVES, origin: str = ORIGIN, key: SigningNoteKey = LOG_KEY
) -> SignedNote:
    text = Checkpoint(origin, size, root_of(size, nodes_of(leaves[:size]))).text
    return SignedNote(text, (key.sign(text),))


def body_of(old: int, size: int, *, leaves: list[bytes] = LEAVES, note: SignedNote | None = None) -> bytes:
    proof = tuple(consistency_proof(min(old, size), size, nodes_of(leaves[:size])))
    return AddCheckpoint(old, proof, note or note_of(size, leaves=leaves)).body


@dataclass
class RunningWitness:
    """A witness that serves, and its folder."""

    witness: Witness
    folder: WitnessFolder

    def add(self, body: bytes) -> httpx.Response:
        return httpx.post(f"{self.witness.url}/add-checkpoint", content=body, timeout=60)

    @property
    def seen(self) -> int:
        return self.folder.logs()[ORIGIN].size


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningWitness]:
    """A witness that watches one log and has seen 40 entries of it."""
    folder = WitnessFolder(tmp_path)
    folder.create("witness.example/one")
    folder.add(ORIGIN, (LOG_KEY.verifier,))
    with witnessing(folder) as witness:
        running = RunningWitness(witness, folder)
        assert running.add(body_of(0, 40)).status_code == 200
        yield running


@pytest.mark.parametrize("size", [40, 41, 60])
def test_a_log_that_grew_is_cosigned(running: RunningWitness, size: int) -> None:
    answer = running.add(body_of(40, size))
    assert answer.status_code == 200
    cosignature = Signature.parse(answer.text.removesuffix("\n"))
    assert running.witness.key.time_of(note_of(size).text, cosignature) is not None
    assert running.seen == size


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (body_of(40, 50, leaves=FORKED), 422, "is not a prefix"),
        (body_of(40, 40, leaves=FORKED), 409, "different roots"),
        (body_of(30, 50), 409, "40"),
        (body_of(0, 50), 409, "40"),
        (body_of(50, 45), 400, "The old size is larger"),
        (body_of(30, 30), 409, "40"),
        (body_of(40, 50, note=note_of(50, key=STRANGER)), 403, "None of the log's keys"),
        (body_of(40, 50, note=SignedNote(note_of(50).text, note_of(49).signatures)), 403, "is false"),
        (body_of(40, 50, note=note_of(50, origin="another.example/log")), 404, "does not watch"),
        (body_of(40, 50).replace(b"old 40\n", b"old 40\nAAAA\n"), 400, "is not a SHA-256 hash"),
        (body_of(40, 50).replace(b"old 40\n", b"old 040\n"), 400, "is not the size"),
        (b"old 40\n\n" + str(note_of(50)).encode(), 422, "too short"),
        (body_of(40, 40).replace(b"old 40\n", b"old 40\n" + base64.b64encode(bytes(32)) + b"\n"), 422, "too long"),
        (b"", 400, "must begin"),
        (b"old 40\n\nnothing", 400, "signature lines"),
        (b"old 40\n\n" + b"x" * BODY_BYTES_MAX, 413, "too large"),
    ],
    ids=[
        "forked", "forked at one size", "another size", "from the beginning", "size behind", "old checkpoint",
        "a stranger's key", "another's signature", "another log", "proof malformed", "size malformed", "no proof",
        "proof where none is needed", "empty", "no note", "too large",
    ],
)  # fmt: skip
def test_anything_else_is_refused_and_forgotten(running: RunningWitness, body: bytes, status: int, words: str) -> None:
    before = (running.folder.path / STATE_FILE).read_bytes()
    answer = running.add(body)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert (running.folder.path / STATE_FILE).read_bytes() == before
    if status == 409 and words == "40":
        assert answer.headers["content-type"] == "text/x.tlog.size"
        assert answer.text == "40\n"


def test_what_was_seen_survives_the_process(running: RunningWitness) -> None:
    with witnessing(running.folder) as again:
        forked = httpx.post(f"{again.url}/add-checkpoint", content=body_of(40, 50, leaves=FORKED), timeout=60)
    assert forked.status_code == 422


def test_one_key_signs_one_log_until_another_replaces_it(running: RunningWitness) -> None:
    restored = f"{ORIGIN}/0123abcd"
    same_key = SigningNoteKey.of(restored, Ed25519PrivateKey.from_private_bytes(b"1" * 32))
    with pytest.raises(UnusableWitness, match="already"):
        running.folder.add(restored, (same_key.verifier,))
    with pytest.raises(UnusableWitness, match="does not watch another log"):
        running.folder.add(restored, (same_key.verifier,), replaces="another.example/log")
    running.folder.add(restored, (same_key.verifier,), replaces=ORIGIN)

    assert running.add(body_of(0, 30, note=note_of(30, origin=restored, key=same_key))).status_code == 200
    answer = running.add(body_of(40, 50))
    assert (answer.status_code, "took the place" in answer.text) == (403, True)


def test_a_key_that_was_removed_signs_no_more(running: RunningWitness) -> None:
    running.folder.remove_key(ORIGIN, LOG_KEY.verifier)
    assert running.add(body_of(40, 50)).status_code == 403
    with pytest.raises(UnusableWitness, match="does not watch"):
        running.folder.remove_key(ORIGIN, LOG_KEY.verifier)


def test_a_witness_that_forgot_does_not_serve(tmp_path: Path) -> None:
    with pytest.raises(UnusableWitness, match="init"), witnessing(WitnessFolder(tmp_path)):
        pass
    folder = WitnessFolder(tmp_path)
    folder.create("witness.example/one")
    (tmp_path / STATE_FILE).write_text(json.dumps({ORIGIN: {"keys": [], "size": "40", "root": "AA=="}}))
    with pytest.raises(UnusableWitness, match="new witness with a new name"), witnessing(folder):
        pass
    (tmp_path / STATE_FILE).unlink()
    with pytest.raises(UnusableWitness, match="new witness with a new name"), witnessing(folder):
        pass


def test_the_holder_continues_where_the_witness_is(running: RunningWitness) -> None:
    """It believed that the witness had seen 10 entries, and asks again from where it is."""
    calls = WitnessCalls()

    def consistency(first: int, second: int) -> list[bytes]:
        return consistency_proof(first, second, nodes_of(LEAVES[:second]))

    signed = calls.cosign(running.witness, note_of(60), old_size=10, consistency=consistency)
    assert running.witness.key.time_of(note_of(60).text, signed) is not None
    with pytest.raises(NotCosigned, match="a longer history, of 60 entries"):
        calls.cosign(running.witness, note_of(50), old_size=0, consistency=consistency)
    stranger = SigningNoteKey.of("witness.example/two", Ed25519PrivateKey.generate(), algorithm=4).verifier
    with pytest.raises(NotCosigned, match="does not have a cosignature by its key"):
        calls.cosign(running.witness._replace(key=stranger), note_of(60), old_size=60, consistency=consistency)
    with pytest.raises(NotCosigned, match="ConnectError"):
        calls.cosign(Witness("http://127.0.0.1:1", stranger), note_of(60), old_size=60, consistency=consistency)
    calls.close()


def test_the_commands_set_a_witness_up(tmp_path: Path) -> None:
    home = str(tmp_path / "witness")
    run = CliRunner()
    made = run.invoke(app, ["witness", "init", "witness.example/one", "--home", home])
    assert made.exit_code == 0
    key = made.stdout.strip()
    assert key == str(WitnessFolder(Path(home)).key().verifier)
    assert (Path(home) / "witness-key.pem").stat().st_mode & 0o777 == 0o600
    again = run.invoke(app, ["witness", "init", "witness.example/one", "--home", home])
    assert (again.exit_code, "has a witness already" in again.stderr) == (2, True)
    assert run.invoke(app, ["witness", "add", ORIGIN, str(LOG_KEY.verifier), "--home", home]).exit_code == 0
    wrong = run.invoke(app, ["witness", "add", "another.example/log", str(LOG_KEY.verifier), "--home", home])
    assert (wrong.exit_code, "is not a key of the log" in wrong.stderr) == (2, True)
    malformed = run.invoke(app, ["witness", "add", ORIGIN, "nothing", "--home", home])
    assert (malformed.exit_code, "is not a verifier key" in malformed.stderr) == (2, True)
    shown = run.invoke(app, ["witness", "show", "--home", home])
    assert shown.stdout == f"{key}\n{ORIGIN}: 0 entries\n"


def test_a_checkpoints_text_is_the_published_form() -> None:
    root = root_of(2, nodes_of(LEAVES[:2]))
    assert note_of(2).text == f"{ORIGIN}\n2\n{base64.b64encode(root).decode()}\n"
