"""Texts about a dataset for people: titles, units and sources, public and in any script (docs/adr/0029).

Metadata are words about what is declared, and no part of it. No plan, price, count or release follows from them, so
they may change at any time: nothing has to be loaded again, and the same question stays the same question.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StringConstraints, model_validator

from shared.contract.schema import Column, Schema, Value
from shared.wire import limits
from shared.wire.request_model import RequestModel
from shared.wire.text import Paragraph, Text, Words, normalise

_BOOLEANS: Final = {True: "true", False: "false"}
"""How the values of a boolean column are named, as JSON writes them."""


Intervention = Literal["assistive", "punitive"]
"""What kind of decision a column holds: being selected is good (a job, a loan, a grant), or it is a burden (a control,
a stop, a fine)."""


def _unset(value: Any) -> bool:
    """Whether a member says nothing; it is then left out."""
    return not value


def _few(most: int) -> Callable[[Any], Any]:
    """A check of an object with names of its own, before each of its members is looked at."""

    def check(given: Any) -> Any:
        if isinstance(given, dict):
            if len(given) > most:
                raise ValueError(f"There are more than {most} members.")
            # Longer names are refused behind this, and would take long to normalise.
            short = [name for name in given if isinstance(name, str) and len(name) <= limits.TEXT_CHARACTERS_MAX]
            names = list(map(normalise, short))
            if len(set(names)) != len(names):
                raise ValueError("Two members have one name (names are compared after NFC).")
        return given

    return check


def _day(text: str) -> str:
    return date.fromisoformat(text).isoformat()


Day = Annotated[str, StringConstraints(strict=True, pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_day)]
"""A calendar day in ISO 8601: 2026-01-31."""


def value_name(value: Value) -> str:
    """Return what metadata call a value of a column, or a band."""
    return _BOOLEANS[value] if isinstance(value, bool) else str(value)


class UnfitMetadata(ValueError):
    """Metadata that cannot be about the columns of the declaration that they are in.

    Attributes:
        faults: By the path of each member that is wrong, why.
    """

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__(faults[0][1])
        self.faults = faults


class ColumnWords(RequestModel):
    """What people read of a column, and of its values by their names (`true` and `false` of a boolean column)."""

    title: Words | None = Field(default=None, exclude_if=_unset)
    """What people read instead of the column's name."""
    unit: Words | None = Field(default=None, exclude_if=_unset)
    """Of a column of numbers: what is counted or measured, such as CHF per month."""
    description: Paragraph | None = Field(default=None, exclude_if=_unset)
    """How the column came about, and what it does not say."""
    intervention: Intervention | None = Field(default=None, exclude_if=_unset)
    """Of a column of decisions: whether being selected is good (assistive) or a burden (punitive)."""
    values: Annotated[dict[Text, Words], BeforeValidator(_few(limits.CATEGORIES_PER_COLUMN_MAX))] = Field(
        default_factory=dict, exclude_if=_unset
    )
    """What people read instead of a value, by its name: a category, a band, or true and false."""

    def faults(self, column: Column) -> Iterator[tuple[str, str]]:
        """Why they cannot be about a column: by the member that is wrong, each reason as a sentence."""
        if self.unit is not None and not column.ordered:
            yield "unit", f"Column {column.name!r} does not have numbers, so it cannot have a unit. Remove the unit."
        for unknown in sorted(self.values.keys() - set(map(value_name, column.group_values))):
            detail = f"Column {column.name!r} does not declare the value {unknown!r}, which has words."
            yield f"values.{unknown}", detail

    def fitted(self, column: Column) -> Self:
        """Return the texts that can be about a column."""
        names = set(map(value_name, column.group_values))
        values = {name: words for name, words in self.values.items() if name in names}
        return self.model_copy(update={"values": values, "unit": self.unit if column.ordered else None})


class DatasetMetadata(RequestModel):
    """The texts for people about a dataset. Every member may be missing, and none follows from records."""

    title: Words | None = Field(default=None, exclude_if=_unset)
    """What people read instead of the dataset's name."""
    description: Paragraph | None = Field(default=None, exclude_if=_unset)
    """What the records are, and whom they are about."""
    source: Words | None = Field(default=None, exclude_if=_unset)
    """Where they come from."""
    reference_date: Day | None = Field(default=None, exclude_if=_unset)
    """The day on which they were so."""
    people: Annotated[StrictInt, Field(ge=1, le=limits.RECORDS_MAX_MAX)] | None = Field(default=None, exclude_if=_unset)
    """About how many people it is, as is published elsewhere; never a count of the records."""
    contact: Words | None = Field(default=None, exclude_if=_unset)
    """Whom to ask about them."""
    licence: Words | None = Field(default=None, exclude_if=_unset)
    """What they may be used for."""
    columns: Annotated[dict[Text, ColumnWords], BeforeValidator(_few(limits.COLUMNS_PER_DATASET_MAX))] = Field(
        default_factory=dict, exclude_if=_unset
    )
    """What people read of a column, by its declared name."""

    @model_validator(mode="before")
    @classmethod
    def _check_values(cls, given: Any) -> Any:
        columns = given.get("columns") if isinstance(given, dict) else None
        named = columns.values() if isinstance(columns, dict) else ()
        values = [words.get("values") for words in named if isinstance(words, dict)]
        if sum(len(each) for each in values if isinstance(each, dict)) > limits.METADATA_VALUES_MAX:
            raise ValueError(f"At most {limits.METADATA_VALUES_MAX} values of a dataset have words.")
        return given

    @model_validator(mode="after")
    def _check_bytes(self) -> Self:
        if len(self.text().encode()) > limits.METADATA_BYTES_MAX:
            raise ValueError(f"The metadata of a dataset have at most {limits.METADATA_BYTES_MAX} bytes.")
        return self

    def text(self) -> str:
        """The metadata as JSON, as they are kept."""
        return self.model_dump_json()

    def faults(self, schema: Schema) -> Iterator[tuple[str, str]]:
        """Why they cannot be about the columns of a dataset: by the path of each member that is wrong."""
        for unknown in sorted(self.columns.keys() - schema.by_name.keys()):
            yield f"columns.{unknown}", f"The dataset declares no column {unknown!r}, which has words."
        for name, words in self.columns.items():
            if name in schema.by_name:
                yield from ((f"columns.{name}.{path}", why) for path, why in words.faults(schema.by_name[name]))

    def fitted(self, schema: Schema) -> Self:
        """Those that can be about the columns of a dataset: words about what is not declared any more are gone."""
        known = {name: words for name, words in self.columns.items() if name in schema.by_name}
        fitted = {name: words.fitted(schema.by_name[name]) for name, words in known.items()}
        return self.model_copy(update={"columns": fitted})
