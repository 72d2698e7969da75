"""Quotes and releases: the order of work of 2-privacy §5.

`prepare`: validate → price → stored release? → cheap budget check. `draw`: count → add noise. Whoever calls
them waits for the plan's public deadline. `enter`: one transaction (limits, key and account again under lock,
charge, entry, release) → commit → anchor. So whatever anybody can see of a release changes at a public time.
"""

from concurrent.futures import Future
from dataclasses import dataclass

from holder_service.domain.errors import (
    Conflict,
    InvalidRequest,
    NoRecords,
    NotFound,
    VersionGone,
)
from holder_service.keys.watch_seals import WatchSeals
from holder_service.records.engines import Counts
from holder_service.records.files import RecordFiles
from holder_service.services.accounts import access
from holder_service.services.accounts.populations import relation_of
from holder_service.services.columns import columns
from holder_service.services.datasets.column_jobs import Pace
from holder_service.services.datasets.datasets import require_dataset, require_state
from holder_service.services.ledger.key_rotation import Signer
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.services.releases import approvals, refining, rehearsals
from holder_service.services.releases.approvals import Unapproved
from holder_service.services.releases.asked import AskedRelease, Priced
from holder_service.services.releases.charging import UnsignedRelease, answer_head, charge, require_funds
from holder_service.services.releases.holder_kind import PriceContext
from holder_service.services.releases.holder_kinds import HOLDER_KINDS
from holder_service.storage import ledger, releases
from holder_service.storage.approvals import StoredApproval
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.ledger import AccountState
from holder_service.storage.releases import Kind, ListedRelease, StoredRelease
from shared.kinds.quotes import QuoteBase
from shared.kinds.registry import PLAN
from shared.kinds.releases import SerialisedAnswer
from shared.kinds.requests import ReleaseRequest
from shared.privacy.amounts import Loss
from shared.wire import limits
from shared.wire.canonical import canonical_bytes
from shared.wire.identities import identity_of_document


def quote(store: LedgerStore, *, auditor: str, dataset: str, asked: ReleaseRequest) -> QuoteBase:
    """Price what is asked. Touches neither records nor budget, and is the same whatever the records are.

    Raises:
        NotFound, PlanRefused: As for a release; of a plan that refines another all that keeps it from being refined.
    """
    asked.require_small()
    kind = HOLDER_KINDS[asked.kind]
    with store.database.read() as connection:
        declared = require_dataset(connection, dataset)
        relation = relation_of(connection, declared)
        terms = ledger.population_balance(connection, declared.population).terms
        named = columns.resolved(connection, asked.derived_columns, declared, auditor=auditor)
        version = asked.version if asked.version is not None else declared.version
        pinned = asked if version is None else asked.pinned(version)
        refined = kind.refined(connection, pinned, declared, auditor=auditor)
    priced: Priced = kind.price(pinned, PriceContext(declared, relation, terms, named, refined))
    of, charge = rehearsals.rehearsed(declared, priced.charge), rehearsals.charged(declared, priced.charge)
    quoted = priced.quote(version)
    return quoted if of is None else quoted.model_copy(update={"charge": charge, "rehearsal": of})


def prepare(
    store: LedgerStore,
    files: RecordFiles,
    *,
    auditor: str,
    dataset: str,
    asked: ReleaseRequest,
    purpose: str | None = None,
) -> StoredRelease | StoredApproval | Unapproved | AskedRelease:
    """Everything that comes before the records: validate, find a stored answer, price, check budget and approval.

    Args:
        purpose: What it is asked for, in the auditor's words; what was answered before is answered without it too.

    Returns:
        The stored release if this was answered before. Else, where it has to be approved and is not yet: the request
        that waits, or that one has to be made (`request_approval`). Else what is asked with its price.

    Raises:
        NotFound: The dataset is unknown, or the release that it refines.
        PlanRefused: It does not fit the contract, the limits, the schema or the auditor's derived columns.
        ColumnNotReady: It names a derived column whose values are not there yet.
        VersionGone: It pins a version that is neither current nor answered, or refines a release about one.
        NoRecords: Nothing is loaded.
        InvalidRequest: It says no purpose, and the dataset requires one.
        BudgetExhausted, CapExhausted: The loss does not fit into what is left.
        ApprovalDeclined: A budget officer said no.
        Conflict: It is free, and the auditor had as much for nothing as anybody gets; or it refines a release that was
            refined before, is from before a restore, or about a dataset that was declared otherwise since; or it waits
            for an approval for another purpose.
    """
    asked.require_small()
    kind = HOLDER_KINDS[asked.kind]
    with store.database.read() as connection:
        state = require_state(connection, dataset, auditor, or_retired=True)
        declared = state.dataset
        version = asked.version if asked.version is not None else declared.version
        if version is None:
            raise NoRecords(
                f"Dataset {dataset!r} does not have records: none were loaded yet, or it was retired. Ask the "
                "holder's administrator."
            )
        pinned = asked.pinned(version)
        document = canonical_bytes(pinned.document())
        identity = identity_of_document(document, auditor=auditor, dataset=dataset, version=version, kind=asked.kind)
        stored = releases.find_release(connection, identity)
        if stored is None:
            _require_current(declared, version)
            _require_purpose(declared, purpose)
            named = columns.resolved(connection, asked.derived_columns, declared, auditor=auditor)
            refined = kind.refined(connection, pinned, declared, auditor=auditor)
            priced = kind.price(pinned, PriceContext(declared, state.relation, state.cap.terms, named, refined))
            awaiting = AskedRelease(priced, auditor, identity, document, purpose)
            columns.require_usable(named, declared, files, now=store.clock())
            require_funds(connection, state, awaiting.charge, priced.block_losses, now=store.clock())
            _require_free_share(connection, awaiting)
            kind.require_room(connection, priced, auditor=auditor, pace=None)
            found: StoredRelease | StoredApproval | Unapproved | AskedRelease
            found = approvals.permitted(connection, state, awaiting, now=store.clock())
        else:
            found = stored
    if isinstance(found, StoredRelease | StoredApproval):
        store.ensure_anchored(found.sequence)
    return found


def request_approval(
    store: LedgerStore, *, unapproved: Unapproved, proof: access.Proof, in_full: bool
) -> Future[StoredApproval]:
    """Have a request for an approval written down, in one transaction with all others that wait for the ledger.

    Nothing is charged, nothing is kept of the budget, and no record was touched.

    Args:
        in_full: What `approvals.require_shown` returned for it.

    Returns:
        What will have the request; or one of the errors of `enter`, or ApprovalDeclined.
    """
    digests = approvals.column_digests(store, unapproved.asked)

    def work(transaction: Transaction) -> StoredApproval:
        access.require_in_force(transaction.connection, proof, now=transaction.now)
        if releases.find_release(transaction.connection, unapproved.asked.identity) is not None:
            raise Conflict("This request was answered in the meantime. Send it again to get the answer.")
        state = _as_priced(transaction, unapproved.asked, pace=None)
        return approvals.write_down(transaction, state, unapproved.asked, digests, in_full=in_full)

    return store.commit_shared(work)


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRelease:
    """A noisy answer that is not charged yet: nothing of it may be seen before `enter` has returned.

    Attributes:
        asked: What it answers.
        answer: What it is answered, serialised.
        sealed: Of a watch, its secret.
    """

    asked: AskedRelease
    answer: SerialisedAnswer
    sealed: bytes | None = None


@dataclass(frozen=True, slots=True)
class EnteredRelease:
    """A release in the ledger, and whether it is new; else the same was answered before."""

    release: StoredRelease
    new: bool


def draw(asked: AskedRelease, *, engine: Counts, seals: WatchSeals) -> DrawnRelease:
    """Count and add noise. Nothing is written, so a draw that is never entered was never seen.

    How long this takes depends on the noise and may depend on the records: call `enter` at the public deadline.

    Raises:
        Unavailable: The records cannot be read.
    """
    priced = asked.priced
    head = answer_head(
        priced.dataset, identity=asked.identity, version=priced.asked.pinned_version, auditor=asked.auditor,
        relation=priced.relation, price=priced.charge,
        blocks=priced.dataset.charged_blocks(priced.block_losses),
    )  # fmt: skip
    answer = priced.answer(head, engine)
    sealed = HOLDER_KINDS[priced.asked.kind].sealed(priced, asked.identity, seals)
    return DrawnRelease(asked, SerialisedAnswer.of(answer, at_hand={priced.asked.kind: asked.document}), sealed)


def enter(
    store: LedgerStore, *, drawn: DrawnRelease, proof: access.Proof, signing: Signer, pace: Pace
) -> Future[EnteredRelease]:
    """Have a drawn answer charged and stored, in one transaction with all others that wait for the ledger.

    Once the result is there, it may leave the holder.

    Args:
        store: Where it is charged.
        drawn: The answer; its public deadline has passed.
        proof: The key or token that it was asked with, which has to be in force still.
        signing: What the release is signed with.
        pace: Of this machine.

    Returns:
        What will have the new release; or the stored one, if the same was answered meanwhile (this draw is
        dropped). Or one of these errors:
        Unauthenticated, Forbidden: The key was withdrawn or the token has expired, or the account is disabled.
        BudgetExhausted, CapExhausted, Conflict, VersionGone, PlanRefused: Things changed since it was priced.
        Unavailable: The store failed; the same asked again gets what was committed, or is charged once.
    """
    return store.commit_shared(lambda transaction: _charge(transaction, drawn, proof, signing, pace))


def _charge(
    transaction: Transaction, drawn: DrawnRelease, proof: access.Proof, signing: Signer, pace: Pace
) -> EnteredRelease:
    """Look at everything again under the ledger's lock; then append the charge, sign and store the release.

    Others share the transaction: nothing is written before the last refusal.
    """
    asked, priced = drawn.asked, drawn.asked.priced
    access.require_in_force(transaction.connection, proof, now=transaction.now)
    stored = releases.find_release(transaction.connection, asked.identity)
    if stored is not None:
        transaction.rest_on(stored.sequence)
        return EnteredRelease(stored, new=False)
    state = _as_priced(transaction, asked, pace)
    dataset = state.dataset
    if dataset.rehearsal is not None:
        transaction.require_few("rehearsal", population=dataset.population, actor=asked.auditor, whose="free answers")
    approval = approvals.require_approved(transaction.connection, state, asked, now=transaction.now)
    unsigned = UnsignedRelease(
        id=asked.identity, kind=priced.asked.kind, auditor=asked.auditor, dataset=dataset.name,
        version=priced.asked.pinned_version, answer=drawn.answer,
        refines=None if priced.refined is None else priced.refined.id,
    )  # fmt: skip
    stored = charge(
        transaction, state, unsigned, loss=asked.charge, detail=_detail(asked, approval), signing=signing,
        losses=priced.block_losses,
    )  # fmt: skip
    if approval is not None:
        approvals.answered(transaction.connection, approval)
    HOLDER_KINDS[priced.asked.kind].entered(transaction, stored, priced, drawn.sealed, pace)
    return EnteredRelease(stored, new=True)


def _as_priced(transaction: Transaction, asked: AskedRelease, pace: Pace | None) -> AccountState:
    """What a priced request is charged against, if nothing that its price and admission rest on has changed since."""
    priced = asked.priced
    state = require_state(transaction.connection, priced.dataset.name, asked.auditor)
    dataset = state.dataset
    _require_current(dataset, priced.asked.version)
    columns.resolved(transaction.connection, priced.asked.derived_columns, dataset, auditor=asked.auditor)
    if priced.refined is not None:
        refining.require_refinable(transaction.connection, priced.refined)
    if state.relation != priced.relation:
        raise Conflict(
            "The population's neighbouring relation changed while this was answered. Send the request again."
        )
    if state.cap.terms != priced.terms:
        raise Conflict(
            "The population's account changed between epsilon and rho while this was answered. Send the request again."
        )
    _require_purpose(dataset, asked.purpose)
    require_funds(transaction.connection, state, asked.charge, priced.block_losses, now=transaction.now)
    _require_free_share(transaction.connection, asked)
    kind = HOLDER_KINDS[priced.asked.kind]
    kind.require_room(transaction.connection, priced, auditor=asked.auditor, pace=pace)
    return state


def require_release(
    store: LedgerStore, *, auditor: str, dataset: str, identity: str, kind: Kind = "plan"
) -> StoredRelease:
    """An auditor's own stored release of a kind.

    Raises:
        NotFound: It has none of that identity about that dataset.
    """
    with store.database.read() as connection:
        stored = releases.find_own(connection, identity, auditor=auditor, dataset=dataset, kind=kind)
    if stored is None:
        raise NotFound("This dataset does not have a release of yours with that id. List your releases to find the id.")
    store.ensure_anchored(stored.sequence)
    return stored


def page(store: LedgerStore, *, auditor: str, dataset: str, kind: Kind, after: int, limit: int) -> list[ListedRelease]:
    """An auditor's own releases of a kind about a dataset, behind an entry's number.

    Raises:
        NotFound: There never was one of that name.
    """
    with store.database.read() as connection:
        of = require_dataset(connection, dataset, or_retired=True).rehearsal_of
        found = releases.releases_of(connection, auditor=auditor, dataset=dataset, kind=kind, after=after, limit=limit)
        return [one._replace(rehearsal_of=of) for one in found]


def _detail(release: AskedRelease, approval: StoredApproval | None) -> dict[str, str | int | None]:
    """Return what the entry of a charge says of what was asked, but for its identity; of most plans nothing.

    Where it had to be approved it names the entry of the decision.
    """
    priced = release.priced
    kind: dict[str, str | int | None] = {} if priced.asked.kind == PLAN.name else {"asked": priced.asked.kind}
    refines = {} if priced.refined is None else {"refines": priced.refined.id}
    return {**kind, **refines, **({} if release.purpose is None else {"purpose": release.purpose})} | (
        {} if approval is None else {"approval": approval.decision}
    )


def _require_purpose(dataset: Dataset, purpose: str | None) -> None:
    """Refuse what is asked without a word about what for, where the dataset requires one."""
    if dataset.schema.purpose_required and purpose is None:
        raise InvalidRequest(
            f"Dataset {dataset.name!r} requires a purpose, in one line. Send `purpose`, or set it in "
            "the auditor's program (`--asked-for`, AUDITOR_ASKED_FOR).",
            field="purpose",
        )


def _require_current(dataset: Dataset, version: int | None) -> None:
    """Refuse what is asked about records that are gone (409), or that never were (422)."""
    if version is None or version > dataset.version_last:
        raise InvalidRequest(
            f"Dataset {dataset.name!r} never had a version {version}. Send the request without "
            "`version` for the current one.",
            field="version",
        )
    if version != dataset.version:
        raise VersionGone(
            f"Version {version} of dataset {dataset.name!r} is not the current version, and this request does not "
            "have a stored answer. Send the request for the current version, or leave `version` out."
        )


def _require_free_share(connection: Connection, asked: AskedRelease) -> None:
    """Refuse a free plan, or a nearly free one, once its auditor had as many such answers as everybody gets.

    No budget ends such plans soon enough, and every answer is stored for good.
    """
    dataset = asked.priced.dataset.name
    if not _is_nearly_free(asked.charge):
        return
    if releases.free_bytes(connection, auditor=asked.auditor, dataset=dataset) >= limits.FREE_BYTES_MAX:
        raise Conflict(
            f"Your answers about dataset {dataset!r} that cost little or nothing fill "
            f"{limits.FREE_BYTES_MAX} bytes, the maximum. You can still repeat answered requests. For "
            "more, ask the administrator for another account."
        )


def _is_nearly_free(charge: Loss) -> bool:
    """Whether a charge is nothing, or so little that no limit would end such answers soon."""
    if charge.rho_nano is None:
        return charge.epsilon_nano < limits.NEARLY_FREE_EPSILON_NANO
    return charge.rho_nano < limits.NEARLY_FREE_RHO_NANO
