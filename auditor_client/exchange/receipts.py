"""Receipts: every release as it came, kept before it is used, and the holder's keys, pinned (2-privacy §6).

A directory belongs to one holder. It holds `keys.json`, one file for each release (named by its
identity, with the exact bytes of the answer), and in `refused/` the answers that were found to be
false, as evidence. The keys of first contact are trusted; a later one only if a trusted key hands over to it.
Nothing secret is written: not the auditor's key, and no part of a model but the rules that were asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Generic, Self

from pydantic import ValidationError

from auditor_client.durable_files import write_durably
from auditor_client.errors import AuditorError, HolderLied, NotFound, ReceiptsDamaged
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.kept_chains import chain_faults
from auditor_client.exchange.ledger_log import (
    NO_WITNESSES,
    LogCheck,
    LogFolder,
    PublicLog,
    RequiredWitnesses,
    fetch_log,
)
from auditor_client.exchange.verification import ReleaseT, signed, signed_as
from auditor_client.tables import Table
from shared.kinds.handovers import UnvouchedKey, require_vouched
from shared.kinds.releases import LedgerPosition, Signed, SigningKey, SigningKeys
from shared.wire.canonical import sha256_name

PUBLISHED_AFTER_MAX: Final = timedelta(days=1)
"""How long an entry may be missing from a log whose witnesses are required: longer, and the holder may show a fork."""
_KEYS: Final = "keys.json"
_SEND_IT: Final = (
    "Send the receipt to the holder's administrator and ask for the entry that records the restore. Your budget is "
    "lowered by what the receipt was charged. If no restore is recorded, the holder's ledger cannot be trusted."
)
_REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True)
class KeptAnswer(Generic[ReleaseT]):
    """A verified release as it came, with its receipt.

    Attributes:
        release: What was answered.
        document: The same as it came, which is what the signature is over.
        receipt: The file that keeps it.
        key: The public key that signed it.
    """

    release: ReleaseT
    document: Mapping[str, Any] = field(repr=False)
    receipt: Path
    key: SigningKey

    @classmethod
    def signed_by(cls, keys: SigningKeys, release: ReleaseT, document: Mapping[str, Any], receipt: Path) -> Self:
        """Return a release, whose signature was checked, with the one of some keys that signed it."""
        return cls(release, document, receipt, next(key for key in keys.keys if key.id == release.key))

    @classmethod
    def read(cls, kind: type[ReleaseT], content: bytes, receipt: Path, keys: SigningKeys) -> Self:
        """Read a release whose signature holds.

        Raises:
            HolderLied: It does not hold.
        """
        document = parsed(content, receipt.name)
        return cls.signed_by(keys, signed_as(kind, document, keys), document, receipt)


@dataclass(frozen=True, slots=True)
class ReceiptCheck:
    """What was found about one receipt.

    `release` is None if it cannot be trusted; `fault` says what is wrong, in a sentence, and is None if nothing is.
    """

    file: Path
    release: Signed | None
    fault: str | None


@dataclass(frozen=True, slots=True)
class ReceiptsReport:
    """What was found about all receipts of a directory, and about the holder's ledger as a whole.

    `head` is the newest entry of that ledger; None if the holder was not asked. `log` is what was found about its
    public log; None if it has none and no witness is required.
    """

    checks: tuple[ReceiptCheck, ...]
    head: LedgerPosition | None
    fault: str | None
    log: LogCheck | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        faults = (self.fault, None if self.log is None else self.log.fault, *(check.fault for check in self.checks))
        return all(fault is None for fault in faults)

    @property
    def table(self) -> Table:
        """What was found of each receipt, for people."""
        sentences = [] if self.head is None else [f"The holder's ledger ends at entry {self.head.sequence}."]
        return Table(
            (
                *sentences,
                *([] if self.log is None else [self.log.sentence]),
                *([] if self.fault is None else [self.fault]),
            ),
            ("Receipt", "Dataset", "Entry", "Check"),
            tuple(
                (
                    f"{check.file.stem[:12]}…",
                    "" if check.release is None else check.release.dataset_words,
                    "" if check.release is None else str(check.release.ledger.sequence),
                    check.fault or self._state(check),
                )
                for check in self.checks
            ),
        )

    def _state(self, check: ReceiptCheck) -> str:
        """The state of a valid receipt: whether its entry is in the log, and whether witnesses saw it there."""
        if self.log is None or self.log.fault is not None or check.release is None:
            return "valid"
        if not self.log.covers(check.release.ledger):
            return "valid, not yet in the public log"
        return "valid, witnessed" if self.log.witnesses else "valid, in the public log"

    def __repr__(self) -> str:
        log_fault = None if self.log is None else self.log.fault
        wrong = [fault for fault in (*(check.fault for check in self.checks), self.fault, log_fault) if fault]
        result = f"{len(wrong)} faults, first: {wrong[0]}" if wrong else "all valid"
        return f"<ReceiptsReport: {len(self.checks)} receipts, {result}>"

    def _repr_html_(self) -> str:
        return self.table.to_html()

    def to_document(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {
            "ok": self.ok,
            "receipts": [
                {
                    "file": str(check.file),
                    "release": None if check.release is None else check.release.id,
                    "sequence": None if check.release is None else check.release.ledger.sequence,
                    "fault": check.fault,
                    "state": None if check.fault else self._state(check),
                }
                for check in self.checks
            ],
            "head": None if self.head is None else self.head.model_dump(mode="json"),
            "fault": self.fault,
            "log": None if self.log is None else asdict(self.log),
        }


class Receipts:
    """The receipts directory of one holder."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def pinned(self) -> SigningKeys:
        """The holder's keys as they were pinned; empty before first contact.

        Raises:
            ReceiptsDamaged: The file cannot be read.
        """
        path = self.directory / _KEYS
        try:
            return SigningKeys.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return SigningKeys(keys=())
        except (OSError, ValidationError) as error:
            raise ReceiptsDamaged(f"The pinned keys in {path} cannot be read. Restore the file from a copy.") from error

    def pin(self, published: SigningKeys) -> SigningKeys:
        """Compare the keys that the holder publishes with the pinned ones, pin those that are new, and return all.

        A pinned key must hand over to a new key, directly or through other new keys. At first contact the key
        without a predecessor is trusted.

        Raises:
            HolderLied: A pinned key changed or is gone, or no pinned key vouches for a new one: this is
                another holder, or one that lost its key.
            ReceiptsDamaged: The pinned keys cannot be read or written.
        """
        by_id = {key.id: key for key in published.keys}
        if len(by_id) != len(published.keys) or not by_id:
            raise HolderLied(
                "The holder does not publish a signing key, or publishes two with one id. Report it "
                "to its administrator."
            )
        pinned = self.pinned()
        for key in pinned.keys:
            now = by_id.get(key.id)
            if now is None or _facts(now) != _facts(key):
                change = "no longer publishes" if now is None else "changed"
                raise HolderLied(
                    f"The holder {change} the signing key {key.id!r} that signed your receipts in {self.directory}. "
                    "If it is another holder, name another receipts directory; if not, ask its administrator what "
                    "happened before you trust any answer."
                )
        trusted = pinned.keys or tuple(key for key in published.keys if key.handover is None)
        try:
            require_vouched(published.keys, trusted)
        except UnvouchedKey as error:
            raise HolderLied(
                f"{error} The keys that you trust are in {self.directory / _KEYS}. Ask the holder's administrator, by "
                "another way than this holder, whether its key was lost: if it was, begin another receipts directory."
            ) from error
        if pinned != published:
            self._write(self.directory / _KEYS, published.model_dump_json(indent=2).encode())
        return published

    def path(self, release_id: str) -> Path:
        """Where the receipt of a release is, or would be."""
        return self.directory / f"{release_id.removeprefix('sha256:')}.json"

    def keep(self, release_id: str, body: bytes) -> Path:
        """Keep a release, verified and as it came, durably under its identity "sha256:<hex>".

        Raises:
            HolderLied: An earlier receipt of the same plan has other bytes.
            ReceiptsDamaged: It cannot be written.
        """
        path = self.path(release_id)
        try:
            earlier = path.read_bytes()
        except FileNotFoundError:
            self._write(path, body)
            return path
        except OSError as error:
            raise ReceiptsDamaged(f"The receipt {path} cannot be read: {error.strerror}.") from error
        if earlier != body:
            raise HolderLied(
                f"The holder answered the same request before with other bytes: see {path}. A request has exactly "
                "one answer. Do not use the new answer, and report it to the holder's administrator."
            )
        return path

    def keep_refused(self, body: bytes) -> Path:
        """Keep an answer that was found false as evidence, in a folder of its own."""
        path = self.directory / _REFUSED / f"{sha256_name(body).removeprefix('sha256:')}.json"
        self._write(path, body)
        return path

    def answer(self, kind: type[ReleaseT], release_id: str, keys: SigningKeys | None = None) -> KeptAnswer[ReleaseT]:
        """Read the receipt of a release, whose signature holds by the pinned keys or by others.

        Raises:
            OSError: It cannot be read.
            AuditorError: It does not hold.
        """
        path = self.path(release_id)
        return KeptAnswer.read(kind, path.read_bytes(), path, self.pinned() if keys is None else keys)

    def answers(self, kind: type[ReleaseT]) -> Iterator[KeptAnswer[ReleaseT]]:
        """Read the receipts of one kind of release that hold, in the order of their names; `verify` reports others."""
        if not self.directory.is_dir():
            return
        keys = self.pinned()
        for file in self.files():
            with suppress(OSError, AuditorError):
                yield KeptAnswer.read(kind, file.read_bytes(), file, keys)

    def files(self) -> tuple[Path, ...]:
        """The receipts' files, in the order of their names.

        Raises:
            ReceiptsDamaged: The directory does not exist.
        """
        if not self.directory.is_dir():
            raise ReceiptsDamaged(
                f"The receipts directory {self.directory} does not exist. Name the directory of your audits."
            )
        return tuple(sorted(path for path in self.directory.glob("*.json") if path.name != _KEYS))

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file whole or not at all, and flush it to the disk before returning."""
        try:
            write_durably(path, content)
        except OSError as error:
            raise ReceiptsDamaged(
                f"{path} cannot be written: {error.strerror}. Make room or name another receipts directory and ask "
                "again: what was charged is answered again at no cost."
            ) from error


def check_receipts(
    receipts: Receipts, holder: HolderClient | None, witnesses: RequiredWitnesses = NO_WITNESSES
) -> ReceiptsReport:
    """Check each receipt: its signature, its identity, its chain, and that the holder's ledger still has its entry.

    If the holder publishes its ledger as a log, the log is checked too: its signature, the cosignatures of the
    witnesses, that it only grew since the last time, and that it has the receipts' entries. Without a holder,
    signatures alone are checked, with the pinned keys, and the log as it was last saved.

    Raises:
        HolderLied: The holder's keys are not the pinned ones.
        AuditorError: The directory cannot be read, or the holder does not answer.
    """
    files = receipts.files()
    keys = receipts.pinned() if holder is None else receipts.pin(holder.keys())
    entries: dict[int, Path] = {}
    log, log_check = _checked_log(LogFolder(receipts.directory), keys, holder, witnesses)
    checks = _with_chains([_in_log(_check(file, keys, holder, entries), log, witnesses) for file in files])
    if log is not None and log_check is not None:
        positions = (check.release.ledger for check in checks if check.release is not None)
        log_check = replace(log_check, newer=sum(log.hash_at(position.sequence) is None for position in positions))
    if holder is None:
        return ReceiptsReport(checks, None, None, log_check)
    head = holder.ledger_head()
    entered = (check.release.ledger for check in checks if check.release)
    newest = max(entered, key=lambda position: position.sequence, default=None)
    return ReceiptsReport(checks, head, None if newest is None else _head_fault(head, newest), log_check)


def _checked_log(
    folder: LogFolder, keys: SigningKeys, holder: HolderClient | None, witnesses: RequiredWitnesses
) -> tuple[PublicLog | None, LogCheck | None]:
    """The log that receipts may be looked up in, if there is a true one, and what was found about it.

    A log that is true, only grew and has the cosignatures is saved for the next time; one that is false or of another
    history is kept as evidence.
    """
    saved = folder.saved()
    try:
        log = saved if holder is None else fetch_log(holder, saved)
    except HolderLied as lie:
        return None, LogCheck("", 0, fault=str(lie))
    if log is None:
        return None, _missing_log(saved, holder, witnesses)
    try:
        log = _true_log(log, saved, keys, holder)
    except HolderLied as lie:
        folder.save_refused(log)
        return None, LogCheck(log.checkpoint.origin, log.checkpoint.size, fault=str(lie))
    fault = None if saved is None or log is saved else log.fault_before(saved)
    if fault is not None:
        folder.save_refused(log)
    checked = log.check(witnesses, fault)
    if checked.fault is None and log is not saved:
        folder.save(log)
    return log, checked


def _true_log(log: PublicLog, saved: PublicLog | None, keys: SigningKeys, holder: HolderClient | None) -> PublicLog:
    """A log whose entries make its root; where those that were saved do not, the holder's own are fetched to compare.

    Raises:
        HolderLied: It is false.
    """
    try:
        log.require_true(keys)
    except HolderLied:
        again = None if saved is None or holder is None else fetch_log(holder, None)
        if again is None:
            raise
        again.require_true(keys)
        return again
    return log


def _missing_log(saved: PublicLog | None, holder: HolderClient | None, witnesses: RequiredWitnesses) -> LogCheck | None:
    if saved is not None:
        fault = (
            "The holder does not publish a checkpoint of its log now, but did when you last looked. Try again in "
            "a minute. If it is still missing, ask its administrator why."
        )
        return LogCheck(saved.checkpoint.origin, saved.checkpoint.size, fault=fault)
    if witnesses.needed:
        if holder is None:
            fault = "You require witnesses, but no log is saved yet. Run `auditor verify` without --offline first."
        else:
            fault = (
                "You require witnesses, but the holder does not publish its ledger as a log. Ask its "
                "administrator for one, or unset AUDITOR_WITNESSES."
            )
        return LogCheck("", 0, fault=fault)
    return None


def _in_log(check: ReceiptCheck, log: PublicLog | None, witnesses: RequiredWitnesses) -> ReceiptCheck:
    """The same, with what is wrong between a good receipt and the public log."""
    if check.fault is not None or check.release is None or log is None:
        return check
    position = check.release.ledger
    fault = log.receipt_fault(position)
    is_late = datetime.now(UTC) - check.release.created > PUBLISHED_AFTER_MAX
    if is_late and witnesses.needed and log.hash_at(position.sequence) is None:
        fault = (
            f"Entry {position.sequence} of this receipt is more than a day old, and the holder's public log still ends "
            f"at entry {log.checkpoint.size}. Ask its administrator and the witnesses why."
        )
    return replace(check, fault=fault)


def _check(file: Path, keys: SigningKeys, holder: HolderClient | None, entries: dict[int, Path]) -> ReceiptCheck:
    """Check one receipt; `entries` remembers which receipt named which entry."""
    try:
        release = _read(file, keys)
    except (HolderLied, ReceiptsDamaged) as error:
        return ReceiptCheck(file, None, str(error))
    other = entries.setdefault(release.ledger.sequence, file)
    if other != file:
        return ReceiptCheck(file, release, f"It names the same ledger entry as another receipt, {other.name}.")
    return ReceiptCheck(file, release, None if holder is None else _entry_fault(release.ledger, holder))


def _with_chains(checks: Sequence[ReceiptCheck]) -> tuple[ReceiptCheck, ...]:
    """The same, each with what is wrong between it and the others, if nothing is wrong with it alone."""
    faults = chain_faults(check.release for check in checks if check.release is not None)
    return tuple(
        replace(check, fault=faults[check.release.id])
        if check.fault is None and check.release is not None and check.release.id in faults
        else check
        for check in checks
    )


def _read(file: Path, keys: SigningKeys) -> Signed:
    try:
        document = parsed(file.read_bytes(), file.name)
    except (OSError, AuditorError) as error:
        raise ReceiptsDamaged("The file cannot be read as a release. Restore it from a copy.") from error
    release = signed(document, keys)
    if file.stem != release.id.removeprefix("sha256:"):
        raise ReceiptsDamaged(f"The file is not named after the release {release.id} in it. Rename it.")
    return release


def _entry_fault(position: LedgerPosition, holder: HolderClient) -> str | None:
    try:
        entry = holder.ledger_entry(position.sequence)
    except NotFound:
        return (
            f"The holder's ledger does not have entry {position.sequence}: a copy was restored, or the ledger was "
            f"rolled back. {_SEND_IT}"
        )
    if entry == position:
        return None
    return (
        f"Entry {position.sequence} of the holder's ledger differs from this receipt: a copy was restored, or the "
        f"ledger was rewritten. {_SEND_IT}"
    )


def _head_fault(head: LedgerPosition, newest: LedgerPosition) -> str | None:
    if head.sequence < newest.sequence:
        return (
            f"The holder's ledger ends at entry {head.sequence}, and a receipt names entry {newest.sequence}: a copy "
            f"was restored, or the ledger was rolled back. {_SEND_IT}"
        )
    if head.sequence == newest.sequence and head.hash != newest.hash:
        return f"The head of the holder's ledger, entry {head.sequence}, is not the one of your receipt."
    return None


def _facts(key: SigningKey) -> tuple[str, ...]:
    """What may never change about a pinned key. Its end may, and after a restore the time of its hand-over."""
    return key.algorithm, key.public_key, key.handover.by if key.handover else ""
