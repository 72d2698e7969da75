"""What an entry of the ledger says, as a sentence; and amounts as people read them."""

from collections.abc import Callable, Mapping
from typing import Final

from holder_service.domain.ledger import Balance, Event
from shared.amounts import NO_LOSS, Loss, format_nano


def what_happened(event: Event) -> str:
    """One sentence about an entry, from its public fields; its kind, if there are no words for it."""
    words = _WORDS.get(event.kind)
    return event.kind.replace("-", " ") if words is None else words(event)


def what_is_published(event: Event) -> str:
    """The same for the transparency report, which confirms no limit: without amounts."""
    return _WITHOUT_AMOUNTS.get(event.kind, what_happened)(event)


def loss(amount: Loss) -> str:
    """A privacy loss in words: "ε 0.1", with δ where there is one."""
    epsilon = f"ε {format_nano(amount.epsilon_nano)}"
    return f"{epsilon}, δ {format_nano(amount.delta_nano)}" if amount.delta_nano else epsilon


def _account(event: Event) -> str:
    if "role" in event.detail:
        return f"Account {event.subject} opened, as {event.detail['role']}"
    return f"Account {event.subject} {'disabled' if event.detail.get('disabled') else 'may call again'}"


def _key(event: Event) -> str:
    expires = event.detail.get("expires")
    return f"Key {event.subject} issued to {event.detail.get('account')}" + (
        f", until {expires[:10]}" if expires else ""
    )


def _population(event: Event) -> str:
    return f"{_opened(event)}, cap {_limit(event.cap)}"


def _opened(event: Event) -> str:
    return f"Population {event.population} in terms of {event.detail.get('relation')}"


def _closed(event: Event) -> str | None:
    """What a restore did to a cap, if it did."""
    return f"Cap of {event.population} closed by a restore" if "closed_by" in event.detail else None


def _cap(event: Event) -> str:
    return _closed(event) or f"Cap of {event.population} set to {_limit(event.cap)}"


def _budget(event: Event) -> str:
    granted = event.account or Balance()
    if granted.limit == NO_LOSS:
        return f"Budget of {event.auditor} revoked"
    until = f", until {granted.expires[:10]}" if granted.expires else ""
    return f"Budget of {event.auditor} set to {_limit(granted)}{until}"


def _charge(event: Event) -> str:
    return f"{event.auditor} charged {loss(event.loss)} about {event.dataset}"


def _merge(event: Event) -> str:
    whose = f", with the account of {event.auditor}" if event.auditor else ""
    return f"Population {event.detail.get('from')} joined {event.population}{whose}"


def _look(event: Event) -> str:
    return f"Looked at people of {event.population} in {event.detail.get('with')}, charged {loss(event.loss)}"


def _signing_key(event: Event) -> str:
    if event.detail.get("handover"):
        return f"Signing key {event.subject} follows {event.detail['handover']['by']}"
    lost = f", the one before is lost: {event.detail['reason']}" if "reason" in event.detail else ""
    return f"Signing key {event.subject} published{lost}"


def _limit(balance: Balance | None) -> str:
    return loss(NO_LOSS if balance is None else balance.limit)


_WORDS: Final[Mapping[str, Callable[[Event], str]]] = {
    "account": _account,
    "key": _key,
    "key-withdrawn": lambda event: f"Key {event.subject} of {event.detail.get('account')} withdrawn",
    "signing-key": _signing_key,
    "population": _population,
    "dataset": lambda event: f"Dataset {event.dataset} declared",
    "cap": _cap,
    "budget": _budget,
    "charge": _charge,
    "records": lambda event: f"Version {event.subject} of {event.dataset} loaded",
    "retirement": lambda event: f"Dataset {event.dataset} retired",
    "merge": _merge,
    "overlap-look": _look,
    "restore": lambda event: f"Restore recorded: {event.detail.get('reason')}",
}
_WITHOUT_AMOUNTS: Final[Mapping[str, Callable[[Event], str]]] = {
    "population": _opened,
    "cap": lambda event: _closed(event) or f"Cap of {event.population} set",
    "budget": lambda event: f"Budget of {event.auditor} set",
}
