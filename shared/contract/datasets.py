"""Datasets, accounts and budgets as the interface shows and takes them (4-interface)."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)

from shared.contract.approvals import ApprovalSetting
from shared.contract.blocks import BlockBalances, BlockDomain, Blocks, ChargedBlocks
from shared.contract.declaration_faults import NO_SENSITIVE, unfit_declaration
from shared.contract.metadata import DatasetMetadata, UnfitMetadata
from shared.contract.rehearsals import Rehearsal, marked_name
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.schema import Column, PeopleColumn, Schema
from shared.contract.shares import ShareParty, Shares
from shared.privacy.amounts import (
    DELTA_NANO_MAX,
    DELTA_NANO_MIN,
    EPSILON_NANO_MAX,
    EPSILON_NANO_MIN,
    NANO_PER_UNIT,
    NO_LOSS,
    RHO_NANO_MAX,
    RHO_NANO_MIN,
    RHO_NANO_SUM_MAX,
    Amount,
    InvalidAmount,
    Loss,
    format_nano,
    parse_nano,
)
from shared.privacy.charges import SUM, AccountTerms, NoSuchLoss
from shared.wire import limits
from shared.wire.request_model import ContractModel, RequestModel
from shared.wire.text import Name, Text, Words
from shared.wire.timestamps import Timestamp

Role = Literal["auditor", "administrator", "metrics", "viewer", "data-steward", "budget-officer"]
"""What an account is for; it never changes. An account for metrics reads `/metrics`, and nothing else is answered to
it. `x-roles` of each operation of the interface says which roles may call it."""


def _below_certainty(cap: Loss) -> Loss:
    if not cap.can_be_said:
        raise InvalidAmount(f"A cap's rho must be at most {format_nano(RHO_NANO_SUM_MAX)}.")
    if cap.delta_nano < NANO_PER_UNIT:
        return cap
    raise InvalidAmount("A cap's delta must be below 1: from there on the guarantee says nothing.")


def _as_read(cap: dict[str, object]) -> dict[str, str]:
    """A cap in ρ as it is shown, with the ε that it is read as."""
    return Loss.of_rho(parse_nano(cap["rho"]), parse_nano(cap.get("delta", "0"))).document()


def _of_one_kind(cap: object) -> object:
    if isinstance(cap, dict) and cap.keys() >= {"epsilon", "rho"} and cap != _as_read(cap):
        raise InvalidAmount(
            "State a cap in epsilon and delta, which are then added up; or in rho, which is then added up, and the "
            "delta at which it is to be read. Not in both."
        )
    return cap


Cap = Annotated[Loss, BeforeValidator(_of_one_kind), AfterValidator(_below_certainty)]
"""What all auditors together may be charged at most, in ε and δ or in ρ."""


class DatasetDeclaration(RequestModel):
    """An administrator's declaration of a dataset; `population` defaults to the dataset's own name."""

    person_key: Text | None = Field(default=None, exclude_if=lambda name: name is None)
    """The name of the column that identifies a person: it is never counted by, nor shown."""
    people: PeopleColumn = Field(default=None, exclude_if=lambda name: name is None)
    """Instead of a person key, in an aggregate table: the name of the column that says how many people each row stands
    for, a whole number from 1. It is added up, and nothing is asked about it."""
    population: Name | None = None
    """The people that the dataset is about, whose budget is one; without it the dataset's own name."""
    relation: Relation = "add_remove"
    """What ε is about: a person more or less, a person's whole record, or a person's sensitive attributes."""
    cap: Cap | None = None
    """The most that all auditors together may be charged about the population. In ε and δ, which are then added up; or,
    for many audits over years, in ρ: `{"rho": "0.02", "delta": "0.000001"}`, which says at which δ it is read as an ε.
    The first charge fixes which."""
    records_max: Annotated[StrictInt, Field(ge=1, le=limits.RECORDS_MAX_MAX)] = limits.RECORDS_MAX_DEFAULT
    """The most records that there may be, in people, also where a row stands for several; public, and times to answer
    follow from it."""
    columns: tuple[Column, ...] = Field(min_length=1, max_length=limits.COLUMNS_PER_DATASET_MAX, fail_fast=True)
    """The columns, in the order of the file."""
    metadata: DatasetMetadata | None = Field(default=None, exclude_if=lambda metadata: metadata is None)
    """What people read of it; without them those stay that there are. They are in no digest of a declaration."""
    sensitive_in_rules: StrictBool = Field(default=False, exclude_if=lambda allowed: not allowed)
    """Whether rules and scores may name sensitive columns; under `sensitive_attribute` such plans pay more."""
    purpose_required: StrictBool = Field(default=False, exclude_if=lambda required: not required)
    """Whether whoever asks has to say what for: the purpose is entered into the ledger and published."""
    shares: ShareParty | None = Field(default=None, exclude_if=lambda shares: shares is None)
    """Which half of the sensitive values is loaded, where another holder has the other half: files are those that
    `holder split` writes, and the relation is `sensitive_attribute`. Without it the values themselves are loaded."""
    blocks: Blocks | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """That the cap and auditors' budgets hold for each block of people by itself: by which column, and in how many
    blocks one person may be. It is fixed once records are loaded or losses charged; later blocks may be added."""

    @model_validator(mode="wrap")
    @classmethod
    def _report_all_faults(cls, document: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(document)
        except ValidationError as error:
            raise unfit_declaration(document, error) from None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not any(column.sensitive for column in self.table.columns):
            raise ValueError(NO_SENSITIVE)
        perturbed = [column.name for column in self.columns if column.randomised_response is not None]
        if perturbed and self.relation != "sensitive_attribute":
            raise ValueError(
                f"Column {perturbed[0]!r} was perturbed at its source, which protects the group alone: declare the "
                "relation sensitive_attribute."
            )
        if self.shares is not None and self.relation != "sensitive_attribute":
            raise ValueError(
                f"Shares hide the sensitive values alone, and relation {self.relation} promises more: declare the "
                "relation sensitive_attribute."
            )
        if self.metadata is not None and (faults := tuple(self.metadata.faults(self.table))):
            raise UnfitMetadata(faults)
        return self

    @property
    def table(self) -> Schema:
        """The columns, and the one that says who a row is."""
        return Schema(
            person_key=self.person_key, people=self.people, columns=self.columns,
            sensitive_in_rules=self.sensitive_in_rules, purpose_required=self.purpose_required, shares=self.shares,
            blocks=self.blocks,
        )  # fmt: skip


class ColumnLimits(ContractModel):
    """The limits of derived columns, as the holder publishes them."""

    body_bytes_max: int = limits.COLUMN_BODY_BYTES_MAX
    """The largest request for a derived column, in bytes."""
    lists_and_objects_max: int = limits.LISTS_AND_OBJECTS_PER_COLUMN_MAX
    """The most lists and objects in one."""
    score_weight_max: int = limits.SCORE_WEIGHT_MAX
    """The most nodes, leaves, numbers in tables, weights, predicates and items of lists in a document together."""
    linked_bytes_max: int = limits.LINKED_BYTES_MAX
    """The largest file of linked values, in bytes."""
    linked_rows_max: int = limits.LINKED_ROWS_MAX
    """The most rows in one."""
    columns_max: int = limits.DERIVED_COLUMNS_PER_AUDITOR_MAX
    """The most columns of one auditor about one dataset."""
    bytes_max: int = limits.DERIVED_BYTES_PER_AUDITOR_MAX
    """The most bytes of documents and files of one auditor about one dataset."""
    columns_per_plan_max: int = limits.DERIVED_COLUMNS_PER_PLAN_MAX
    """The most derived columns that a plan may name."""
    seconds_max: int = limits.COLUMN_S_MAX
    """The longest that a column may be supposed to take, in seconds."""


class TrainingLimits(ContractModel):
    """The limits of trainings, as the holder publishes them."""

    features_max: int = limits.FEATURES_PER_TRAINING_MAX
    """The most features that a training may name."""
    cuts_per_feature_max: int = limits.CUTS_PER_FEATURE_MAX
    """The most cuts of one of them."""
    depth_max: int = limits.TRAINED_DEPTH_MAX
    """The deepest tree."""
    cells_per_step_max: int = limits.CELLS_PER_STEP_MAX
    """The most cells that one step counts: nodes times bins times both labels."""
    step_epsilon_min: str = format_nano(limits.STEP_EPSILON_NANO_MIN)
    """The smallest ε of a step's class of disjoint cells, as a decimal string."""


class Limits(ContractModel):
    """The limits that a plan has to respect, as the holder publishes them."""

    body_bytes_max: int = limits.BODY_BYTES_MAX
    """The largest plan, in bytes."""
    lists_and_objects_max: int = limits.LISTS_AND_OBJECTS_PER_BODY_MAX
    """The most lists and objects in one."""
    batches_max: int = limits.BATCHES_PER_PLAN_MAX
    """The most batches in a plan."""
    cells_max: int = limits.CELLS_PER_PLAN_MAX
    """The most cells in a plan."""
    rules_max: int = limits.RULES_PER_PLAN_MAX
    """The most rules in a plan."""
    predicates_max: int = limits.PREDICATES_PER_PLAN_MAX
    """The most predicates in a plan."""
    predicates_per_rule_max: int = limits.PREDICATES_PER_RULE_MAX
    """The most predicates in a rule."""
    values_per_predicate_max: int = limits.VALUES_PER_PREDICATE_MAX
    """The most values in the list of a predicate."""
    values_max: int = limits.VALUES_PER_PLAN_MAX
    """The most values in all lists of a plan."""
    cuts_per_column_max: int = limits.CUTS_PER_COLUMN_MAX
    """The most cuts that a plan's rules make in a column."""
    counts_max: int = limits.COUNTS_PER_PLAN_MAX
    """The most counts that a plan asks for: cells times groups."""
    release_s_max: int = limits.RELEASE_S_MAX
    """The longest that the work on a plan may be supposed to take, in seconds."""
    draw_max: int = limits.DRAW_MAX
    """The largest `draw` of a plan."""
    free_bytes_max: int = limits.FREE_BYTES_MAX
    """The most bytes of answers that one auditor has for nothing."""
    epsilon_min: str = format_nano(EPSILON_NANO_MIN)
    """The smallest ε of a batch, as a decimal string."""
    epsilon_max: str = format_nano(EPSILON_NANO_MAX)
    """The largest ε of a batch, as a decimal string."""
    delta_min: str = format_nano(DELTA_NANO_MIN)
    """The smallest δ of a batch, as a decimal string."""
    delta_max: str = format_nano(DELTA_NANO_MAX)
    """The largest δ of a batch, as a decimal string."""
    rho_min: str | None = Field(default=None, exclude_if=lambda rho: rho is None)
    """The smallest ρ of a batch, as a decimal string; left out where accounts add up ε and δ."""
    rho_max: str | None = Field(default=None, exclude_if=lambda rho: rho is None)
    """The largest ρ of a batch, as a decimal string."""
    upper_max: int = limits.UPPER_MAX
    """The largest `upper` of the exponential mechanism, in people."""
    derived_columns: ColumnLimits | None = Field(
        default=None,
        exclude_if=lambda derived: derived is None,  # a description that was kept before there were any stays as it was
    )
    """The limits of derived columns."""
    trainings: TrainingLimits | None = Field(default=None, exclude_if=lambda trainings: trainings is None)
    """The limits of trainings; left out where none are offered."""


def limits_of(terms: AccountTerms, *, trainings: bool) -> Limits:
    """The limits of what is asked about people whose account is of these terms, and of trainings if offered."""
    rho_min, rho_max = map(format_nano, (RHO_NANO_MIN, RHO_NANO_MAX))
    return Limits(
        derived_columns=ColumnLimits(), trainings=TrainingLimits() if trainings else None,
        rho_min=rho_min if terms.kind == "zcdp" else None, rho_max=rho_max if terms.kind == "zcdp" else None,
    )  # fmt: skip


class DatasetDescription(ContractModel):
    """The description of a dataset for auditors: declared facts alone, nothing derived from records."""

    name: str
    """The dataset's name, as paths use it."""
    population: str
    """The people that it is about: budgets are about them."""
    relation: Relation
    """What ε is about: a person more or less, a person's whole record, or a person's sensitive attributes."""
    version: int | None
    """The current version of the records; null where none are loaded."""
    person_key: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """The name of the column that identifies a person; left out of an aggregate table, which has none."""
    people: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """In an aggregate table, the name of the column that says how many people a row stands for; else left out."""
    columns: tuple[Column, ...]
    """The declared columns."""
    sensitive: tuple[str, ...]
    """The names of those that people can be counted by."""
    mechanisms: tuple[str, ...]
    """The mechanisms that a plan may name."""
    records_max: int
    """The most records that there may be, in people; how many there are is not said."""
    release_quantum_ms: int
    """Answers leave at multiples of this time, in milliseconds."""
    limits: Limits
    """What a plan has to respect."""
    metadata: DatasetMetadata | None = Field(default=None, exclude_if=lambda metadata: metadata is None)
    """What people read of it; left out where nothing was written."""
    organisation: Words | None = Field(default=None, exclude_if=lambda organisation: organisation is None)
    """Who holds it, in people's words; left out where the holder does not say."""
    sensitive_in_rules: bool = Field(default=False, exclude_if=lambda allowed: not allowed)
    """Whether rules and scores may name sensitive columns; left out where they may not."""
    purpose_required: bool = Field(default=False, exclude_if=lambda required: not required)
    """Whether whoever asks has to say what for, as `purpose`; left out where that is not needed."""
    blocks: Blocks | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """That cap and budgets hold for each block of people by itself; left out where they are about everybody."""
    trainings: tuple[str, ...] | None = Field(default=None, exclude_if=lambda trainings: trainings is None)
    """The names of the algorithms that a training may name; left out where none are offered."""

    account: AccountTerms | None = Field(default=None, exclude_if=lambda account: account is None)
    """How the population's account adds up what is charged, where that is in ρ; left out where it is in ε and δ."""
    rehearsal: Rehearsal | None = Field(default=None, exclude_if=lambda rehearsal: rehearsal is None)
    """That nobody in it exists, and how its people were invented; left out of a dataset of real people."""
    approval: ApprovalSetting | None = Field(default=None, exclude_if=lambda approval: approval is None)
    """That whatever is asked and was not answered before has to be approved by the holder, who then answers 202 first;
    left out where that is not needed."""
    shares: Shares | None = Field(default=None, exclude_if=lambda shares: shares is None)
    """Which half of the sensitive values is here, where another holder has the other half; else left out."""

    @property
    def terms(self) -> AccountTerms:
        """The way in which the population's account adds up charges."""
        return SUM if self.account is None else self.account

    @property
    def marked_name(self) -> str:
        """Its name in a list; marked, if it is a rehearsal."""
        return marked_name(self.name, self.rehearsal)

    def charged(self, price: Loss) -> Loss:
        """Return what is charged of a price: about a rehearsal, nothing."""
        return price if self.rehearsal is None else NO_LOSS

    @property
    def neighbouring(self) -> NeighbouringRelation:
        """The meaning of the relation for counts."""
        return NeighbouringRelation(self.relation)

    @property
    def table(self) -> Schema:
        """The columns, and the one that says who a row is."""
        return Schema(
            person_key=self.person_key, people=self.people, columns=self.columns,
            sensitive_in_rules=self.sensitive_in_rules, purpose_required=self.purpose_required,
            shares=None if self.shares is None else ShareParty(party=self.shares.party),
            blocks=self.blocks,
        )  # fmt: skip


class Budget(ContractModel):
    """An auditor's account with a population: what was granted, what was charged, what is left."""

    auditor: str
    """The auditor's name."""
    population: str
    """The people that it is about."""
    limit: Loss
    """What was granted in all."""
    spent: Loss
    """What was charged."""
    remaining: Loss
    """What is left of the grant; nothing once it has expired."""
    expires: datetime | None = None
    """When the grant ends; null if it does not."""
    spendable: Loss | None = Field(default=None, exclude_if=lambda spendable: spendable is None)
    """As much of what is left as the population's cap still admits; none from holders that do not say it."""
    rehearsal_of: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """Where the people are invented, the dataset that is rehearsed: nothing is charged, and there is no end of it; left
    out where they are real."""

    blocks: BlockBalances | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """What is left block by block, where cap and budgets hold by block: `spent` is then the most of any block, and what
    is left is left in every block. Left out where they are about everybody, and in lists of accounts."""

    def about(self, charged: ChargedBlocks | None, domain: BlockDomain | None) -> Self:
        """Return the account with what is left in every block that a request is charged to.

        Args:
            charged: What the request is charged by block; `None` without blocks.
            domain: The declared blocks.
        """
        if charged is None or domain is None or self.blocks is None:
            return self
        spans = [(domain.number(block_range.first), domain.number(block_range.last)) for block_range in charged.charged]
        balances = [
            block
            for block in self.blocks.balances
            if any(domain.number(block.first) <= last and first <= domain.number(block.last) for first, last in spans)
        ]
        oldest = min((domain.number(balance.first) for balance in self.blocks.balances), default=domain.last + 1)
        if not balances or any(first < oldest for first, _ in spans):
            return self  # some of them are not listed: what is left in every block of the account holds
        spendable = balances[0].spendable
        for balance in balances:
            spendable = spendable.within(balance.spendable)
        return self.model_copy(update={"remaining": spendable, "spendable": spendable})

    @property
    def left(self) -> Loss:
        """The amount that can be spent."""
        return self.remaining if self.spendable is None else self.spendable


class BudgetGrant(RequestModel):
    """A new limit for an auditor on a dataset's population; "0" revokes it."""

    epsilon: Amount | None = None
    """The new limit of ε, as a decimal string: what is charged counts against it; "0" revokes."""
    delta: Amount = Field(default=0, json_schema_extra={"default": "0"})
    """The new limit of δ, as a decimal string."""
    rho: Amount | None = None
    """Instead of both, where the population's account adds up ρ: the new limit of ρ, as a decimal string."""
    expires: Timestamp | None = None
    """When the grant ends, in the future; without it, never. To revoke is to grant "0"."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.epsilon is None) == (self.rho is None) or (self.rho is not None and self.delta):
            raise ValueError(
                "State epsilon, with or without delta; or, where the population's account adds up rho, rho alone."
            )
        return self

    def limit(self, terms: AccountTerms) -> Loss:
        """The limit, in the terms of a population's account; "0" is nothing in all terms.

        Raises:
            NoSuchLoss: It is in other terms.
        """
        if terms.kind == "zcdp":
            if self.rho is None and (self.epsilon or self.delta):
                raise NoSuchLoss
            return terms.of(self.rho or 0)
        if self.rho:
            raise NoSuchLoss
        return Loss(self.epsilon or 0, self.delta)


class CapChange(RequestModel):
    """A new cap of a population."""

    cap: Cap
    """The most that all auditors together may be charged: in ε and δ, or in ρ with the δ at which it is read. Below
    what was spent it leaves nothing to spend."""


class PopulationCap(ContractModel):
    """The account of a population over all auditors."""

    population: str
    """The people that it is about."""
    cap: Loss
    """The most that may be charged."""
    spent: Loss
    """What was charged."""
    remaining: Loss
    """What is left."""


class NewAuditor(RequestModel):
    """An account to open, with its first key."""

    name: Name
    """The account's name: never given to anybody else later."""
    role: Role = "auditor"
    """Who asks plans is an auditor. An administrator does everything else; a viewer sees it and changes nothing, a
    data steward declares and loads, a budget officer sets caps and budgets; one for metrics reads `/metrics` alone."""
    expires: Timestamp | None = None
    """When the first key ends; without it, when it is withdrawn."""
    display_name: Words | None = None
    """What people read instead of the name, in any script."""


class AccountChange(RequestModel):
    """The changes of an account; missing members stay as they are."""

    disabled: StrictBool | None = None
    """Whether its calls are refused, with every key."""
    display_name: Words | None = None
    """What people read instead of the name, in any script; null takes it away."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if "disabled" in self.model_fields_set and self.disabled is None:
            raise ValueError("disabled is true or false.")
        if not self.model_fields_set:
            raise ValueError("Say what changes: disabled or display_name.")
        return self


class Restore(RequestModel):
    """Why the database was restored from a copy."""

    reason: Text
    """For the ledger and the transparency report."""
