"""Quotes and releases: the order of work of 2-privacy §5.

`prepare`: validate → price → stored release? → cheap budget check. `draw`: count → add noise. Whoever calls
them waits for the plan's public deadline. `enter`: one transaction (limits, key and account again under lock,
charge, entry, release) → commit → anchor. So whatever anybody can see of a release changes at a public time.
"""

from dataclasses import dataclass
from datetime import datetime

from holder_service.domain.deadlines import PlanSize, Work, require_bounded, work_s
from holder_service.domain.errors import (
    BudgetExhausted,
    CapExhausted,
    Conflict,
    InvalidRequest,
    NoRecords,
    NotFound,
    VersionGone,
)
from holder_service.domain.ledger import Event
from holder_service.domain.pricing import Price, price
from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.calibration import mechanism_of
from holder_service.records.counting import count_cells
from holder_service.services import accounts
from holder_service.services.bookkeeping import Books, Transaction
from holder_service.services.datasets import OpenRecords, relation_of, require_dataset
from holder_service.services.signing_keys import Signer
from holder_service.storage import ledger, releases
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.ledger import Standing
from holder_service.storage.releases import StoredRelease
from shared import limits, nonces
from shared.amounts import NO_LOSS, format_nano
from shared.canonical import canonical_bytes
from shared.plans import BatchQuote, Plan, Quote, check_size, identity_of_document
from shared.relations import NeighbouringRelation, Relation
from shared.releases import Answer, Entered, ReleasedBatch, ReleasedCell, SerialisedAnswer
from shared.schema import Group


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """A valid plan for the current records, its price and noise; nothing of it depends on the records.

    `identity` and `document`, its canonical bytes, are empty where it is only quoted.
    """

    identity: str
    document: bytes
    plan: Plan
    dataset: Dataset
    relation: NeighbouringRelation
    price: Price
    size: PlanSize
    groups: tuple[Group, ...]
    mechanisms: tuple[Mechanism, ...]

    def work_s(self, factors: Work) -> float:
        """How long the work on it is supposed to take at most, in seconds."""
        return work_s(self.size, records_max=self.dataset.records_max, factors=factors)


def quote(books: Books, *, dataset: str, plan: Plan) -> Quote:
    """Price a plan. Touches neither records nor budget, and is the same whatever the records are.

    Raises:
        NotFound, PlanRefused: As for a release.
    """
    check_size(plan)
    with books.database.read() as connection:
        declared = require_dataset(connection, dataset)
        name = relation_of(connection, declared)
    plan.check(declared.schema)
    priced = _priced(plan, declared, name)
    return Quote(
        dataset=dataset,
        version=plan.version if plan.version is not None else declared.version,
        relation=name,
        charge=priced.price.charge,
        batches=_batch_quotes(priced),
    )


def prepare(books: Books, *, auditor: str, dataset: str, plan: Plan) -> StoredRelease | PricedPlan:
    """Everything that comes before the records: validate, find a stored answer, price, check the budget.

    Returns:
        The stored release if the plan was answered before, else the priced plan.

    Raises:
        NotFound: No such dataset.
        PlanRefused: The plan does not fit the contract, the limits or the schema.
        VersionGone: It pins a version that is neither current nor answered.
        NoRecords: Nothing is loaded.
        BudgetExhausted, CapExhausted: The loss does not fit into what is left.
        Conflict: The plan is free, and the auditor had as much for nothing as anybody gets.
    """
    check_size(plan)
    with books.database.read() as connection:
        declared = require_dataset(connection, dataset, or_retired=True)
        version = plan.version if plan.version is not None else declared.version
        if version is None:
            raise NoRecords(f"Dataset {dataset!r} has no records yet, or none any more.")
        pinned = plan.pinned(version)
        document = canonical_bytes(pinned.document())
        name = identity_of_document(document, auditor=auditor, dataset=dataset, version=version)
        stored = releases.find_release(connection, name)
        if stored is None:
            _require_current(declared, version)
            pinned.check(declared.schema)
            standing = _standing(connection, declared, auditor)
            priced = _priced(pinned, declared, standing.relation, identity=name, document=document)
            _require_funds(standing, priced, now=books.clock())
            _require_free_share(connection, auditor, priced)
            return priced
    books.ensure_anchored(stored.sequence)
    return stored


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRelease:
    """A noisy answer that is not charged yet: nothing of it may be seen before `enter` has returned.

    Attributes:
        priced: The plan that it answers.
        auditor: Who asked it.
        answer: What it is answered, serialised.
    """

    priced: PricedPlan
    auditor: str
    answer: SerialisedAnswer


@dataclass(frozen=True, slots=True)
class EnteredRelease:
    """A release in the ledger, and whether it is new; else the plan was answered before."""

    release: StoredRelease
    new: bool


def draw(*, auditor: str, priced: PricedPlan, records: OpenRecords) -> DrawnRelease:
    """Count and add noise. Nothing is written, so a draw that is never entered was never seen.

    How long this takes depends on the noise and may depend on the records: call `enter` at the public deadline.

    Raises:
        Unavailable: The records cannot be read.
    """
    answer = Answer(
        id=priced.identity,
        dataset=priced.dataset.name,
        version=priced.plan.pinned_version,
        auditor=auditor,
        relation=priced.relation.name,
        nonce=nonces.draw_nonce(),
        plan=priced.plan,
        charge=priced.price.charge,
        batches=_noisy_batches(priced, records),
    )
    return DrawnRelease(priced, auditor, SerialisedAnswer.of(answer, plan=priced.document))


def enter(books: Books, *, drawn: DrawnRelease, key_id: str, signing: Signer) -> EnteredRelease:
    """Charge a drawn answer and store it: from here on it may leave the holder.

    Args:
        books: Where it is charged.
        drawn: The answer; its plan's public deadline has passed.
        key_id: The key that the plan was asked with, which has to be in force still.
        signing: What the release is signed with.

    Returns:
        The new release; or the stored one, if the same plan was answered meanwhile (this draw is dropped).

    Raises:
        Unauthenticated: The key was withdrawn or has expired, or its account is disabled.
        BudgetExhausted, CapExhausted, Conflict, VersionGone: Things changed since the plan was priced.
        Unavailable: The store failed; the same plan asked again gets what was committed, or is charged once.
    """
    entered = books.commit(lambda transaction: _charge(transaction, drawn, key_id, signing))
    books.ensure_anchored(entered.release.sequence)
    return entered


def _charge(transaction: Transaction, drawn: DrawnRelease, key_id: str, signing: Signer) -> EnteredRelease:
    """Look at everything again under the ledger's lock, append the charge, sign and store the release."""
    priced = drawn.priced
    accounts.require_in_force(transaction.connection, key_id, now=transaction.now)
    stored = releases.find_release(transaction.connection, priced.identity)
    if stored is not None:
        return EnteredRelease(stored, new=False)
    dataset = require_dataset(transaction.connection, priced.dataset.name)
    _require_current(dataset, priced.plan.version)
    standing = _standing(transaction.connection, dataset, drawn.auditor)
    if standing.relation != priced.relation.name:
        raise Conflict("The population's neighbouring relation changed while the plan was answered: ask again.")
    _require_funds(standing, priced, now=transaction.now)
    _require_free_share(transaction.connection, drawn.auditor, priced)
    loss = priced.price.charge
    account = standing.account.charged(loss)
    cap = standing.cap.charged(loss)
    pair = signing.in_force(transaction.connection)  # asked under the lock: a rotation may have come between
    entry = transaction.append(
        Event(
            "charge", actor=drawn.auditor, population=dataset.population, dataset=dataset.name,
            auditor=drawn.auditor, subject=priced.identity, answer=drawn.answer.digest, loss=loss,
            cap=cap, account=account,
        )
    )  # fmt: skip
    entered = Entered(
        created=transaction.now,
        remaining=account.remaining(transaction.now),
        ledger=entry.position,
        key=pair.id,
    )
    stored = StoredRelease(
        id=priced.identity, auditor=drawn.auditor, dataset=dataset.name, version=priced.plan.pinned_version,
        sequence=entry.sequence, created=entry.at, body=drawn.answer.signed(entered, pair.sign_bytes),
    )  # fmt: skip
    releases.store(transaction.connection, stored)
    return EnteredRelease(stored, new=True)


def require_release(books: Books, *, auditor: str, dataset: str, identity: str) -> StoredRelease:
    """An auditor's own stored release.

    Raises:
        NotFound: It has none of that identity about that dataset.
    """
    with books.database.read() as connection:
        stored = releases.find_own(connection, identity, auditor=auditor, dataset=dataset)
    if stored is None:
        raise NotFound("You have no release of that id about that dataset.")
    books.ensure_anchored(stored.sequence)
    return stored


def _require_current(dataset: Dataset, version: int | None) -> None:
    """Refuse a plan for records that are gone (409), or that never were (422)."""
    if version is None or version > dataset.version_last:
        raise InvalidRequest(f"There never was a version {version} of dataset {dataset.name!r}.", field="version")
    if version != dataset.version:
        raise VersionGone(
            f"Version {version} of dataset {dataset.name!r} is gone and this plan was never answered for it. "
            "Ask for the current version, or leave `version` out."
        )


def _standing(connection: Connection, dataset: Dataset, auditor: str) -> Standing:
    """Relation, account and cap of the people that a dataset is about."""
    standing = ledger.standing(connection, dataset.population, auditor)
    if standing is None:
        raise NotFound(f"There is no population {dataset.population!r}.")
    return standing


def _require_funds(standing: Standing, priced: PricedPlan, *, now: datetime) -> None:
    """Refuse a plan that account and cap do not both afford; the auditor's is told first."""
    loss = priced.price.charge
    if not standing.account.affords(loss, now):
        raise BudgetExhausted(requested=loss, remaining=standing.account.remaining(now))
    if not standing.cap.affords(loss, now):
        raise CapExhausted(requested=loss, remaining=standing.cap.remaining(now))


def _require_free_share(connection: Connection, auditor: str, priced: PricedPlan) -> None:
    """Refuse a plan that costs nothing once its auditor had as much for nothing as anybody gets.

    No budget ends such plans, and every answer is stored for good.
    """
    if priced.price.charge != NO_LOSS:
        return
    if releases.free_bytes(connection, auditor=auditor, dataset=priced.dataset.name) >= limits.FREE_BYTES_MAX:
        raise Conflict(
            f"Your answers about dataset {priced.dataset.name!r} that cost nothing fill {limits.FREE_BYTES_MAX} bytes, "
            "as many as one auditor gets. What was answered can be asked again; for more, ask the administrator for "
            "another account."
        )


def _priced(
    plan: Plan, dataset: Dataset, relation_name: Relation, *, identity: str = "", document: bytes = b""
) -> PricedPlan:
    groups = dataset.schema.groups(plan.sensitive)
    neighbouring = NeighbouringRelation(relation_name)
    mechanisms = tuple(
        mechanism_of(batch, relation=neighbouring, schema=dataset.schema, sensitive=plan.sensitive)
        for batch in plan.batches
    )
    paid = price(plan, dataset.schema)
    size = PlanSize.of(plan, paid, len(groups))
    require_bounded(size, records_max=dataset.records_max)
    return PricedPlan(identity, document, plan, dataset, neighbouring, paid, size, groups, mechanisms)


def _batch_quotes(priced: PricedPlan) -> tuple[BatchQuote, ...]:
    """What a quote and a release say of each batch, but for the counts."""
    counted = priced.relation.counted_groups(priced.groups)
    return tuple(
        BatchQuote(
            name=batch.name,
            epsilon=format_nano(paid.loss.epsilon_nano),
            delta=format_nano(paid.loss.delta_nano),
            composition={"classes": len(paid.classes)},
            groups=priced.groups,
            counted_groups=counted,
            noise=mechanism.noise,
        )
        for batch, paid, mechanism in zip(priced.plan.batches, priced.price.batches, priced.mechanisms, strict=True)
    )


def _noisy_batches(priced: PricedPlan, records: OpenRecords) -> tuple[ReleasedBatch, ...]:
    """Count every batch and add its noise."""
    released = []
    opened = records.of(priced.dataset)
    for quoted, batch, paid, mechanism in zip(
        _batch_quotes(priced), priced.plan.batches, priced.price.batches, priced.mechanisms, strict=True
    ):
        columns = len(quoted.groups if quoted.counted_groups is None else quoted.counted_groups)
        true_counts = count_cells(opened, batch.cells, paid.classes, priced.plan.sensitive)
        noisy = mechanism.release(true_counts.reveal_to_mechanism()[:, :columns].ravel().tolist())
        cells = tuple(
            ReleasedCell(id=cell.id, counts=tuple(noisy[index * columns : (index + 1) * columns]))
            for index, cell in enumerate(batch.cells)
        )
        released.append(ReleasedBatch.of(quoted, cells))
    return tuple(released)
