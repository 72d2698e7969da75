"""The ledger as a transparency log: what its checkpoint says, and the tiles of its tree (docs/adr/0067).

Entry n of the ledger is leaf n - 1, and the leaf's data are the 32 bytes of the entry's hash. Each entry is hashed
with a nonce, so a leaf does not confirm any guess of what the entry says. The holder stores only the checkpoint that
it published last: the tree follows from the entries. It serves only the part of the tree that this checkpoint covers.

A recorded restore begins another history. Its log has another name, which ends with the beginning of the hash of the
entry that records the restore.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Final

from holder_service.domain.errors import NotFound
from holder_service.files.durable import durable_file
from holder_service.services.ledger.key_rotation import Signer
from holder_service.services.ledger.store import LedgerStore
from holder_service.storage import ledger
from holder_service.storage.database import Connection
from shared.log.checkpoints import Checkpoint
from shared.log.merkle import HASH_BYTES, consistency_proof, leaf_hash, root_of
from shared.log.notes import BadNote, SignedNote
from shared.log.tiles import WIDTH, Tile, entry_bundle, nodes_from, subtree_root

NAMED_DIGITS: Final = 8
"""Of the hash of a restore's entry, in the name of the log after it."""
NO_LOG: Final = "This holder does not publish its ledger as a log."


@dataclass(frozen=True, slots=True)
class LogLag:
    """How many entries are in no published checkpoint yet, and when the oldest of them was made, if there is one."""

    entries: int
    oldest: datetime | None


class LedgerLog:
    """The log of one ledger; `origin` is its name before any restore."""

    def __init__(self, store: LedgerStore, signer: Signer, *, origin: str, file: Path) -> None:
        self._store = store
        self._signer = signer
        self._origin = origin
        self._file = file
        self._guard = RLock()
        self._seen = ledger.EMPTY
        self._named = ""
        self._roots: dict[tuple[int, int], bytes] = {}

    def name(self) -> str:
        """The log's name: the origin of its checkpoints.

        Raises:
            Unavailable: The database does not answer.
        """
        return self._store.look_up(self._name)

    def published(self) -> SignedNote | None:
        """The last published checkpoint with its cosignatures; None before the first, or if the ledger was rolled back.

        Raises:
            Unavailable: The database or the anchor does not answer.
        """
        if not self._store.is_anchored():
            return None
        try:
            note = SignedNote.parse(self._file.read_bytes())
            checkpoint = Checkpoint.parse(note.text)
        except (FileNotFoundError, BadNote):
            return None
        return note if checkpoint.origin == self.name() else None

    def lag(self) -> LogLag:
        """What of the ledger the published checkpoint does not cover.

        Raises:
            Unavailable: The database or the anchor does not answer.
        """
        # The checkpoint is read first: its entries were in the ledger before.
        note = self.published()
        size = 0 if note is None else Checkpoint.parse(note.text).size
        with self._store.database.read() as connection:
            entries = max(ledger.head(connection).sequence - size, 0)
            return LogLag(entries, ledger.time_of(connection, size + 1) if entries else None)

    def publish(self, note: SignedNote) -> None:
        """Serve a checkpoint from now on.

        Raises:
            OSError: It cannot be written.
        """
        with durable_file(self._file) as file:
            file.write(str(note).encode())

    def newest(self) -> Checkpoint:
        """What a checkpoint of the ledger as it is now says.

        Raises:
            Unavailable: The database does not answer.
        """
        return self._store.look_up(self._newest)

    def has(self, checkpoint: Checkpoint) -> bool:
        """Whether the ledger still has all entries of a checkpoint, as they were.

        Raises:
            Unavailable: The database does not answer.
        """
        return self._store.look_up(self._has, checkpoint)

    def signed(self, checkpoint: Checkpoint) -> SignedNote:
        """A checkpoint with the signature of the holder's key in force.

        Raises:
            Unavailable: The database does not answer, or the key is missing.
        """
        pair = self._store.look_up(self._signer.in_force)
        return SignedNote(checkpoint.text, (pair.note_key(checkpoint.origin).sign(checkpoint.text),))

    def consistency(self, first: int, second: int) -> list[bytes]:
        """Prove that the first entries are a prefix of the later ones.

        Raises:
            Unavailable: The database does not answer.
        """
        return self._store.look_up(
            lambda connection: consistency_proof(first, second, nodes_from(second, partial(self._hashes, connection)))
        )

    def tile(self, tile: Tile) -> bytes:
        """The bytes of a tile that the published checkpoint covers.

        Raises:
            NotFound: It does not cover it, or nothing is published.
            Unavailable: The database does not answer.
        """
        note = self.published()
        if note is None or not tile.is_in(Checkpoint.parse(note.text).size):
            raise NotFound("The published checkpoint does not cover this tile.")
        if tile.level is None:
            return entry_bundle(self._store.look_up(_entries, tile))
        return self._store.look_up(self._hashes, tile)

    def _newest(self, connection: Connection) -> Checkpoint:
        name, size = self._name(connection), ledger.head(connection).sequence
        return Checkpoint(name, size, self._root_of(connection, size))

    def _has(self, connection: Connection, checkpoint: Checkpoint) -> bool:
        self._name(connection)  # what is kept of the tree of another history is forgotten
        in_time = checkpoint.size <= ledger.head(connection).sequence
        return in_time and self._root_of(connection, checkpoint.size) == checkpoint.root

    def _root_of(self, connection: Connection, size: int) -> bytes:
        return root_of(size, nodes_from(size, partial(self._hashes, connection)))

    def _name(self, connection: Connection) -> str:
        """The log's name; what is kept of the tree of another history is forgotten."""
        head, restore = ledger.head(connection), ledger.newest_restore(connection)
        name = self._origin if restore is None else f"{self._origin}/{restore.removeprefix('sha256:')[:NAMED_DIGITS]}"
        with self._guard:
            is_same = not self._seen.sequence or ledger.hash_at(connection, self._seen.sequence) == self._seen.hash
            if name != self._named or not is_same:
                self._roots = {}
            self._seen, self._named = head, name
        return name

    def _hashes(self, connection: Connection, tile: Tile) -> bytes:
        if not tile.level:
            return b"".join(map(leaf_hash, _entries(connection, tile)))
        first = tile.number * WIDTH
        return b"".join(self._root(connection, tile.level, first + i) for i in range(tile.width))

    def _root(self, connection: Connection, level: int, number: int) -> bytes:
        """The root of a full tile of the level below, kept once it is known; computed by one thread at a time."""
        if (root := self._roots.get((level, number))) is not None:
            return root
        with self._guard:
            root = self._roots.get((level, number))
            if root is None:
                below = self._hashes(connection, Tile(level - 1, number))
                root = subtree_root([below[i : i + HASH_BYTES] for i in range(0, len(below), HASH_BYTES)])
                self._roots[level, number] = root
            return root


def _entries(connection: Connection, tile: Tile) -> list[bytes]:
    first = tile.number * WIDTH
    return ledger.hashes(connection, first + 1, first + tile.width)
