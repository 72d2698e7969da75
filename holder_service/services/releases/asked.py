"""What auditors ask and the ledger charges, plans, trainings and watches alike: priced, and answered once."""

from dataclasses import dataclass
from typing import Protocol

from holder_service.domain.deadlines import PlanSize, Work
from holder_service.records.engines import Counts
from holder_service.services.releases import rehearsals
from holder_service.services.releases.refining import Refined
from holder_service.storage.datasets import Dataset
from shared.contract.blocks import BlockLoss
from shared.contract.relations import NeighbouringRelation
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import AnswerToRequest
from shared.kinds.requests import ReleaseRequest
from shared.privacy.amounts import Loss
from shared.privacy.charges import AccountTerms


class Priced(Protocol):
    """What was asked, valid, with its price and noise; it does not depend on the records."""

    @property
    def asked(self) -> ReleaseRequest:
        """What was asked."""

    @property
    def dataset(self) -> Dataset:
        """What it is about."""

    @property
    def relation(self) -> NeighbouringRelation:
        """Of the people that the dataset is about."""

    @property
    def terms(self) -> AccountTerms:
        """Of those people's account."""

    @property
    def charge(self) -> Loss:
        """What it costs, whole, in these terms."""

    @property
    def block_losses(self) -> tuple[BlockLoss, ...]:
        """What each block of people loses, by ascending ranges; empty where the dataset has no blocks."""

    @property
    def refined(self) -> Refined | None:
        """The release that it refines, if it refines one."""

    @property
    def learns(self) -> bool:
        """Whether a learner works between the counts: its time cannot be told from pricing and writing."""

    def draw_noise(self) -> tuple[PlanSize, ...]:
        """Draw as much noise as an answer gets, to see how long it takes; return the sizes of what it is about."""

    def work_ms(self, factors: Work) -> Work:
        """Return how long the work on it is supposed to take at most, part by part, in milliseconds."""

    def quote(self, version: int | None) -> QuoteBase:
        """Return what its quote says, for a version of the records."""

    def answer(self, head: AnswerToRequest, engine: Counts) -> AnswerToRequest:
        """Count, add noise, and say what comes out behind what every release says.

        Raises:
            Unavailable, VersionGone: The records cannot be read.
        """


@dataclass(frozen=True, slots=True)
class AskedRelease:
    """What was asked and priced, and waits for its answer.

    Attributes:
        priced: Pinned to the current version of the records.
        auditor: Who asks.
        identity: Of the release that answers it.
        document: Its canonical bytes.
        purpose: What it is asked for, in the auditor's words; no part of what is asked.
    """

    priced: Priced
    auditor: str
    identity: str
    document: bytes
    purpose: str | None = None

    @property
    def charge(self) -> Loss:
        """What an answer is charged: its price, or nothing about a rehearsal."""
        return rehearsals.charged(self.priced.dataset, self.priced.charge)
