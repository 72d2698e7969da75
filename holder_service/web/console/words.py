"""What an entry of the ledger says, as a sentence; names and amounts as people read them."""

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from holder_service.domain.ledger import Balance, Event
from holder_service.domain.second_officers import change_words
from holder_service.records.progress import Phase
from shared.contract.metadata import DatasetMetadata
from shared.contract.notices import Notice
from shared.kinds.registry import kind_of_entry
from shared.kinds.summaries import RequestSummary, SummaryFact
from shared.privacy.amounts import NO_LOSS, Loss

LOAD_WORDS: Final[Mapping[Phase, str]] = MappingProxyType(
    {
        "receiving": "The file comes in",
        "reading": "The records are read and checked",
        "comparing-keys": "Equal keys are looked for",
        "encoding": "The records are encoded and written",
        "joining-keys": "The keys are joined to those of earlier loads",
    }
)
"""What a load that is under way does."""
_NO_WORDS: Final[Mapping[str, str]] = MappingProxyType({})


def beside(name: str | None, words: str | None) -> str:
    """Return what people read of something, and its technical name, always: "Frau Müller (edoeb)"."""
    return f"{_isolated(words)} ({name})" if words else name or ""


def _isolated(words: str) -> str:
    """Words between others; those written from right to left would turn the order of what stands beside them."""
    turning = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in words)
    return f"\N{FIRST STRONG ISOLATE}{words}\N{POP DIRECTIONAL ISOLATE}" if turning else words


def summary_facts(summary: RequestSummary, words: DatasetMetadata) -> list[SummaryFact]:
    """Return what holds for all parts of a request: the sensitive columns first, by their titles."""
    titles = {name: column.title for name, column in words.columns.items()}
    columns = ", ".join(beside(name, titles.get(name)) for name in summary.sensitive)
    return [("Sensitive columns", columns), *summary.facts]


def what_happened(event: Event, display_names: Mapping[str, str] = _NO_WORDS) -> str:
    """One sentence about an entry, from its public fields; its kind, if there are no words for it.

    Args:
        display_names: What people read of accounts, beside their names.
    """
    return _marked(event, _what_happened(event, display_names))


def _marked(event: Event, sentence: str) -> str:
    """Return what is said of an entry, and that it is about a rehearsal, if it is."""
    of = event.detail.get("rehearsal_of")
    return sentence if of is None else f"Rehearsal of {of}: {sentence}"


def _what_happened(event: Event, display_names: Mapping[str, str]) -> str:

    def account(name: str | None) -> str:
        return beside(name, display_names.get(name or ""))

    detail, granted = event.detail, event.account or Balance()
    match event.kind:
        case "account" if "role" in detail:
            return f"Account {account(event.subject)} opened, as {detail['role']}"
        case "account" if "display_name" in detail:
            return f"Account {event.subject} is shown as {_isolated(detail['display_name'] or 'its name')}"
        case "account":
            return f"Account {account(event.subject)} {'disabled' if detail.get('disabled') else 'may call again'}"
        case "key":
            return f"Key {event.subject} issued to {account(detail.get('account'))}{_until(detail.get('expires'))}"
        case "key-withdrawn":
            return f"Key {event.subject} of {account(detail.get('account'))} withdrawn"
        case "signing-key" if detail.get("handover"):
            return f"Signing key {event.subject} follows {detail['handover']['by']}"
        case "signing-key":
            lost = f", the one before is lost: {detail['reason']}" if "reason" in detail else ""
            return f"Signing key {event.subject} published{lost}"
        case "population":
            return f"{_opened(event)}{'' if 'rehearsal_of' in detail else f', cap {_limit(event.cap)}'}"
        case "dataset":
            return f"Dataset {event.dataset} declared"
        case "metadata":
            return f"Titles and descriptions of {event.dataset} written"
        case "cap" if "closed_by" in detail:
            return f"Cap of {event.population} closed by a restore"
        case "cap":
            return f"Cap of {event.population} set to {_limit(event.cap)}"
        case "budget" if granted.limit.is_nothing:
            return f"Budget of {account(event.auditor)} revoked"
        case "budget":
            return f"Budget of {account(event.auditor)} set to {_limit(granted)}{_until(granted.expires)}"
        case "charge":
            kind = kind_of_entry(detail)
            if kind.request is None:
                return f"A watch of {account(event.auditor)} about {event.dataset} was answered; that costs nothing"
            what = f", for {kind.charged_for}" if kind.charged_for else ""
            what = ", to refine an answer" if "refines" in detail else what
            what += f", for “{_isolated(detail['purpose'])}”" if "purpose" in detail else ""
            return f"{account(event.auditor)} was charged {loss(event.loss)} about {event.dataset}{what}"
        case "watch-skipped":
            return f"A watch of {account(event.actor)} about {event.dataset} did not answer a version"
        case "rehearsal":
            return f"{account(event.actor)} was answered about invented people; nothing was charged"
        case "records":
            return f"Version {event.subject} of {event.dataset} loaded"
        case "records-read":
            return f"Files at {detail.get('url')} {'checked' if detail.get('check') else 'read'} for {event.dataset}"
        case "retirement":
            return f"Dataset {event.dataset} retired"
        case "merge":
            whose = f", with the account of {account(event.auditor)}" if event.auditor else ""
            return f"Population {detail.get('from')} joined {event.population}{whose}"
        case "overlap-look":
            return f"Looked at people of {event.population} in {detail.get('with')}; {loss(event.loss)} was charged"
        case "column":
            return f"{account(event.actor)} made derived column {detail.get('name')} of {event.dataset}"
        case "column-deletion":
            because = f": {detail['reason']}" if "reason" in detail else ""
            return (
                f"Derived column {detail.get('name')} of {account(detail.get('account'))} about {event.dataset} "
                f"deleted{because}"
            )
        case "change-proposed":
            proposed = f"{account(event.actor)} proposed for {event.population}: {change_words(detail['change'])}"
            return f"{proposed}; a second officer has to confirm it"
        case "approval-required":
            days = detail.get("approval_days")
            if not days:
                return f"Approvals are no longer required for {event.population}"
            return f"Requests about {event.population} need an approval; a request expires after {days} days"
        case "approval-requested":
            return f"{account(event.auditor)} asked for an approval about {event.dataset}"
        case "approval-decided":
            because = f": {_isolated(detail['reason'])}" if "reason" in detail else ""
            decided = "approved" if detail.get("approved") else "declined"
            return f"What {account(event.auditor)} asked about {event.dataset} was {decided}{because}"
        case "approval-withdrawn":
            return f"{account(event.auditor)} withdrew what was to be approved about {event.dataset}"
        case "restore":
            return f"Restore recorded: {detail.get('reason')}"
        case other:
            return other.replace("-", " ")


def what_is_published(event: Event) -> str:
    """The same for the transparency report, which confirms no limit: without amounts."""
    match event.kind:
        case "population":
            return _marked(event, _opened(event))
        case "cap" if "closed_by" not in event.detail:
            return f"Cap of {event.population} set"
        case "budget":
            return f"Budget of {event.auditor} set"
        case _:
            return what_happened(event)


def _opened(event: Event) -> str:
    return f"Population {event.population} opened, with the relation {event.detail.get('relation')}"


def notice_words(notice: Notice) -> str:
    """A notice in few words, beside what it is about."""
    if notice.spent_percent is not None:
        return f"{notice.spent_percent} % spent"
    if notice.kind == "change-proposed":
        return "waits for a second officer"
    if notice.is_of_a_change:
        return "raised" if notice.kind == "cap-raised" else "approvals ended"
    return "waits for a cap" if notice.kind == "cap-missing" else "ends soon"


def loss(amount: Loss) -> str:
    """A privacy loss as people read it."""
    return amount.symbols


def _limit(balance: Balance | None) -> str:
    return loss(NO_LOSS if balance is None else balance.limit)


def _until(expires: str | None) -> str:
    return f", until {expires[:10]}" if expires else ""
