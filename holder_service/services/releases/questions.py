"""What was asked for a charge: the stored release has it, for as long as the ledger has its entry."""

import json
from typing import Any

from pydantic import Field

from holder_service.domain.errors import NotFound
from holder_service.domain.ledger import Entry
from holder_service.services.ledger.store import LedgerStore
from holder_service.storage import ledger, releases
from holder_service.storage.database import Connection
from holder_service.storage.releases import StoredRelease
from shared.kinds.plans import Plan
from shared.kinds.registry import KINDS
from shared.kinds.requests import ReleaseRequest
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.wire.request_model import ContractModel


class ChargedQuestion(ContractModel):
    """What an entry of the ledger charged: who asked what, what for."""

    entry: int
    """The number of the ledger's entry."""
    at: str
    """When it was charged."""
    auditor: str
    """Who asked."""
    dataset: str
    """What it was asked about."""
    version: int
    """The version of the records that the answer is about."""
    kind: str
    """A plan, a training or a watch."""
    purpose: str | None = Field(default=None, exclude_if=lambda purpose: purpose is None)
    """What the auditor said it was for; left out where nothing was said."""
    plan: Plan | None = Field(default=None, exclude_if=lambda plan: plan is None)
    """The plan, whole; left out where something else was asked."""
    training: Training | None = Field(default=None, exclude_if=lambda training: training is None)
    """The training, whole; likewise."""
    watch: Watch | None = Field(default=None, exclude_if=lambda watch: watch is None)
    """The watch, whole; of an answer of a watch, the watch."""

    @property
    def request(self) -> ReleaseRequest:
        """What was asked, whatever its kind."""
        request: ReleaseRequest = getattr(self, self.kind)
        return request


def find_question(store: LedgerStore, sequence: int) -> ChargedQuestion | None:
    """Return what an entry was charged for; `None` if it answered nothing."""
    return store.look_up(_find, sequence)


def question_of(store: LedgerStore, sequence: int) -> ChargedQuestion:
    """Return what an entry was charged for.

    Raises:
        NotFound: There is no such entry, or it answered nothing.
    """
    found = find_question(store, sequence)
    if found is None:
        raise NotFound(
            f"Entry {sequence} of the ledger does not contain a release. Name an entry of the kind charge or rehearsal."
        )
    return found


def _find(connection: Connection, sequence: int) -> ChargedQuestion | None:
    entry = ledger.entry_at(connection, sequence)
    release = (
        None if entry is None or not entry.event.subject else releases.find_release(connection, entry.event.subject)
    )
    if entry is None or release is None or release.sequence != sequence:
        return None
    if release.watch is not None:  # an answer of a watch: the watch says what is watched
        release = releases.find_release(connection, release.watch) or release
    return _question(entry, release)


def _question(entry: Entry, release: StoredRelease) -> ChargedQuestion | None:
    document = json.loads(release.body).get(release.kind)
    kind = KINDS.get(release.kind)
    if kind is None or kind.request is None or document is None:
        return None
    parts: dict[str, Any] = {kind.name: kind.requested(document)}
    return ChargedQuestion(
        entry=entry.sequence, at=entry.at, auditor=release.auditor, dataset=release.dataset, version=release.version,
        kind=release.kind, purpose=entry.event.detail.get("purpose"), **parts,
    )  # fmt: skip
