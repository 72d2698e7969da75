"""Rehearsals: datasets of invented people, about whom everything is asked as about real ones (docs/adr/0052).

A rehearsal is of one dataset and has its columns, its relation, its limits and its kind of account. Its people are
drawn from what is declared, and from marginals that an administrator chose to publish: never from records. So nothing
is charged for an answer about them, to nobody. A rehearsal has a name of its own that nothing else may have, and
whatever is said about it says what it is; whatever is about real people lacks that member and stays as it was.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt, StringConstraints, model_validator

from shared.contract.schema import Column, Schema
from shared.privacy.amounts import RHO_NANO_SUM_MAX, Loss
from shared.privacy.charges import AccountTerms
from shared.wire import limits
from shared.wire.request_model import ContractModel, RequestModel
from shared.wire.text import Text

ENDING: Final = "-rehearsal"
"""What the names of rehearsals end with, and those of no other dataset or population that is declared."""
UNLIMITED_NANO: Final = 999_999_999_999
"""The largest amount that the interface can write: what is left of the budget of a rehearsal, always."""
Seed = Annotated[str, StringConstraints(strict=True, pattern="^[0-9a-f]{32}$")]
"""What people are invented with: 32 hexadecimal digits, public."""


def rehearsal_name(dataset: str) -> str:
    """The name of a dataset's rehearsal, and of the population of its people."""
    return dataset + ENDING


def marked_name(dataset: str, rehearsal: object | None) -> str:
    """A dataset's name in a list; marked, if it is a rehearsal."""
    return dataset if rehearsal is None else f"{dataset} (REHEARSAL)"


def unlimited(terms: AccountTerms) -> Loss:
    """Return what everybody may be charged about a rehearsal, where nothing is."""
    if terms.kind == "zcdp":
        return terms.of(RHO_NANO_SUM_MAX)
    return Loss(UNLIMITED_NANO, 0)


class Part(RequestModel):
    """A part of a column's people: those of one value, of a range of numbers, or those whose value is missing."""

    value: StrictBool | Text | None = Field(default=None, exclude_if=lambda value: value is None)
    """A value of a boolean or category column."""
    minimum: StrictInt | StrictFloat | None = Field(default=None, exclude_if=lambda bound: bound is None)
    """Instead, of a column of numbers: the smallest of a range, all of which are as likely."""
    maximum: StrictInt | StrictFloat | None = Field(default=None, exclude_if=lambda bound: bound is None)
    """The largest of the range."""
    missing: StrictBool = Field(default=False, exclude_if=lambda missing: not missing)
    """Instead: that the value is missing."""
    weight: Annotated[StrictInt, Field(ge=0, le=limits.INTEGER_MAX // limits.CATEGORIES_PER_COLUMN_MAX)]
    """How large the part is, among the weights of the column's parts."""

    def faults(self, column: Column) -> Iterator[str]:
        """Why it can be no part of a column's people, each reason as a sentence."""
        ranged = self.minimum is not None or self.maximum is not None
        if (self.value is not None) + ranged + self.missing != 1:
            yield "Name one of these: a value; a minimum and a maximum; or missing."
        elif self.missing:
            if not column.nullable:
                yield f"Column {column.name!r} is not nullable: no value is missing."
        elif column.ordered:
            low, high = self.minimum, self.maximum
            if low is None or high is None or not column.low <= low <= high <= column.high:
                yield f"Column {column.name!r} has numbers: name a minimum and a maximum within its range."
            elif column.type == "integer" and not (low == int(low) and high == int(high)):
                yield f"Column {column.name!r} has whole numbers: name a whole minimum and maximum."
        elif not any(self.value is value or self.value == value for value in column.values):
            yield f"Column {column.name!r} does not declare the value {self.value!r}."


def _few_columns(given: Any) -> Any:
    if isinstance(given, dict) and len(given) > limits.COLUMNS_PER_DATASET_MAX:
        raise ValueError("There are more columns than a dataset has.")
    return given


Marginals = Annotated[
    dict[Text, Annotated[tuple[Part, ...], Field(min_length=1, max_length=limits.PARTS_PER_MARGINAL_MAX)]],
    BeforeValidator(_few_columns),
]
"""By column, the parts of its people."""


class RehearsalRequest(RequestModel):
    """How the people of a rehearsal are invented: by the declaration alone, unless marginals are published."""

    people: Annotated[StrictInt, Field(ge=1, le=limits.INVENTED_PEOPLE_MAX)] | None = None
    """How many; without it 10 000, or as many records as there may be if these are fewer. Public: never a count."""
    seed: Seed | None = None
    """What they are invented with; without it a new one, drawn at random. Published either way."""
    marginals: Marginals = Field(default_factory=dict, exclude_if=lambda marginals: not marginals)
    """Marginals that you publish by this, to every auditor: of a column the parts of its people. Take them from what is
    public already, such as a census; never from the records. The values of other columns are all as likely."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.model_dump_json()) > limits.REHEARSAL_BYTES_MAX:
            raise ValueError(f"A rehearsal's marginals have at most {limits.REHEARSAL_BYTES_MAX} bytes: publish fewer.")
        return self

    def faults(self, schema: Schema, *, records_max: int) -> Iterator[tuple[str, str]]:
        """Why it cannot be about the columns of a dataset: by the member that is wrong, each reason as a sentence."""
        if self.people is not None and self.people > records_max:
            yield "people", f"The dataset may have {records_max} records at most: invent no more people."
        for name, parts in self.marginals.items():
            column = schema.by_name.get(name)
            if column is None:
                yield f"marginals.{name}", f"The dataset declares no column {name!r}."
                continue
            for index, part in enumerate(parts):
                yield from ((f"marginals.{name}[{index}]", why) for why in part.faults(column))
            if not any(part.weight for part in parts):
                yield f"marginals.{name}", f"All parts of column {name!r} have the weight 0: give one more."


class Rehearsal(ContractModel):
    """The mark of a dataset as a rehearsal: nobody in it exists. Everybody can invent its people again from this."""

    of: str
    """The dataset that it is a rehearsal of; its people are invented from that one's declaration."""
    people: int
    """How many people were invented: a number that was chosen, and never counted."""
    seed: Seed
    """What they were invented with."""
    marginals: Marginals = Field(default_factory=dict, exclude_if=lambda marginals: not marginals)
    """What the administrator chose to publish, by column, and people were invented by; in all other columns, each value
    that is declared is as likely. Nothing of it was computed from records by the holder."""


class Rehearsed(ContractModel):
    """The mark of an answer about invented people, which was not charged."""

    of: str
    """The dataset of real people that this was a rehearsal of."""
    would_cost: Loss
    """What the same would cost about them."""
