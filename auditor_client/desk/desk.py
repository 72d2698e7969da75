"""What one process of the desk has: its settings, its door, its work, and what was typed and sent so far."""

import os
import re
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, ClassVar, Final, Generic, Protocol, TypeVar

from starlette.datastructures import UploadFile

from auditor_client.auditor import Auditor
from auditor_client.desk.door import Door
from auditor_client.desk.kept import KeptAudits
from auditor_client.desk.tasks import Step, Tasks
from auditor_client.desk.waiting import Asked, WaitingQuestions
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.sign_in import SignInBegun
from auditor_client.settings import AuditorSettings
from shared.contract.datasets import Budget, DatasetDescription
from shared.wire.identity_providers import SignInOffer

DRAFTS_MAX: Final = 30
"""How many questions are remembered with their files; the oldest are forgotten first."""
_UNSAFE: Final = re.compile(r"[^\w .()+-]")
KeepFile = Callable[[Path, str, BinaryIO], Path]
"""Copies a file into a draft's folder: `Desk.keep_file`."""


@dataclass(frozen=True, slots=True)
class SentForm:
    """A form of this desk: what was typed, all that was chosen of a name, and the files that hold something."""

    typed: Mapping[str, str]
    chosen: Mapping[str, tuple[str, ...]]
    files: Mapping[str, UploadFile]


class Planned(Protocol):
    """What is priced."""

    @property
    def dataset(self) -> DatasetDescription:
        """Whom it is about, as the holder described them when it was priced."""


PlannedT = TypeVar("PlannedT", bound=Planned)


@dataclass(slots=True)
class RequestDraft(ABC):
    """What is about to be asked, as far as it was typed (`drafts`).

    Attributes:
        asking: What is being done while it is asked.
        dataset: Whom it is about.
        folder: Where its files are, in the desk's own private folder.
        typed: What was typed, by field.
        fault: Why it could not be priced or asked.
    """

    asking: ClassVar[str]

    dataset: str
    folder: Path
    typed: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))

    @property
    @abstractmethod
    def path(self) -> str:
        """The path of the page with its form."""

    @property
    def asked_for(self) -> str:
        """What it is asked for, as typed."""
        return self.typed.get("asked_for", "").strip()

    @abstractmethod
    def take(self, dataset: DatasetDescription, sent: SentForm, keep_file: KeepFile) -> None:
        """Take what was typed and sent.

        Raises:
            QuestionRefused: Something is missing, or does not fit.
        """

    @abstractmethod
    def asked(self, chosen: Mapping[str, str]) -> Asked:
        """The request itself, with what was chosen beside the price."""


@dataclass(slots=True)
class PricedDraft(RequestDraft, Generic[PlannedT]):
    """A draft with a page of its own, whose price is shown before it is asked.

    Attributes:
        section: Of the desk, where its page is.
        template: Of its page.
        apart: Fields that the page shows in its own way.
        files: Files that came with it, by field.
        defaults: What fields have that nobody typed in yet.
        notice: What has changed since the price before this one was shown.
        planned: What it would cost and show.
    """

    section: ClassVar[str]
    template: ClassVar[str]
    apart: ClassVar[tuple[str, ...]]

    files: dict[str, Path] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    notice: str = ""
    planned: PlannedT | None = None

    @abstractmethod
    def form(self, auditor: Auditor, dataset: DatasetDescription, budget: Budget, receipts: Receipts) -> dict[str, Any]:
        """What its page shows beside what all drafts have: the `first` fields, `more` in sections, its price."""

    @abstractmethod
    def price(self, auditor: Auditor) -> PlannedT:
        """Look what it would cost and show; spends nothing."""


DraftT = TypeVar("DraftT", bound=RequestDraft)


class Desk:
    """Everything that pages need; nothing of it outlives the process but receipts and notes."""

    def __init__(self, settings: AuditorSettings, port: int) -> None:
        self.settings = settings.model_copy(update={"wait_approval": 0})  # a page shows what waits
        self.door = Door(port)
        self.tasks = Tasks()
        self.kept = KeptAudits(settings.receipts)
        self.waiting = WaitingQuestions(settings.receipts)
        self.drafts: dict[str, RequestDraft] = {}
        self.offer: SignInOffer | None = None
        self.begun: SignInBegun | None = None
        self.back = ""
        """Where a sign-in goes on: at what it interrupted."""
        self._folder = TemporaryDirectory(prefix="auditor-desk-", ignore_cleanup_errors=True)

    def auditor(self, on_step: Step = lambda _: None, asked_for: str | None = None) -> Auditor:
        """An auditor for one page or one task; what it asks for, if not what the settings say."""
        settings = self.settings
        if asked_for is not None:
            settings = settings.model_copy(update={"asked_for": asked_for or None})
        return Auditor.from_settings(settings, on_step=on_step)

    def draft(self, kind: type[DraftT], dataset: str) -> DraftT:
        """A new draft about a dataset, with a folder of its own."""
        draft = kind(dataset, Path(self._folder.name) / secrets.token_hex(8))
        draft.folder.mkdir(mode=0o700)
        self.drafts[draft.id] = draft
        for id_ in list(self.drafts)[:-DRAFTS_MAX]:
            self.drop(self.drafts[id_])
        return draft

    def drop(self, draft: RequestDraft) -> None:
        """Forget a draft, with its files."""
        shutil.rmtree(self.drafts.pop(draft.id).folder, ignore_errors=True)

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
