"""How a file of records is written, as whoever sends it declares: nothing is guessed from the data."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from shared.wire import limits
from shared.wire.csv_signs import ALIASES
from shared.wire.request_model import RequestModel
from shared.wire.text import normalise

WORDS_MAX: Final = 20
Word = Annotated[str, StringConstraints(min_length=1, max_length=limits.TEXT_CHARACTERS_MAX), AfterValidator(normalise)]
Words = Annotated[tuple[Word, ...], Field(max_length=WORDS_MAX)]


class RecordFormat(RequestModel):
    """How a file of records is written: the defaults are CSV by RFC 4180 in UTF-8, with numbers as JSON writes them."""

    delimiter: Literal[",", ";", "|", "tab"] = Field(default=",", description="The separator of fields.")
    decimal: Literal[".", ","] = Field(default=".", description="The decimal separator of numbers.")
    encoding: Annotated[
        Literal["utf-8", "utf-8-sig", "latin-1", "cp1252"],
        BeforeValidator(lambda given: ALIASES.get(given.lower(), given) if isinstance(given, str) else given),
    ] = Field(default="utf-8", description="The encoding. A byte order mark of UTF-8 is skipped.")
    missing: Words = Field(
        default=(),
        description="A word for a missing value, as in the file, in addition to an empty field: NA, NULL or a dot.",
    )
    true: Words = Field(
        default=("true",), min_length=1, description="A word for true, instead of `true`. Case does not matter."
    )
    false: Words = Field(
        default=("false",), min_length=1, description="A word for false, instead of `false`. Case does not matter."
    )
    dates: Words = Field(
        default=(),
        description="A column of dates such as 2024-12-31 that is declared as integer. Dates become days since "
        "1970-01-01.",
    )
    only_declared: bool = Field(
        default=False, description="Skip columns that are not declared. Otherwise the file is refused."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        words = [*{word.lower() for word in self.true}, *{word.lower() for word in self.false}]
        if any(count > 1 for count in Counter(words).values()) or {word.lower() for word in self.missing} & {*words}:
            raise ValueError("A word means one thing: true, false or missing.")
        if any('"' in word for word in (*self.missing, *self.true, *self.false)):
            raise ValueError(
                "A word must not contain a quote: quotes around a field are not part of it. Remove the quote."
            )
        return self

    @property
    def separator(self) -> str:
        """The character between fields."""
        return "\t" if self.delimiter == "tab" else self.delimiter

    @property
    def of_text(self) -> bool:
        """Whether anything is declared that only a file of text has."""
        return self != RecordFormat(only_declared=self.only_declared)


STRICT: Final = RecordFormat()
"""What a file is written in where nothing else is declared."""


class Upload(NamedTuple):
    """A file of records as it was sent.

    Attributes:
        path: Where it is kept for the time of the load.
        media_type: "text/csv" or "application/vnd.apache.parquet".
        form: How it is written.
    """

    path: Path
    media_type: str
    form: RecordFormat = STRICT


class RecordsUrl(NamedTuple):
    """Files of records where the holder reads them itself, under a root that its operator allows.

    Attributes:
        url: Of a file, or of a folder of files.
        form: How they are written.
    """

    url: str
    form: RecordFormat = STRICT
