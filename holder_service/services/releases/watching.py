"""Watches between two answers: what is to be answered, and when; and how an answer is drawn and entered (8-time §3).

Nothing of an answer moves before its public time, which follows from when records were loaded, or the watch was set,
and from what was declared and asked. Then one transaction looks at everything again, appends an entry that charges
nothing, stores the signed answer, and says in the watch's own row that this version is answered. So an answer that was
drawn and not committed was never seen, and one that was committed is the only one of its version.

A version that is not answered is skipped by a signed entry too, which says why: by facts of the ledger alone, at the
same public time. What the holder keeps of a watch's secret is sealed (`holder_service.keys.watch_seals`). Before each
answer it checks what was signed before, so a changed row does not reopen a watch.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from pydantic import TypeAdapter

from holder_service.domain.column_times import due_after
from holder_service.domain.errors import Conflict, NoRecords, NotFound, VersionGone
from holder_service.domain.ledger import Event
from holder_service.domain.turns import FREE_REST, RoundRobin
from holder_service.keys.watch_seals import BrokenSeal, SealedState, WatchSeals
from holder_service.mechanisms.sparse_vector import SparseVectorState
from holder_service.records.engines import Counts
from holder_service.services.accounts.populations import relation_of
from holder_service.services.datasets.column_jobs import Pace
from holder_service.services.datasets.datasets import require_state
from holder_service.services.ledger.key_rotation import Signer
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.services.releases.charging import UnsignedRelease, answer_head, charge, enter_signed
from holder_service.services.releases.priced_watch import PricedWatch
from holder_service.storage import accounts, datasets, ledger, releases, watches
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.releases import StoredRelease
from holder_service.storage.watches import Statement, StoredWatch
from shared.contract.relations import NeighbouringRelation
from shared.kinds.releases import AnswerToRequest, SerialisedAnswer
from shared.kinds.watches import (
    ANSWER_KIND,
    SKIP_KIND,
    SkipReason,
    WatchAnswer,
    WatchRelease,
    WatchSkip,
    WatchSkipped,
    WatchStatement,
    statement_identity,
)
from shared.privacy.amounts import NO_LOSS
from shared.wire import limits
from shared.wire.identities import KindName
from shared.wire.problems import PlanRefused

_log: Final = logging.getLogger(__name__)
_STATEMENT: Final[TypeAdapter[WatchAnswer | WatchSkipped]] = TypeAdapter(WatchAnswer | WatchSkipped)


@dataclass(frozen=True, slots=True, repr=False)
class DrawnAnswer:
    """A watch's answer that is not entered yet: nothing of it may be seen before."""

    release: UnsignedRelease
    changed: bool
    sealed: bytes


def keep(transaction: Transaction, release: StoredRelease, priced: PricedWatch, sealed: bytes, pace: Pace) -> None:
    """Keep a watch in the transaction that charges it; its first version is to be answered from now on."""
    stored = StoredWatch(
        id=release.id, auditor=release.auditor, dataset=release.dataset, sequence=release.sequence,
        sealed=sealed, changed=False, work_ms=_work_ms(priced, pace),
    )  # fmt: skip
    watches.store(transaction.connection, stored)
    _begin(transaction, [stored], priced.dataset, pace)


def begin_again(transaction: Transaction, dataset: Dataset, pace: Pace) -> None:
    """Have all watches about a dataset that have further answers answer its new records."""
    if dataset.version is not None:
        _begin(transaction, watches.to_begin(transaction.connection, dataset.name), dataset, pace)


def require_room(connection: Connection, priced: PricedWatch, *, auditor: str, pace: Pace) -> None:
    """Refuse a watch whose auditor has enough of them: whenever records are loaded, all have to be answered.

    Raises:
        Conflict: One answer of each of the auditor's open watches would take too long together.
    """
    open_ms = sum(watch.work_ms for watch in watches.open_ones_of(connection, auditor))
    if open_ms and open_ms + _work_ms(priced, pace) > 1000 * limits.RELEASE_QUEUE_S_MAX:
        raise Conflict(
            "One answer of each of your open watches would together take more than "
            f"{limits.RELEASE_QUEUE_S_MAX} seconds, the maximum of one auditor. Use fewer rules, or a "
            "smaller dataset."
        )


def _work_ms(priced: PricedWatch, pace: Pace) -> int:
    return max(round(priced.work_ms(pace.factors).total), 1)


def _begin(transaction: Transaction, begun: list[StoredWatch], dataset: Dataset, pace: Pace) -> None:
    """Fix when each is due, and anew when those are that wait: auditors take turns (docs/adr/0059-fair-turns.md).

    What is due first is being answered, and its time stays. Watches about rehearsals wait for each other alone, and a
    rest comes before each: their answers cost nothing.
    """
    now, names = transaction.now, {watch.id for watch in begun}
    rehearsed = dataset.rehearsal is not None
    times = 1 + FREE_REST if rehearsed else 1
    pending = watches.pending(transaction.connection, rehearsed=rehearsed)
    earlier = [watch for watch in pending if watch.id not in names]
    current, waiting = (earlier[0], earlier[1:]) if earlier else (None, [])
    again = [replace(watch, version=dataset.version, begun=now, due=None) for watch in begun]
    after = now if current is None or current.due is None else max(now, current.due)
    for watch in in_turns([*waiting, *again], served=None if current is None else current.auditor):
        ahead_s = (after - now).total_seconds()
        after = due_after(now, ahead_s + times * watch.work_ms / 1000, quantum_ms=pace.quantum_ms)
        if watch.due != after:
            watches.change(transaction.connection, replace(watch, due=after))


def in_turns(waiting: Iterable[StoredWatch], *, served: str | None) -> Iterator[StoredWatch]:
    """Watches in the order of their auditors' turns, after one turn of an auditor."""
    turns: RoundRobin[StoredWatch] = RoundRobin()
    if served is not None:
        turns.count_turn(served)
    for watch in waiting:
        turns.add(watch.auditor, watch)
    while turns:
        yield turns.take()


def begun(priced: PricedWatch, identity: str, seals: WatchSeals) -> bytes:
    """Draw the noise on a watch's margin, once for all of its answers, and seal it."""
    state = priced.mechanism.begun(priced.asked.margin)
    return seals.seal(identity, SealedState(state.noisy_threshold, state.is_changed))


def require_number(connection: Connection, *, auditor: str, dataset: str) -> None:
    """Refuse a further watch to an auditor who has as many open ones about a dataset as anybody gets.

    Raises:
        Conflict: The auditor has.
    """
    if watches.number_open(connection, auditor=auditor, dataset=dataset) >= limits.WATCHES_OPEN_MAX:
        raise Conflict(
            f"You have {limits.WATCHES_OPEN_MAX} open watches about dataset {dataset!r}, the maximum. "
            "You can set another one after one of them has reported a change. Nothing was charged."
        )


def draw(store: LedgerStore, watch: StoredWatch, *, engine: Counts, seals: WatchSeals) -> DrawnAnswer | SkipReason:
    """Count for a watch's version and compare, under noise; nothing is written.

    Returns:
        The answer; or why there is none, found before anything was counted.

    Raises:
        Unavailable: The records cannot be read now.
    """
    with store.database.read() as connection:
        release = releases.find_release(connection, watch.id)
        dataset = datasets.find_dataset(connection, watch.dataset)
        reason = _reason(connection, watch, now=store.clock())
        if reason is not None:
            return reason
        if release is None or dataset is None or watch.version is None:
            return "removed"
        relation = relation_of(connection, dataset)
        terms = ledger.population_balance(connection, dataset.population).terms
        if _has_changed(watches.last_statement(connection, watch.id)):
            return "state"
    set_as = WatchRelease.model_validate_json(release.body)
    try:
        state = seals.opened(watch.id, watch.sealed)
        priced = PricedWatch.of(set_as.watch, dataset, relation, terms=terms, set_with=set_as.noise)
        if state.changed or watch.changed:
            return "state"
        distance = priced.distance(engine)
    except PlanRefused:
        return "declaration"
    except (VersionGone, NoRecords):
        return "removed"
    except BrokenSeal:
        _log.error("the state of a watch cannot be read")
        return "state"
    answered = priced.mechanism.answered(SparseVectorState(state.noisy_threshold), distance)
    head = _head(ANSWER_KIND, watch, dataset, watch.version, relation)
    said = WatchAnswer(**dict(head), watch_answer=WatchStatement(watch=watch.id, changed=answered.is_changed))
    sealed = seals.seal(watch.id, SealedState(state.noisy_threshold, answered.is_changed))
    return DrawnAnswer(_unsigned(watch, said), answered.is_changed, sealed)


def enter(transaction: Transaction, watch: StoredWatch, drawn: DrawnAnswer | SkipReason, signing: Signer) -> None:
    """Enter what was drawn for a watch's version at its public time; or that it was skipped, and why.

    Versions that were replaced before their answer was due are skipped by the same entry, or by one before it.
    """
    now = watches.find(transaction.connection, watch.id)
    if now is None or (now.version, now.due) != (watch.version, watch.due) or watch.version is None:
        return  # somebody else was quicker, or other records were loaded meanwhile
    idle = replace(now, version=None, begun=None, due=None)
    last = watches.last_statement(transaction.connection, watch.id)
    if now.changed or _has_changed(last):
        watches.change(transaction.connection, idle)  # nothing is said after the change
        return
    first = _first(transaction.connection, watch) if last is None else last.version + 1
    reason = _reason(transaction.connection, watch, now=transaction.now)
    if reason is None and not isinstance(drawn, DrawnAnswer):
        reason = drawn
    if first < watch.version:
        _skip(transaction, watch, (first, watch.version - 1), "replaced", signing)
    if reason is not None:
        _skip(transaction, watch, (watch.version, watch.version), reason, signing)
        watches.change(transaction.connection, idle)
    elif isinstance(drawn, DrawnAnswer):
        _enter_answer(transaction, watch, drawn, signing)
        watches.change(transaction.connection, replace(idle, changed=drawn.changed, sealed=drawn.sealed))


def _reason(connection: Connection, watch: StoredWatch, *, now: datetime) -> SkipReason | None:
    """Why a watch's version is not answered, by what the ledger shows; `None` if it may be."""
    if not watches.is_open(connection, watch):
        return "restored"
    dataset = datasets.find_dataset(connection, watch.dataset)
    if dataset is None or dataset.version != watch.version:
        return "removed"
    account = accounts.find_account(connection, watch.auditor)
    if account is None or account.disabled:
        return "account-disabled"
    state = require_state(connection, watch.dataset, watch.auditor)
    if not state.account.affords(NO_LOSS, now):
        return "no-budget"
    return None if state.cap.affords(NO_LOSS, now) else "cap-closed"


def _has_changed(last: Statement | None) -> bool:
    """Whether the last that was signed about a watch is its change."""
    return last is not None and _STATEMENT.validate_json(last.body).is_change


def _first(connection: Connection, watch: StoredWatch) -> int:
    """The version that a watch was set at."""
    release = releases.find_release(connection, watch.id)
    return (watch.version or 1) if release is None else release.version


def _head(
    kind: KindName, watch: StoredWatch, dataset: Dataset, version: int, relation: NeighbouringRelation
) -> AnswerToRequest:
    """Return what a statement of a watch says before what it is about: it costs nothing."""
    identity = statement_identity(kind, watch.id, auditor=watch.auditor, dataset=watch.dataset, version=version)
    return answer_head(
        dataset, identity=identity, version=version, auditor=watch.auditor, relation=relation, price=NO_LOSS
    )


def _unsigned(watch: StoredWatch, said: AnswerToRequest) -> UnsignedRelease:
    """A statement of a watch, serialised once."""
    answer = SerialisedAnswer.of(said)
    return UnsignedRelease(said.id, said.kind, watch.auditor, watch.dataset, said.version, answer, watch=watch.id)


def _enter_answer(transaction: Transaction, watch: StoredWatch, drawn: DrawnAnswer, signing: Signer) -> None:
    """Append the entry of an answer, which charges nothing, and store it signed."""
    state = require_state(transaction.connection, watch.dataset, watch.auditor)
    charge(transaction, state, drawn.release, loss=NO_LOSS, detail=_detail(drawn.release), signing=signing)


def _skip(
    transaction: Transaction, watch: StoredWatch, versions: tuple[int, int], reason: SkipReason, signing: Signer
) -> None:
    """Enter and sign that versions, from the first to the last, are not answered, and why."""
    state = require_state(transaction.connection, watch.dataset, watch.auditor, or_retired=True)
    first, last = versions
    head = _head(SKIP_KIND, watch, state.dataset, last, state.relation)
    skipped = WatchSkipped(**dict(head), watch_skip=WatchSkip(watch=watch.id, first=first, last=last, reason=reason))
    unsigned = _unsigned(watch, skipped)
    invented = state.dataset.rehearsal is not None
    event = Event(
        "watch-skipped", actor=watch.auditor, population=state.dataset.population, dataset=watch.dataset,
        auditor=None if invented else watch.auditor, subject=unsigned.id, answer=unsigned.answer.digest, cap=state.cap,
        account=None if invented else state.account, detail=_detail(unsigned),
    )  # fmt: skip
    enter_signed(transaction, event, unsigned, state.account, signing)


def _detail(release: UnsignedRelease) -> dict[str, str | None]:
    """Return what the entry of a statement says of it."""
    return {"asked": release.kind, "watch": release.watch}


@dataclass(frozen=True, slots=True)
class ListedWatch:
    """A watch in a list.

    Attributes:
        release: That set it.
        answered: The last version that was answered; `None` if none was.
        changed: Whether that was the change.
        pending: The version that is to be answered.
        due: When that is there at the earliest.
    """

    release: StoredRelease
    answered: int | None
    changed: bool
    pending: int | None
    due: datetime | None

    @property
    def rehearsal_of(self) -> str | None:
        """The dataset that is rehearsed, where the people are invented."""
        said = json.loads(self.release.body).get("rehearsal")
        return None if said is None else str(said["of"])


@dataclass(frozen=True, slots=True)
class ShownWatch:
    """A watch with all that was signed about it.

    Attributes:
        release: That set it.
        pending: The version that is to be answered.
        due: When that is there at the earliest.
        signed: In order.
    """

    release: StoredRelease
    pending: int | None
    due: datetime | None
    signed: tuple[Statement, ...] = field(repr=False)

    @property
    def set_as(self) -> WatchRelease:
        """What setting it released."""
        return WatchRelease.model_validate_json(self.release.body)

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        """In order what was said of which versions, in a word or two."""
        return tuple(_STATEMENT.validate_json(one.body).said for one in self.signed)

    def bodies(self, kind: str) -> list[bytes]:
        """The bytes of what was signed of a kind, in order."""
        return [one.body for one in self.signed if one.kind == kind]


def page(store: LedgerStore, *, auditor: str, dataset: str, after: int, limit: int) -> list[ListedWatch]:
    """An auditor's own watches about a dataset, behind an entry's number; anchored before they are shown."""
    with store.database.read() as connection:
        found = watches.of_auditor(connection, auditor=auditor, dataset=dataset, after=after, limit=limit)
        answered = watches.last_answered(connection, [watch.id for watch in found])
        set_by = releases.find_releases(connection, [watch.id for watch in found])
    store.ensure_anchored(max([0, *(one.sequence for one in found), *(sequence for _, sequence in answered.values())]))
    return [
        ListedWatch(
            set_by[watch.id], answered[watch.id][0] if watch.id in answered else None, watch.changed, watch.version,
            watch.due,
        )
        for watch in found
    ]  # fmt: skip


def shown(store: LedgerStore, *, auditor: str, dataset: str, identity: str) -> ShownWatch:
    """One of an auditor's own watches about a dataset with all that was signed about it; anchored before it is shown.

    Raises:
        NotFound: The auditor has none of that id about that dataset.
    """
    with store.database.read() as connection:
        watch = watches.find(connection, identity)
        found = None
        if watch is not None and (watch.auditor, watch.dataset) == (auditor, dataset):
            [found] = _with_signed(connection, [watch])
    if found is None:
        raise NotFound("This dataset does not have a watch of yours with that id. List your watches to find the id.")
    store.ensure_anchored(max([found.release.sequence, *(one.sequence for one in found.signed)]))
    return found


def of_auditor(store: LedgerStore, auditor: str) -> list[ShownWatch]:
    """An auditor's watches with what was signed about them, for the holder's own eyes: anchored or not."""
    with store.database.read() as connection:
        return _with_signed(connection, watches.of_auditor(connection, auditor=auditor, dataset=None))


def _with_signed(connection: Connection, some: list[StoredWatch]) -> list[ShownWatch]:
    names = [watch.id for watch in some]
    signed, set_by = watches.statements(connection, names), releases.find_releases(connection, names)
    return [ShownWatch(set_by[one.id], one.version, one.due, tuple(signed[one.id])) for one in some]
