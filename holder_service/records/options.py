"""What a draft of a declaration and a look at risks take from the records; the fields are options of two commands."""

from pydantic import BaseModel, Field

from shared.wire import limits


class DraftOptions(BaseModel, frozen=True):
    """What a draft may take from the records."""

    categories_max: int = Field(
        default=100,
        ge=1,
        le=limits.CATEGORIES_PER_COLUMN_MAX,
        description="Leave out columns with more distinct words.",
    )
    people_min: int = Field(default=10, ge=1, description="Leave out categories of fewer people.")
    ranges: bool = Field(default=False, description="Propose ranges of round numbers around the values.")
    people: str | None = Field(
        default=None, description="For an aggregate table: the column with the number of people of each row."
    )


class RiskOptions(BaseModel, frozen=True):
    """What an administrator wants to know of records."""

    quasi: tuple[str, ...] = Field(
        default=(),
        description="A column by which others could recognise a person [all columns that are neither "
        "sensitive, nor the label, nor numbers].",
    )
    people_min: int = Field(default=10, ge=2, description="Show values and combinations of fewer people.")
    together: int = Field(
        default=2, ge=1, le=4, description="Check every set of at most this many columns, and all columns together."
    )
