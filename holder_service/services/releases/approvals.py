"""Approvals: where a population requires it, a budget officer says yes before something new is answered.

`services/releases` asks here three times. `permitted`, before any record is touched: what is asked was approved, or it
is written down and waits. `write_down`, under the ledger's lock. `require_approved`, under the same lock as the charge:
an approval that was taken back, has expired, or is of another charge is none. What is approved is one identity, which
auditor, dataset, version and every rule are in (`shared.kinds.plans.identity`), at one charge and for one purpose.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from pydantic import Field

from holder_service.domain.approvals import charge_document
from holder_service.domain.column_words import column_words
from holder_service.domain.errors import ApprovalDeclined, Conflict, Forbidden, NotFound
from holder_service.domain.ledger import Event, Kind
from holder_service.domain.second_officers import is_looser, setting_change, setting_of
from holder_service.services.accounts.populations import unmerged
from holder_service.services.accounts.second_officers import Proposal, agreed, open_proposals, setting_in_force
from holder_service.services.datasets.budgets import shown
from holder_service.services.datasets.datasets import require_dataset, require_real
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.services.releases.asked import AskedRelease
from holder_service.services.work.apart import Apart
from holder_service.storage import accounts, approvals, columns, datasets, ledger, releases
from holder_service.storage.approvals import IN_FORCE, StoredApproval
from holder_service.storage.database import Connection
from holder_service.storage.ledger import AccountState
from shared.contract.approvals import OPEN, Approval, ApprovalDecision, ApprovalSetting, ApprovalState
from shared.contract.datasets import Budget, PopulationCap
from shared.kinds.plans import Plan
from shared.kinds.registry import KINDS
from shared.kinds.requests import ReleaseRequest
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.wire import limits
from shared.wire.canonical import sha256_name
from shared.wire.request_model import ContractModel
from shared.wire.text import ColumnId, Name

_IN_WORDS: Final[Mapping[ApprovalState, str]] = {
    "withdrawn": "the auditor withdrew it",
    "expired": "it has expired",
    "outdated": "records, price or terms have changed since the request",
    "answered": "it was answered",
}


@dataclass(frozen=True, slots=True)
class Unapproved:
    """What needs an approval that nobody was asked for yet."""

    asked: AskedRelease


class ColumnInWords(ContractModel):
    """A derived column that a plan names, as officers read what it computes before they decide."""

    name: str
    """As the plan's rules name it."""
    id: str
    """What it is: the id follows from all that its auditor declared of it."""
    says: tuple[str, ...]
    """What it computes, in lines, as its auditor declared it: at most 60, the heaviest terms first, long ones cut. Of
    linked values no value is there."""
    not_shown: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """What is not in these lines, by number and name, such as "3 of 64 terms"; left out where all of it is. The whole
    document has it: `GET /v1/admin/approvals/{approval_id}/columns/{column}`."""
    digest: str | None = Field(default=None, exclude_if=lambda digest: digest is None)
    """The SHA-256 of its whole document, which the ledger's entry of the request has too; left out where its auditor
    deleted the column since."""


class ApprovalInFull(Approval):
    """A request as officers look at it before they decide: with what is asked, and with what is left."""

    display_name: str | None
    """What people read instead of the auditor's name; null where there is nothing."""
    plan: Plan | None = Field(default=None, exclude_if=lambda plan: plan is None)
    """The plan that is asked, whole; left out where none is, or where the request ended without an answer."""
    training: Training | None = Field(default=None, exclude_if=lambda training: training is None)
    """The training that is asked, whole; likewise."""
    watch: Watch | None = Field(default=None, exclude_if=lambda watch: watch is None)
    """The watch that is asked, whole; likewise."""
    columns: tuple[ColumnInWords, ...] = Field(default=(), exclude_if=lambda columns: not columns)
    """The derived columns that a plan names, and what each computes; left out where there are none."""
    budget: Budget
    """The auditor's account with the population, before it is charged."""
    cap: PopulationCap
    """The population's account over all auditors, before it is charged."""
    entry: int
    """The number of the newest ledger entry about it: of the request, or of the decision."""

    @property
    def request(self) -> ReleaseRequest | None:
        """What is asked, whatever its kind."""
        request: ReleaseRequest | None = getattr(self, self.kind)
        return request


def set_required(store: LedgerStore, *, actor: str, population: str, setting: ApprovalSetting) -> ApprovalSetting:
    """Have whatever is asked about a population approved first, or no longer.

    Where it is no longer required, requests that wait or were approved are over: the same is answered when it is asked.

    Raises:
        NotFound: The population does not exist.
        Conflict: It was merged into another, or its people are invented; or a second officer has to confirm it.
    """
    days = setting.days if setting.required else None

    def work(transaction: Transaction) -> ApprovalSetting | Proposal:
        connection = transaction.connection
        found = unmerged(connection, population)
        for dataset in datasets.every(connection, population=population):
            require_real(dataset, "Nothing is charged about it, and nothing needs an approval.")
        before = {**setting_in_force(connection, population), "approval_days": found.approval_days}
        named = {"in_full": setting.in_full, "second_officer": setting.second_officer}
        flags = {name: before.get(name) if flag is None else flag for name, flag in named.items()}
        after = setting_of({"approval_days": days, **flags})
        if after != before or open_proposals(connection, population, now=transaction.now):
            confirmed: dict[str, int] = {}
            if is_looser(before, after):
                answer = agreed(transaction, actor=actor, population=population, change=setting_change(after))
                if isinstance(answer, Proposal):
                    return answer
                confirmed = answer
            datasets.put_population(connection, replace(found, approval_days=days))
            if days is None:
                approvals.end_all(connection, population=population)
            cap = ledger.population_balance(connection, population)
            detail = {**after, **confirmed}
            transaction.append(Event("approval-required", actor, population=population, cap=cap, detail=detail))
        return setting.model_copy(update={name: after.get(name) for name in named})

    result = store.commit(work)
    if isinstance(result, Proposal):
        raise result.refusal()
    return result


def require_shown(store: LedgerStore, unapproved: Unapproved, *, apart: Apart) -> bool:
    """Refuse what officers could not be shown whole in words, where that is required; before it is written down.

    Returns:
        Whether it was required; `write_down` looks again under the lock.

    Raises:
        Conflict: A derived column cannot be shown whole.
        Unavailable: What the columns compute could not be read.
    """
    asked = unapproved.asked.priced
    named = asked.asked.derived_columns
    with store.database.read() as connection:
        if not named or not setting_in_force(connection, asked.dataset.population).get("in_full"):
            return False
        texts = {name: columns.document(connection, identity) for name, identity in named.items()}
    for name, text in texts.items():
        missing = () if text is None else apart.run(column_words, text).not_shown
        if missing:
            raise Conflict(
                f"This population refuses requests that officers cannot read in full. In column {name!r} "
                f"they cannot read {', '.join(missing)}. Nothing was charged. Use a smaller or simpler "
                "column."
            )
    return True


def required_of(connection: Connection, population: str) -> ApprovalSetting | None:
    """Return what is required of the caller about a population; `None` if nothing is."""
    found = datasets.find_population(connection, population)
    if found is None or found.approval_days is None:
        return None
    return ApprovalSetting(required=True, days=found.approval_days)


def permitted(
    connection: Connection, state: AccountState, asked: AskedRelease, *, now: datetime
) -> AskedRelease | Unapproved | StoredApproval:
    """Whether what is asked may be answered now: itself, if it may; else that it waits, or has to be asked for.

    Raises:
        ApprovalDeclined: A budget officer said no.
        Conflict: The same was asked for another purpose.
    """
    if state.approval_days is None:
        return asked
    found = _in_force(connection, asked, now=now)
    if found is None:
        return Unapproved(asked)
    asked = _for_its_purpose(asked, found)
    return found if found.state == "waiting" else asked


def require_approved(
    connection: Connection, state: AccountState, asked: AskedRelease, *, now: datetime
) -> StoredApproval | None:
    """The approval that allows a charge, under the ledger's lock; `None` where none is required.

    Raises:
        ApprovalDeclined: A budget officer said no meanwhile.
        Conflict: There is none in force.
    """
    if state.approval_days is None:
        return None
    found = _in_force(connection, asked, now=now)
    if found is None or found.state != "approved" or found.purpose != asked.purpose:
        raise Conflict(
            "This request requires an approval, and its approval has expired. Nothing was charged. Send it again "
            "to request a new approval."
        )
    return found


def answered(connection: Connection, approval: StoredApproval) -> None:
    """An approval was used, for its one charge."""
    approvals.change(connection, replace(approval, state="answered"))


def write_down(
    transaction: Transaction,
    state: AccountState,
    asked: AskedRelease,
    column_digests: Mapping[str, str],
    *,
    in_full: bool,
) -> StoredApproval:
    """Write down what has to be approved; nothing is charged, and nothing of the budget is kept for it.

    Args:
        column_digests: Of the documents of the derived columns that it names, for the entry.
        in_full: Whether it was checked that officers can be shown all of these columns in words.

    Raises:
        ApprovalDeclined: A budget officer said no.
        Conflict: An approval is not needed any more, the auditor has as many open requests as anybody may, or its
            columns were not checked and by now have to be.
    """
    if state.approval_days is None:
        raise Conflict("This request no longer requires an approval. Send it again.")
    connection, now = transaction.connection, transaction.now
    found = _in_force(connection, asked, now=now)
    if found is not None:  # somebody asked the same meanwhile
        transaction.rest_on(found.sequence)
        return found
    transaction.require_few(
        "approval-requested",
        population=state.dataset.population,
        actor=asked.auditor,
        whose="requests for approval",
    )
    _require_few_open(connection, asked, now=now)
    if column_digests and not in_full and setting_in_force(connection, state.dataset.population).get("in_full"):
        raise Conflict(
            "This population now refuses requests that officers cannot read in full, and your request "
            "was not checked for that. Nothing was charged. Send it again."
        )
    approvals.forget(connection, now=now)
    expires = now + timedelta(days=state.approval_days)
    priced = asked.priced
    detail = {
        "kind": priced.asked.kind, "version": priced.asked.pinned_version, "relation": priced.relation.name,
        "charge": charge_document(asked.charge), "expires": expires.isoformat(),
        **({} if asked.purpose is None else {"purpose": asked.purpose}),
        **({"columns": dict(column_digests)} if column_digests else {}),
        **({"in_full": True} if column_digests and in_full else {}),
    }  # fmt: skip
    entry = transaction.append(
        _event(
            "approval-requested",
            actor=asked.auditor,
            of=state,
            auditor=asked.auditor,
            identity=asked.identity,
            detail=detail,
        )
    )
    written = StoredApproval(
        id=asked.identity, sequence=entry.sequence, kind=priced.asked.kind, auditor=asked.auditor,
        dataset=state.dataset.name, version=priced.asked.pinned_version, relation=priced.relation.name,
        purpose=asked.purpose, charge=asked.charge, requested=now, expires=expires, state="waiting",
    )  # fmt: skip
    approvals.put(connection, written, asked.document)
    return written


def withdraw(store: LedgerStore, *, auditor: str, dataset: str, identity: str) -> None:
    """Take a request back that waits or was approved; to withdraw it again changes nothing.

    Raises:
        NotFound: The auditor asked nothing of that identity about that dataset that needed an approval.
        Conflict: It is over, or was declined.
    """

    def work(transaction: Transaction) -> None:
        found = _own(transaction.connection, auditor=auditor, dataset=dataset, identity=identity)
        state = _state(transaction.connection, found, now=transaction.now)
        if state == "withdrawn":
            return
        if state == "declined":
            raise Conflict(
                "The holder declined this request, so it cannot be withdrawn. The decision stays until the "
                "request expires."
            )
        if state not in OPEN:
            raise Conflict(f"The request cannot be withdrawn: {_IN_WORDS[state]}.")
        of = _account(transaction.connection, found)
        approvals.change(transaction.connection, replace(found, state="withdrawn"))
        transaction.append(
            _event(
                "approval-withdrawn",
                actor=auditor,
                of=of,
                auditor=auditor,
                identity=identity,
                detail={"requested": found.sequence},
            )
        )

    store.commit(work)


def decide(store: LedgerStore, *, actor: str, identity: str, decision: ApprovalDecision) -> Approval:
    """Approve a request or decline it; a decision may be changed until it was answered or has expired.

    Raises:
        NotFound: The request does not exist.
        Forbidden: The caller is the account that asked, which may not decide.
        Conflict: It is over, or somebody decided it, or asked it anew, since whoever decides saw it.
    """

    def work(transaction: Transaction) -> Approval:
        connection = transaction.connection
        found = _required(approvals.find(connection, identity))
        if found.auditor == actor:
            raise Forbidden("An account cannot decide its own request. Another officer has to decide it.")
        state = _state(connection, found, now=transaction.now)
        if state not in IN_FORCE:
            raise Conflict(f"The request cannot be decided: {_IN_WORDS[state]}.")
        if decision.entry != _last(found):
            raise Conflict(
                "This request was decided, or sent again, after you saw it. Look at its current state, and "
                "decide again."
            )
        wanted: ApprovalState = "approved" if decision.approved else "declined"
        if (found.state, found.reason) == (wanted, decision.reason):
            transaction.rest_on(found.decision or found.sequence)
            return _shown(connection, found, now=transaction.now)
        approvals.forget(connection, now=transaction.now)
        because = {} if decision.reason is None else {"reason": decision.reason}
        detail = {"approved": decision.approved, "requested": found.sequence, **because}
        of = _account(connection, found)
        entry = transaction.append(
            _event("approval-decided", actor=actor, of=of, auditor=found.auditor, identity=identity, detail=detail)
        )
        decided = replace(
            found, state=wanted, decision=entry.sequence, decided=transaction.now, decided_by=actor,
            reason=decision.reason,
        )  # fmt: skip
        approvals.change(connection, decided)
        return _shown(connection, decided, now=transaction.now)

    return store.commit(work)


def own(store: LedgerStore, *, auditor: str, dataset: str, identity: str) -> Approval:
    """An auditor's own request.

    Raises:
        NotFound: The auditor asked nothing of that identity about that dataset that needed an approval.
    """
    with store.database.read() as connection:
        found = _own(connection, auditor=auditor, dataset=dataset, identity=identity)
        approval = _shown(connection, found, now=store.clock())
    store.ensure_anchored(_last(found))
    return approval


def page(
    store: LedgerStore, *, auditor: str, dataset: str, after: int, limit: int
) -> tuple[list[Approval], int | None]:
    """An auditor's own requests about a dataset, and behind which entry the next page begins, if there is one.

    Raises:
        NotFound: There never was a dataset of that name.
    """
    with store.database.read() as connection:
        require_dataset(connection, dataset, or_retired=True)
        found = approvals.of_auditor(connection, auditor=auditor, dataset=dataset, after=after, limit=limit)
        shown_ones = [_shown(connection, one, now=store.clock()) for one in found]
    store.ensure_anchored(max((_last(one) for one in found), default=0))
    return shown_ones, found[-1].sequence if len(found) == limit else None


def every(
    store: LedgerStore, *, state: ApprovalState | None, after: int = 0, limit: int
) -> tuple[list[Approval], int | None]:
    """All requests that are in a state now, or all, for the holder's own people; and where the next page begins."""
    left_as = None if state is None else IN_FORCE if state in ("expired", "outdated") else (state,)
    if state == "outdated":
        left_as = (*IN_FORCE, "outdated")
    alive_at = store.clock() if state in ("waiting", "approved", "declined") else None
    with store.database.read() as connection:
        found = approvals.every(connection, states=left_as, after=after, limit=limit, alive_at=alive_at)
        shown_ones = [_shown(connection, one, now=store.clock()) for one in found]
    wanted = [one for one in shown_ones if state in (None, one.state)]
    return wanted, found[-1].sequence if len(found) == limit else None


def waiting(store: LedgerStore) -> list[Approval]:
    """All requests that wait for a decision now, oldest first."""
    found, after = every(store, state="waiting", limit=1000)
    while after is not None:
        more, after = every(store, state="waiting", after=after, limit=1000)
        found += more
    return found


def latest(store: LedgerStore, *, limit: int) -> list[Approval]:
    """The newest requests that wait no more, newest first."""
    with store.database.read() as connection:
        newest = (_shown(connection, one, now=store.clock()) for one in approvals.backwards(connection))
        return list(islice((one for one in newest if one.state != "waiting"), limit))


def in_full(store: LedgerStore, identity: str, *, apart: Apart) -> ApprovalInFull:
    """A request with what is asked, and what is left of budget and cap.

    Raises:
        NotFound: The request does not exist.
        Unavailable: What its derived columns compute could not be read.
    """
    with store.database.read() as connection:
        found = _required(approvals.find(connection, identity))
        of = _account(connection, found)
        approval = _shown(connection, found, now=store.clock())
        asked = _asked_in(connection, found)
        account = accounts.find_account(connection, found.auditor)
    population = of.dataset.population
    cap = PopulationCap(
        population=population, cap=of.cap.limit, spent=of.cap.spent, remaining=of.cap.remaining(store.clock())
    )
    parts: dict[str, Any] = {} if asked is None else {found.kind: asked}
    if asked is not None:
        parts["columns"] = _in_words(store, found, asked.derived_columns, apart)
    return ApprovalInFull(
        **dict(approval),
        display_name=None if account is None else account.display_name,
        budget=shown(store, population, found.auditor, of.account, of.cap),
        cap=cap,
        entry=_last(found),
        **parts,
    )


def _in_words(
    store: LedgerStore, found: StoredApproval, named: Mapping[Name, ColumnId], apart: Apart
) -> tuple[ColumnInWords, ...]:
    """Return what each derived column computes; one that was deleted since is not known any more."""
    with store.database.read() as connection:
        documents = {name: _column_text(connection, found, identity) for name, identity in named.items()}
    return tuple(_summary(name, named[name], text, apart) for name, text in documents.items())


def _summary(name: str, identity: str, text: str | None, apart: Apart) -> ColumnInWords:
    if text is None:
        gone = "It was deleted. Requests about it are not answered until its auditor makes the same "
        "column again"
        return ColumnInWords(name=name, id=identity, says=(gone,), not_shown=("its document",))
    summary = apart.run(column_words, text)
    return ColumnInWords(
        name=name, id=identity, says=summary.says, not_shown=summary.not_shown, digest=sha256_name(text.encode())
    )


def _column_text(connection: Connection, found: StoredApproval, identity: str) -> str | None:
    """The document of a derived column of who asked; `None` if it was deleted."""
    if columns.find(connection, identity, dataset=found.dataset, auditor=found.auditor) is None:
        return None
    return columns.document(connection, identity)


def column_document(store: LedgerStore, identity: str, column: str) -> bytes:
    """The whole document of a derived column that a request names, whose SHA-256 its entry has.

    Raises:
        NotFound: There is no such request, it names no such column, or the column was deleted.
    """
    with store.database.read() as connection:
        found = _required(approvals.find(connection, identity))
        asked = _asked_in(connection, found)
        named = asked is not None and column in asked.derived_columns.values()
        text = _column_text(connection, found, column) if named else None
    if text is None:
        raise NotFound(
            "The request does not name this derived column, or its auditor deleted it. Look at the "
            "request for its columns."
        )
    return text.encode()


def column_digests(store: LedgerStore, asked: AskedRelease) -> dict[str, str]:
    """The digests of the documents of all derived columns that something names, by their ids."""
    with store.database.read() as connection:
        texts = {one: columns.document(connection, one) for one in asked.priced.asked.derived_columns.values()}
    return {one: sha256_name(text.encode()) for one, text in texts.items() if text is not None}


def _asked_in(connection: Connection, found: StoredApproval) -> ReleaseRequest | None:
    """Return what a request asks: as it was written down, or, once it is answered, as its release says it."""
    document = approvals.document_of(connection, found.id)
    if document is None and found.state == "answered":
        release = releases.find_release(connection, found.id)
        document = None if release is None else json.dumps(json.loads(release.body)[found.kind]).encode()
    return None if document is None else KINDS[found.kind].requested(json.loads(document))


def _in_force(connection: Connection, asked: AskedRelease, *, now: datetime) -> StoredApproval | None:
    """Return the open or approved request for a release; `None` if it does not exist or has ended.

    Raises:
        ApprovalDeclined: A budget officer said no.
    """
    found = approvals.find(connection, asked.identity)
    if found is None or found.state not in IN_FORCE or not now < found.expires:
        return None
    if (found.charge, found.relation) != (asked.charge, asked.priced.relation.name):
        return None
    if found.state == "declined" and found.decided is not None:
        raise ApprovalDeclined(reason=str(found.reason), decided=found.decided, expires=found.expires)
    return found


def _for_its_purpose(asked: AskedRelease, found: StoredApproval) -> AskedRelease:
    """Return what is asked, with the purpose that it was approved for: that one is entered and published."""
    if asked.purpose not in (None, found.purpose):
        was = "without a purpose" if found.purpose is None else f"for the purpose {found.purpose!r}"
        raise Conflict(
            f"You sent this request {was}, and an approval is only for that purpose. Send it with the "
            "same purpose, or withdraw the request (`DELETE …/approvals/{id}`, `auditor approvals "
            "--withdraw`) and send a new one."
        )
    return replace(asked, purpose=found.purpose)


def _require_few_open(connection: Connection, asked: AskedRelease, *, now: datetime) -> None:
    """Refuse further requests of an auditor who has as many open ones as anybody may; officers read each."""
    found = approvals.open_ones(connection, asked.auditor, now=now)
    number, size = len(found), sum(found)
    if number >= limits.APPROVALS_OPEN_MAX or size + len(asked.document) > limits.APPROVAL_BYTES_MAX:
        raise Conflict(
            f"You have {number} open requests with {size} bytes; the maximum is "
            f"{limits.APPROVALS_OPEN_MAX} with {limits.APPROVAL_BYTES_MAX} bytes. Send the approved "
            "ones again to have them answered, or withdraw some (`DELETE …/approvals/{id}`). Then "
            "send this request again."
        )


def _event(kind: Kind, *, actor: str, of: AccountState, auditor: str, identity: str, detail: dict[str, Any]) -> Event:
    """Return what happened to a request; no balance changes by it."""
    return Event(
        kind, actor, population=of.dataset.population, dataset=of.dataset.name, auditor=auditor, subject=identity,
        cap=of.cap, account=of.account, detail=detail,
    )  # fmt: skip


def _account(connection: Connection, found: StoredApproval) -> AccountState:
    of = ledger.account_state(connection, found.dataset, found.auditor)
    if of is None:
        raise RuntimeError("A request is about a dataset that never was.")
    return of


def _state(connection: Connection, found: StoredApproval, *, now: datetime) -> ApprovalState:
    """Return what has become of a request by now."""
    if found.state not in IN_FORCE:
        return found.state
    if not now < found.expires:
        return "expired"
    of = _account(connection, found)
    terms = of.cap.terms
    priced_alike = found.charge == (found.charge if terms.kind == "sum" else found.charge.read_at(terms.delta_nano))
    if (of.dataset.version, of.relation.name, terms.kind) != (found.version, found.relation, found.charge.kind):
        return "outdated"
    return found.state if priced_alike else "outdated"


def _shown(connection: Connection, found: StoredApproval, *, now: datetime) -> Approval:
    return Approval(
        id=found.id, kind=found.kind, dataset=found.dataset, version=found.version, auditor=found.auditor,
        purpose=found.purpose, charge=found.charge, state=_state(connection, found, now=now),
        requested=found.requested, expires=found.expires, decided=found.decided, decided_by=found.decided_by,
        reason=found.reason,
    )  # fmt: skip


def _own(connection: Connection, *, auditor: str, dataset: str, identity: str) -> StoredApproval:
    found = approvals.find(connection, identity)
    if found is None or (found.auditor, found.dataset) != (auditor, dataset):
        raise NotFound("This dataset does not have a request of yours with that id. List your requests to find the id.")
    return found


def _required(found: StoredApproval | None) -> StoredApproval:
    if found is None:
        raise NotFound("No request has that id. GET /v1/admin/approvals lists the requests.")
    return found


def _last(found: StoredApproval) -> int:
    """The sequence of the newest entry that a request is shown by."""
    return found.decision or found.sequence
