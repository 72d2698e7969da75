"""What was asked at the desk and waits for a budget officer's approval: kept with the receipts, until it is answered.

An approval can take days, and a desk is ended in the evening. So what is needed to ask the same again lies in
`waiting/` of the receipts directory, in a private folder of its own for each request: what was typed, and copies of the
files that were sent, a model among them. It is removed once it is answered, withdrawn or forgotten.
"""

import shutil
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from auditor_client.auditor import Auditor
from auditor_client.desk.kept import KeptAudits
from auditor_client.durable_files import write_durably
from auditor_client.errors import ReceiptsDamaged
from shared.contract.approvals import Approval

COMPARED_WITHOUT: Final = (
    "until_decided", "first_look", "decision", "reference", "version", "draw", "by", "estimator", "negative",
    "too_large", "level", "join", "chain", "contradictions", "outcome_test",
    "unknown", "unknown_odds", "misreported", "misreported_source",
)  # fmt: skip
"""What a comparison of two models does not take, as the command has it."""
_QUESTION: Final = "question.json"


class AskedRequest(BaseModel):
    """A request as it was asked.

    Attributes:
        subject: What is asked, in a few words.
        keywords: All arguments but files.
        files: By argument.
        asked_for: What it is asked for.
        version: That a price was shown for, where none was typed: no other one is asked about. A comparison of two
            models, and a watch, cannot name one.
    """

    model_config = ConfigDict(frozen=True)

    subject: str
    keywords: dict[str, Any] = {}
    files: dict[str, Path] = {}
    asked_for: str | None = None
    version: int | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments, with the version."""
        return {"version": self.version, **self.keywords, **self.files}

    def anew(self) -> Self:
        """The same, of the records as they are now."""
        return self.model_copy(update={"version": None})


class AskedAudit(AskedRequest):
    """An audit, or a comparison of two models.

    Attributes:
        dataset, sensitive, epsilon: Whom it is about, and by what groups; None where it is asked in ρ, or is free.
        files: Among them `model`, and `other` where two models are compared.
    """

    kind: Literal["audit"] = "audit"
    dataset: str
    sensitive: tuple[str, ...]
    epsilon: str | None

    def answered(self, auditor: Auditor, _: KeptAudits) -> str:
        """Ask; gives the path of the page with the result."""
        keywords = self.arguments
        model, other = keywords.pop("model", None), keywords.pop("other", None)
        if other is None:
            result = auditor.audit(model, self.dataset, self.sensitive, self.epsilon, **keywords)
            return f"/audits/{result.note.file_name}"
        taken = {name: value for name, value in keywords.items() if name not in COMPARED_WITHOUT}
        both = auditor.compare(model, other, self.dataset, self.sensitive, self.epsilon, **taken)
        return f"/compare/{both.first.note.file_name}/{both.second.note.file_name}"


class AskedWatch(AskedRequest):
    """A watch over the verdict of a kept audit; `audit` is the name of the audit's note."""

    kind: Literal["watch"] = "watch"
    subject: str = "Watch over a verdict"
    audit: str
    epsilon: str
    margin: int

    def answered(self, auditor: Auditor, kept: KeptAudits) -> str:
        """Ask; gives the path of the page with the result."""
        audit = kept.audit(self.audit)
        auditor.watch(audit, self.epsilon, margin=self.margin)
        return f"/watches/{audit.release.dataset}"


class AskedTraining(AskedRequest):
    """A training; its keywords are all arguments but the dataset."""

    kind: Literal["training"] = "training"
    dataset: str

    def answered(self, auditor: Auditor, _: KeptAudits) -> str:
        """Ask; gives the path of the page with the trained model."""
        return f"/trainings/{auditor.train(self.dataset, **self.arguments).note.file_name}"


Asked = AskedAudit | AskedWatch | AskedTraining


class WaitingQuestion(BaseModel):
    """What was asked, and the request as the holder showed it last."""

    model_config = ConfigDict(frozen=True)

    approval: Approval
    asked: Annotated[Asked, Field(discriminator="kind")]


class WaitingQuestions:
    """What waits, in one receipts directory."""

    def __init__(self, receipts: Path) -> None:
        self._directory = receipts / "waiting"

    def every(self) -> tuple[list[WaitingQuestion], list[str]]:
        """All, in the order in which they were asked; and what is wrong with those that cannot be read."""
        found, faults = list[WaitingQuestion](), list[str]()
        for path in sorted(self._directory.glob(f"*/{_QUESTION}")):
            try:
                found.append(_read(path))
            except ReceiptsDamaged as error:
                faults.append(str(error))
        return sorted(found, key=lambda one: one.approval.requested), faults

    def find(self, approval: str) -> WaitingQuestion | None:
        """What was asked here under an approval's id; None if that was not here."""
        path = self._folder(approval) / _QUESTION
        return _read(path) if path.exists() else None

    def keep(self, approval: Approval, asked: Asked) -> None:
        """Keep what was asked, with copies of its files, or how it stands now."""
        folder = self._folder(approval.id)
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        copies = {name: folder / name / path.name for name, path in asked.files.items()}
        for name, path in asked.files.items():
            if path != copies[name]:
                copies[name].parent.mkdir(mode=0o700, exist_ok=True)
                shutil.copy2(path, copies[name])
        kept = WaitingQuestion(approval=approval, asked=asked.model_copy(update={"files": copies} if copies else {}))
        write_durably(folder / _QUESTION, kept.model_dump_json(indent=1).encode())

    def forget(self, approval: str) -> None:
        """Remove what was asked, with its files."""
        shutil.rmtree(self._folder(approval), ignore_errors=True)

    def _folder(self, approval: str) -> Path:
        name = _hex(approval)
        if name.isalnum():
            return self._directory / name
        raise ReceiptsDamaged("This request does not exist.")


def _read(path: Path) -> WaitingQuestion:
    try:
        return WaitingQuestion.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ReceiptsDamaged(
            f"The waiting request in {path} cannot be read. Restore it from a copy, or remove its folder and send "
            "the request again."
        ) from error


def _hex(name: str) -> str:
    return name.removeprefix("sha256:")
