"""Which notices there are now: one list, from what the ledger says alone, that every page, call, metric and log shows.

Nothing is kept of a notice. It is there as long as its condition holds, so whatever changes a balance (a charge, a new
cap, a merge, a grant, a restore) makes and ends notices, and has no code for that. Nothing of records is in one: a
charge is in the ledger from its public time on, and no notice is made of anything else (2-privacy §7).
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Protocol

from holder_service.domain.ledger import Balance, Entry
from holder_service.domain.second_officers import STANDS, change_words
from shared.contract.approvals import Approval
from shared.contract.notices import Notice, Thresholds

_RAISE_CAP: Final = (
    "Raise the cap if more may be said about these people (`holder admin cap {} EPSILON`): nothing new is answered "
    "once it is spent."
)
_SET_CAP: Final = "Set a cap: `holder admin cap {} EPSILON`, or the page of one of its datasets in the console."
_AFTER_RESTORE: Final = "Find out what was charged after the copy was made, and set a cap lowered by it."
_RAISE_BUDGET: Final = "Grant more if the auditor should go on, or revoke what is left (holder admin grant)."
_PROLONG: Final = "Grant it anew with a later end (holder admin grant), or let it end; watches are then not answered."
_DECIDE: Final = (
    "Approve or decline it (holder admin approval {} shows what is asked); after that time it has to be asked anew."
)
_LOOK_AT_CHANGE: Final = (
    "Ask the administrator who changed it for the reason. If the change was not agreed, restore the former value."
)
_CONFIRM: Final = (
    "If you agree, make the same change from your own account; to decline or withdraw it, set the cap or the approvals "
    "to what they are now."
)
_NEW_KEY: Final = "Issue a further key and hand it over (holder admin add-key {}); then withdraw this one."


class AccountHistory(Protocol):
    """The entries that state an account's balance."""

    def back(self) -> Iterator[Entry]:
        """Return all of them, newest first; they are read as they are taken."""
        ...

    def limits(self) -> Iterable[Entry]:
        """Return those that may state another limit than the one before, newest first."""
        ...

    def upto(self, sequence: int) -> Entry | None:
        """Return the newest that has this sequence number or a lower one."""
        ...


@dataclass(frozen=True, slots=True)
class OpenAccount:
    """A population that audits may be about, or an auditor's account with it.

    Attributes:
        auditor: Whose budget it is; `None` for the population's cap.
        newest: The newest of its entries: where all is well, only this one is looked at.
        history: All of them.
    """

    population: str
    auditor: str | None
    newest: Entry
    history: AccountHistory

    def since(self, holds: Callable[[Entry], bool]) -> datetime:
        """Since when a condition holds that holds for the newest entry, and that a larger spending does not end.

        Between two limits spending only grows. So the first entry is found by bisection: a long ledger takes no longer.
        """
        first = self.newest
        for start in self.history.limits():
            if not holds(start):
                return _at(self._first_after(start.sequence, first, holds))
            before = self.history.upto(start.sequence - 1)
            if before is None or not holds(before):
                return _at(start)
            first = before
        return _at(first)

    def _first_after(self, low: int, first: Entry, holds: Callable[[Entry], bool]) -> Entry:
        """The first entry for which the condition holds: it does for `first`, and for none up to `low`."""
        while first.sequence - low > 1:
            middle = (low + first.sequence) // 2
            entry = self.history.upto(middle)
            if entry is not None and holds(entry):
                first = entry
            else:
                low = middle
        return first


@dataclass(frozen=True, slots=True)
class EndingKey:
    """A key in force that has an end."""

    key_id: str
    account: str
    expires: datetime


@dataclass(frozen=True, slots=True)
class LooserLimit:
    """An entry by which an officer allowed more than before: a cap that was raised, or approvals that are off.

    Attributes:
        before: The population's account before it.
        newest: The newest entry that says the same of the population: its balance, or what it requires.
    """

    entry: Entry
    before: Balance
    newest: Entry

    @property
    def is_looser(self) -> bool:
        """Whether it allows more than before, and that was not taken back; a first cap does not."""
        event, before = self.entry.event, self.before.limit
        if event.kind == "approval-required":
            return event.detail.get("approval_days") is None and self.entry.sequence == self.newest.sequence
        after = (event.cap or Balance()).limit, (self.newest.event.cap or Balance()).limit
        return before.admits_any and not any(limit.fits_in(before) for limit in after)


def notices(
    accounts: Iterable[OpenAccount],
    waiting: Iterable[Approval],
    keys: Iterable[EndingKey],
    thresholds: Thresholds,
    now: datetime,
    *,
    changes: Iterable[LooserLimit] = (),
    proposals: Iterable[Entry] = (),
) -> tuple[Notice, ...]:
    """Return all current notices: of accounts in their order, waiting requests, keys, loosened limits and proposals."""
    of_accounts = [one for account in accounts for one in _of_account(account, thresholds, now)]
    of_requests = [one for request in waiting for one in _of_request(request, thresholds, now)]
    of_keys = [one for key in keys for one in _of_key(key, thresholds, now)]
    return (*of_accounts, *of_requests, *of_keys, *map(_of_change, changes), *map(_of_proposal, proposals))


def _of_account(account: OpenAccount, thresholds: Thresholds, now: datetime) -> Iterator[Notice]:
    event = account.newest.event
    if account.auditor is None:
        yield from _of_cap(account, event.cap or Balance(), thresholds)
    else:
        yield from _of_budget(account, event.account or Balance(), thresholds, now)


def _of_cap(account: OpenAccount, cap: Balance, thresholds: Thresholds) -> Iterator[Notice]:
    name = account.population
    if not cap.limit.admits_any:
        closed = [
            *itertools.takewhile(
                lambda one: one.event.cap and not one.event.cap.limit.admits_any, account.history.back()
            )
        ]
        restored = any(one.event.detail.get("closed_by") == "restore" for one in closed)
        why = f"A restore closed the cap of population {name}" if restored else f"Population {name} waits for a cap"
        yield Notice(
            kind="cap-missing", population=name, limit=cap.limit, since=_at(closed[-1]),
            what=f"{why}: nothing new is answered about it.",
            advice=_AFTER_RESTORE if restored else _SET_CAP.format(name),
        )  # fmt: skip
    elif share := thresholds.reached(cap.spent, cap.limit):
        yield Notice(
            kind="cap-spent", population=name, spent_percent=share[0], limit=cap.limit,
            left=cap.limit.left_after(cap.spent),
            since=account.since(lambda one: _reached(one.event.cap, thresholds)),
            what=f"{_share(*share)} that the cap of population {name} admits is spent.",
            advice=_RAISE_CAP.format(name),
        )  # fmt: skip


def _of_budget(account: OpenAccount, balance: Balance, thresholds: Thresholds, now: datetime) -> Iterator[Notice]:
    end = None if balance.expires is None else datetime.fromisoformat(balance.expires)
    if not balance.limit.admits_any or (end is not None and end <= now):
        return
    budget = partial(
        Notice, population=account.population, account=account.auditor, limit=balance.limit,
        left=balance.remaining(now), until=end,
    )  # fmt: skip
    if share := thresholds.reached(balance.spent, balance.limit):
        yield budget(
            kind="budget-spent", spent_percent=share[0], advice=_RAISE_BUDGET,
            since=account.since(lambda one: _reached(one.event.account, thresholds)),
            what=f"{_share(*share)} that {account.auditor} was granted with population {account.population} is spent.",
        )  # fmt: skip
    if end is not None and (since := thresholds.since(end, now)) is not None:
        yield budget(
            kind="budget-expires", since=since, advice=_PROLONG,
            what=f"The budget of {account.auditor} with population {account.population} ends on {_date(end)}.",
        )  # fmt: skip


def _of_request(request: Approval, thresholds: Thresholds, now: datetime) -> Iterator[Notice]:
    """Of one that waits: not before half of its time is over, for a short one would have a notice from the start."""
    middle = request.requested + (request.expires - request.requested) / 2
    since = thresholds.since(request.expires, now)
    if since is not None and middle <= now:
        yield Notice(
            kind="approval-expires", account=request.auditor, request=request.id, since=max(since, middle),
            until=request.expires,
            what=f"A request of {request.auditor} about {request.dataset} waits for a decision until "
            f"{_date(request.expires)}.",
            advice=_DECIDE.format(request.id),
        )  # fmt: skip


def _of_change(change: LooserLimit) -> Notice:
    entry, name = change.entry, change.entry.event.population
    what = f"{entry.event.actor} raised the cap of population {name}"
    if is_off := entry.event.kind == "approval-required":
        what = f"{entry.event.actor} ended the approvals that population {name} required"
    return Notice(
        kind="approvals-off" if is_off else "cap-raised", population=name, account=entry.event.actor, since=_at(entry),
        what=f"{what} (ledger entry {entry.sequence}).", advice=_LOOK_AT_CHANGE,
    )  # fmt: skip


def _of_proposal(entry: Entry) -> Notice:
    event, words = entry.event, change_words(entry.event.detail["change"])
    return Notice(
        kind="change-proposed", population=event.population, account=event.actor, since=_at(entry),
        until=_at(entry) + STANDS,
        what=f"{event.actor} proposed for population {event.population}: {words} (ledger entry {entry.sequence}). A "
        "second officer has to confirm it.",
        advice=_CONFIRM,
    )  # fmt: skip


def _of_key(key: EndingKey, thresholds: Thresholds, now: datetime) -> Iterator[Notice]:
    since = thresholds.since(key.expires, now)
    if since is not None:
        yield Notice(
            kind="key-expires", account=key.account, key_id=key.key_id, since=since, until=key.expires,
            what=f"The key {key.key_id} of {key.account} ends on {_date(key.expires)}.",
            advice=_NEW_KEY.format(key.account),
        )  # fmt: skip


def _reached(balance: Balance | None, thresholds: Thresholds) -> bool:
    return balance is not None and thresholds.reached(balance.spent, balance.limit) is not None


def _share(percent: int, amount: str) -> str:
    return f"All of the {amount}" if percent >= 100 else f"{percent} % of the {amount}"


def _date(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}, {at:%H:%M} UTC"


def _at(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry.at)
