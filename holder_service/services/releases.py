"""Quotes and releases: the order of work of 2-privacy §5.

`prepare`: validate → price → stored release? → cheap budget check. `draw`: count → add noise. Whoever calls
them waits for the plan's public deadline. `enter`: one transaction (limits, key and account again under lock,
charge, entry, release) → commit → anchor. So whatever anybody can see of a release changes at a public time.
"""

from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime

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
from holder_service.records.engines import Counts
from holder_service.records.files import RecordFiles
from holder_service.services import access, columns
from holder_service.services.datasets import encoded_version, relation_of, require_dataset, require_state
from holder_service.services.key_rotation import Signer
from holder_service.services.ledger_store import LedgerStore, Transaction
from holder_service.services.priced import AskedPlan, PricedPlan
from holder_service.storage import releases
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.ledger import AccountState
from holder_service.storage.releases import StoredRelease
from shared import limits, nonces
from shared.amounts import NO_LOSS, Loss
from shared.canonical import canonical_bytes
from shared.plans import Plan, Quote, check_size, identity_of_document
from shared.releases import Answer, Entered, ReleasedBatch, ReleasedCell, SerialisedAnswer


def quote(store: LedgerStore, *, auditor: str, dataset: str, plan: Plan) -> Quote:
    """Price a plan. Touches neither records nor budget, and is the same whatever the records are.

    Raises:
        NotFound, PlanRefused: As for a release.
    """
    check_size(plan)
    with store.database.read() as connection:
        declared = require_dataset(connection, dataset)
        relation = relation_of(connection, declared)
        named = columns.resolved(connection, plan, declared, auditor=auditor)
    priced = PricedPlan.of(plan, declared, relation, named)
    return Quote(
        dataset=dataset,
        version=plan.version if plan.version is not None else declared.version,
        relation=relation.name,
        charge=priced.charge,
        batches=tuple(map(priced.quoted, priced.batches)),
    )


def prepare(
    store: LedgerStore, files: RecordFiles, *, auditor: str, dataset: str, plan: Plan
) -> StoredRelease | AskedPlan:
    """Everything that comes before the records: validate, find a stored answer, price, check the budget.

    Returns:
        The stored release if the plan was answered before, else the plan with its price.

    Raises:
        NotFound: The dataset is unknown.
        PlanRefused: The plan does not fit the contract, the limits, the schema or the auditor's derived columns.
        ColumnNotReady: It names a derived column whose values are not there yet.
        VersionGone: It pins a version that is neither current nor answered.
        NoRecords: Nothing is loaded.
        BudgetExhausted, CapExhausted: The loss does not fit into what is left.
        Conflict: The plan is free, and the auditor had as much for nothing as anybody gets.
    """
    check_size(plan)
    with store.database.read() as connection:
        state = require_state(connection, dataset, auditor, or_retired=True)
        declared = state.dataset
        version = plan.version if plan.version is not None else declared.version
        if version is None:
            raise NoRecords(f"Dataset {dataset!r} has no records yet, or none any more.")
        pinned = plan.pinned(version)
        document = canonical_bytes(pinned.document())
        identity = identity_of_document(document, auditor=auditor, dataset=dataset, version=version)
        stored = releases.find_release(connection, identity)
        if stored is None:
            _require_current(declared, version)
            named = columns.resolved(connection, plan, declared, auditor=auditor)
            priced = PricedPlan.of(pinned, declared, state.relation, named)
            columns.require_usable(named, declared, files, now=store.clock())
            asked = AskedPlan(priced, auditor, identity, document)
            _require_funds(state, asked.priced.charge, now=store.clock())
            _require_free_share(connection, asked)
            return asked
    store.ensure_anchored(stored.sequence)
    return stored


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRelease:
    """A noisy answer that is not charged yet: nothing of it may be seen before `enter` has returned.

    Attributes:
        asked: The plan that it answers.
        answer: What it is answered, serialised.
    """

    asked: AskedPlan
    answer: SerialisedAnswer


@dataclass(frozen=True, slots=True)
class EnteredRelease:
    """A release in the ledger, and whether it is new; else the plan was answered before."""

    release: StoredRelease
    new: bool


def draw(asked: AskedPlan, *, engine: Counts) -> DrawnRelease:
    """Count and add noise. Nothing is written, so a draw that is never entered was never seen.

    How long this takes depends on the noise and may depend on the records: call `enter` at the public deadline.

    Raises:
        Unavailable: The records cannot be read.
    """
    priced = asked.priced
    answer = Answer(
        id=asked.identity,
        dataset=priced.dataset.name,
        version=priced.plan.pinned_version,
        auditor=asked.auditor,
        relation=priced.relation.name,
        nonce=nonces.draw_nonce(),
        plan=priced.plan,
        charge=priced.charge,
        batches=_noisy_batches(priced, engine),
    )
    return DrawnRelease(asked, SerialisedAnswer.of(answer, plan=asked.document))


def enter(store: LedgerStore, *, drawn: DrawnRelease, key_id: str, signing: Signer) -> Future[EnteredRelease]:
    """Have a drawn answer charged and stored, in one transaction with all others that wait for the ledger.

    Once the result is there, it may leave the holder.

    Args:
        store: Where it is charged.
        drawn: The answer; its plan's public deadline has passed.
        key_id: The key that the plan was asked with, which has to be in force still.
        signing: What the release is signed with.

    Returns:
        What will have the new release; or the stored one, if the same plan was answered meanwhile (this draw is
        dropped). Or one of these errors:
        Unauthenticated: The key was withdrawn or has expired, or its account is disabled.
        BudgetExhausted, CapExhausted, Conflict, VersionGone, PlanRefused: Things changed since the plan was priced.
        Unavailable: The store failed; the same plan asked again gets what was committed, or is charged once.
    """
    return store.commit_shared(lambda transaction: _charge(transaction, drawn, key_id, signing))


def _charge(transaction: Transaction, drawn: DrawnRelease, key_id: str, signing: Signer) -> EnteredRelease:
    """Look at everything again under the ledger's lock; then append the charge, sign and store the release.

    Others share the transaction: nothing is written before the last refusal.
    """
    asked, priced = drawn.asked, drawn.asked.priced
    access.require_in_force(transaction.connection, key_id, now=transaction.now)
    stored = releases.find_release(transaction.connection, asked.identity)
    if stored is not None:
        transaction.rest_on(stored.sequence)
        return EnteredRelease(stored, new=False)
    state = require_state(transaction.connection, priced.dataset.name, asked.auditor)
    dataset = state.dataset
    _require_current(dataset, priced.plan.version)
    columns.resolved(transaction.connection, priced.plan, dataset, auditor=asked.auditor)
    if state.relation != priced.relation:
        raise Conflict("The population's neighbouring relation changed while the plan was answered: ask again.")
    _require_funds(state, priced.charge, now=transaction.now)
    _require_free_share(transaction.connection, asked)
    account, cap = state.account.charged(priced.charge), state.cap.charged(priced.charge)
    pair = transaction.once(signing.in_force)  # asked under the lock: a rotation may have come between
    entry = transaction.append(
        Event(
            "charge", actor=asked.auditor, population=dataset.population, dataset=dataset.name,
            auditor=asked.auditor, subject=asked.identity, answer=drawn.answer.digest, loss=priced.charge,
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
        id=asked.identity, auditor=asked.auditor, dataset=dataset.name, version=priced.plan.pinned_version,
        sequence=entry.sequence, created=entry.at, body=drawn.answer.signed(entered, pair.sign_bytes),
    )  # fmt: skip
    releases.store(transaction.connection, stored)
    return EnteredRelease(stored, new=True)


def require_release(store: LedgerStore, *, auditor: str, dataset: str, identity: str) -> StoredRelease:
    """An auditor's own stored release.

    Raises:
        NotFound: It has none of that identity about that dataset.
    """
    with store.database.read() as connection:
        stored = releases.find_own(connection, identity, auditor=auditor, dataset=dataset)
    if stored is None:
        raise NotFound("You have no release of that id about that dataset.")
    store.ensure_anchored(stored.sequence)
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


def _require_funds(state: AccountState, loss: Loss, *, now: datetime) -> None:
    """Refuse a plan that account and cap do not both afford; if neither, the error is about the account."""
    if not state.account.affords(loss, now):
        raise BudgetExhausted(requested=loss, remaining=state.account.remaining(now))
    if not state.cap.affords(loss, now):
        raise CapExhausted(requested=loss, remaining=state.cap.remaining(now))


def _require_free_share(connection: Connection, asked: AskedPlan) -> None:
    """Refuse a free plan once its auditor had the free answers that everybody gets.

    No budget limits free plans, and every answer is stored for good.
    """
    dataset = asked.priced.dataset.name
    if asked.priced.charge != NO_LOSS:
        return
    if releases.free_bytes(connection, auditor=asked.auditor, dataset=dataset) >= limits.FREE_BYTES_MAX:
        raise Conflict(
            f"Your answers about dataset {dataset!r} that cost nothing fill {limits.FREE_BYTES_MAX} bytes, "
            "as many as one auditor gets. What was answered can be asked again; for more, ask the administrator for "
            "another account."
        )


def _noisy_batches(priced: PricedPlan, engine: Counts) -> tuple[ReleasedBatch, ...]:
    """Count every batch and add its noise."""
    version = encoded_version(priced.dataset, priced.columns)
    released = []
    for batch in priced.batches:
        cells, groups = batch.batch.cells, len(batch.counted_groups or priced.groups)
        true_counts = engine.count(version, cells, batch.classes, priced.plan.sensitive)
        noisy = batch.mechanism.release(true_counts.reveal_to_mechanism()[:, :groups].ravel().tolist())
        answered = tuple(
            ReleasedCell(id=cell.id, counts=tuple(noisy[index * groups : (index + 1) * groups]))
            for index, cell in enumerate(cells)
        )
        released.append(ReleasedBatch.of(priced.quoted(batch), answered))
    return tuple(released)
