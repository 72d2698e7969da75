"""The anchor: the ledger's head, kept durably outside the database (2-privacy §6).

A database that was restored from an old copy lacks the anchored entry, and the holder then refuses
to release until an administrator records the restore. The file has two slots of fixed size, each with a
checksum. A new head goes into the slot that does not hold the newest, so a write that a crash cuts short
leaves the newest whole.
"""

import fcntl
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from holder_service.files.durable import sync_folder
from shared.kinds.releases import LedgerPosition

_SLOT_BYTES: Final = 256
_BROKEN: Final = LedgerPosition(sequence=-1, hash="")
"""Stands for what a slot holds whose write was cut short."""


class Anchor:
    """The file that holds the newest sequence and hash whose answer may have left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._waiting: list[LedgerPosition] = []

    def create(self, head: LedgerPosition) -> None:
        """Make the file for a new ledger's head."""
        self.restore(head, has=lambda _: False)

    def restore(self, head: LedgerPosition, *, has: Callable[[LedgerPosition], bool]) -> None:
        """Anchor an entry of a database that lacks the anchored one, or of an anchor that was lost.

        Never back: a later entry that the database has was anchored by another process meanwhile, and its
        answer may have left.

        Args:
            has: Whether the database has some entry; asked while nobody else can write the file.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked(os.O_RDWR | os.O_CREAT) as file:
            anchored = _newest(_slots(os.pread(file, 2 * _SLOT_BYTES, 0)))
            if anchored.sequence > head.sequence and has(anchored):
                return
            slot = _encode(head)
            os.pwrite(file, slot + slot, 0)
            os.fsync(file)
        sync_folder(self.path.parent)

    def read(self) -> LedgerPosition | None:
        """The anchored entry; None if the file is not there or holds no whole slot."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            newest = _newest(_slots(os.pread(file, 2 * _SLOT_BYTES, 0)))
        finally:
            os.close(file)
        return None if newest == _BROKEN else newest

    def advance(self, head: LedgerPosition) -> None:
        """Anchor a committed entry, durably, unless a later one is anchored already.

        Callers that queue here while another writes find themselves covered by the newest head among
        them, so many commits share a write.
        """
        with self._lock:
            self._waiting.append(head)
        try:
            with self._locked(os.O_RDWR) as file:
                slots = _slots(os.pread(file, 2 * _SLOT_BYTES, 0))
                anchored = _newest(slots)
                if anchored.sequence >= head.sequence:
                    return
                with self._lock:
                    newest = _newest(self._waiting)
                os.pwrite(file, _encode(newest), (1 - slots.index(anchored)) * _SLOT_BYTES)
                os.fdatasync(file)  # neither size nor place changed: the content is all there is to sync
        finally:
            # What was anchored is forgotten: after a recorded restore its number is given out again.
            with self._lock:
                self._waiting.remove(head)

    def try_writing(self) -> None:
        """Open the file as a write does.

        Raises:
            OSError: It cannot be written.
        """
        os.close(os.open(self.path, os.O_RDWR | os.O_CLOEXEC))

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        """The open file, to this process and this thread alone."""
        file = os.open(self.path, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


def _encode(head: LedgerPosition) -> bytes:
    text = f"{head.sequence} {head.hash}".encode()
    return f"{text.decode()} {zlib.crc32(text):08x}\n".encode().rjust(_SLOT_BYTES)


def _newest(heads: Sequence[LedgerPosition]) -> LedgerPosition:
    return max(heads, key=lambda head: head.sequence)


def _slots(content: bytes) -> list[LedgerPosition]:
    """Return what the two slots hold."""
    slots = []
    for start in (0, _SLOT_BYTES):
        parts = content[start : start + _SLOT_BYTES].split()
        whole = len(parts) == 3 and f"{zlib.crc32(b' '.join(parts[:2])):08x}".encode() == parts[2]
        slots.append(LedgerPosition(sequence=int(parts[0]), hash=parts[1].decode()) if whole else _BROKEN)
    return slots
