"""What a holder publishes: transparency reports, and beside them what auditors published about its answers.

A bundle comes from outside and nothing in it is trusted. It is published as it is if every receipt in it is an answer
that this holder gave, signed, stored and charged; if it holds nothing besides what belongs to its audits and
trainings; and if the auditor's own program, run here apart, makes every figure again from the receipts. What is read
from it for a page is read after that.
"""

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from holder_service.domain.errors import HolderError
from holder_service.domain.ledger import Entry
from holder_service.services.datasets.datasets import require_real
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases.transparency import TransparencyReport, transparency_report
from holder_service.storage import datasets, ledger, releases, signing_keys
from holder_service.storage.database import Connection
from shared.kinds.bundles import KEYS, LOG_CHECKPOINT, LOG_ENTRIES, README, BadBundle, Manifest, read_bundle
from shared.kinds.releases import BadSignature, SigningKeys, answer_digest, verify_signature
from shared.wire.canonical import sha256_name

PROGRAM: Final = "auditor"
CHECK_TIMEOUT_S: Final = 1800
_OF_AUDIT: Final = ("questions/{}.json", "figures/{}.json", "reports/{}.html")
_OF_TRAINING: Final = ("trainings/{}.json", "models/{}.json", "figures/{}.json", "reports/{}.html")


class UnpublishableBundle(HolderError, code="invalid-request"):
    """A bundle does not hold, or holds what this holder did not answer."""


@dataclass(frozen=True, slots=True)
class PublishedAnswer:
    """An audit or a training of a bundle, as it was checked.

    Attributes:
        entry: The charge of the receipt that its figures rest on.
        figures: The auditor's document, every figure of which was made again.
        page: The auditor's report, if it is the one that these figures make; not compared where other versions made it.
        bundle: The digest of the bundle's file.
    """

    name: str
    dataset: str
    entry: Entry
    figures: Mapping[str, Any]
    page: bytes | None
    bundle: str


@dataclass(frozen=True, slots=True)
class Publication:
    """Everything that is published: reports by dataset, and bundles by the digests of their files."""

    reports: tuple[TransparencyReport, ...]
    keys: SigningKeys
    answers: tuple[PublishedAnswer, ...]
    bundles: Mapping[str, bytes]


def publication(
    store: LedgerStore, *, organisation: str | None, bundles: tuple[Path, ...], only: tuple[str, ...], room: Path
) -> Publication:
    """Make the reports, and check the bundles.

    Args:
        organisation: Who holds the records, if the holder says so.
        bundles: The files that auditors published.
        only: The datasets to publish; by default all of real people that ever were.
        room: An empty folder, where copies of the bundles are checked.

    Raises:
        NotFound: There never was a dataset of that name.
        UnpublishableBundle: A bundle cannot be published; the text says which, and why.
        Conflict: A dataset is a rehearsal, which is never among what was released about people.
    """
    with store.database.read() as connection:
        every = datasets.every(connection)
        for dataset in every:
            if dataset.name in only:
                require_real(dataset, "It stands in no publication of what was released about people.")
        names = only or tuple(dataset.name for dataset in every if dataset.rehearsal is None)
        keys = SigningKeys(keys=tuple(signing_keys.every(connection)))
    reports = tuple(transparency_report(store, name, organisation=organisation) for name in names)
    (room / KEYS).write_text(keys.model_dump_json(indent=2), encoding="utf-8")
    answers: list[PublishedAnswer] = []
    contents: dict[str, bytes] = {}
    for index, path in enumerate(bundles):
        copy = room / f"{index}.zip"  # what is checked is what is published, whatever becomes of the file
        try:
            shutil.copyfile(path, copy)
            found = tuple(_checked(store, copy, keys, frozenset(names)))
        except (BadBundle, HolderError) as error:
            raise UnpublishableBundle(f"{path} is not published. {str(error).replace(str(copy), 'It')}") from error
        answers += (one for one in found if one.name not in {known.name for known in answers})
        contents |= {one.bundle: copy.read_bytes() for one in found}
    return Publication(reports, keys, tuple(answers), contents)


def _checked(store: LedgerStore, bundle: Path, keys: SigningKeys, names: frozenset[str]) -> Iterator[PublishedAnswer]:
    manifest, files = read_bundle(bundle)
    for fault in manifest.faults(files):
        raise UnpublishableBundle(fault)
    with store.database.read() as connection:
        entries = {
            name.removeprefix("receipts/").removesuffix(".json"): _charged(connection, name, content, keys)
            for name, content in files.items()
            if name.startswith("receipts/")
        }
    _require_no_more(manifest, files, entries)
    remarks = _computed_again(bundle, bundle.with_name(KEYS))
    digest = sha256_name(bundle.read_bytes())
    for name in (*manifest.audits, *manifest.trainings):
        figures = json.loads(files[f"figures/{name}.json"])
        entry = entries[str(figures["release"]["id"]).removeprefix("sha256:")]
        dataset = entry.event.dataset or ""
        if dataset not in names:
            raise UnpublishableBundle(f"It is about {dataset}, which is not published. Add --dataset {dataset}.")
        page = files[f"reports/{name}.html"] if remarks[name] is None else None
        yield PublishedAnswer(name, dataset, entry, figures, page, digest)


def _charged(connection: Connection, name: str, content: bytes, keys: SigningKeys) -> Entry:
    """The entry that charged a receipt, which is the very answer that is stored."""
    try:
        receipt = json.loads(content)
        verify_signature(receipt, keys)
        stored = releases.find_release(connection, str(receipt["id"]))
    except (BadSignature, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnpublishableBundle(f"{name} was not signed by this holder.") from error
    if "rehearsal" in receipt:
        raise UnpublishableBundle(f"{name} belongs to a rehearsal, so it is not about real people.")
    entry = None if stored is None else ledger.entry_at(connection, stored.sequence)
    if (
        stored is None
        or entry is None
        or name != f"receipts/{stored.id.removeprefix('sha256:')}.json"
        or json.loads(stored.body) != receipt
        or (entry.event.kind, entry.event.subject) != ("charge", stored.id)
        or entry.event.answer != answer_digest(receipt)
        or entry.recomputed_hash != receipt["ledger"]["hash"]
    ):
        raise UnpublishableBundle(f"{name} is not a release of this holder's ledger.")
    return entry


def _require_no_more(manifest: Manifest, files: Mapping[str, bytes], receipts: Mapping[str, Entry]) -> None:
    """Refuse what is checked by nobody: files that belong to no audit and no training."""
    log = {LOG_CHECKPOINT, LOG_ENTRIES} if LOG_CHECKPOINT in files else set()
    expected = {KEYS, README, *log, *(f"receipts/{name}.json" for name in receipts)}
    expected |= {folder.format(name) for name in manifest.audits for folder in _OF_AUDIT}
    expected |= {folder.format(name) for name in manifest.trainings for folder in _OF_TRAINING}
    for name in sorted(files.keys() - expected):
        raise UnpublishableBundle(f"{name} belongs to none of its audits.")


def _computed_again(bundle: Path, keys: Path) -> dict[str, str | None]:
    """Return what the auditor's own program could not compare of each audit and training; it makes every figure again.

    The holder knows the auditor by its interface alone, here by its command line.
    """
    program = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if program is None:
        raise UnpublishableBundle(
            "Its figures cannot be checked without the auditor's program. Install pafer[auditor]."
        )
    command = [program, "bundle", "check", str(bundle), "--keys", str(keys), "--json"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=CHECK_TIMEOUT_S)  # noqa: S603 - our own program
        found = json.loads(ended.stdout)
        checks = [*found["audits"], *found["trainings"]]
        faults = [*found["faults"], *(one["fault"] for one in (*checks, found["log"]) if one and one["fault"])]
    except subprocess.TimeoutExpired as error:
        raise UnpublishableBundle(f"Its figures were not reproduced within {CHECK_TIMEOUT_S} seconds.") from error
    except (ValueError, KeyError, TypeError) as error:
        lines = ended.stderr.strip().splitlines() or ["the auditor's program does not give a reason"]
        raise UnpublishableBundle(f"Its figures could not be reproduced: {lines[-1]}") from error
    for fault in faults:
        raise UnpublishableBundle(fault)
    if not found["ok"]:
        raise UnpublishableBundle("It does not contain an audit.")
    return {one["name"]: one["remark"] for one in checks}
