"""Derived columns: what an auditor adds to a dataset's declared ones (5-decisions §1).

A derived column belongs to one auditor and one dataset. Its value for a record follows from that record's declared
columns (a *score*; from sensitive ones only where the dataset lets rules name them), or from its person key (a *linked*
value, which the auditor sent for that person), and from nothing else. So making one releases nothing; what is asked
about it is priced and charged as before.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, model_validator

from shared.contract.schema import Column, ColumnType, Schema
from shared.scores.documents import Document, check_document, columns_of, may_be_missing, values_of
from shared.wire import canonical, limits
from shared.wire.problems import InvalidPlan
from shared.wire.request_model import ContractModel, RequestModel
from shared.wire.text import Blinding, ColumnId, Name, Text

State = Literal["awaiting-values", "preparing", "ready"]


class ScoreOrigin(RequestModel):
    """The holder computes the value from this document."""

    score: Document
    """The document."""


class DerivedColumn(RequestModel):
    """A derived column as an auditor asks for it."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    name: Name
    """As plans' rules use it; no declared column may have it."""
    type: ColumnType
    """A score that adds is a number; a list or a choice is what it can say."""
    minimum: StrictInt | StrictFloat | None = None
    """The smallest admitted linked value; a score has none."""
    maximum: StrictInt | StrictFloat | None = None
    """The largest admitted linked value; a score has none."""
    categories: tuple[Text, ...] | None = Field(
        default=None, max_length=limits.CATEGORIES_PER_COLUMN_MAX, fail_fast=True
    )
    """All values of a category, in order."""
    nullable: StrictBool = False
    """Whether a value may be missing; linked values always may."""
    label: StrictBool = False
    """Whether it says what people turned out to be, in place of the dataset's label."""
    origin: ScoreOrigin | Literal["linked"] = Field(alias="from")
    """Where the values come from: a score document, or "linked" if you send them by person key."""
    values: ColumnId | None = None
    """Of linked values, the SHA-256 of the file that they come in."""
    blinding: Blinding | None = None
    """Of linked values for two holders of one register: a random key of yours, the same for both. Both then give the
    column the same id; without it, the id depends on a secret of the holder. Do not publish it: with the id it confirms
    a guess of the values."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.column  # refuses what no declared column may be
        if (self.origin == "linked") != (self.values is not None):
            raise ValueError("A linked column names the SHA-256 of its file as `values`; a score has none.")
        if self.origin == "linked":
            if not self.nullable:
                raise ValueError("A linked column is nullable: who was not sent is missing.")
            return self
        if self.blinding is not None:
            raise ValueError("Only linked values are blinded: leave `blinding` out of a score.")
        if values := values_of(self.origin.score):
            texts, truths = ({type(value) for value in values} == {kind} for kind in (str, bool))
            fits = texts if self.type == "category" else truths if self.type == "boolean" else not (texts or truths)
            if not fits or (self.type == "category" and not set(values) <= set(self.categories or ())):
                raise ValueError(
                    "The document can give values that the column does not declare. List all its values as categories."
                )
        elif self.type != "number":
            raise ValueError("A score that adds is of type number.")
        if self.minimum is not None or self.maximum is not None:
            raise ValueError("A score must not declare a range.")
        return self

    @property
    def column(self) -> Column:
        """The column as rules see it."""
        return Column(
            name=self.name, type=self.type, minimum=self.minimum, maximum=self.maximum, categories=self.categories,
            nullable=self.nullable, label=self.label,
        )  # fmt: skip

    @property
    def reads(self) -> tuple[str, ...]:
        """The declared columns that a score follows from; none for linked values, which follow from the person key."""
        return columns_of(self.origin.score) if isinstance(self.origin, ScoreOrigin) else ()

    def document(self) -> dict[str, Any]:
        """The canonical document: absent values left out."""
        return self.model_dump(mode="json", exclude_none=True)

    def check(self, schema: Schema) -> None:
        """Refuse a column that does not fit a dataset's declared ones.

        Raises:
            InvalidPlan, UnknownColumn, SensitiveColumn, TooLarge: with the path of the fault and what would fit.
        """
        if self.name in schema.by_name or self.name == schema.row_column:
            raise InvalidPlan(
                f"The dataset declares a column {self.name!r}: give the derived one another name.", "name"
            )
        if schema.is_aggregate and not isinstance(self.origin, ScoreOrigin):
            raise InvalidPlan(
                "The dataset is an aggregate table: its rows stand for several people, and nobody has a key that "
                "values could be linked to. Ask for a score of its declared columns.",
                "from",
            )
        if isinstance(self.origin, ScoreOrigin):
            check_document(self.origin.score, schema)
            if may_be_missing(self.origin.score, schema) and not self.nullable:
                raise InvalidPlan(
                    "The score is missing for some records: say what its terms are worth where a column is missing, "
                    "or make it nullable.",
                    "nullable",
                )


def column_id(column: DerivedColumn, *, auditor: str, dataset: str, values: str | None = None) -> str:
    """The name of a derived column: "sha256:<hex>". The same again is the same column.

    Args:
        column: As it was asked for.
        auditor: Whose it is.
        dataset: Whose people it is about.
        values: For linked values without `blinding` a digest of them that nobody but the holder can compute: the id
            stands in plans, receipts and bundles, and must not confirm a guess of who got which decision.
    """
    document = column.document()
    if values is not None:
        document["values"] = values
    return canonical.digest({"auditor": auditor, "dataset": dataset, "column": document})


class ColumnDescription(ContractModel):
    """An auditor's own derived column, as the holder describes it; nothing in it depends on the records."""

    id: str
    """As plans name it: "sha256:" and 64 hexadecimal digits."""
    column: Column
    """Name, type and domain."""
    origin: Literal["score", "linked"]
    """Where the values come from: a score document, or the auditor."""
    bytes: int
    """The size of the document, or of the file of linked values."""
    state: State
    """A plan that names it is answered once it is ready."""
    ready_at: datetime | None = None
    """When it is ready, or will be, in UTC; null before the values were sent."""
    rehearsal_of: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """Where the people are invented, the dataset that is rehearsed; left out where they are real."""


def extended(schema: Schema, columns: Mapping[str, Column], *, reads: Mapping[str, Collection[str]]) -> Schema:
    """A dataset's columns and some derived ones behind them.

    At most one column of a schema is the label, and that is the dataset's: a question names the one that it means.

    Args:
        schema: The declared columns.
        columns: The derived ones, by name.
        reads: The declared columns that each of them follows from, by its name; none for linked values.

    Raises:
        ValueError: Two columns share a name.
    """
    derived = (column.model_copy(update={"label": False}) for column in columns.values())
    following = tuple(name for name, read in reads.items() if any(map(schema.follows_sensitive, read)))
    return Schema(
        person_key=schema.person_key,
        people=schema.people,
        columns=(*schema.columns, *derived),
        sensitive_in_rules=schema.sensitive_in_rules,
        shares=schema.shares,
        blocks=schema.blocks,
        following=(*schema.following, *following),
    )
