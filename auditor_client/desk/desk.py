"""What one process of the desk has: its settings, its door, its work, and what was typed and sent so far."""

import os
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from auditor_client.auditor import Auditor
from auditor_client.audits.planned import PlannedAudit
from auditor_client.audits.planned_training import PlannedTraining
from auditor_client.desk.door import Door
from auditor_client.desk.kept import KeptAudits
from auditor_client.desk.tasks import Step, Tasks
from auditor_client.desk.waiting import WaitingQuestions
from auditor_client.exchange.sign_in import SignInBegun
from auditor_client.settings import AuditorSettings
from shared.wire.identity_providers import SignInOffer

DRAFTS_MAX: Final = 30
"""How many questions are remembered with their files; the oldest are forgotten first."""
_UNSAFE: Final = re.compile(r"[^\w .()+-]")


@dataclass(slots=True)
class DraftQuestion:
    """A question as far as it was typed.

    Attributes:
        dataset: Whom it is about.
        folder: Where its files are, in the desk's own private folder.
        model, other: Files of models; None if a column holds the decisions, or there is no second one.
        decision: That column.
        chain: The stages of a chain of decisions; empty for one decision.
        typed: What was typed, by field.
        files: Files that came with it, by field.
        decisions: What the model or the column can decide, of which some are the good outcome; empty if not known.
        defaults: What fields have that nobody typed in yet.
        fault: Why it could not be planned or asked.
        notice: What has changed since the price before this one was shown.
        planned: What it would cost and show.
    """

    dataset: str
    folder: Path
    model: Path | None = None
    other: Path | None = None
    decision: str | None = None
    chain: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    typed: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    notice: str = ""
    planned: PlannedAudit | None = None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))

    @property
    def subject(self) -> str:
        """What is audited, in a few words."""
        if self.chain:
            return f"the chain {' → '.join(self.chain)}"
        if self.model is None:
            return f"the decisions in {self.decision}"
        return self.model.name if self.other is None else f"{self.model.name} and {self.other.name}"

    @property
    def every_file(self) -> dict[str, Path]:
        """All files that it is asked with, by argument."""
        models = {"model": self.model, "other": self.other}
        return {**self.files, **{name: path for name, path in models.items() if path is not None}}


@dataclass(slots=True)
class DraftTraining:
    """A training as far as it was typed.

    Attributes:
        dataset: Whom the model is learned from.
        typed: What was typed, by field.
        fault: Why it could not be priced or asked.
        notice: What has changed since the price before this one was shown.
        planned: What it would cost.
    """

    dataset: str
    typed: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    notice: str = ""
    planned: PlannedTraining | None = None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))


class Desk:
    """Everything that pages need; nothing of it outlives the process but receipts and notes."""

    def __init__(self, settings: AuditorSettings, port: int) -> None:
        self.settings = settings.model_copy(update={"wait_approval": 0})  # a page shows what waits
        self.door = Door(port)
        self.tasks = Tasks()
        self.kept = KeptAudits(settings.receipts)
        self.waiting = WaitingQuestions(settings.receipts)
        self.drafts: dict[str, DraftQuestion] = {}
        self.offer: SignInOffer | None = None
        self.begun: SignInBegun | None = None
        self.back = ""
        """Where a sign-in goes on: at what it interrupted."""
        self.refused_watches: dict[str, tuple[Mapping[str, str], str]] = {}
        """What was typed of a watch over an audit that was refused, and why; by the audit, until it was shown."""
        self.trainings: dict[str, DraftTraining] = {}
        self._folder = TemporaryDirectory(prefix="auditor-desk-", ignore_cleanup_errors=True)

    def auditor(self, on_step: Step = lambda _: None, asked_for: str | None = None) -> Auditor:
        """An auditor for one page or one task; what it asks for, if not what the settings say."""
        settings = self.settings
        if asked_for is not None:
            settings = settings.model_copy(update={"asked_for": asked_for or None})
        return Auditor.from_settings(settings, on_step=on_step)

    def draft(self, dataset: str) -> DraftQuestion:
        """A new question about a dataset, with a folder of its own."""
        draft = DraftQuestion(dataset, Path(self._folder.name) / secrets.token_hex(8))
        draft.folder.mkdir(mode=0o700)
        self.drafts[draft.id] = draft
        for id_ in list(self.drafts)[:-DRAFTS_MAX]:
            self.drop(self.drafts[id_])
        return draft

    def drop(self, draft: DraftQuestion) -> None:
        """Forget a question, with its files."""
        shutil.rmtree(self.drafts.pop(draft.id).folder, ignore_errors=True)

    def draft_training(self, dataset: str) -> DraftTraining:
        """A new training about a dataset."""
        draft = DraftTraining(dataset)
        self.trainings[draft.id] = draft
        for id_ in list(self.trainings)[:-DRAFTS_MAX]:
            del self.trainings[id_]
        return draft

    def keep_file(self, folder: Path, name: str, content: BinaryIO) -> Path:
        """Copy a file that a browser sent; of its name what is harmless, behind a folder that no other file is in."""
        last = re.split(r"[/\\]", name)[-1]
        own = folder / secrets.token_hex(4)
        own.mkdir(mode=0o700)
        path = own / (_UNSAFE.sub("_", last).lstrip(".")[-100:] or "file")
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            shutil.copyfileobj(content, file)
        return path

    def close(self) -> None:
        """Remove the files that were sent."""
        self._folder.cleanup()
