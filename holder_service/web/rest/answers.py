"""What calls answer that is no type of the contract's own: lists, accounts, entries, reports (4-interface)."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from holder_service.domain.ledger import Kind
from holder_service.records.progress import LoadState, Phase
from holder_service.services.accounts.access import IssuedKey
from holder_service.services.ledger.reading import Verification
from holder_service.storage.accounts import Account, ApiKey
from holder_service.storage.releases import ListedRelease
from shared.contract.datasets import Budget, DatasetDescription, Role
from shared.contract.metadata import DatasetMetadata
from shared.contract.notices import Notice
from shared.contract.rehearsals import Rehearsal
from shared.contract.relations import Relation
from shared.kinds.releases import LedgerPosition
from shared.privacy.amounts import Loss
from shared.scores.columns import ColumnDescription
from shared.wire.request_model import ContractModel
from shared.wire.text import Words

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time as it is kept: ISO 8601, in UTC."""
Digest = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
"""A SHA-256."""


class DatasetList(ContractModel):
    """Datasets."""

    datasets: tuple[DatasetDescription, ...]
    """Every dataset that the holder offers, by name."""


class ReleaseSummary(ContractModel):
    """A release in a list; `GET …/releases/{id}`, or `GET …/trainings/{id}`, shows it whole."""

    id: Digest
    """Its id."""
    version: int
    """The version of the records that were counted."""
    sequence: int
    """The number of its ledger entry."""
    created: Time
    """When it was charged, in UTC."""
    rehearsal_of: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """Where the people are invented, the dataset that is rehearsed; left out where they are real."""


class ReleaseList(ContractModel):
    """A page of releases."""

    releases: tuple[ReleaseSummary, ...]
    """The caller's own releases about the dataset, in the order of their ledger entries."""
    next: int | None
    """What to send as `after` for the next page; null on the last one."""


def summaries(found: Iterable[ListedRelease]) -> tuple[ReleaseSummary, ...]:
    """Return what a list shows of each."""
    return tuple(ReleaseSummary.model_validate(one, from_attributes=True) for one in found)


class TrainingList(ContractModel):
    """A page of trainings."""

    trainings: tuple[ReleaseSummary, ...]
    """The caller's own releases of trainings about the dataset, in the order of their ledger entries."""
    next: int | None
    """What to send as `after` for the next page; null on the last one."""


class WatchSummary(ReleaseSummary):
    """A watch in a list; `GET …/watches/{id}` shows it whole, with its signed answers."""

    answered: int | None
    """The last version of the records that was answered; null if none was."""
    changed: bool
    """Whether that answer was that the verdict has changed: then there are no further ones."""
    pending: int | None
    """The version that is to be answered; null where none is."""
    due: Time | None
    """When its answer is there at the earliest, in UTC; null where none is to be."""


class WatchList(ContractModel):
    """A page of watches."""

    watches: tuple[WatchSummary, ...]
    """The caller's own watches about the dataset, in the order of their ledger entries."""
    next: int | None = None
    """What to send as `after` for the next page; null on the last one."""


class ColumnList(ContractModel):
    """Derived columns."""

    columns: tuple[ColumnDescription, ...]
    """The caller's own derived columns about the dataset, oldest first."""


class AuditorsColumn(ColumnDescription):
    """A derived column, and whose it is."""

    auditor: str
    """The auditor that made it."""


class AuditorsColumnList(ContractModel):
    """Derived columns of all auditors."""

    columns: tuple[AuditorsColumn, ...]
    """All derived columns about the dataset, oldest first."""


class BudgetList(ContractModel):
    """Budgets."""

    budgets: tuple[Budget, ...]
    """Every auditor's budget with every population that was asked for."""


class NoticeList(ContractModel):
    """Notices."""

    notices: tuple[Notice, ...]
    """Everything that there is to act on now: about each population and its auditors' budgets, then about keys."""


class ShownKey(ContractModel):
    """A new key, shown this once."""

    auditor: str
    """Whose it is."""
    key_id: str
    """By which it is withdrawn; no secret."""
    key: str
    """The key itself: the holder keeps its hash alone, so keep it safe."""

    @classmethod
    def of(cls, issued: IssuedKey) -> Self:
        """Return what is shown of a key that was issued."""
        return cls(auditor=issued.account, key_id=issued.key_id, key=issued.text)


class ListedKey(ContractModel):
    """A key in a list: never the key itself."""

    key_id: str
    """By which it is withdrawn."""
    created: Time
    """When it was issued, in UTC."""
    expires: Time | None
    """When it ends; null if it holds until it is withdrawn."""
    withdrawn: Time | None
    """When it was withdrawn; null if it was not."""


class ListedAccount(ContractModel):
    """An account with its keys."""

    auditor: str
    """The account's name."""
    role: Role
    """What its keys may do."""
    created: Time
    """When it was opened, in UTC."""
    disabled: bool
    """Whether none of its keys is taken."""
    display_name: str | None
    """What people read instead of the name; null where there is none."""
    keys: tuple[ListedKey, ...]
    """All keys that it ever had."""

    @classmethod
    def of(cls, account: Account, keys: list[ApiKey]) -> Self:
        """Return what is shown of an account."""
        return cls.model_validate(
            {
                "auditor": account.name, "role": account.role, "created": account.created,
                "disabled": account.disabled, "display_name": account.display_name,
                "keys": [
                    {"key_id": key.id, "created": key.created, "expires": key.expires, "withdrawn": key.withdrawn}
                    for key in keys
                ],
            }
        )  # fmt: skip


class AccountList(ContractModel):
    """Accounts."""

    auditors: tuple[ListedAccount, ...]
    """All accounts, administrators' too, by name."""


class DeclaredDataset(ContractModel):
    """A dataset as it is now declared."""

    dataset: str
    """Its name."""
    population: str
    """The people that it is about."""
    version: int | None
    """The version of the records; null where none are loaded, or those that were no longer fit."""
    warnings: tuple[str, ...]
    """What is allowed and weakens the promise all the same, in sentences."""


class RehearsedDataset(ContractModel):
    """A rehearsal as auditors now find it."""

    dataset: str
    """Its name."""
    rehearsal: Rehearsal
    """What it is a rehearsal of, and how its people were invented: published to every auditor."""
    version: int
    """The number of the new version."""


class LoadedRecords(ContractModel):
    """What a load made."""

    dataset: str
    """The dataset's name."""
    version: int | None
    """The number of the new version; null where the file was only checked."""


class ListedLoad(ContractModel):
    """A load that is under way."""

    actor: str
    """The administrator who loads."""
    began: Time
    """When it began, in UTC."""
    phase: Phase
    """What is being done, in this order: the file comes in, its records are read and checked, equal keys are looked
    for, the records are encoded and written, their keys are joined to those of earlier loads."""
    percent: int | None
    """How much of the phase is done; null where nobody knows."""


class LoadList(ContractModel):
    """Loads that are under way."""

    loads: tuple[ListedLoad, ...]
    """Those of the dataset, in the order in which they began; a load that ended or broke off is not among them."""

    @classmethod
    def of(cls, found: Iterable[LoadState]) -> Self:
        """Return what is shown of some loads."""
        return cls(
            loads=tuple(
                ListedLoad(actor=one.actor, began=one.began, phase=one.phase, percent=one.percent) for one in found
            )
        )


class ShownRestore(LedgerPosition):
    """Where a restore's entry is, and what it closed."""

    closed: tuple[str, ...]
    """The populations whose cap it closed, until they are declared again."""


class LedgerBalance(ContractModel):
    """A limit and what was spent of it, in units of 10⁻⁹."""

    limit_epsilon_nano: int
    """The limit of ε, in units of 10⁻⁹."""
    limit_delta_nano: int
    """The limit of δ, in units of 10⁻⁹."""
    spent_epsilon_nano: int
    """What was spent of ε, in units of 10⁻⁹."""
    spent_delta_nano: int
    """What was spent of δ, in units of 10⁻⁹."""
    limit_rho_nano: int | None = None
    """The limit of ρ, in units of 10⁻⁹, of an account that adds up ρ: `limit_delta_nano` is then the δ at which it is
    read, and the other three are 0."""
    spent_rho_nano: int | None = None
    """What was spent of ρ, in units of 10⁻⁹."""
    expires: Time | None
    """When the limit ends; null if it does not."""


class LedgerEntry(ContractModel):
    """An entry of the ledger; members that have no value are absent."""

    sequence: int
    """Its number, from 1."""
    at: Time
    """When it was appended, in UTC."""
    nonce: str = ""
    """Random, so that its hash confirms no guess."""
    previous: Digest
    """The hash of the entry before."""
    kind: Kind
    """What happened."""
    actor: str
    """Who did it: an account's name, or "holder" for the command line of the holder's own machine."""
    population: str | None = None
    """The population that it concerns."""
    dataset: str | None = None
    """The dataset that it concerns."""
    auditor: str | None = None
    """The auditor that it concerns."""
    subject: str | None = None
    """The identity of what was charged, a plan, training, watch or its answer; a key's or column's id; the version."""
    answer: Digest | None = None
    """The digest of the answer that a charge is for."""
    epsilon_nano: int
    """What was charged of ε, in units of 10⁻⁹."""
    delta_nano: int
    """What was charged of δ, in units of 10⁻⁹; beside a ρ, the δ at which that is read."""
    rho_nano: int | None = None
    """What was charged of ρ, in units of 10⁻⁹, to an account that adds up ρ."""
    cap: LedgerBalance | None = None
    """The population's cap and total spending afterwards."""
    account: LedgerBalance | None = None
    """The auditor's balance with the population afterwards."""
    detail: dict[str, Any]
    """Further facts, by the kind of entry."""
    hash: Digest
    """The SHA-256 of the canonical rest."""


class LedgerPage(ContractModel):
    """A page of the ledger."""

    entries: tuple[LedgerEntry, ...]
    """The entries that pass the filters, in order."""
    next: int | None
    """What to send as `after` for the next page; null on the last one."""


class ShownVerification(ContractModel):
    """What recomputing the ledger found."""

    intact: bool
    """Whether everything follows."""
    entries: int
    """How many entries were recomputed."""
    head: str
    """The hash of the last one that follows."""
    broken_at: int | None
    """The number of the first entry that does not follow; null if all do."""
    reason: str | None
    """What about it does not follow; null if all does."""

    @classmethod
    def of(cls, found: Verification) -> Self:
        """Return what is shown of a verification."""
        return cls(
            intact=found.intact, entries=found.entries, head=found.head, broken_at=found.broken_at, reason=found.reason
        )


class PublishedEntry(ContractModel):
    """Where in the ledger a published fact is."""

    sequence: int
    """The entry's number."""
    hash: Digest
    """The entry's hash."""
    at: Time
    """When it was appended, in UTC."""


class PublishedRelease(PublishedEntry):
    """A release as it is published: neither what was asked nor its counts."""

    auditor: str
    """To whom it was released."""
    version: int
    """The version of the records that were counted."""
    sensitive: tuple[str, ...]
    """The columns that people were counted by."""
    mechanisms: tuple[str, ...]
    """The mechanisms of the noise."""
    algorithm: str | None = Field(default=None, exclude_if=lambda algorithm: algorithm is None)
    """Of a training, how its model was learned; left out of the answer to a plan."""
    purpose: str | None = Field(default=None, exclude_if=lambda purpose: purpose is None)
    """What it was asked for, in the auditor's words; left out where nothing was said."""
    charge: Loss
    """What it cost."""


class PublishedDecision(PublishedEntry):
    """A decision as it is published."""

    kind: Kind
    """What kind of entry it is."""
    what: str
    """What was decided, in a sentence."""


class TransparencyDocument(ContractModel):
    """What was released about a dataset, to whom, when and at what loss: to be published."""

    format: Literal["pafer-transparency/1"]
    """Which form this document has."""
    made: Time
    """When it was made, in UTC."""
    ledger: LedgerPosition
    """The ledger's head when it was made."""
    organisation: Words | None = Field(default=None, exclude_if=lambda organisation: organisation is None)
    """Who holds the records, in people's words; left out where the holder does not say."""
    dataset: str
    """The dataset's name."""
    metadata: DatasetMetadata | None = Field(default=None, exclude_if=lambda metadata: metadata is None)
    """What people read of it, without a number of people; left out where nothing was written."""
    rehearsal: Rehearsal | None = Field(default=None, exclude_if=lambda rehearsal: rehearsal is None)
    """That nobody in it exists, and how its people were invented; left out of a dataset of real people."""
    retired: bool
    """Whether it is offered no longer."""
    version: int | None
    """The current version of the records; null where none are loaded."""
    sensitive: tuple[str, ...]
    """The columns that people can be counted by."""
    records_max: int
    """The most records that there may be, in people."""
    population: str
    """The people that it is about."""
    relation: Relation
    """What ε is about."""
    other_datasets: tuple[str, ...]
    """The population's other datasets."""
    spent_on_population: Loss
    """The loss of all releases about the population's people."""
    spent_on_dataset: Loss
    """The loss of the releases about this dataset."""
    meaning: tuple[str, ...]
    """What all that was released means for one of these people, in sentences."""
    restored: str | None
    """A warning if the database was ever put back from a copy; null if not."""
    releases: tuple[PublishedRelease, ...]
    """All releases about the dataset, oldest first."""
    decisions: tuple[PublishedDecision, ...]
    """What was decided about the dataset's people, oldest first."""


class Alive(ContractModel):
    """Whether the process runs."""

    status: Literal["alive"] = "alive"
    """Always "alive": else nothing answers."""
    version: str
    """The version of the holder's program, as in `info.version` of the contract."""


class ReadyToRelease(ContractModel):
    """Whether the holder may release."""

    status: Literal["ready"] = "ready"
    """Always "ready": else a problem is answered."""


class ProblemKind(ContractModel):
    """What a problem's code means, and what to do about it."""

    code: str
    """The code, the last part of a problem's `type`."""
    title: str
    """The code in a few words."""
    status: int
    """The HTTP status that answers with it have."""
    meaning: str
    """What happened."""
    remedy: str
    """What to do."""


class ProblemKinds(ContractModel):
    """All problem codes."""

    problems: tuple[ProblemKind, ...]
    """Each with what it means and what to do."""
