"""Plans, trainings and watches as the holder treats them, each as one value."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from holder_service.keys.watch_seals import WatchSeals
from holder_service.services.datasets.column_jobs import Pace
from holder_service.services.ledger.store import Transaction
from holder_service.services.releases import refining, watching
from holder_service.services.releases.holder_kind import HolderKind, PriceContext, PublishedMethod
from holder_service.services.releases.priced import PricedPlan
from holder_service.services.releases.priced_training import PricedTraining
from holder_service.services.releases.priced_watch import PricedWatch
from holder_service.services.releases.refining import Refined
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.releases import StoredRelease
from shared.kinds.plans import Plan
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.wire.identities import KindName

_MECHANISM_OF_STEP: Final = {"counts": "laplace", "sums": "laplace", "choices": "permute_and_flip"}


class PlanKind(HolderKind[Plan, PricedPlan]):
    """Counts of cells, which a finer answer may follow."""

    def price(self, request: Plan, context: PriceContext) -> PricedPlan:
        """Price each batch; of a refinement, the difference."""
        return PricedPlan.of(
            request, context.dataset, context.relation, context.columns, context.refined, terms=context.terms
        )

    def published(self, release: Mapping[str, Any]) -> PublishedMethod:
        """Name the mechanism of every batch."""
        names = {batch["mechanism"]["name"] for batch in release[Plan.kind]["batches"]}
        return PublishedMethod(tuple(sorted(names)))

    def refined(self, connection: Connection, request: Plan, dataset: Dataset, *, auditor: str) -> Refined | None:
        """Find the release that a plan names in `refines`."""
        request.require_shareable(dataset.schema)
        return None if request.refines is None else refining.find(connection, request, dataset, auditor=auditor)


class TrainingKind(HolderKind[Training, PricedTraining]):
    """A model that is learned from noisy measurements."""

    def price(self, request: Training, context: PriceContext) -> PricedTraining:
        """Price the steps of its algorithm."""
        return PricedTraining.of(request, context.dataset, context.relation, terms=context.terms)

    def published(self, release: Mapping[str, Any]) -> PublishedMethod:
        """Name the algorithm, and the mechanism of every step."""
        names = {_MECHANISM_OF_STEP[step["measures"]] for step in release["steps"]}
        return PublishedMethod(tuple(sorted(names)), release[Training.kind]["algorithm"]["name"])


class WatchKind(HolderKind[Watch, PricedWatch]):
    """A verdict that is asked again of every version, for one charge."""

    answers_later: ClassVar[bool] = True

    def price(self, request: Watch, context: PriceContext) -> PricedWatch:
        """Price all of its answers together."""
        return PricedWatch.of(request, context.dataset, context.relation, terms=context.terms)

    def published(self, release: Mapping[str, Any]) -> PublishedMethod:
        """Name the one mechanism of its answers."""
        return PublishedMethod(("sparse_vector",))

    def require_room(self, connection: Connection, priced: PricedWatch, *, auditor: str, pace: Pace | None) -> None:
        """Refuse too many open watches; under the lock also those whose answers would take too long together."""
        watching.require_number(connection, auditor=auditor, dataset=priced.dataset.name)
        if pace is not None:
            watching.require_room(connection, priced, auditor=auditor, pace=pace)

    def sealed(self, priced: PricedWatch, identity: str, seals: WatchSeals) -> bytes | None:
        """Draw the noise on its margin."""
        return watching.begun(priced, identity, seals)

    def entered(
        self, transaction: Transaction, release: StoredRelease, priced: PricedWatch, sealed: bytes | None, pace: Pace
    ) -> None:
        """Keep its row; its first version is to be answered from now on."""
        if sealed is None:
            raise ValueError("A watch cannot be kept without its sealed threshold.")
        watching.keep(transaction, release, priced, sealed, pace)

    def after_load(self, transaction: Transaction, dataset: Dataset, pace: Pace) -> None:
        """Have every open watch about the dataset answer the new version."""
        watching.begin_again(transaction, dataset, pace)


HOLDER_KINDS: Final[Mapping[KindName, HolderKind[Any, Any]]] = {
    Plan.kind: PlanKind(),
    Training.kind: TrainingKind(),
    Watch.kind: WatchKind(),
}
"""What an auditor can request, by the name of its kind: those of `shared.kinds.registry.KINDS` with a request."""
