"""Trainings in an evidence bundle: written with all that is needed to check them, and checked without the holder.

Of a training a bundle holds the receipt, the note (for which ratio it was decided, and which leaves are favourable),
the model's file, the figures and the page. Its audits are audits of the bundle: each names the digest of that file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from auditor_client.audits.bundle_files import OTHER_VERSIONS, AuditCheck, member, require, require_same_document
from auditor_client.audits.kept_trainings import KeptTraining
from auditor_client.audits.training import TrainingResult
from auditor_client.errors import AuditorError
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import TRAININGS
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.findings.training_notes import TrainingNote, read_training_note
from auditor_client.text import marked_name
from shared.kinds.releases import SigningKeys
from shared.kinds.trainings import TrainingQuote, TrainingRelease
from shared.wire.canonical import sha256_name

_FOLDERS: Final = ("trainings/{}.json", "models/{}.json", "figures/{}.json", "reports/{}.html")


def training_name(training: KeptTraining) -> str:
    """What a training is called in a bundle: the digest of its note."""
    return training.note.name.removeprefix("sha256:")


def training_files(training: KeptTraining) -> dict[str, bytes]:
    """The files of a training, by their names in the bundle."""
    result, kept = training.result, training.kept
    note, model, figures, report = (folder.format(training_name(training)) for folder in _FOLDERS)
    return {
        f"receipts/{kept.receipt.name}": kept.receipt.read_bytes(),
        note: training.note.model_dump_json(indent=1).encode(),
        model: result.model_text.encode(),
        figures: result.to_json().encode(),
        report: result.to_html().encode(),
    }


def checked_training(name: str, files: Mapping[str, bytes], keys: SigningKeys) -> AuditCheck:
    """Compute one training again and compare."""
    dataset = ""
    noted, model, figures, report = (folder.format(name) for folder in _FOLDERS)
    try:
        note = read_training_note(member(files, noted), name)
        dataset = marked_name(note.dataset.name, note.dataset.rehearsal)
        require(note.name == f"sha256:{name}", "its note has another name than its digest")
        document = parsed(member(files, figures), figures)
        again = TrainingResult(note.trained(_kept(note, files, keys)))
        content = member(files, model)
        require(sha256_name(content) == note.model, "its model's file is not the one of its note")
        require(content == again.model_text.encode(), "its model is not the one that receipt and note make")
        made = again.to_document()
        same_versions = made["versions"] == document.get("versions")
        require_same_document(made, document, same_versions=same_versions)
        page = member(files, report).decode(errors="replace")
        require(not same_versions or page == again.to_html(), "its report is not the one that these figures make")
    except AuditorError as error:
        return AuditCheck(name, dataset, str(error))
    return AuditCheck(name, dataset, None, None if same_versions else OTHER_VERSIONS)


def _kept(note: TrainingNote, files: Mapping[str, bytes], keys: SigningKeys) -> KeptAnswer[TrainingRelease]:
    """A training's answer, checked as if it had just come: signature, steps, noise and model."""
    file = f"receipts/{note.release.removeprefix('sha256:')}.json"
    kept = KeptAnswer.read(TrainingRelease, member(files, file), Path(file), keys)
    release = kept.release
    require(release.id == note.release, "its receipt is of another release than its note says")
    quote = TrainingQuote(
        dataset=release.dataset, version=release.version, relation=release.relation, charge=release.charge,
        steps=release.steps, rehearsal=release.rehearsal,
    )  # fmt: skip
    context = RequestContext.of(note.dataset, release.auditor)
    TRAININGS.priced(release.training, quote, context).verified(kept.document, keys)
    return kept
