"""What auditors ask and the ledger charges, plans, trainings and watches alike: priced, and answered once."""

from dataclasses import dataclass
from typing import Protocol

from holder_service.domain.deadlines import Work
from holder_service.records.engines import Counts
from holder_service.services.releases import rehearsals
from holder_service.services.releases.priced import PricedPlan
from holder_service.services.releases.priced_training import PricedTraining
from holder_service.services.releases.priced_watch import PricedWatch
from holder_service.services.releases.refining import Refined
from holder_service.storage.columns import StoredColumn
from holder_service.storage.datasets import Dataset
from shared.contract.relations import NeighbouringRelation
from shared.kinds.plans import Plan, check_size
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import AnswerToRequest
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.privacy.amounts import Loss
from shared.privacy.charges import AccountTerms
from shared.wire.text import ColumnId, Name

Asked = Plan | Training | Watch


class Priced(Protocol):
    """What was asked, valid, with its price and noise; nothing of it depends on the records."""

    @property
    def asked(self) -> Asked:
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
    def refined(self) -> Refined | None:
        """The release that it refines, if it refines one."""

    def work_ms(self, factors: Work) -> Work:
        """How long the work on it is supposed to take at most, part by part, in milliseconds."""

    def quote(self, version: int | None) -> QuoteBase:
        """What its quote says, for a version of the records."""

    def answer(self, head: AnswerToRequest, engine: Counts) -> AnswerToRequest:
        """Count, add noise, and say what comes out behind what every release says.

        Raises:
            Unavailable, VersionGone: The records cannot be read.
        """


def require_small(asked: Asked) -> None:
    """Refuse what is too large to look at; a training's own type bounds it.

    Raises:
        TooLarge: Naming the limit.
    """
    if isinstance(asked, Watch):
        asked = asked.counted()
    if isinstance(asked, Plan):
        check_size(asked)


def named_columns(asked: Asked) -> dict[Name, ColumnId]:
    """The derived columns that it names, by name; trainings and watches name none."""
    return (asked.columns or {}) if isinstance(asked, Plan) else {}


def price_asked(
    asked: Asked,
    dataset: Dataset,
    relation: NeighbouringRelation,
    columns: tuple[StoredColumn, ...],
    refined: Refined | None,
    *,
    terms: AccountTerms,
) -> Priced:
    """Check against the declaration, price and calibrate what `require_small` took.

    Raises:
        PlanRefused: It does not fit.
        Conflict: The dataset was declared otherwise since what it refines was answered.
    """
    if isinstance(asked, Plan):
        return PricedPlan.of(asked, dataset, relation, columns, refined, terms=terms)
    if isinstance(asked, Watch):
        return PricedWatch.of(asked, dataset, relation, terms=terms)
    return PricedTraining.of(asked, dataset, relation, terms=terms)


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
