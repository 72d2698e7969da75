"""Times as people write them on a command line: a date alone is enough."""

import re
from typing import Annotated, Final

import typer

TIME: Final = "a date, or ISO 8601 with a time zone"
Expires = Annotated[
    str | None,
    typer.Option(
        help="When it expires: a date such as 2027-01-31, which means the end of that day in UTC, or ISO 8601 with a "
        "time zone."
    ),
]
_DATE: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def end_of_day(given: str | None) -> str | None:
    """Return a date as the end of that day in UTC, and everything else as it is."""
    return f"{given}T23:59:59Z" if given is not None and _DATE.fullmatch(given) else given


def start_of_day(given: str | None) -> str | None:
    """Return a date as the start of that day in UTC, and everything else as it is."""
    return f"{given}T00:00:00Z" if given is not None and _DATE.fullmatch(given) else given
