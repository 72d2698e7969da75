"""What a bundle holds as evidence, one value for each kind of it: audits and trainings.

Of each there are the receipts, the note (what was chosen), the figures and the page; of a training also the model's
file, whose digest its audits name. Nothing of it is trusted: the receipts' signatures say who answered, and all else
is made again from receipts and note and compared.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic

from pydantic import ValidationError

from auditor_client.asking.question import rules_digest
from auditor_client.audits.bundle_files import OTHER_VERSIONS, EvidenceCheck, member, require, require_same_document
from auditor_client.audits.kept_trainings import KeptTraining
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import finding
from auditor_client.audits.training import TrainingResult
from auditor_client.errors import AuditorError, ReceiptsDamaged
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import TRAININGS
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.exchange.two_holders import FOLDER, other_half
from auditor_client.exchange.verification import ReleaseT
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.notes import Note, NoteT, SavedNote, read_note
from auditor_client.findings.training_notes import TrainingNote
from auditor_client.report.json_document import FORMATS, audit_document
from auditor_client.report.view import Shown
from shared.contract.datasets import Budget
from shared.kinds.releases import Release, SigningKeys
from shared.kinds.trainings import TrainingQuote, TrainingRelease
from shared.wire.canonical import sha256_name

_FIGURES, _REPORT, _MODEL = "figures/{}.json", "reports/{}.html", "models/{}.json"
SECOND_KEYS: Final = f"{FOLDER}/keys.json"
_SECOND_RECEIPTS: Final = f"{FOLDER}/receipts/"
_Recomputed = tuple[Shown, dict[str, Any]]
"""What is made again: the result, and its figures in the form that the bundle has."""


@dataclass(frozen=True, slots=True)
class EvidencePart(Generic[NoteT]):
    """One kind of evidence.

    Attributes:
        member: The member of the manifest that lists it.
        heading: What it is called above a list.
        unnamed: What the subject is called in a text where it has no name.
        note: The type of its notes.
        model: What people call the audited model, by a note; empty where it has no name.
        recomputed: Makes the result again from a note, the files of the bundle, the holder's keys and the figures,
            of which it uses only what no figure depends on; refuses what does not hold.
    """

    member: str
    heading: str
    unnamed: str
    note: type[NoteT]
    model: Callable[[NoteT], str]
    recomputed: Callable[[NoteT, Mapping[str, bytes], SigningKeys, Mapping[str, Any]], _Recomputed]

    def check(self, name: str, files: Mapping[str, bytes], keys: SigningKeys) -> EvidenceCheck:
        """Compute one of them again and compare."""
        dataset = model = ""
        try:
            note = read_note(self.note, member(files, f"{self.note.folder}/{name}.json"), name)
            model, dataset = self.model(note), note.dataset.marked_name
            require(note.file_name == name, "its note has another name than its digest")
            document = parsed(member(files, _FIGURES.format(name)), _FIGURES.format(name))
            again, made = self.recomputed(note, files, keys, document)
            page = member(files, _REPORT.format(name)).decode(errors="replace")
            same_versions = made["versions"] == document.get("versions")
            require_same_document(made, document, same_versions=same_versions)
            require(not same_versions or page == again.to_html(), "its report is not the one that these figures make")
        except AuditorError as error:
            return EvidenceCheck(name, dataset, str(error), model=model)
        return EvidenceCheck(name, dataset, None, None if same_versions else OTHER_VERSIONS, model)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One audit or training as a bundle holds it.

    Attributes:
        receipts: The files of the answers that it rests on.
        seconds: Likewise, of the second holder, where each has a half.
        shown: The result.
        model: The model's file; None where the note has the model.
    """

    part: EvidencePart[Any]
    note: SavedNote
    receipts: tuple[Path, ...]
    shown: Shown
    model: bytes | None = None
    seconds: tuple[Path, ...] = ()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Its files, with their names in the bundle.

        Raises:
            OSError: A receipt cannot be read.
        """
        name = self.note.file_name
        for receipt in self.receipts:
            yield f"receipts/{receipt.name}", receipt.read_bytes()
        for receipt in self.seconds:
            yield f"{_SECOND_RECEIPTS}{receipt.name}", receipt.read_bytes()
        yield f"{self.note.folder}/{name}.json", self.note.model_dump_json(indent=1).encode()
        if self.model is not None:
            yield _MODEL.format(name), self.model
        yield _FIGURES.format(name), self.shown.to_json().encode()
        yield _REPORT.format(name), self.shown.to_html().encode()


def of_audit(audit: AuditResult) -> Evidence:
    """An audit as evidence; a table of one as the whole."""
    audit = audit.whole or audit
    shown = replace(audit, stored=replace(audit.stored, repeated=False))  # no note keeps that it was asked again
    answers = audit.stored.answers
    seconds = tuple(answer.second.receipt for answer in answers if answer.second is not None)
    return Evidence(AUDITS, audit.note, tuple(answer.receipt for answer in answers), shown, seconds=seconds)


def of_training(training: KeptTraining) -> Evidence:
    """A training as evidence."""
    result = training.result
    return Evidence(TRAININGS_KEPT, training.note, (training.kept.receipt,), result, result.model_text.encode())


def _audit_again(note: Note, files: Mapping[str, bytes], keys: SigningKeys, document: Mapping[str, Any]) -> _Recomputed:
    stored = note.answer(lambda release: _stored(release, files, keys))
    release = stored.release
    question = note.question()
    require(
        all(held.is_of(release.auditor, release.dataset) for held in note.source.columns),
        "the id of a score is not that of its document",
    )
    require(
        rules_digest(question.rules, note.source.columns) == note.model.rules,
        "the rules are not those of the model's digest",
    )
    require(question.plan == note.plan, "the plan is not the one that these rules make")
    require(note.reused or release.plan == note.plan, "the receipt answers another plan")
    require(release.dataset == note.dataset.name, "the receipt is about another dataset")
    receipt = Path(str(document.get("receipt", "")))
    require(PurePosixPath(receipt.name).stem == stored.receipt.stem, "its figures name another receipt")
    form = document.get("format")
    require(form in FORMATS, f"its figures are of format {form!r}, which this version does not read")
    try:
        budget = None if document.get("budget") is None else Budget.model_validate(document["budget"])
    except ValidationError as error:
        raise ReceiptsDamaged("The budget in its figures cannot be read.") from error
    holder_url = str(document.get("holder", ""))
    stored = replace(stored, receipt=receipt)
    again = finding(question, stored, note.reading, holder_url=holder_url, budget=budget, about=note.about)
    return again, again.view.begun(audit_document(again, str(form)))


def _training_again(
    note: TrainingNote, files: Mapping[str, bytes], keys: SigningKeys, _: Mapping[str, Any]
) -> _Recomputed:
    """The same of a training, whose answer is checked as if it had just come: signature, steps, noise and model."""
    kept = _answer(TrainingRelease, note.release, files, keys)
    release, context = kept.release, RequestContext.of(note.dataset, kept.release.auditor)
    quote = TrainingQuote(
        dataset=release.dataset, version=release.version, relation=release.relation, charge=release.charge,
        steps=release.steps, rehearsal=release.rehearsal,
    )  # fmt: skip
    TRAININGS.priced(release.training, quote, context).verified(kept.document, keys)
    again = TrainingResult(note.trained(kept))
    model = member(files, _MODEL.format(note.file_name))
    require(sha256_name(model) == note.model, "its model's file is not the one of its note")
    require(model == again.model_text.encode(), "its model is not the one that receipt and note make")
    return again, again.to_document()


def _stored(name: str, files: Mapping[str, bytes], keys: SigningKeys) -> StoredAnswer:
    """An answer of the bundle; of two holders both halves, each signed by its holder."""
    first = _answer(Release, name, files, keys)
    if first.release.shares is None:
        return StoredAnswer.of(first)
    their_keys = second_keys(files)
    seconds = [
        KeptAnswer.read(Release, content, Path(file), their_keys)
        for file, content in sorted(files.items())
        if file.startswith(_SECOND_RECEIPTS)
    ]
    return StoredAnswer.of(first, other_half(first.release, seconds))


def second_keys(files: Mapping[str, bytes]) -> SigningKeys:
    """Return the second holder's keys in a bundle, or no keys.

    Raises:
        ReceiptsDamaged: They cannot be read.
    """
    try:
        return SigningKeys.model_validate_json(files[SECOND_KEYS]) if SECOND_KEYS in files else SigningKeys(keys=())
    except ValidationError as error:
        raise ReceiptsDamaged("The second holder's keys in the bundle cannot be read.") from error


def _answer(kind: type[ReleaseT], name: str, files: Mapping[str, bytes], keys: SigningKeys) -> KeptAnswer[ReleaseT]:
    """A release of the bundle, if a signature says that the holder made it."""
    file = f"receipts/{name.removeprefix('sha256:')}.json"
    kept = KeptAnswer.read(kind, member(files, file), Path(file), keys)
    require(kept.release.id == name, "its receipt is of another release than its note says")
    return kept


AUDITS: Final = EvidencePart(
    "audits", "Audit", "a model", Note, lambda note: note.about.model_name or note.request.decision or "", _audit_again
)
TRAININGS_KEPT: Final = EvidencePart("trainings", "Training", "a training", TrainingNote, lambda _: "", _training_again)
PARTS: Final[tuple[EvidencePart[Any], ...]] = (AUDITS, TRAININGS_KEPT)
"""All kinds of evidence, in the order in which a bundle lists them."""
