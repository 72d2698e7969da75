"""The ledger: an append-only chain of entries from which every balance follows (2-privacy §6).

An entry that concerns a population carries the population's state after it; one that concerns an
auditor's account with a population carries the account's state too. So the current balance *is* the
newest entry's, and `Replay` can recompute every one of them from the first entry on.

Auditors see entries' hashes. So each entry has a nonce, hashed with it and shown to administrators alone: without it
nobody can test a guess of a plan, an answer, a balance or a limit (docs/adr/0016). And an entry never holds a digest
of records or a number of people, which not even administrators may test (docs/adr/0008).

**How an entry may grow.** An entry that was appended hashes the same for ever (`tests/contract`), or the chain after it
breaks. So no member changes its name, its meaning or its form, and none is taken out; what happens otherwise than the
kinds there are can say is a new kind. A new member is optional, and an entry without it means what it meant before: it
is None where it has no value, and what is None is neither in the document nor hashed. `Replay` applies every kind that
was ever appended, for ever.

**Rehearsals.** An answer about invented people is entered with the kind `rehearsal`, and no balance changes. Every
entry about their population names in `rehearsal_of` of its detail what is rehearsed.

**Two kinds of account** (8-time §1). A population's cap is in ε and δ, which add up separately, or in ρ. Its first
charge fixes which, and every charge about it is of that kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from holder_service.domain.block_losses import Amounts, BlockSums, ImplausibleBlocks, amounts_of, loss_of
from shared.contract.blocks import BlockLoss
from shared.kinds.releases import LedgerPosition
from shared.privacy.amounts import NO_LOSS, Loss, MixedAccounts
from shared.privacy.charges import SUM, AccountTerms
from shared.wire import canonical

Kind = Literal[
    "account", "key", "key-withdrawn", "signing-key", "population", "dataset", "cap", "budget", "charge", "records",
    "retirement", "merge", "restore", "overlap-look", "column", "column-deletion", "metadata", "rehearsal",
    "approval-required", "approval-requested", "approval-decided", "approval-withdrawn",
    "records-read", "change-proposed", "watch-skipped",
]  # fmt: skip

COMMAND_LINE: Final = "holder"
"""The actor of what the command line does on the holder's own machine; no account has that name."""
GENESIS: Final = "sha256:" + "0" * 64
"""What the first entry names as the hash before it."""


class BrokenLedger(Exception):
    """The chain or a balance does not follow from the entries; names the first sequence where it breaks."""

    def __init__(self, sequence: int, reason: str) -> None:
        super().__init__(f"Entry {sequence}: {reason}")
        self.sequence = sequence
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Balance:
    """A limit and what was spent of it; the limit may have been lowered below what was spent.

    The limit says how the account adds up what is charged: in ε and δ, or in ρ. Of the latter the limit states the δ at
    which both are read as an ε. Without a limit and without a charge it is of neither kind yet.

    Raises:
        MixedAccounts: A loss was spent of the other kind than the limit is.
    """

    limit: Loss = NO_LOSS
    spent: Loss = NO_LOSS
    expires: str | None = None

    def __post_init__(self) -> None:
        if self.limit.kind == self.spent.kind == "sum":
            return
        if self.spent.is_nothing:
            spent = self.limit * 0
        elif self.limit.kind == self.spent.kind:
            spent = self.spent.read_at(self.limit.delta_nano)
        else:
            raise MixedAccounts
        object.__setattr__(self, "spent", spent)

    @property
    def terms(self) -> AccountTerms:
        """How it adds up what is charged."""
        return SUM if self.limit.rho_nano is None else AccountTerms("zcdp", self.limit.delta_nano)

    def remaining(self, now: datetime) -> Loss:
        """Return what is left; nothing once it has expired."""
        return self.limit * 0 if self._expired(now) else self.limit.left_after(self.spent)

    def affords(self, loss: Loss, now: datetime) -> bool:
        """Whether a loss fits into what is left; nothing does, zero included, without a grant."""
        granted = self.limit.admits_any and not self._expired(now)
        return granted and loss.fits_in(self.remaining(now))

    def _expired(self, now: datetime) -> bool:
        return self.expires is not None and now >= datetime.fromisoformat(self.expires)

    def charged(self, loss: Loss) -> "Balance":
        return Balance(self.limit, self.spent + loss, self.expires)  # `replace` takes several times as long

    def by_block(self, spent: Amounts) -> "Balance":
        """The same limit with what one block spent, or with the highest sums of some."""
        return replace(self, spent=loss_of(spent, self.terms))

    def limited(self, limit: Loss, expires: str | None = None) -> "Balance":
        return replace(self, limit=limit, expires=expires)

    def closed(self) -> "Balance":
        """The same account with nothing left, of its own kind."""
        return replace(self, limit=self.limit * 0)

    def alike(self, other: "Balance") -> "Balance":
        """The same account; one of nothing in the terms of another, for it has none of its own."""
        nothing = self.limit.is_nothing and self.spent.is_nothing
        return replace(self, limit=other.limit * 0) if nothing and self.limit.kind != other.limit.kind else self

    def document(self) -> dict[str, Any]:
        """The balance as JSON values, as entries hash it; ε is none of them where it is but a reading of ρ."""
        if self.limit.rho_nano is not None:
            return {
                "limit_epsilon_nano": 0, "limit_delta_nano": self.limit.delta_nano,
                "spent_epsilon_nano": 0, "spent_delta_nano": 0,
                "limit_rho_nano": self.limit.rho_nano, "spent_rho_nano": self.spent.rho_nano,
                "expires": self.expires,
            }  # fmt: skip
        return {
            "limit_epsilon_nano": self.limit.epsilon_nano, "limit_delta_nano": self.limit.delta_nano,
            "spent_epsilon_nano": self.spent.epsilon_nano, "spent_delta_nano": self.spent.delta_nano,
            "expires": self.expires,
        }  # fmt: skip

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "Balance":
        """The balance of a document.

        Raises:
            KeyError, TypeError, ValueError: It is not a balance's: what is not hashed must not be there.
        """
        limit = Loss(document["limit_epsilon_nano"], document["limit_delta_nano"], document.get("limit_rho_nano"))
        if limit.rho_nano is None:
            spent = Loss(document["spent_epsilon_nano"], document["spent_delta_nano"])
        else:
            spent = Loss.of_rho(document["spent_rho_nano"], limit.delta_nano)
        balance = cls(limit, spent, document["expires"])
        if balance.document() != document:
            raise ValueError("The document says more than a balance does.")
        return balance

    def joined(self, other: "Balance") -> "Balance":
        """Two accounts of one auditor as one: spending is added, the limit is the larger of the two, ε and δ each.

        Raises:
            MixedAccounts: They are of two kinds, and neither is of nothing.
        """
        expiries = [expires for expires in (self.expires, other.expires) if expires is not None]
        other = other.alike(self)
        one = self.alike(other)
        return Balance(
            limit=one.limit.larger(other.limit),
            spent=one.spent + other.spent,
            expires=min(expiries, key=datetime.fromisoformat) if expiries else None,
        )


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, before it is in the chain.

    Attributes:
        actor: Who did it: an account's name, or `COMMAND_LINE`.
        population, dataset, auditor: What it concerns, where it does.
        subject: The identity of the plan charged, the id of a key, the version loaded.
        answer: The digest of the released answer (`shared.kinds.releases.answer_digest`).
        cap: The population's cap and total spending after it.
        account: The auditor's balance with the population after it.
        detail: Further public facts, JSON values.
    """

    kind: Kind
    actor: str
    population: str | None = None
    dataset: str | None = None
    auditor: str | None = None
    subject: str | None = None
    answer: str | None = None
    loss: Loss = NO_LOSS
    cap: Balance | None = None
    account: Balance | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in the chain: sequence number, time, nonce, the hash of the entry before, and its own."""

    sequence: int
    at: str
    event: Event
    nonce: str
    previous: str
    hash: str

    @classmethod
    def chained(cls, *, sequence: int, at: str, event: Event, nonce: str, previous: str) -> "Entry":
        """Put an event at the end of a chain whose head has the hash `previous`."""
        document = {"sequence": sequence, "at": at, "nonce": nonce, "previous": previous, **_document(event)}
        return cls(sequence, at, event, nonce, previous, canonical.digest(document))

    @property
    def position(self) -> LedgerPosition:
        """Where it is in the chain."""
        return LedgerPosition(sequence=self.sequence, hash=self.hash)

    @property
    def recomputed_hash(self) -> str:
        """The hash that its content has, whatever the entry carries."""
        return self.rechained(sequence=self.sequence, previous=self.previous).hash

    def rechained(self, *, sequence: int, previous: str) -> "Entry":
        """Return what it says, as the entry that comes after another, with the hash that it then has."""
        return self.chained(sequence=sequence, at=self.at, event=self.event, nonce=self.nonce, previous=previous)

    def document(self) -> dict[str, Any]:
        """The entry as JSON, its hash included; the hash is the SHA-256 of the canonical rest."""
        return {
            "sequence": self.sequence, "at": self.at, "nonce": self.nonce, "previous": self.previous,
            **_document(self.event), "hash": self.hash,
        }  # fmt: skip


class Replay:
    """Recomputes chain and balances entry by entry, and raises at the first that does not follow."""

    def __init__(self) -> None:
        self.sequence = 0
        self.hash = GENESIS
        self.caps: dict[str, Balance] = {}
        self.accounts: dict[tuple[str, str], Balance] = {}
        self.blocks = BlockSums()

    def apply(self, entry: Entry) -> None:
        """Take the next entry.

        Raises:
            BrokenLedger: Its sequence, hash, or a balance in it is not what follows from those before.
        """
        expected = entry.rechained(sequence=self.sequence + 1, previous=self.hash)
        if entry.sequence != expected.sequence:
            raise BrokenLedger(expected.sequence, f"missing; the next that is there is {entry.sequence}")
        if entry.previous != self.hash:
            raise BrokenLedger(entry.sequence, "does not name the hash of the entry before it")
        if entry.hash != expected.hash:
            raise BrokenLedger(entry.sequence, "its content does not have the hash it carries")
        self._apply_balances(entry)
        self.sequence, self.hash = entry.sequence, entry.hash

    def _apply_balances(self, entry: Entry) -> None:
        event = entry.event
        if event.population is None:
            if event.cap is not None or event.account is not None:
                raise BrokenLedger(entry.sequence, "carries a balance but names no population")
            return
        account_key = (event.population, event.auditor or "")
        try:
            self._apply_blocks(event, event.population)
            cap, account = self._balances_after(
                entry, self.caps.get(event.population, Balance()), self.accounts.get(account_key, Balance())
            )
        except MixedAccounts:
            raise BrokenLedger(entry.sequence, "is in other terms than the population's account") from None
        except ImplausibleBlocks as fault:
            raise BrokenLedger(entry.sequence, str(fault)) from None
        if event.cap != cap:
            raise BrokenLedger(entry.sequence, "the population's balance does not follow")
        self.caps[event.population] = cap
        if event.auditor is not None:
            if event.account != account:
                raise BrokenLedger(entry.sequence, "the auditor's balance does not follow")
            self.accounts[account_key] = account

    def _balances_after(self, entry: Entry, cap: Balance, account: Balance) -> tuple[Balance, Balance]:
        """The population's and the auditor's balance after an entry, from those before it.

        Raises:
            MixedAccounts: It adds up losses of two kinds.
        """
        event = entry.event
        if event.kind == "charge":
            at = datetime.fromisoformat(entry.at)
            losses = self.blocks.losses(str(event.population), str(event.dataset), event.loss, event.detail)
            if losses is not None:
                return self._charged_by_block(entry, losses, cap, account)
            for balance, name in ((account, "the auditor's budget"), (cap, "the population's cap")):
                if not balance.affords(event.loss, at):
                    raise BrokenLedger(entry.sequence, f"charges more than {name} had left")
            return cap.charged(event.loss), account.charged(event.loss)
        if event.kind == "overlap-look":
            if not cap.affords(event.loss, datetime.fromisoformat(entry.at)):
                raise BrokenLedger(entry.sequence, "charges more than the population's cap had left")
            return cap.charged(event.loss), account
        if event.kind in ("population", "cap"):
            return self._relimited(entry, cap, event.cap), account
        if event.kind == "budget":
            return cap, self._relimited(entry, account, event.account)
        if event.kind == "merge":
            source = str(event.detail["from"])
            if event.auditor is None:
                return cap.charged(self.caps[source].spent), account
            return cap, account.joined(self.accounts[source, event.auditor])
        return cap, account

    def _apply_blocks(self, event: Event, population: str) -> None:
        """Take what an entry says of blocks beside a charge.

        Raises:
            ImplausibleBlocks: It may not be about a population with blocks, or changes blocks that are fixed.
        """
        if event.kind == "dataset":
            self.blocks.declare(population, str(event.dataset), event.detail)
        elif event.kind in ("records", "charge"):
            self.blocks.use(population)
        elif event.kind in ("overlap-look", "merge"):
            self.blocks.require_none(population, str(event.detail.get("from", population)))

    def _charged_by_block(
        self, entry: Entry, losses: tuple[BlockLoss, ...], cap: Balance, account: Balance
    ) -> tuple[Balance, Balance]:
        """The population's and the auditor's balance after losses by block."""
        event, at = entry.event, datetime.fromisoformat(entry.at)
        after = []
        for balance, whose, name in ((cap, "", "population's cap"), (account, event.auditor or "", "auditor's budget")):
            tree = self.blocks.tree(str(event.population), whose)
            sums = [tree.highest(one.first, one.last) for one in losses]
            fits = (balance.by_block(spent).affords(one.loss, at) for spent, one in zip(sums, losses, strict=True))
            if not (balance.affords(event.loss * 0, at) and all(fits)):
                raise BrokenLedger(entry.sequence, f"charges a block more than the {name} had left for it")
            for one in losses:
                tree.add(one.first, one.last, amounts_of(one.loss))
            after.append(balance.by_block(tree.highest_of_all))
        return after[0], after[1]

    @staticmethod
    def _relimited(entry: Entry, before: Balance, after: Balance | None) -> Balance:
        """A change of limit takes its limit from the entry, and its spending from what came before."""
        if after is None:
            raise BrokenLedger(entry.sequence, "changes a limit but carries no balance")
        return before.limited(after.limit, after.expires)


def loss_columns(loss: Loss) -> dict[str, int | None]:
    """Return what is kept of a loss. Of one in ρ no ε: that is read off ρ by a conversion, which may get tighter."""
    epsilon_nano = loss.epsilon_nano if loss.rho_nano is None else 0
    return {"epsilon_nano": epsilon_nano, "delta_nano": loss.delta_nano, "rho_nano": loss.rho_nano}


def event_of_document(document: Mapping[str, Any]) -> Event:
    """The event of an entry's document, as the interface gives it.

    Raises:
        KeyError, TypeError, ValueError: It is not an entry's.
    """
    named: dict[str, Any] = {name: document[name] for name in Event.__slots__ if name in document}
    named |= {name: Balance.of_document(document[name]) for name in ("cap", "account") if name in document}
    return Event(**named, loss=Loss(document["epsilon_nano"], document["delta_nano"], document.get("rho_nano")))


def _document(event: Event) -> dict[str, Any]:
    # Not by `asdict`, which copies everything deeply: each release does this under the ledger's lock.
    document: dict[str, Any] = {}
    for name in Event.__slots__:
        value = getattr(event, name)
        if isinstance(value, Loss):
            document |= {name: nano for name, nano in loss_columns(value).items() if nano is not None}
        elif value is not None:
            document[name] = value.document() if isinstance(value, Balance) else value
    return document
