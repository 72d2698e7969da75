"""Derived columns: what an auditor adds to a dataset's declared ones (5-decisions §1).

A derived column belongs to one auditor and one dataset. Its value for a record follows from that record's declared,
non-sensitive columns (a *score*), or from its person key (a *linked* value, which the auditor sent for that person),
and from nothing else. So making one releases nothing; what is asked about it is priced and charged as ever.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, model_validator

from shared import canonical, limits
from shared.problems import InvalidPlan
from shared.request_model import RequestModel
from shared.schema import Column, ColumnType, Schema
from shared.scores import Document, check_document, may_be_missing, values_of
from shared.text import ColumnId, Name, Text

State = Literal["awaiting-values", "preparing", "ready"]


class ScoreOrigin(RequestModel):
    """The holder computes the value from this document."""

    score: Document


class DerivedColumn(RequestModel):
    """A derived column as an auditor asks for it.

    Attributes:
        name: As plans' rules use it; no declared column may have it.
        type: A score that adds is a number; a list or a choice is what it can say.
        minimum, maximum, categories, label: As of a declared column; `label` for what people turned out to be.
        nullable: Whether a value may be missing; linked values always may.
        origin: Where the values come from, "from" in JSON: a score document, or the auditor sends them.
        values: Of linked values, the SHA-256 of the file that they come in.
    """

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    name: Name
    type: ColumnType
    minimum: StrictInt | StrictFloat | None = None
    maximum: StrictInt | StrictFloat | None = None
    categories: tuple[Text, ...] | None = Field(
        default=None, max_length=limits.CATEGORIES_PER_COLUMN_MAX, fail_fast=True
    )
    nullable: StrictBool = False
    label: StrictBool = False
    origin: ScoreOrigin | Literal["linked"] = Field(alias="from")
    values: ColumnId | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.column  # refuses what no declared column may be
        if (self.origin == "linked") != (self.values is not None):
            raise ValueError("A linked column names the SHA-256 of its file as `values`; a score has none.")
        if self.origin == "linked":
            if not self.nullable:
                raise ValueError("A linked column is nullable: who was not sent is missing.")
            return self
        if values := values_of(self.origin.score):
            texts, truths = ({type(value) for value in values} == {kind} for kind in (str, bool))
            fits = texts if self.type == "category" else truths if self.type == "boolean" else not (texts or truths)
            if not fits or (self.type == "category" and not set(values) <= set(self.categories or ())):
                raise ValueError("The document can say what is no value of the column: list all it says as categories.")
        elif self.type != "number":
            raise ValueError("A score that adds is of type number.")
        if self.minimum is not None or self.maximum is not None:
            raise ValueError("A score has no declared range.")
        return self

    @property
    def column(self) -> Column:
        """The column as rules see it."""
        return Column(
            name=self.name, type=self.type, minimum=self.minimum, maximum=self.maximum, categories=self.categories,
            nullable=self.nullable, label=self.label,
        )  # fmt: skip

    def document(self) -> dict[str, Any]:
        """The canonical document: absent values left out."""
        return self.model_dump(mode="json", exclude_none=True)

    def check(self, schema: Schema) -> None:
        """Refuse a column that does not fit a dataset's declared ones.

        Raises:
            InvalidPlan, UnknownColumn, SensitiveColumn, TooLarge: with the path of the fault and what would fit.
        """
        if self.name in schema.by_name or self.name == schema.person_key:
            raise InvalidPlan(
                f"The dataset declares a column {self.name!r}: give the derived one another name.", "name"
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
        values: For linked values a digest of them that nobody but the holder can compute: the id stands in plans,
            receipts and bundles, and must not confirm a guess of who got which decision.
    """
    document = column.document()
    if values is not None:
        document["values"] = values
    return canonical.digest({"auditor": auditor, "dataset": dataset, "column": document})


class ColumnDescription(BaseModel):
    """An auditor's own derived column, as the holder describes it; nothing in it depends on the records.

    Attributes:
        id: As plans name it.
        column: Name, type and domain.
        origin: Where the values come from.
        bytes: Of the document, or of the file of linked values.
        state: A plan that names it is answered once it is ready.
        ready_at: When it is, or will be; None before the values were sent.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    column: Column
    origin: Literal["score", "linked"]
    bytes: int
    state: State
    ready_at: datetime | None = None


def extended(schema: Schema, columns: Mapping[str, Column]) -> Schema:
    """A dataset's columns and some derived ones behind them.

    At most one column of a schema is the label, and that is the dataset's: a question names the one that it means.

    Raises:
        ValueError: Two columns share a name.
    """
    derived = (column.model_copy(update={"label": False}) for column in columns.values())
    return Schema(person_key=schema.person_key, columns=(*schema.columns, *derived))
