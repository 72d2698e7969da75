"""Datasets, accounts and budgets as the interface shows and takes them (4-interface)."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, model_validator

from shared import limits
from shared.amounts import (
    DELTA_NANO_MAX,
    DELTA_NANO_MIN,
    EPSILON_NANO_MAX,
    EPSILON_NANO_MIN,
    NANO_PER_UNIT,
    Amount,
    InvalidAmount,
    Loss,
    format_nano,
)
from shared.relations import NeighbouringRelation, Relation
from shared.request_model import RequestModel
from shared.schema import Column, Schema
from shared.text import Name, Text
from shared.timestamps import Timestamp

Role = Literal["auditor", "administrator"]


def _below_certainty(cap: Loss) -> Loss:
    if cap.delta_nano < NANO_PER_UNIT:
        return cap
    raise InvalidAmount("A cap's delta must be below 1: from there on the guarantee says nothing.")


class DatasetDeclaration(RequestModel):
    """What an administrator declares about a dataset; `population` defaults to the dataset's own name."""

    person_key: Text
    population: Name | None = None
    relation: Relation = "add_remove"
    cap: Annotated[Loss, AfterValidator(_below_certainty)] | None = None
    records_max: Annotated[StrictInt, Field(ge=1, le=limits.RECORDS_MAX_MAX)] = limits.RECORDS_MAX_DEFAULT
    columns: tuple[Column, ...] = Field(min_length=1, max_length=limits.COLUMNS_PER_DATASET_MAX, fail_fast=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not any(column.sensitive for column in self.table.columns):
            raise ValueError("Declare at least one sensitive column: nothing else is counted by.")
        perturbed = [column.name for column in self.columns if column.randomised_response is not None]
        if perturbed and self.relation != "sensitive_attribute":
            raise ValueError(
                f"Column {perturbed[0]!r} was perturbed at its source, which protects the group alone: declare the "
                "relation sensitive_attribute."
            )
        return self

    @property
    def table(self) -> Schema:
        """The columns and the person key."""
        return Schema(person_key=self.person_key, columns=self.columns)


class ColumnLimits(BaseModel):
    """The limits of derived columns, as the holder publishes them."""

    model_config = ConfigDict(frozen=True)

    body_bytes_max: int = limits.COLUMN_BODY_BYTES_MAX
    lists_and_objects_max: int = limits.LISTS_AND_OBJECTS_PER_COLUMN_MAX
    score_weight_max: int = limits.SCORE_WEIGHT_MAX
    linked_bytes_max: int = limits.LINKED_BYTES_MAX
    linked_rows_max: int = limits.LINKED_ROWS_MAX
    columns_max: int = limits.DERIVED_COLUMNS_PER_AUDITOR_MAX
    bytes_max: int = limits.DERIVED_BYTES_PER_AUDITOR_MAX
    columns_per_plan_max: int = limits.DERIVED_COLUMNS_PER_PLAN_MAX
    seconds_max: int = limits.COLUMN_S_MAX


class Limits(BaseModel):
    """The limits that a plan has to respect, as the holder publishes them."""

    model_config = ConfigDict(frozen=True)

    body_bytes_max: int = limits.BODY_BYTES_MAX
    lists_and_objects_max: int = limits.LISTS_AND_OBJECTS_PER_BODY_MAX
    batches_max: int = limits.BATCHES_PER_PLAN_MAX
    cells_max: int = limits.CELLS_PER_PLAN_MAX
    rules_max: int = limits.RULES_PER_PLAN_MAX
    predicates_max: int = limits.PREDICATES_PER_PLAN_MAX
    predicates_per_rule_max: int = limits.PREDICATES_PER_RULE_MAX
    values_per_predicate_max: int = limits.VALUES_PER_PREDICATE_MAX
    values_max: int = limits.VALUES_PER_PLAN_MAX
    cuts_per_column_max: int = limits.CUTS_PER_COLUMN_MAX
    counts_max: int = limits.COUNTS_PER_PLAN_MAX
    release_s_max: int = limits.RELEASE_S_MAX
    draw_max: int = limits.DRAW_MAX
    free_bytes_max: int = limits.FREE_BYTES_MAX
    epsilon_min: str = format_nano(EPSILON_NANO_MIN)
    epsilon_max: str = format_nano(EPSILON_NANO_MAX)
    delta_min: str = format_nano(DELTA_NANO_MIN)
    delta_max: str = format_nano(DELTA_NANO_MAX)
    upper_max: int = limits.UPPER_MAX
    derived_columns: ColumnLimits | None = Field(
        default=None,
        exclude_if=lambda derived: derived is None,  # a description that was kept before there were any stays as it was
    )


class DatasetDescription(BaseModel):
    """What an auditor may know about a dataset: declared facts alone, nothing derived from records."""

    model_config = ConfigDict(frozen=True)

    name: str
    population: str
    relation: Relation
    version: int | None
    person_key: str
    columns: tuple[Column, ...]
    sensitive: tuple[str, ...]
    mechanisms: tuple[str, ...]
    records_max: int
    release_quantum_ms: int
    limits: Limits

    @property
    def neighbouring(self) -> NeighbouringRelation:
        """What the relation means for counts."""
        return NeighbouringRelation(self.relation)

    @property
    def table(self) -> Schema:
        """The columns and the person key."""
        return Schema(person_key=self.person_key, columns=self.columns)


class Budget(BaseModel):
    """An auditor's account with a population: what was granted, what was charged, what is left.

    Attributes:
        spendable: As much of what is left as the population's cap still admits; none from holders that do not say it.
    """

    model_config = ConfigDict(frozen=True)

    auditor: str
    population: str
    limit: Loss
    spent: Loss
    remaining: Loss
    expires: datetime | None = None
    spendable: Loss | None = Field(default=None, exclude_if=lambda spendable: spendable is None)

    @property
    def left(self) -> Loss:
        """What can be spent."""
        return self.remaining if self.spendable is None else self.spendable


class BudgetGrant(RequestModel):
    """A new limit for an auditor on a dataset's population; "0" revokes it."""

    epsilon: Amount
    delta: Amount = 0
    expires: Timestamp | None = None

    @property
    def limit(self) -> Loss:
        """The limit."""
        return Loss(self.epsilon, self.delta)


class NewAuditor(RequestModel):
    """An account to open. `expires` is of its first key."""

    name: Name
    role: Role = "auditor"
    expires: Timestamp | None = None


class Restore(RequestModel):
    """Why the database was restored from a copy."""

    reason: Text
