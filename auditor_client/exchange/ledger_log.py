"""The holder's public log as the auditor saw it: the checkpoint with its signatures, and the hash of every entry.

The auditor keeps all hashes, 32 bytes an entry, instead of proofs about some of them. So it computes the root itself,
looks up every receipt, compares a later log with the earlier one, and two auditors can compare theirs offline. Each
check fetches only what is new.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from auditor_client.durable_files import write_durably
from auditor_client.errors import HolderLied, HolderUnavailable, NotFound, ReceiptsDamaged
from auditor_client.exchange.holder import HolderClient
from shared.kinds.releases import LedgerPosition, SigningKeys
from shared.log.checkpoints import Checkpoint
from shared.log.merkle import HASH_BYTES, BadProof, leaf_hash, nodes_of, root_of
from shared.log.notes import AHEAD_MAX, BadNote, SignedNote, VerifierKey
from shared.log.tiles import WIDTH, Tile, parse_entry_bundle
from shared.wire.canonical import sha256_name

FOLDER: Final = "log"
REFUSED: Final = "refused"
CHECKPOINT: Final = "checkpoint"
ENTRIES: Final = "entries"
ENTRIES_MAX: Final = 4_000_000
"""128 MB of hashes."""


@dataclass(frozen=True, slots=True)
class RequiredWitnesses:
    """Whose cosignatures the auditor requires.

    Attributes:
        keys: The witnesses that the auditor trusts.
        needed: How many of them have to have cosigned.
    """

    keys: tuple[VerifierKey, ...] = ()
    needed: int = 0

    def fault(self, note: SignedNote, *, now: datetime) -> str | None:
        """What is wrong with the cosignatures of a checkpoint; None if enough of them hold."""
        try:
            signed = self.cosigned(note, now=now)
        except BadNote as error:
            return f"{error} Do not use the checkpoint, and report it to the holder's administrator."
        if len(signed) < self.needed:
            ahead = len(note.verified(self.keys)) - len(signed)
            late = f" {ahead} more are from the future: check this machine's clock." if ahead else ""
            return (
                f"You require the cosignatures of {self.needed} of {len(self.keys)} witnesses, and the checkpoint has "
                f"{len(signed)} ({', '.join(signed) or 'none'}).{late} Try again in a few minutes. If they are still "
                "missing, ask the witnesses."
            )
        return None

    def cosigned(self, note: SignedNote, *, now: datetime) -> tuple[str, ...]:
        """The names of the witnesses that cosigned a checkpoint, without those whose time is in the future.

        Raises:
            BadNote: A cosignature is false.
        """
        times = note.verified(self.keys)
        return tuple(sorted(key.name for key, at in times.items() if at is not None and at <= now + AHEAD_MAX))


NO_WITNESSES: Final = RequiredWitnesses()


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What was found about the holder's public log.

    Attributes:
        origin: The log's name.
        size: The number of entries that its checkpoint covers.
        witnesses: The names of the required witnesses that cosigned the checkpoint.
        fault: What is wrong, in a sentence; None if nothing is.
        newer: How many of the receipts have entries that the checkpoint does not cover yet.
    """

    origin: str
    size: int
    witnesses: tuple[str, ...] = ()
    fault: str | None = None
    newer: int = 0

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        if self.fault is not None:
            return self.fault
        by = f"cosigned by {', '.join(self.witnesses)}" if self.witnesses else "without a witness that you named"
        newer = f" {self.newer} of the receipts have entries that are not in it yet." if self.newer else ""
        return f"The holder's public log {self.origin} has {self.size} entries, {by}.{newer}"

    def covers(self, position: LedgerPosition) -> bool:
        """Whether an entry is in the log."""
        return position.sequence <= self.size


@dataclass(frozen=True, slots=True)
class PublicLog:
    """A checkpoint and the hashes of all entries that it covers.

    Attributes:
        note: The checkpoint as the holder and its witnesses signed it.
        entries: The hashes of the entries in order, 32 bytes each, one after the other.
    """

    note: SignedNote
    entries: bytes

    @property
    def checkpoint(self) -> Checkpoint:
        """What the holder signed."""
        return Checkpoint.parse(self.note.text)

    def hash_at(self, sequence: int) -> str | None:
        """The hash of an entry by its number from 1; None behind the checkpoint."""
        end = sequence * HASH_BYTES
        return f"sha256:{self.entries[end - HASH_BYTES : end].hex()}" if 0 < end <= len(self.entries) else None

    @classmethod
    def of_bytes(cls, checkpoint: bytes, entries: bytes) -> Self:
        """A log from the bytes of its two files; behind the end that the checkpoint names there may be more entries.

        Raises:
            BadNote: The checkpoint is malformed.
        """
        note = SignedNote.parse(checkpoint)
        return cls(note, entries[: Checkpoint.parse(note.text).size * HASH_BYTES])

    def check(self, witnesses: RequiredWitnesses, fault: str | None) -> LogCheck:
        """What was found about a log, with its cosignatures where nothing else is wrong."""
        now = datetime.now(UTC)
        fault = fault or witnesses.fault(self.note, now=now)
        cosigned = () if fault else witnesses.cosigned(self.note, now=now)
        return LogCheck(self.checkpoint.origin, self.checkpoint.size, cosigned, fault)

    def require_true(self, keys: SigningKeys) -> None:
        """Refuse a log that the holder did not sign, or whose entries do not make the root that it signed.

        Raises:
            HolderLied: It is false; the text says in what way.
        """
        try:
            checkpoint = self.checkpoint
            own = [VerifierKey.of_log(checkpoint.origin, key.public_key) for key in keys.keys]
            signed = self.note.verified(own)
        except BadNote as error:
            raise HolderLied(f"The checkpoint of the holder's log is not valid: {error}") from error
        if not signed:
            raise HolderLied(
                "The checkpoint of the holder's log is not signed by any of the keys that sign its releases. Do not "
                "use it, and report it to the holder's administrator."
            )
        size, odd = divmod(len(self.entries), HASH_BYTES)
        if odd or size != checkpoint.size:
            raise HolderLied(f"The checkpoint covers {checkpoint.size} entries, and {size} came with it.")
        leaves = [leaf_hash(entry) for entry in _cut(self.entries)]
        if root_of(size, nodes_of(leaves)) != checkpoint.root:
            raise HolderLied(
                f"The {size} entries of the holder's log do not make the root that the holder signed: an entry was "
                "changed or left out. Keep the log, and report it to the holder's administrator."
            )

    def fault_before(self, earlier: "PublicLog") -> str | None:
        """What is wrong with this log if the earlier one was true; None if it only grew."""
        before, now = earlier.checkpoint, self.checkpoint
        if before.origin != now.origin:
            return (
                f"The holder's log is now called {now.origin!r}. When you last looked it was {before.origin!r}. A "
                "holder that restored an older copy of its ledger begins a new log. Ask its administrator what was "
                "restored, and compare the name with the one that it publishes. To accept the new log, move the folder "
                "`log` out of your receipts, and keep it."
            )
        if now.size < before.size:
            return (
                f"The holder's log ends at entry {now.size}, and when you last looked it ended at entry "
                f"{before.size}: entries were taken out of it. Report it to the administrator and to the witnesses."
            )
        at = first_difference(earlier, self)
        if at is None:
            return None
        return (
            f"Entry {at} of the holder's log is another one than when you last looked: the ledger was rewritten. Keep "
            "both checkpoints, and report it to the administrator and to the witnesses."
        )

    def receipt_fault(self, position: LedgerPosition) -> str | None:
        """What is wrong about a receipt's entry; None if the log has it, or does not reach it yet."""
        found = self.hash_at(position.sequence)
        if found is None or found == position.hash:
            return None
        return (
            f"Entry {position.sequence} of the holder's public log is not the one of this receipt: the holder shows "
            "you another history than it shows the world. Keep the receipt, and report it to the witnesses."
        )


def first_difference(one: PublicLog, other: PublicLog) -> int | None:
    """The number, from 1, of the first entry that differs; None if one log is the beginning of the other."""
    common = min(len(one.entries), len(other.entries))
    if one.entries[:common] == other.entries[:common]:
        return None
    pairs = zip(_cut(one.entries[:common]), _cut(other.entries[:common]), strict=True)
    return next(number for number, (first, second) in enumerate(pairs, start=1) if first != second)


class LogFolder:
    """Where the auditor keeps the log of one holder, in the directory of its receipts."""

    def __init__(self, receipts: Path) -> None:
        self.path = receipts / FOLDER

    def saved(self) -> PublicLog | None:
        """The log as it was last seen; None before the first time.

        Raises:
            ReceiptsDamaged: The files cannot be read.
        """
        try:
            # The entries are written first, so there may be more of them than the checkpoint covers.
            return PublicLog.of_bytes((self.path / CHECKPOINT).read_bytes(), (self.path / ENTRIES).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, BadNote) as error:
            raise ReceiptsDamaged(f"The saved log in {self.path} cannot be read. Restore it from a copy.") from error

    def save(self, log: PublicLog) -> None:
        """Keep a log that was found true and to follow the one before.

        Raises:
            ReceiptsDamaged: It cannot be written.
        """
        try:
            write_durably(self.path / ENTRIES, log.entries)
            write_durably(self.path / CHECKPOINT, str(log.note).encode())
        except OSError as error:
            raise ReceiptsDamaged(f"The log cannot be saved in {self.path}: {error.strerror}. Make room.") from error

    def save_refused(self, log: PublicLog) -> None:
        """Keep a log that contradicts the saved one as evidence, in a folder of its own.

        Raises:
            ReceiptsDamaged: It cannot be written.
        """
        digest = sha256_name(str(log.note).encode()).removeprefix("sha256:")
        LogFolder(self.path / REFUSED / digest).save(log)


def fetch_log(holder: HolderClient, saved: PublicLog | None) -> PublicLog | None:
    """Ask the holder for its checkpoint and for the entries that are new since the saved one.

    Returns:
        The log as the holder serves it, of which nothing is verified; None if it publishes none.

    Raises:
        HolderLied: What it serves is malformed, or too large.
        HolderUnavailable: It does not answer.
    """
    try:
        content = holder.log_checkpoint()
    except NotFound:
        return None
    try:
        note = SignedNote.parse(content)
        size = Checkpoint.parse(note.text).size
        if size > ENTRIES_MAX:
            raise HolderUnavailable(
                f"The holder's log has {size} entries, and this version reads {ENTRIES_MAX} at most. Use a newer "
                "version."
            )
        known = b"" if saved is None else saved.entries[: size * HASH_BYTES]
        # From the bundle that was not full: its beginning is fetched again, and compared with what was saved.
        whole = len(known) // HASH_BYTES // WIDTH
        entries = [*_cut(known[: whole * WIDTH * HASH_BYTES]), *_fetched(holder, whole, size)]
    except (BadNote, BadProof) as error:
        raise HolderLied(f"The holder's log is malformed: {error}") from error
    return PublicLog(note, b"".join(entries))


def _fetched(holder: HolderClient, first_bundle: int, size: int) -> Iterator[bytes]:
    for number in range(first_bundle, -(-size // WIDTH)):
        tile = Tile(None, number, min(size - number * WIDTH, WIDTH))
        try:
            content = holder.log_tile(tile.path)
        except NotFound:
            raise BadProof(f"it does not serve {tile.path}, which its checkpoint covers.") from None
        entries = parse_entry_bundle(content)
        if len(entries) != tile.width or any(len(entry) != HASH_BYTES for entry in entries):
            raise BadProof(f"the bundle {tile.path} does not have {tile.width} hashes.")
        yield from entries


def _cut(entries: bytes) -> Iterable[bytes]:
    return (entries[at : at + HASH_BYTES] for at in range(0, len(entries), HASH_BYTES))
