"""Watches between two answers: what is to be answered, and when; and how an answer is drawn and entered (8-time §3).

Nothing of an answer moves before its public time, which follows from when records were loaded, or the watch was set,
and from what was declared and asked. Then one transaction looks at everything again, appends an entry that charges
nothing, stores the signed answer, and says in the watch's own row that this version is answered. So an answer that was
drawn and not committed was never seen, and one that was committed is the only one of its version.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from holder_service.domain.column_times import due_after
from holder_service.domain.errors import Conflict, NoRecords, VersionGone
from holder_service.domain.ledger import Event
from holder_service.domain.turns import RoundRobin
from holder_service.mechanisms.sparse_vector import SparseVectorState
from holder_service.records.engines import Counts
from holder_service.services import rehearsals
from holder_service.services.column_jobs import Pace
from holder_service.services.datasets import require_state
from holder_service.services.key_rotation import Signer
from holder_service.services.ledger_store import LedgerStore, Transaction
from holder_service.services.populations import relation_of
from holder_service.services.priced_watch import PricedWatch
from holder_service.storage import datasets, releases, watches
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.releases import StoredRelease
from holder_service.storage.watches import StoredWatch
from shared import limits, nonces
from shared.amounts import NO_LOSS
from shared.problems import PlanRefused
from shared.releases import AnswerToRequest, Entered, SerialisedAnswer
from shared.watches import ANSWER_KIND, Watch, WatchAnswer, WatchRelease, WatchStatement, watch_answer_identity


@dataclass(frozen=True, slots=True, repr=False)
class DrawnAnswer:
    """A watch's answer that is not entered yet: nothing of it may be seen before."""

    watch: StoredWatch
    version: int
    identity: str
    changed: bool
    answer: SerialisedAnswer


def keep(
    transaction: Transaction, release: StoredRelease, priced: PricedWatch, state: SparseVectorState, pace: Pace
) -> None:
    """Keep a watch in the transaction that charges it; its first version is to be answered from now on."""
    stored = StoredWatch(
        id=release.id, auditor=release.auditor, dataset=release.dataset, sequence=release.sequence,
        noisy_threshold=state.noisy_threshold, changed=state.is_changed,
        work_ms=_work_ms(priced, pace),
    )  # fmt: skip
    watches.store(transaction.connection, stored)
    _begin(transaction, [stored], priced.dataset, pace)


def begin_again(transaction: Transaction, dataset: Dataset, pace: Pace) -> None:
    """Have all watches about a dataset that have further answers answer its new records."""
    if dataset.version is not None:
        _begin(transaction, watches.open_ones(transaction.connection, dataset.name), dataset, pace)


def require_room(connection: Connection, priced: PricedWatch, *, auditor: str, pace: Pace) -> None:
    """Refuse a watch whose auditor has enough of them: whenever records are loaded, all have to be answered.

    Raises:
        Conflict: One answer of each of the auditor's open watches would take too long together.
    """
    open_ms = sum(watch.work_ms for watch in watches.open_ones_of(connection, auditor))
    if open_ms and open_ms + _work_ms(priced, pace) > 1000 * limits.RELEASE_QUEUE_S_MAX:
        raise Conflict(
            f"One answer of each of your open watches would take more than {limits.RELEASE_QUEUE_S_MAX} seconds "
            "together, and one auditor gets no more: ask about fewer rules, or about a smaller dataset."
        )


def _work_ms(priced: PricedWatch, pace: Pace) -> int:
    return max(round(priced.work_ms(pace.factors).total), 1)


def _begin(transaction: Transaction, begun: list[StoredWatch], dataset: Dataset, pace: Pace) -> None:
    """Fix when each is due, and anew when those are that wait: auditors take turns (docs/adr/0059-fair-turns.md).

    What is due first is being answered, and its time stays. Watches about rehearsals wait for each other alone.
    """
    now, names = transaction.now, {watch.id for watch in begun}
    rehearsed = dataset.rehearsal is not None
    pending = watches.pending(transaction.connection, rehearsed=rehearsed)
    current, *waiting = [watch for watch in pending if watch.id not in names] or [None]
    again = [replace(watch, version=dataset.version, begun=now, due=None) for watch in begun]
    after = now if current is None or current.due is None else max(now, current.due)
    for watch in in_turns([*waiting, *again], served=None if current is None else current.auditor):
        ahead_s = (after - now).total_seconds()
        after = due_after(now, ahead_s + watch.work_ms / 1000, quantum_ms=pace.quantum_ms)
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


def draw(store: LedgerStore, watch: StoredWatch, *, engine: Counts) -> DrawnAnswer | None:
    """Count for a watch's version and compare, under noise; nothing is written.

    Returns:
        `None` if the version, or what it was declared as, is gone: then it is never answered.

    Raises:
        Unavailable: The records cannot be read now.
    """
    with store.database.read() as connection:
        release = releases.find_release(connection, watch.id)
        dataset = datasets.find_dataset(connection, watch.dataset)
        if release is None or dataset is None or watch.version is None or dataset.version != watch.version:
            return None
        relation = relation_of(connection, dataset)
    asked = Watch.model_validate(json.loads(release.body)["watch"])
    try:
        priced = PricedWatch.of(asked, dataset, relation)
        distance = priced.distance(engine)
    except (PlanRefused, VersionGone, NoRecords):
        return None
    state = priced.mechanism.answered(SparseVectorState(watch.noisy_threshold, watch.changed), distance)
    head = AnswerToRequest(
        id=watch_answer_identity(watch.id, auditor=watch.auditor, dataset=watch.dataset, version=watch.version),
        dataset=watch.dataset, version=watch.version, auditor=watch.auditor, relation=relation.name,
        nonce=nonces.draw_nonce(), charge=NO_LOSS, rehearsal=rehearsals.rehearsed(dataset, NO_LOSS),
    )  # fmt: skip
    said = WatchAnswer(**dict(head), watch_answer=WatchStatement(watch=watch.id, changed=state.is_changed))
    return DrawnAnswer(watch, watch.version, head.id, state.is_changed, SerialisedAnswer.of(said))


def enter(transaction: Transaction, watch: StoredWatch, drawn: DrawnAnswer | None, signing: Signer) -> None:
    """Enter what was drawn for a watch's version at its public time, or pass the version over.

    It is passed over where it is gone, where its auditor has no budget in force or the cap is closed, and where a
    restore was recorded since the watch was set: all of these are in the ledger.
    """
    now = watches.find(transaction.connection, watch.id)
    if now is None or (now.version, now.due) != (watch.version, watch.due):
        return  # somebody else was quicker, or other records were loaded meanwhile
    answered = replace(now, version=None, begun=None, due=None)
    dataset = datasets.find_dataset(transaction.connection, watch.dataset)
    is_open = watch.id in {one.id for one in watches.open_ones(transaction.connection, watch.dataset)}
    if drawn is None or dataset is None or dataset.version != watch.version or not is_open:
        watches.change(transaction.connection, answered)
        return
    state = require_state(transaction.connection, watch.dataset, watch.auditor)
    if not (state.account.affords(NO_LOSS, transaction.now) and state.cap.affords(NO_LOSS, transaction.now)):
        watches.change(transaction.connection, answered)
        return
    pair = transaction.once(signing.in_force)
    entry = transaction.append(
        rehearsals.answered(
            dataset,
            Event(
                "charge", actor=watch.auditor, population=dataset.population, dataset=dataset.name,
                auditor=watch.auditor, subject=drawn.identity, answer=drawn.answer.digest, loss=NO_LOSS,
                cap=state.cap, account=state.account, detail={"asked": ANSWER_KIND, "watch": watch.id},
            ),
        )
    )  # fmt: skip
    entered = Entered(
        created=transaction.now, remaining=state.account.remaining(transaction.now), ledger=entry.position, key=pair.id
    )
    releases.store(
        transaction.connection,
        StoredRelease(
            id=drawn.identity, auditor=watch.auditor, dataset=watch.dataset, version=drawn.version,
            sequence=entry.sequence, created=entry.at, body=drawn.answer.signed(entered, pair.sign_bytes),
            kind=ANSWER_KIND,
        ),
    )  # fmt: skip
    watches.change(transaction.connection, replace(answered, changed=drawn.changed))


@dataclass(frozen=True, slots=True)
class ListedWatch:
    """A watch in a list: what its auditor was answered.

    Attributes:
        release: That set it.
        answered: The last version that was answered; `None` if none was.
        changed: Whether that was the change.
        pending: The version that is to be answered.
        due: When that is there at the earliest.
        answers: Entries and bytes of its answers.
    """

    release: StoredRelease
    changed: bool
    pending: int | None
    due: datetime | None
    answers: tuple[tuple[int, bytes], ...] = field(repr=False)

    @property
    def answered(self) -> int | None:
        """The last version that was answered; `None` if none was."""
        return self.statements[-1][0] if self.answers else None

    @property
    def set_as(self) -> WatchRelease:
        """What setting it released."""
        return WatchRelease.model_validate_json(self.release.body)

    @property
    def statements(self) -> tuple[tuple[int, bool], ...]:
        """Each version that was answered, and whether the verdict had changed."""
        every = (WatchAnswer.model_validate_json(body) for _, body in self.answers)
        return tuple((one.version, one.watch_answer.changed) for one in every)

    @property
    def rehearsal_of(self) -> str | None:
        """The dataset that is rehearsed, where the people are invented."""
        said = json.loads(self.release.body).get("rehearsal")
        return None if said is None else str(said["of"])


def listed(store: LedgerStore, *, auditor: str, dataset: str, identity: str | None = None) -> list[ListedWatch]:
    """An auditor's own watches about a dataset with their answers, or the one of an id."""
    found = [one for one in of_auditor(store, auditor, dataset) if identity in (None, one.release.id)]
    for one in found:
        store.ensure_anchored(max([one.release.sequence, *(sequence for sequence, _ in one.answers)]))
    return found


def of_auditor(store: LedgerStore, auditor: str, dataset: str | None = None) -> list[ListedWatch]:
    """An auditor's watches with their answers, for the holder's own eyes: anchored or not."""
    with store.database.read() as connection:
        return [
            ListedWatch(release, watch.changed, watch.version, watch.due, tuple(watches.answers(connection, watch)))
            for watch in watches.of_auditor(connection, auditor=auditor, dataset=dataset)
            if (release := releases.find_release(connection, watch.id)) is not None
        ]
