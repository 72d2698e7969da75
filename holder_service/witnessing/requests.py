"""The body of an `add-checkpoint` call, as a log writes and a witness reads it (C2SP `tlog-witness`)."""

import base64
from dataclasses import dataclass
from typing import Final, Self

from shared.log.checkpoints import parse_hash, parse_size
from shared.log.notes import NOTE_BYTES_MAX, BadNote, SignedNote

PROOF_HASHES_MAX: Final = 63
BODY_BYTES_MAX: Final = NOTE_BYTES_MAX + 8 * 1024


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """A checkpoint, and that the one which the witness saw last is a prefix of it.

    Attributes:
        old_size: The size of the checkpoint that the witness saw last; 0 for a new log.
        proof: The consistency proof from that size on.
        note: The checkpoint as the log signed it.
    """

    old_size: int
    proof: tuple[bytes, ...]
    note: SignedNote

    @property
    def body(self) -> bytes:
        """The bytes that are sent."""
        proof = "".join(f"{base64.b64encode(one).decode()}\n" for one in self.proof)
        return f"old {self.old_size}\n{proof}\n{self.note}".encode()

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read a body.

        Raises:
            BadNote: It is malformed.
        """
        before, separator, note = body.partition(b"\n\n")
        try:
            old, *proof = before.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise BadNote("The old size and the proof must be ASCII.") from None
        if not separator or not old.startswith("old "):
            raise BadNote('The body must begin with "old" and a size, then a proof, an empty line and a checkpoint.')
        if len(proof) > PROOF_HASHES_MAX:
            raise BadNote(f"The proof has more than {PROOF_HASHES_MAX} hashes, the maximum.")
        return cls(parse_size(old.removeprefix("old ")), tuple(map(parse_hash, proof)), SignedNote.parse(note))
