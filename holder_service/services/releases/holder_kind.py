"""What the holder does differently for one kind of request. All else about a release is the same for every kind."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from holder_service.keys.watch_seals import WatchSeals
from holder_service.services.datasets.column_jobs import Pace
from holder_service.services.ledger.store import Transaction
from holder_service.services.releases.asked import Priced
from holder_service.services.releases.refining import Refined
from holder_service.storage.columns import StoredColumn
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.releases import StoredRelease
from shared.contract.relations import NeighbouringRelation
from shared.kinds.requests import ReleaseRequest
from shared.privacy.charges import AccountTerms

_Request = TypeVar("_Request", bound=ReleaseRequest)
_Priced = TypeVar("_Priced", bound=Priced)


@dataclass(frozen=True, slots=True)
class PriceContext:
    """All that a price follows from beside the request.

    Attributes:
        dataset: What it is about.
        relation: Of the people that the dataset is about.
        terms: Of those people's account.
        columns: The derived columns that the request names.
        refined: The release that it refines, if it refines one.
    """

    dataset: Dataset
    relation: NeighbouringRelation
    terms: AccountTerms
    columns: tuple[StoredColumn, ...]
    refined: Refined | None


@dataclass(frozen=True, slots=True)
class PublishedMethod:
    """What the transparency report says of how a release was made.

    Attributes:
        mechanisms: Their names, in alphabetical order.
        algorithm: How a model was learned; `None` where none was.
    """

    mechanisms: tuple[str, ...]
    algorithm: str | None = None


class HolderKind(ABC, Generic[_Request, _Priced]):
    """One kind of request, as the holder prices, enters and publishes it. What a kind does not need does nothing.

    Attributes:
        answers_later: Whether signed statements follow a release, for which the rounds have to be woken.
    """

    answers_later: ClassVar[bool] = False

    @abstractmethod
    def price(self, request: _Request, context: PriceContext) -> _Priced:
        """Check a request of an admissible size against the declaration, price it and calibrate its noise.

        Raises:
            PlanRefused: It does not fit.
            Conflict: The dataset was declared otherwise since what it refines was answered.
        """

    @abstractmethod
    def published(self, release: Mapping[str, Any]) -> PublishedMethod:
        """Return what is published of how a stored release was made."""

    def refined(self, connection: Connection, request: _Request, dataset: Dataset, *, auditor: str) -> Refined | None:
        """Return the release that a pinned request refines; `None` if it refines none.

        Raises:
            NotFound, VersionGone, Conflict, InvalidPlan: That release cannot be refined so.
        """
        return None

    def require_room(self, connection: Connection, priced: _Priced, *, auditor: str, pace: Pace | None) -> None:
        """Refuse an auditor who has as many open requests of this kind as anybody may.

        Args:
            pace: Of this machine, under the ledger's lock; `None` before.

        Raises:
            Conflict: The auditor has.
        """

    def sealed(self, priced: _Priced, identity: str, seals: WatchSeals) -> bytes | None:
        """Draw what the holder has to keep secret of an answer, and seal it; `None` if there is nothing."""
        return None

    def entered(
        self, transaction: Transaction, release: StoredRelease, priced: _Priced, sealed: bytes | None, pace: Pace
    ) -> None:
        """Keep what the answer obliges to, in the transaction that charges it."""

    def after_load(self, transaction: Transaction, dataset: Dataset, pace: Pace) -> None:
        """Do what a new version of the records obliges to, in the transaction that makes it the current one."""
