"""The evidence bundle: one zip file from which somebody else checks an audit and computes it again (3-estimation §6).

It holds for each audit the receipt (with the plan and the answer, signed), the note (the model's rules and what
was chosen), the figures and the report, and the holder's keys; and for each training the same, and the model's file.
Nothing in it is trusted: the signature says who answered, and everything else follows from the receipt and the note
and is made again.

A bundle can be checked for ever: `tests/contract/v1-auditor` is one. Figures are compared whatever version made
them; sentences and the page only if the same versions did, because later versions may use other words.
"""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from auditor_client.audits.bundle_files import EvidenceCheck, member
from auditor_client.audits.bundle_readme import readme
from auditor_client.audits.evidence import PARTS, SECOND_KEYS, of_audit, of_training, second_keys
from auditor_client.audits.kept_trainings import KeptTraining
from auditor_client.audits.result import AuditResult
from auditor_client.errors import AuditorError, ReceiptsDamaged
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.ledger_log import (
    NO_WITNESSES,
    LogCheck,
    LogFolder,
    PublicLog,
    RequiredWitnesses,
    first_difference,
)
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.two_holders import second_receipts
from auditor_client.exchange.verification import signed
from auditor_client.findings.rehearsals import require_alike
from shared.kinds.bundles import (
    BYTES_MAX,
    FORMAT,
    KEYS,
    LOG_CHECKPOINT,
    LOG_ENTRIES,
    MANIFEST,
    MEMBERS_MAX,
    README,
    BadBundle,
    Manifest,
    read_bundle,
)
from shared.kinds.handovers import UnvouchedKey, require_vouched
from shared.kinds.releases import LedgerPosition, SigningKey, SigningKeys
from shared.log.notes import BadNote
from shared.wire.canonical import sha256_name

_ONE_OF_TWO: Final = (
    "The bundle has answers of two holders, and the keys of one were given. Give those of the second holder too, with "
    "--second-keys."
)


@dataclass(frozen=True, slots=True)
class BundleReport:
    """What was found about a bundle: of each piece of evidence, by the manifest's members, and as a whole.

    `fingerprints` are the keys that the signatures were checked with, "id public_key", to compare with the holder's.
    `log` is what was found about the holder's public log; None if the bundle has none and no witness is required.
    """

    by_member: Mapping[str, tuple[EvidenceCheck, ...]]
    faults: tuple[str, ...]
    fingerprints: tuple[str, ...]
    log: LogCheck | None = None

    @property
    def checks(self) -> tuple[EvidenceCheck, ...]:
        """What was found of all evidence, in the order of the bundle."""
        return tuple(chain.from_iterable(self.by_member.values()))

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong, and there was something to check."""
        checks = self.checks
        faults = (*self.faults, *(check.fault for check in checks), None if self.log is None else self.log.fault)
        return bool(checks) and all(fault is None for fault in faults)

    def to_document(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {
            "ok": self.ok,
            **{member: [asdict(check) for check in checks] for member, checks in self.by_member.items()},
            "faults": list(self.faults),
            "keys": list(self.fingerprints),
            "log": None if self.log is None else asdict(self.log),
        }


def write_bundle(
    path: Path | str, audits: Sequence[AuditResult], receipts: Receipts, trainings: Sequence[KeptTraining] = ()
) -> Path:
    """Write audits and trainings of a receipts directory with all that is needed to check them.

    Raises:
        ReceiptsDamaged: A receipt cannot be read, or there is nothing to write, or more than a bundle may hold.
        OSError: The file cannot be written.
        QuestionRefused: Some are of a rehearsal, and others of real people.
    """
    evidence = [*map(of_audit, audits), *map(of_training, trainings)]
    if not evidence:
        raise ReceiptsDamaged("The receipts do not contain an audit to write: none has a note.")
    for audit_evidence in evidence[1:]:
        require_alike(evidence[0].note.dataset, audit_evidence.note.dataset, "One bundle is written")
    files: dict[str, bytes] = {KEYS: receipts.pinned().model_dump_json(indent=2).encode()}
    if any(audit_evidence.seconds for audit_evidence in evidence):
        files[SECOND_KEYS] = second_receipts(receipts).pinned().model_dump_json(indent=2).encode()
    log = LogFolder(receipts.directory).saved()
    if log is not None:
        files |= {LOG_CHECKPOINT: str(log.note).encode(), LOG_ENTRIES: log.entries}
    listed: dict[str, list[str]] = {part.member: [] for part in PARTS}
    lines = []
    for audit_evidence in evidence:
        files.update(audit_evidence.files())
        listed[audit_evidence.part.member].append(audit_evidence.note.file_name)
        subject = audit_evidence.part.model(audit_evidence.note) or audit_evidence.part.unnamed
        lines.append((audit_evidence.note.file_name, subject, audit_evidence.note.dataset.marked_name))
    files[README] = readme(lines).encode()
    digests = {name: sha256_name(content) for name, content in files.items()}
    manifest = Manifest.model_validate({"format": FORMAT, **listed, "files": digests})
    files[MANIFEST] = manifest.model_dump_json(indent=2).encode()
    if len(files) > MEMBERS_MAX or sum(map(len, files.values())) > BYTES_MAX:
        raise ReceiptsDamaged(
            f"A bundle has at most {MEMBERS_MAX} files and {BYTES_MAX} bytes: write fewer audits into each."
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in files.items():
            bundle.writestr(name, content)
    return Path(path)


def check_bundle(
    path: Path | str,
    *,
    keys: Path | None = None,
    keys_of_second: Path | None = None,
    witnesses: RequiredWitnesses = NO_WITNESSES,
) -> BundleReport:
    """Read a bundle back, check the signatures, and compute every figure again.

    Args:
        path: The zip file; nothing in it is trusted, and nothing is written anywhere.
        keys: A file of the holder's published keys (`GET /v1/keys`), from the holder; else the bundle's are used.
        keys_of_second: Likewise of the second holder, where two holders share a register; needed with `keys`, because
            anyone who writes a bundle can sign the second half of every answer with a key of their own.
        witnesses: Whose cosignatures the log in the bundle needs.

    Raises:
        ReceiptsDamaged: The file is no bundle.
    """
    try:
        manifest, files = read_bundle(Path(path))
    except BadBundle as error:
        raise ReceiptsDamaged(str(error)) from error
    try:
        bundled = SigningKeys.model_validate_json(files.get(KEYS, b""))
        trusted = bundled if keys is None else SigningKeys.model_validate_json(keys.read_bytes())
        their_keys = None if keys_of_second is None else keys_of_second.read_bytes()
    except (ValidationError, OSError) as error:
        raise ReceiptsDamaged(f"{path} is not an evidence bundle: the keys cannot be read.") from error
    faults = tuple(manifest.faults(files))
    if SECOND_KEYS in files and their_keys is not None:
        files = {**files, SECOND_KEYS: their_keys}
    elif SECOND_KEYS in files and keys is not None:
        faults = (*faults, _ONE_OF_TWO)
    checks = {
        part.member: tuple(part.check(name, files, trusted) for name in getattr(manifest, part.member) if not faults)
        for part in PARTS
    }
    return BundleReport(
        by_member=checks,
        faults=faults or tuple(_readme_faults(files, checks)),
        fingerprints=tuple(f"{key.id} {key.public_key}" for key in (*trusted.keys, *second_keys(files).keys)),
        log=None if faults else _checked_log(files, trusted, witnesses),
    )


@dataclass(frozen=True, slots=True)
class BundleComparison:
    """What two bundles say about the history of one holder's ledger.

    Attributes:
        common: The number of entries that both logs have.
        fault: Where the histories differ, in a sentence; None if they do not.
        fingerprints: The keys that the signatures were checked with, "id public_key", to compare with the holder's.
    """

    common: int
    fault: str | None
    fingerprints: tuple[str, ...]


def compare_bundles(first: Path | str, second: Path | str, *, keys: Path | None = None) -> BundleComparison:
    """Compare the histories that a holder showed to the writers of two bundles, without asking anybody.

    The logs are compared entry by entry, and the receipts of each bundle are looked up in the log of the other. A
    signature counts only by a key that both bundles have, or that such a key vouches for: else a made-up bundle could
    accuse an honest holder.

    Args:
        first, second: The zip files.
        keys: A file of the holder's published keys, from the holder; else the keys that both bundles have are used.

    Raises:
        ReceiptsDamaged: A file is not a bundle, has no log, or they have no key in common.
        HolderLied: The log in one of them is false.
    """
    first_bundle, second_bundle = _opened(first), _opened(second)
    if keys is None:
        trusted = first_bundle.keys_shared_with(second_bundle)
    else:
        trusted = _read_keys(keys.read_bytes(), str(keys)).keys
    if not trusted:
        raise ReceiptsDamaged(
            "The two bundles do not share a signing key: they are from two holders, or one of them is not "
            "genuine. Give the holder's own keys with --keys."
        )
    for bundle in (first_bundle, second_bundle):
        bundle.require_signed(trusted)
    common = min(first_bundle.log.checkpoint.size, second_bundle.log.checkpoint.size)
    return BundleComparison(
        common=common,
        fault=_history_fault(first_bundle, second_bundle),
        fingerprints=tuple(f"{key.id} {key.public_key}" for key in trusted),
    )


@dataclass(frozen=True, slots=True)
class _OpenedBundle:
    """A bundle with a log: its files, its keys and its log; nothing of it is verified at first."""

    path: str
    files: Mapping[str, bytes]
    keys: SigningKeys
    log: PublicLog

    def keys_shared_with(self, other: "_OpenedBundle") -> tuple[SigningKey, ...]:
        """The keys that both bundles have."""
        theirs = {(key.id, key.public_key) for key in other.keys.keys}
        return tuple(key for key in self.keys.keys if (key.id, key.public_key) in theirs)

    def require_signed(self, trusted: tuple[SigningKey, ...]) -> None:
        """Refuse a bundle whose keys nothing that is trusted vouches for, or whose log is false.

        Raises:
            ReceiptsDamaged: A key is not vouched for.
            HolderLied: The log is false.
        """
        trusted_ids = {key.id for key in trusted}
        try:
            require_vouched((*trusted, *(key for key in self.keys.keys if key.id not in trusted_ids)), trusted)
        except UnvouchedKey as error:
            raise ReceiptsDamaged(f"{self.path}: {error} It is not genuine, or the holder lost its key.") from error
        self.log.require_true(self.keys)

    def positions(self) -> Iterator[LedgerPosition]:
        """The entries of its receipts, which the holder signed.

        Raises:
            HolderLied: It did not sign one of them.
        """
        for name in sorted(self.files):
            if name.startswith("receipts/"):
                yield signed(parsed(self.files[name], name), self.keys).ledger


def _history_fault(first: _OpenedBundle, second: _OpenedBundle) -> str | None:
    """Where the histories in two genuine bundles differ."""
    at = first_difference(first.log, second.log)
    if at is None:
        for bundle, log in ((first, second.log), (second, first.log)):
            differing = [entry.sequence for entry in bundle.positions() if log.receipt_fault(entry) is not None]
            if differing:
                at = min(differing)
                break
    if at is None:
        return None
    names = first.log.checkpoint.origin, second.log.checkpoint.origin
    if names[0] != names[1]:
        return (
            f"Entry {at} of the ledger is not the same in the two bundles, and the log has two names ({names[0]} and "
            f"{names[1]}): the holder recorded a restore in between. Ask its administrator what was restored."
        )
    return (
        f"The holder signed two histories: entry {at} of its ledger is not the same in the two bundles. What it signed "
        "in them proves it. Keep both files, and report it to the administrator, the witnesses and the supervisor."
    )


def _opened(path: Path | str) -> _OpenedBundle:
    """A bundle with a log, of which nothing is verified.

    Raises:
        ReceiptsDamaged: It has no log, or it is not a bundle.
    """
    try:
        manifest, files = read_bundle(Path(path))
    except BadBundle as error:
        raise ReceiptsDamaged(str(error)) from error
    faults = tuple(manifest.faults(files))
    if faults:
        raise ReceiptsDamaged(f"{path}: {faults[0]}")
    log = _bundled_log(files)
    if log is None or not log.checkpoint.size:
        raise ReceiptsDamaged(
            f"{path} does not contain the holder's log. Run `auditor verify` before `auditor bundle write`, if the "
            "holder publishes its ledger as a log."
        )
    return _OpenedBundle(str(path), files, _read_keys(files.get(KEYS, b""), str(path)), log)


def _read_keys(content: bytes, name: str) -> SigningKeys:
    try:
        return SigningKeys.model_validate_json(content)
    except ValidationError as error:
        raise ReceiptsDamaged(f"The signing keys in {name} cannot be read.") from error


def _bundled_log(files: Mapping[str, bytes]) -> PublicLog | None:
    """The log in a bundle; None if it has none.

    Raises:
        ReceiptsDamaged: It cannot be read.
    """
    if LOG_CHECKPOINT not in files:
        return None
    try:
        return PublicLog.of_bytes(files[LOG_CHECKPOINT], member(files, LOG_ENTRIES))
    except BadNote as error:
        raise ReceiptsDamaged(f"The log in the bundle cannot be read: {error}") from error


def _checked_log(files: Mapping[str, bytes], keys: SigningKeys, witnesses: RequiredWitnesses) -> LogCheck | None:
    """What is found about the log of a bundle, and about the entries of its receipts in it."""
    try:
        log = _bundled_log(files)
        if log is None:
            lacking = "You require witnesses, and the bundle does not contain the holder's log."
            return LogCheck("", 0, fault=lacking) if witnesses.needed else None
        log.require_true(keys)
        positions = [_position(name, files[name]) for name in sorted(files) if name.startswith("receipts/")]
        newer = [position.sequence for position in positions if log.hash_at(position.sequence) is None]
        fault = next(filter(None, map(log.receipt_fault, positions)), None)
        if fault is None and newer and witnesses.needed:
            fault = (
                f"Entry {min(newer)} of a receipt is not covered by the checkpoint in the bundle, which ends at entry "
                f"{log.checkpoint.size}. Have its writer run `auditor verify` and write the bundle again."
            )
    except AuditorError as error:
        return LogCheck("", 0, fault=str(error))
    return replace(log.check(witnesses, fault), newer=len(newer))


def _position(name: str, content: bytes) -> LedgerPosition:
    """The entry of a receipt.

    Raises:
        ReceiptsDamaged: It names none.
    """
    try:
        return LedgerPosition.model_validate(parsed(content, name).get("ledger"))
    except ValidationError as error:
        raise ReceiptsDamaged(f"{name} does not name an entry of the ledger.") from error


def _readme_faults(files: Mapping[str, bytes], checks: Mapping[str, Sequence[EvidenceCheck]]) -> Iterator[str]:
    """What is wrong with the text that is opened first; another version may have written other words."""
    if README not in files or any(check.fault or check.remark for of_part in checks.values() for check in of_part):
        return
    listed = ((part, check) for part in PARTS for check in checks[part.member])
    text = readme((check.name, check.model or part.unnamed, check.dataset) for part, check in listed)
    if files[README] != text.encode():
        yield f"{README} is not the one that these audits make"
